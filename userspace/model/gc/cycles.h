/* SPDX-License-Identifier: BSD-2-Clause */
/* cycles.h: collections: their pauses, and the timer samples inside them. */
#ifndef GCPROF_CYCLES_H
#define GCPROF_CYCLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../event.h"
#include "../world/durations.h"
#include "open_gcs.h"
#include "parts.h"
#include "utilisation.h"

struct world;

struct cycles {
	struct world *world;
	struct open_gcs *open; /* in progress */
	struct durations minor, major;
	struct durations others; /* stops without a collection */
	struct durations around; /* stops around other pauses, without those */
	struct durations stops;  /* all stops */
	struct parts parts;
	struct pause *pauses;
	size_t n_pauses, pauses_capacity;
};

/* The collection that a gc_end record ended. */
struct ended_gc {
	bool paired;             /* its begin is known, and so are: */
	struct long_pause pause; /* its reason, and pause_ns without nested collections */
	struct collection collection;
};

/* `world` and `open` are borrowed. */
void cycles_init(struct cycles *cycles, struct world *world, struct open_gcs *open);
void cycles_free(struct cycles *cycles);

/* Each: 0, -EBADMSG if the record contradicts others, -ENOMEM. */
int cycles_begin(struct cycles *cycles, const struct record_gc_begin *record);
int cycles_end(struct cycles *cycles, const struct event *event, struct ended_gc *ended);
int cycles_summary(struct cycles *cycles, const struct event *event,
		   struct collection *out); /* count 0: nothing to charge */
int cycles_phase(struct cycles *cycles, const struct record_phase *record);

/* The thread resumed or ended: collections that it began before are over. */
void cycles_leave(struct cycles *cycles, uint64_t thread, uint64_t time);

/*
 * Counts a timer sample in its thread and in the model, and checks whether the thread is
 * collecting.
 */
int cycles_cpu(struct cycles *cycles, const struct event *event);

/*
 * Finds the innermost collection that the thread is in at `time` and sets it in `event`. Follows
 * the same rules as cycles_cpu().
 */
void cycles_find(const struct cycles *cycles, uint64_t thread, uint64_t time, struct event *event);

/* Kind of the latest collection that began in the thread's process; 0: none. */
uint64_t cycles_last_kind(const struct cycles *cycles, uint64_t thread);

/* Stores pauses, and the CPU time of parts, in model->gc. Collections still in progress count as
 * unpaired. 0 or -ENOMEM. */
int cycles_finish(struct cycles *cycles);

#endif
