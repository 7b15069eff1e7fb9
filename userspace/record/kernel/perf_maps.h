/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_maps.h: what the followed processes map executable, from the kernel's perf rings. */
#ifndef GCPROF_PERF_MAPS_H
#define GCPROF_PERF_MAPS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../bpf/events.h"
#include "../../util/problem.h"

struct perf_maps;

/* Receives what was in the rings. Times are CLOCK_MONOTONIC ns. */
struct perf_maps_visitor {
	void *context;
	/* A mapping; pid and tid are both the process as /proc calls it here. The event is valid
	   during the call and may be changed. */
	void (*mapping)(void *context, struct event_mmap *event, const char *path);
};

#define PERF_MAPS_ALL (-1) /* for `pid`: every process on the machine */

/* Begins to watch `pid` and all that it will fork or exec, or everybody. */
int perf_maps_open(pid_t pid, struct perf_maps **out, struct problem *problem);

/* Hands out what is in the rings, ring by ring, hardly in order, and not for long: false if some is
 * left for the next call. */
bool perf_maps_drain(struct perf_maps *maps, const struct perf_maps_visitor *visitor);

/* Mappings that the kernel could not put into a ring, so far. */
uint64_t perf_maps_lost(const struct perf_maps *maps);

/* Records that made no sense, since the last call. */
uint64_t perf_maps_bad(struct perf_maps *maps);

/* Descriptors to poll for input; they belong to perf_maps. */
size_t perf_maps_fds(const struct perf_maps *maps, const int **fds);

/* NULL is allowed. */
void perf_maps_free(struct perf_maps *maps);

#endif
