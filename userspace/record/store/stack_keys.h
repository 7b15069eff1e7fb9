/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.h: the stacks and stack segments behind the keys that programs use. */
#ifndef GCPROF_STACK_KEYS_H
#define GCPROF_STACK_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_keys;

/* Tells which processes exist: keys of others are evicted first. */
struct stack_owners {
	bool (*lives)(void *context, uint64_t process);
	void *context;
};

/* Frames reported with a sample. */
struct stack_segment {
	const uint64_t *frames; /* of the profile, outermost first */
	size_t n;
	uint64_t place;   /* identifies these frames; never reused */
	uint32_t quality; /* enum stack_quality */
	bool open;        /* the walk ended in it or before: the frames outside are unknown */
};

/* Holds about `keys` (a power of two) keys in use, and their frames; twice that while the processes
 * live. -ENOMEM. */
int stack_keys_create(const struct stack_owners *owners, size_t keys, size_t frames,
		      struct stack_keys **out);
void stack_keys_free(struct stack_keys *keys); /* NULL is allowed */

/* Sets the segment of a key. The least recently used keys are evicted, so that a program can only
 * make the recorder hold a bounded number. -ENOMEM. */
int stack_keys_set_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			   const struct stack_segment *segment);

/* False: unknown key. The frames are borrowed until the next call. */
bool stack_keys_get_segment(struct stack_keys *keys, uint64_t process, uint64_t key,
			    struct stack_segment *segment);

/* A complete stack reported with a sample. */
struct keyed_stack {
	uint64_t stack;   /* id in the profile */
	uint64_t quality; /* enum stack_quality */
};

/* The same for keys of stacks, which need a struct stack_keys of their own. */
int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct keyed_stack *keyed);
bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct keyed_stack *keyed);

#endif
