/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.h: sampled objects whose runtime reports their end by address. */
/* Bounded: at LIVE_OBJECTS_MAX, new ones are ignored. Not thread-safe. */
#ifndef GCPROF_LIVE_OBJECTS_H
#define GCPROF_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_OBJECTS_MAX (1u << 17)

struct live_objects;

struct live_object {
	uint64_t sample; /* id */
	uint64_t cycles; /* cycles of its heap that ended since its allocation */
	bool outlasted;  /* its first survived cycle was reported */
	uint64_t time;   /* of its allocation, ns */
};

struct live_objects *live_objects_create(void);       /* NULL: no memory */
void live_objects_free(struct live_objects *objects); /* NULL is allowed */

/* An object was sampled; an earlier one at its address must have ended. -ENOMEM; -ENOSPC: it is
 * ignored. */
int live_objects_add(struct live_objects *objects, uint64_t process, uint64_t address,
		     uint64_t sample, uint64_t time);

/* An object was freed. False: it was not sampled. */
bool live_objects_take(struct live_objects *objects, uint64_t process, uint64_t address,
		       struct live_object *out);

/* A cycle of the process's heap ended, and all objects that died in it were freed: calls
 * `outlasted` for each object that survived its first cycle. Objects allocated since its begin,
 * `began` (ns), had no part in it. */
typedef void live_object_outlasted(void *context, uint64_t sample);
void live_objects_cycle(struct live_objects *objects, uint64_t process, uint64_t began,
			live_object_outlasted *outlasted, void *context);

/* The process ended, or executed another program. */
void live_objects_forget(struct live_objects *objects, uint64_t process);

#endif
