/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.h: sampled objects whose runtime reports their end by address. */
/* Bounded: at LIVE_OBJECTS_MAX objects or heaps, new ones are ignored. Not thread-safe. */
#ifndef GCPROF_LIVE_OBJECTS_H
#define GCPROF_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_OBJECTS_MAX (1u << 17)

struct live_objects;

struct live_object {
	uint64_t sample; /* id */
	uint64_t heap;   /* 0: the process's only one */
	uint64_t time;   /* of its allocation, ns */
	uint64_t cycles; /* cycles of its heap that ended since its allocation */
	bool outlasted;  /* its first survived cycle was reported */
};

struct live_objects *live_objects_create(void);       /* NULL: no memory */
void live_objects_free(struct live_objects *objects); /* NULL is allowed */

/* An object was sampled, with the first three fields of *added; an earlier one at its address must
 * have ended. -ENOMEM; -ENOSPC: it is ignored. */
int live_objects_add(struct live_objects *objects, uint64_t process, uint64_t address,
		     const struct live_object *added);

/* An object was freed. False: it was not sampled. */
bool live_objects_take(struct live_objects *objects, uint64_t process, uint64_t address,
		       struct live_object *out);

/* A cycle of a heap ended, and all objects that died in earlier ones were freed: calls `outlasted`
 * for each object that survived its first cycle. Objects allocated since its begin, `began` (ns),
 * had no part in it. */
typedef void live_object_visit(void *context, const struct live_object *object);
void live_objects_cycle(struct live_objects *objects, uint64_t process, uint64_t heap,
			uint64_t began, live_object_visit *outlasted, void *context);

/* A heap ended: calls `ended` for each of its objects, and forgets them. */
void live_objects_heap_end(struct live_objects *objects, uint64_t process, uint64_t heap,
			   live_object_visit *ended, void *context);

/* The process ended, or executed another program. */
void live_objects_forget(struct live_objects *objects, uint64_t process);

#endif
