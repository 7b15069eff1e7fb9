/* SPDX-License-Identifier: BSD-2-Clause */
/* trial.c: tries each part of a recording briefly, on gcprof itself only. */
#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES     1
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>

#include "attach.h"
#include "perf_maps.h"

static volatile uint16_t gcprof_period_semaphore __attribute__((section(".probes"), used));

/* A probe like any collector's. It fires before any tracer but ours is attached. */
static void trial_fire(void)
{
	uint64_t none = 0;
	uint32_t reason = 0;

	STAP_PROBE3(gcprof, period, none, none, reason);
}

/* True if the kernel found the probe here, attached it, and raised the semaphore. */
static bool try_probe(struct attach *probes, struct problem *problem)
{
	const struct probe_target self = {1, (uint32_t)getpid(), getuid(), UINT64_MAX};
	struct opener *opener = NULL;
	struct files *files = NULL;
	struct file *file = NULL;
	int sites = 0, fd;

	trial_fire();
	if (gcprof_period_semaphore) {
		problem_set(problem, -EBUSY, "another tracer is attached to gcprof's own probe");
		return true;
	}
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && !opener_create(true, &opener) && !files_create(opener, &files))
		file = files_read(files, fd, geteuid());
	if (fd >= 0)
		close(fd);
	if (file && file->state == FILE_KNOWN)
		sites = attach_file_now(probes, file, &self, problem);
	files_free(files);
	opener_free(opener);
	if (sites < 0)
		return false;
	if (sites && gcprof_period_semaphore)
		return true;
	problem_set(problem, -EIO,
		    sites ? "a probe was attached, but the kernel did not raise its semaphore"
			  : "the probe of this program was not found in its file");
	return false;
}

static void try_probes(struct session *session, struct trial *out)
{
	const enum stream streams[] = {STREAM_ALLOC, STREAM_GC};
	struct problem problem = {""};
	bool works = try_probe(session_probes(session), &problem);

	for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		struct stream_state *state = &out->streams[streams[i]];

		*state = (struct stream_state){.attached = works};
		if (!works)
			snprintf(state->why_not, sizeof(state->why_not), "%.255s", problem.text);
	}
}

static void try_maps(struct trial *out)
{
	struct perf_maps *maps = NULL;

	perf_maps_open(PERF_MAPS_ALL, &maps, &out->maps);
	perf_maps_free(maps);
}

void trial_run(struct trial *out)
{
	const struct record_options options = {
		.frequency = 99,
		.syscall_mode = SYSCALLS_ALL,
		.off_cpu = 1,
		.off_cpu_min = OFF_CPU_MIN_NS,
		.faults = 1,
		.fault_rate = FAULT_RATE,
		.follow_children = true,
		.stack_mode = STACK_MODE_ROWS,
	};
	struct session *session = NULL;

	*out = (struct trial){.together = attach_multi_supported()};
	out->loaded = !session_open(&options, &session, &out->problem);
	if (!out->loaded)
		return;
	out->followed = !session_attach(session, &options, &out->problem);
	for (int stream = 0; out->followed && stream < STREAM_END; stream++)
		out->streams[stream] = *session_stream(session, (enum stream)stream);
	if (out->followed) {
		try_probes(session, out);
		try_maps(out);
	}
	session_free(session);
}
