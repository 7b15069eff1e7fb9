/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_life.h: outcomes of the objects that each stack allocated, in compact form. */
/*
 * There may be millions of stacks with a few samples each, so what most of them lack is stored
 * separately: sums over objects that became old, and age classes of deaths. Figures are explained
 * in life.h. Not thread-safe.
 */
#ifndef GCPROF_STACK_LIFE_H
#define GCPROF_STACK_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "charging.h"
#include "life.h"

struct stack_life {
	uint32_t type; /* index in the type table, of the first sample */
	uint32_t samples : 31;
	uint32_t mixed : 1; /* there were samples of other types */
	uint32_t ages;      /* index of the first struct stack_age, 0: nothing died */
	uint32_t old;       /* index of the struct stack_old, 0: nothing became old */
	struct tally bytes;
	struct share survived; /* bytes, of those whose first outcome is known */
	uint32_t charge;       /* index of the first struct stack_charge, 0: none */
	float gc_ns;           /* set by charges_finish(): what collections cost */
};

/* What collections of a process are charged to a stack. Those of a stack are chained: processes
 * rarely share one. Before charges_finish() the unit is that of the pauses. */
struct stack_charge {
	uint32_t next;
	uint32_t process; /* then: enum gc_pacing of its collector */
	float parts[CHARGES];
};

/* Bytes that died at ages of one class. Those of a stack are chained. */
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

/* In each array, item 0 means none and stays zero. */
struct stack_lives {
	struct stack_life *items;
	size_t count, capacity;
	struct stack_age *ages;
	size_t n_ages, ages_capacity;
	struct stack_old *olds;
	size_t n_olds, olds_capacity;
	struct stack_charge *charges;
	size_t n_charges, charges_capacity;
};

int stack_lives_init(struct stack_lives *lives);
void stack_lives_free(struct stack_lives *lives);

/* Index of a new one; 0: no memory. */
uint32_t stack_lives_add(struct stack_lives *lives);

/* Adds a sample of `size` bytes that was taken with this probability. */
void stack_life_birth(struct stack_lives *lives, uint32_t number, uint32_t type, uint64_t size,
		      double probability);

/* Adds estimated bytes that died at this age. 0 or -ENOMEM. */
int stack_life_death(struct stack_lives *lives, uint32_t number, uint64_t age, double bytes);

/* Created if needed; NULL: no memory. Valid until the next call. */
struct stack_old *stack_life_old(struct stack_lives *lives, uint32_t number);

/* Charges a part of a process's collections. 0 or -ENOMEM. */
int stack_life_charge(struct stack_lives *lives, uint32_t number, uint32_t process,
		      enum charge_part part, double ns);

/* Merges `from` into `into`, a different one. */
void stack_life_join(struct stack_lives *lives, uint32_t into, uint32_t from);

/* Adds it to a full struct life. */
void stack_life_merge(struct life *into, const struct stack_lives *lives, uint32_t number);

/* As life_live_bytes(). */
double stack_life_live(const struct stack_lives *lives, uint32_t number);

#endif
