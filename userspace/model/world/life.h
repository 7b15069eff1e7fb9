/* SPDX-License-Identifier: BSD-2-Clause */
/* life.h: outcomes and ages of the objects that a stack or a type allocated. */
/*
 * Ages are bytes that the heap allocated since the object was, the time measure of collectors. A
 * death is only found by a collection, so an age at death is never too small. It may be too large
 * by the bytes allocated between two collections that could have found the death: the size of the
 * nursery for objects that die young, a cycle of major collections for others.
 */
#ifndef GCPROF_LIFE_H
#define GCPROF_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

enum { AGE_CLASSES = 24, AGE_FIRST_BIT = 12 };

struct life {
	uint32_t type;  /* index in the type table, of the first sample */
	uint32_t mixed; /* there were samples of other types */
	uint64_t samples;
	struct tally bytes;
	struct share survived;   /* bytes, of those whose first outcome is known */
	double promoted_bytes;   /* became old: promoted, pinned or born old */
	double premature_bytes;  /* of those: dead by the next major collection */
	double old_bytes;        /* of those: dead later */
	float ages[AGE_CLASSES]; /* bytes by age at death; class 0: below 4 KiB, then doubling */
};

/* The class of an age, and the upper limit of the ages in a class. */
unsigned age_class(uint64_t age);
uint64_t age_limit(unsigned class);

void life_merge(struct life *into, const struct life *from);

/* Is anything known of what became of its objects? */
bool life_is_known(const struct life *life);

/* Bytes that became old and are not known to be dead. */
double life_live_bytes(const struct life *life);

/* Upper bound of the median age at death, by bytes; 0: no death is known. */
uint64_t life_median_age(const struct life *life);

#endif
