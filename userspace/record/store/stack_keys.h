/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.h: which stack a program means by a key. */
#ifndef GCPROF_STACK_KEYS_H
#define GCPROF_STACK_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct stack_keys;

/* A stack as it was told with a sample. */
struct stack_told {
	uint64_t stack;   /* of the profile */
	uint64_t quality; /* enum stack_quality */
};

/* Which processes there still are: keys of others are the first to be forgotten. */
struct stack_owners {
	bool (*lives)(void *context, uint64_t process);
	void *context;
};

int stack_keys_create(const struct stack_owners *owners, struct stack_keys **out);
void stack_keys_free(struct stack_keys *keys); /* NULL is allowed */

/* From now on the key means this stack. Keys that were not used for long are forgotten, so that a
 * program cannot make the recorder hold more than a bounded number of them. */
int stack_keys_set(struct stack_keys *keys, uint64_t process, uint64_t key,
		   const struct stack_told *told);

/* False: the key is not known. */
bool stack_keys_get(struct stack_keys *keys, uint64_t process, uint64_t key,
		    struct stack_told *told);

#endif
