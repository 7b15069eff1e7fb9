/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_events.c: BPF programs that run at perf events, which each CPU has its own of. */
#include "cpu_events.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct cpu_events {
	int n_cpus;
	size_t n_links;
	struct bpf_link *links[]; /* room for CPU_EVENTS_MAX on each CPU */
};

struct cpu_events *cpu_events_create(int n_cpus)
{
	struct cpu_events *events = calloc(1, sizeof(*events) + (size_t)n_cpus * CPU_EVENTS_MAX *
									sizeof(events->links[0]));

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
		events->links[events->n_links++] = link;
		return 0;
	}
	err = -errno;
	close(fd);
	return err;
}

int cpu_events_attach(struct cpu_events *events, const struct bpf_program *program,
		      const struct perf_event_attr *attr)
{
	size_t before = events->n_links;
	int failed = 0;

	if (before + (size_t)events->n_cpus > (size_t)events->n_cpus * CPU_EVENTS_MAX)
		return -E2BIG;
	for (int cpu = 0; cpu < events->n_cpus; cpu++) {
		int err = attach_one(events, program, attr, cpu);

		if (err && err != -ENODEV)
			failed = err;
	}
	return events->n_links == before && !failed ? -ENODEV : failed;
}

void cpu_events_free(struct cpu_events *events)
{
	if (!events)
		return;
	for (size_t i = 0; i < events->n_links; i++)
		bpf_link__destroy(events->links[i]);
	free(events);
}
