/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.h: what programs mean by the keys of stacks, and of segments of stacks. */
#ifndef GCPROF_STACK_KEYS_H
#define GCPROF_STACK_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_keys;

/* Which processes exist: keys of others are the first to be forgotten. */
struct stack_owners {
	bool (*lives)(void *context, uint64_t process);
	void *context;
};

/* Frames as they were reported with a sample. */
struct stack_segment {
	const uint64_t *frames; /* of the profile, the outermost first */
	size_t n;
	uint64_t place;   /* of the frames: no others ever have it */
	uint32_t quality; /* enum stack_quality */
	bool open;        /* the walk ended in it or before: nothing outside of it is known */
};

/* Holds about as many keys (a power of two) in use, and frames of all of them; twice that while
 * the processes live. -ENOMEM. */
int stack_keys_create(const struct stack_owners *owners, size_t keys, size_t frames,
		      struct stack_keys **out);
void stack_keys_free(struct stack_keys *keys); /* NULL is allowed */

/* From now on the key means this segment. Keys that were not used for long are forgotten, so that
 * a program cannot make the recorder hold more than a bounded number of them. -ENOMEM. */
int stack_keys_set_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			   const struct stack_segment *segment);

/* False: the key is not known. The frames are borrowed until the next call. */
bool stack_keys_get_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			    struct stack_segment *segment);

/* A whole stack as it was reported with a sample. */
struct keyed_stack {
	uint64_t stack;   /* of the profile */
	uint64_t quality; /* enum stack_quality */
};

/* The same for keys of stacks, which one struct stack_keys must have to itself. */
int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct keyed_stack *keyed);
bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct keyed_stack *keyed);

#endif
