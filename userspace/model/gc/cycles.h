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
#include "spent.h"

struct model_gc;

/* A pause of a process, or several that are known only as a sum. */
struct pause {
	uint64_t process, heap, begin, end;
	uint64_t ns;    /* without pauses inside it */
	uint64_t count; /* 0: a stop around other pauses */
	uint64_t thread;
};

/*
 * Fills gc->utilisation for windows of 1, 2, 5, 10 ms ... up to the `duration` of the recording:
 * the minimum over all positions of the window and all processes. Also fills gc->any_ns and
 * gc->overlap. Sorts `pauses` and merges overlapping ones of a process.
 */
void utilisation_fill(struct pause *pauses, size_t count, uint64_t duration, struct model_gc *gc);

struct world;

struct cycles {
	struct world *world;
	struct open_gcs *open; /* in progress */
	struct durations minor, major;
	struct durations others; /* stops without a collection */
	struct durations around; /* stops around other pauses, without those */
	struct durations stops;  /* all stops */
	struct spent spent;
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

/* Stores pauses, and the CPU time of collectors, in model->gc. Collections still in progress count
 * as unpaired. 0 or -ENOMEM. */
int cycles_finish(struct cycles *cycles);

/* The named areas of heaps, such as generations, and what collections did to each. */

struct map;
struct model_heap_area;

/* What the records of areas that come next belong to. */
struct areas_owner {
	uint64_t process, heap, cycle;
	bool concurrent, selected;
	struct closed_gc closed; /* of a pause */
	uint64_t gc_cycle;       /* of a cycle, as in struct event */
};

struct areas {
	struct areas_owner owner;
	struct map *index; /* of rows, by process and number of the name */
	struct model_heap_area *rows;
	size_t count, capacity;
};

int areas_init(struct areas *areas); /* 0 or -ENOMEM; *areas must be zero */
void areas_free(struct areas *areas);

/* A pause, or a concurrent cycle, has ended. */
void areas_pause(struct areas *areas, const struct event *event, uint64_t process);
void areas_cycle(struct areas *areas, const struct event *event, uint64_t gc_cycle);

/* Sets `closed`, `gc_cycle` and `selected` of the event. 0, -EBADMSG, -ENOMEM. */
int areas_record(struct areas *areas, struct world *world, struct event *event);

/* Fills the model's rows. 0 or -ENOMEM. */
int areas_finish(struct areas *areas, struct world *world);

/* The cycles of concurrent collectors, and the pauses in each. */

struct model_gc_cycle;

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
