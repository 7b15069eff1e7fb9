/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_maps.h: what the followed processes map executable, from the kernel's perf rings. */
#ifndef GCPROF_PERF_MAPS_H
#define GCPROF_PERF_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../bpf/events.h"
#include "problem.h"

struct perf_maps;

/* Receives one mapping; the event is valid during the call. */
typedef void perf_maps_visit(void *context, const struct event_mmap *event, const char *path);

/* Begins to watch `pid` and all that it will fork or exec. */
int perf_maps_open(pid_t pid, struct perf_maps **out, struct problem *problem);

/* Hands out what is in the rings, ring by ring: hardly in order. */
void perf_maps_drain(struct perf_maps *maps, perf_maps_visit *visit, void *context);

/* Mappings that the kernel could not put into a ring, so far. */
uint64_t perf_maps_lost(const struct perf_maps *maps);

/* Records that made no sense, since the last call. */
uint64_t perf_maps_bad(struct perf_maps *maps);

/* Descriptors to poll for input; they belong to perf_maps. */
size_t perf_maps_fds(const struct perf_maps *maps, const int **fds);

/* NULL is allowed. */
void perf_maps_free(struct perf_maps *maps);

#endif
