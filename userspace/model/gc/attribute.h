/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.h: attributes the time of collections to the allocations that caused them. */
/*
 * README.md has the method. In short: a minor collection is fitted as a + b * promoted bytes.
 * Part a is charged to the samples of its cycle by allocated bytes, part b by promoted bytes.
 * Major collections are charged to live objects. The charges always add up to the pauses.
 */
#ifndef GCPROF_ATTRIBUTE_H
#define GCPROF_ATTRIBUTE_H

#include <stddef.h>
#include <stdint.h>

struct tree;
struct types;

/* The share of one sample in a collection. */
struct charge {
	uint32_t cost; /* of the sample's stack */
	uint32_t type : 31;
	uint32_t promoted : 1;
	float bytes; /* estimated; only the ratios within one collection matter */
};

/* A collection whose time is to be split over charges. */
struct queued_gc {
	uint32_t process;
	uint32_t pauses; /* including those carried over from cycles without samples */
	double pause_ns;
	double promoted_bytes; /* measured */
	size_t n_charges;      /* consecutive charges in the list */
};

/*
 * Collections wait here until the fit is good. They are settled at the end, or earlier when there
 * are too many, so memory is bounded. Nearly every profile is settled in one go, with the fit over
 * all its collections.
 */
struct charge_queue {
	struct charge *charges;
	size_t n_charges, charges_capacity;
	struct queued_gc *gcs;
	size_t n_gcs, gcs_capacity;
};

#define CHARGE_QUEUE_MAX (1 << 20)

void charge_queue_free(struct charge_queue *queue);

/* Add the charges first, then the collection that counts them. 0 or -ENOMEM. */
int charge_queue_add(struct charge_queue *queue, const struct charge *charge);
int charge_queue_add_gc(struct charge_queue *queue, const struct queued_gc *gc);

struct charge_targets {
	struct tree *tree;
	struct types *types;
};

/* Splits `gc` over `charges` with this fit; adds to gc_ns of lives and types. */
void queued_gc_charge(const struct queued_gc *gc, const struct charge *charges, const double fit[2],
		      const struct charge_targets *targets);

#endif
