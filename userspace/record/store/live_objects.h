/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.h: sampled objects whose end is reported by address, or by an agent's name. */
/* Bounded: there are LIVE_OBJECTS_MAX objects and heaps, of which no user has more than a share
 * (util/quota.h); others are ignored. Not thread-safe. */
#ifndef GCPROF_LIVE_OBJECTS_H
#define GCPROF_LIVE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#define LIVE_OBJECTS_MAX (3u << 16)

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

/* An object of a process of `user` was sampled, with the first three fields of *added; an earlier
 * one at its address must have ended. -ENOMEM; -ENOSPC: it is ignored. */
int live_objects_add(struct live_objects *objects, uint64_t process, uint32_t user,
		     uint64_t address, const struct live_object *added);

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

/*
 * An agent names the last sample of a thread, and later reports its outcomes under that name.
 * Bounded: there are FOLLOWED_MAX threads and samples together, of which no user has more than a
 * share; others are ignored. Not thread-safe.
 */

#define FOLLOWED_MAX (3u << 17)

struct followed;

struct followed_sample {
	uint64_t sample; /* id */
	uint64_t age;    /* bytes that the process allocated since, by its samples */
};

struct followed *followed_create(void);        /* NULL: no memory */
void followed_free(struct followed *followed); /* NULL is allowed */

/* The runtime of a thread in a process of `user` took this sample, which stands for `bytes`.
 * -ENOMEM, -ENOSPC. */
int followed_taken(struct followed *followed, uint64_t process, uint32_t user, uint32_t tid,
		   uint64_t sample, uint64_t bytes);

/* An agent names the thread's last sample; ignored if that has a name already. -ENOMEM, -ENOSPC. */
int followed_name(struct followed *followed, uint64_t process, uint32_t tid, uint64_t name);

/* Finds a sample by name, for the last time if it `ends`. False: there is none. */
bool followed_find(struct followed *followed, uint64_t process, uint64_t name, bool ends,
		   struct followed_sample *out);

/* The process ended, or executed another program. */
void followed_forget(struct followed *followed, uint64_t process);

#endif
