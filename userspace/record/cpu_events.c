/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.c: BPF programs that run at perf events, which each CPU has its own of. */
#include "cpu_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cpu_event {
	const struct bpf_program *program;
	struct bpf_link *link;
	int fd; /* of the perf event, the link's */
};

struct cpu_events {
	int n_cpus;
	size_t count;
	struct cpu_event all[]; /* room for CPU_EVENTS_MAX on each CPU */
};

struct cpu_events *cpu_events_create(int n_cpus)
{
	struct cpu_events *events = calloc(1, sizeof(*events) + (size_t)n_cpus * CPU_EVENTS_MAX *
									sizeof(events->all[0]));

	if (events)
		events->n_cpus = n_cpus;
	return events;
}

/* -ENODEV: the CPU is not there. */
static int attach_one(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct bpf_link *link;
	int err;

	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event(program, fd);
	if (link) {
		events->all[events->count++] = (struct cpu_event){program, link, fd};
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr)
{
	size_t before = events->count;
	int failed = 0;

	if (before + (size_t)events->n_cpus > (size_t)events->n_cpus * CPU_EVENTS_MAX)
		return -E2BIG;
	for (int cpu = 0; cpu < events->n_cpus; cpu++) {
		int err = attach_one(events, program, attr, cpu);

		if (err && err != -ENODEV)
			failed = err;
	}
	return events->count == before && !failed ? -ENODEV : failed;
}

int cpu_events_period(struct cpu_events *events, const struct bpf_program *program, uint64_t ns)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->all[i].program == program &&
		    ioctl(events->all[i].fd, PERF_EVENT_IOC_PERIOD, &ns))
			return -errno;
	return 0;
}

void cpu_events_free(struct cpu_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->count; i++)
		bpf_link__destroy(events->all[i].link);
	free(events);
}
