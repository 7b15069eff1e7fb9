/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.h: sampled objects whose end their runtime reports by address. */
/*
 * Bounded: beyond LIVE_OBJECTS_MAX new ones are not followed. Not thread-safe.
 */
#ifndef GCPROF_LIVE_OBJECTS_H
#define GCPROF_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_OBJECTS_MAX (1u << 17)

struct live_objects;

struct live_object {
	uint64_t sample; /* id */
	uint64_t cycles; /* of its heap that have ended since it was allocated */
	bool outlasted;  /* one of them: that was reported */
	uint64_t time;   /* of its allocation, ns */
};

struct live_objects *live_objects_create(void);       /* NULL: no memory */
void live_objects_free(struct live_objects *objects); /* NULL is allowed */

/* An object was sampled; one at the same address has ended without a word. -ENOMEM; -ENOSPC: it
 * is not followed. */
int live_objects_add(struct live_objects *objects, uint64_t process, uint64_t address,
		     uint64_t sample, uint64_t time);

/* It was freed: false: no sampled object was there. */
bool live_objects_take(struct live_objects *objects, uint64_t process, uint64_t address,
		       struct live_object *out);

/* A cycle of the process's heap is over, and all that died before is freed: calls `outlasted` for
 * each object that has now outlasted its first one. What was allocated since it began, at `began`
 * ns, had no part in it. */
typedef void live_object_outlasted(void *context, uint64_t sample);
void live_objects_cycle(struct live_objects *objects, uint64_t process, uint64_t began,
			live_object_outlasted *outlasted, void *context);

/* The process has ended, or runs another program. */
void live_objects_forget(struct live_objects *objects, uint64_t process);

#endif
