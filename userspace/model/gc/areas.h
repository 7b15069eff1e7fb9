/* SPDX-License-Identifier: BSD-2-Clause */
/* areas.h: the named areas of heaps, such as generations, and what collections did to each. */
#ifndef GCPROF_AREAS_H
#define GCPROF_AREAS_H

#include <stdbool.h>
#include <stddef.h>

#include "../event.h"

struct map;
struct model_heap_area;
struct world;

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

#endif
