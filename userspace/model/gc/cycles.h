/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.h: collections: their pauses, and which timer samples lie inside. */
#ifndef GCPROF_CYCLES_H
#define GCPROF_CYCLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../event.h"
#include "../world/durations.h"
#include "open_gcs.h"
#include "utilisation.h"

struct world;

struct cycles {
	struct world *world;
	struct open_gcs *open; /* those under way */
	struct durations minor, major;
	struct durations others; /* stops in which nothing was collected */
	struct durations stops;  /* of all */
	struct pause *pauses;
	size_t n_pauses, pauses_capacity;
};

/* What a gc_end ended. */
struct ended_gc {
	bool paired;             /* its begin is known, and so is: */
	struct long_pause pause; /* its reason, and pause_ns without the collections inside it */
	struct collection collection;
};

/* Both are borrowed. */
void cycles_init(struct cycles *cycles, struct world *world, struct open_gcs *open);
void cycles_free(struct cycles *cycles);

/* Each: 0, -EBADMSG if the record contradicts others, -ENOMEM. */
int cycles_begin(struct cycles *cycles, const struct record_gc_begin *record);
int cycles_end(struct cycles *cycles, const struct event *event, struct ended_gc *ended);
int cycles_summary(struct cycles *cycles, const struct event *event,
		   struct collection *out); /* of 0 collections: they are no one's doing */
int cycles_phase(struct cycles *cycles, const struct record_phase *record);

/* The thread goes on, or has ended: what it began before is over. */
void cycles_leave(struct cycles *cycles, uint64_t thread, uint64_t time);

/* A timer sample: is its thread collecting? Counts it in thread and model. */
int cycles_cpu(struct cycles *cycles, const struct event *event);

/* In which collection was a thread at `time`? Fills in the innermost one, as cycles_cpu() judges
 * it. */
void cycles_find(const struct cycles *cycles, uint64_t thread, uint64_t time, struct event *event);

/* Kind of the collection that began last in the thread's process; 0: none. */
uint64_t cycles_last_kind(const struct cycles *cycles, uint64_t thread);

/* Pauses into model->gc; collections still under way are counted as unpaired. */
void cycles_finish(struct cycles *cycles);

#endif
