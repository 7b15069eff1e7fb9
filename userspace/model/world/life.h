/* SPDX-License-Identifier: BSD-2-Clause */
/* life.h: what became of the objects that a stack or a type allocated, and at what age. */
/*
 * Ages are bytes that the heap allocated since the object, as collectors measure
 * time. The death of an object is found out by a collection, so an age at death
 * is never too small, and too large by less than what is allocated between two
 * collections that could have found it: the nursery's size for those that die
 * young, a major collection's cycle for the others.
 */
#ifndef GCPROF_LIFE_H
#define GCPROF_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

enum { AGE_CLASSES = 24, AGE_FIRST_BIT = 12 };

struct life {
	uint32_t type;  /* number in the table of types, of the first sample */
	uint32_t mixed; /* there were samples of other types */
	uint64_t samples;
	struct tally bytes;
	struct share survived;   /* bytes, of those whose first fate is known */
	double promoted_bytes;   /* became old: promoted, pinned or born old */
	double premature_bytes;  /* of those: dead by the next major collection */
	double old_bytes;        /* of those: dead later */
	float ages[AGE_CLASSES]; /* bytes by age at death; class 0: below 4 KiB, then doubling */
};

/* The class of an age, and the age below which those of a class lie. */
unsigned age_class(uint64_t age);
uint64_t age_limit(unsigned class);

void life_merge(struct life *into, const struct life *from);

/* Became old and is not known to have died. */
double life_live_bytes(const struct life *life);

/* Upper bound of the median age at death, by bytes; 0: no death is known. */
uint64_t life_median_age(const struct life *life);

#endif
