/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_cycles.h: the cycles of concurrent collectors, and the pauses in each. */
#ifndef GCPROF_GC_CYCLES_H
#define GCPROF_GC_CYCLES_H

#include <stddef.h>

#include "../event.h"
#include "../world/durations.h"

struct cycles;
struct model_gc_cycle;
struct world;

struct gc_cycles {
	struct model_gc_cycle *rows;
	size_t count, capacity;
	struct durations durations; /* of finished cycles */
};

void gc_cycles_free(struct gc_cycles *cycles);

/* 0, -EBADMSG, -ENOMEM. */
int gc_cycles_record(struct gc_cycles *cycles, struct world *world, const struct event *event);

/* Fills the model's rows. Call when all pauses are known; sorts cycles->pauses. 0 or -ENOMEM. */
int gc_cycles_finish(struct gc_cycles *gc_cycles, struct cycles *cycles, struct world *world);

#endif
