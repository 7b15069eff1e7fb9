/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_life.h: what became of the objects that each stack allocated, in as little room as may be.
 */
/*
 * There may be millions of stacks with a few samples each. So what most of them do
 * not have lies elsewhere: sums over what became old, and the classes of age at which
 * something died. See life.h for what the figures mean. Not thread-safe.
 */
#ifndef GCPROF_STACK_LIFE_H
#define GCPROF_STACK_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "life.h"

struct stack_life {
	uint32_t type; /* number in the table of types, of the first sample */
	uint32_t samples : 31;
	uint32_t mixed : 1; /* there were samples of other types */
	uint32_t ages;      /* number of the first struct stack_age, 0: nothing died */
	uint32_t old;       /* number of the struct stack_old, 0: nothing became old */
	struct tally bytes;
	struct share survived; /* bytes, of those whose first fate is known */
	double gc_ns;          /* collection time that they caused */
};

/* Bytes that died at ages of one class; a stack's are chained. */
struct stack_age {
	uint32_t next : 27;
	uint32_t class : 5;
	float bytes;
};

#define STACK_AGES_MAX (1u << 27)

_Static_assert(AGE_CLASSES <= 32, "classes have room");

struct stack_old {
	double promoted_bytes, premature_bytes, old_bytes;
};

/* Of all, number 0 is none and stays all zero. */
struct stack_lives {
	struct stack_life *items;
	size_t count, capacity;
	struct stack_age *ages;
	size_t n_ages, ages_capacity;
	struct stack_old *olds;
	size_t n_olds, olds_capacity;
};

int stack_lives_init(struct stack_lives *lives);
void stack_lives_free(struct stack_lives *lives);

/* The number of a new one; 0: no memory. */
uint32_t stack_lives_add(struct stack_lives *lives);

/* One sample of `size` bytes that was taken with this probability. */
void stack_life_birth(struct stack_lives *lives, uint32_t number, uint32_t type, uint64_t size,
		      double probability);

/* Estimated bytes that died at an age. 0 or -ENOMEM. */
int stack_life_death(struct stack_lives *lives, uint32_t number, uint64_t age, double bytes);

/* What became old, made if need be; NULL: no memory. Valid until the next call. */
struct stack_old *stack_life_old(struct stack_lives *lives, uint32_t number);

/* All of `from` becomes part of `into`, which is not the same. */
void stack_life_join(struct stack_lives *lives, uint32_t into, uint32_t from);

/* Adds it to one of full size. */
void stack_life_merge(struct life *into, const struct stack_lives *lives, uint32_t number);

#endif
