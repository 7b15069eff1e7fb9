/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_maps.h: executable mappings of traced processes, from the kernel's perf rings. */
#ifndef GCPROF_PERF_MAPS_H
#define GCPROF_PERF_MAPS_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../../bpf/events.h"
#include "../../util/problem.h"

struct perf_maps;

/* Receives the rings' contents. Times are CLOCK_MONOTONIC ns. */
struct perf_maps_visitor {
	void *context;
	/* A mapping; pid and tid are both the process's pid in /proc here. The event is valid
	 * during the call and may be changed. */
	void (*mapping)(void *context, struct event_mmap *event, const char *path);
};

#define PERF_MAPS_ALL (-1) /* `pid` for every process on the machine */

/* Starts watching `pid` and all its future descendants, or everything. */
int perf_maps_open(pid_t pid, struct perf_maps **out, struct problem *problem);

/* Delivers the rings' contents, ring by ring, hardly in order, and for a limited time: false if
 * some is left for the next call. */
bool perf_maps_drain(struct perf_maps *maps, const struct perf_maps_visitor *visitor);

/* Mappings that did not fit into a ring so far. */
uint64_t perf_maps_lost(const struct perf_maps *maps);

/* Invalid records since the last call. */
uint64_t perf_maps_bad(struct perf_maps *maps);

/* Descriptors to poll for input; owned by perf_maps. */
size_t perf_maps_fds(const struct perf_maps *maps, const int **fds);

/* NULL is allowed. */
void perf_maps_free(struct perf_maps *maps);

#endif
