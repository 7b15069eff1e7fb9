/* SPDX-License-Identifier: BSD-2-Clause */
/* survivors.h: private: how many collections the sampled objects survived. */
/*
 * A dead object's outcome says it. An object that is alive at the end has survived those of its
 * first outcome, and the minor collections of its process since; in a process with several heaps
 * only the former are known. So each figure is a lower limit.
 */
#ifndef GCPROF_HTML_SURVIVORS_H
#define GCPROF_HTML_SURVIVORS_H

#include <stddef.h>
#include <stdint.h>

#include "../../model/event.h"

struct world;
struct id_map;
struct survivor;
struct survived_process;

enum { SURVIVOR_CLASSES = 8 };

/* The least number of collections in each class: 1, 2, 3, 4, 8 ... */
extern const uint32_t survivor_classes[SURVIVOR_CLASSES];

/* An object that survived: bytes that its sample stands for. */
struct survived_object {
	uint64_t time; /* of its allocation */
	uint64_t stack, type;
	double bytes;
	unsigned class;
};

/* All zero is empty, except `index`. Memory grows with the number of live sampled objects. */
struct survivors {
	int (*take)(void *context, const struct world *world, const struct survived_object *object);
	void *context;
	struct id_map *index; /* {process, sample} -> number */
	struct survivor *items;
	size_t count, capacity;
	uint32_t free;
	struct survived_process *processes;
	size_t n_processes;
};

/* Each object that survived is passed to `take` once. 0 or -ENOMEM. */
int survivors_init(struct survivors *survivors,
		   int (*take)(void *, const struct world *, const struct survived_object *),
		   void *context);
void survivors_free(struct survivors *survivors);

/* Accepts any record that was not refused. 0, -ENOMEM, or an error of `take`. */
int survivors_record(struct survivors *survivors, const struct world *world,
		     const struct event *event);

/* Passes on the objects that are alive at the end. */
int survivors_finish(struct survivors *survivors, const struct world *world);

#endif
