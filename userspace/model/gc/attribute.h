/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.h: attributes the time of collections to the allocations that caused them. */
/*
 * README.md has the method. In short: a minor collection has a fixed part, which is charged to the
 * samples of its cycle by allocated bytes, and copies, which are charged by promoted bytes.
 * Major collections are charged to live objects. The charges always add up to the pauses.
 */
#ifndef GCPROF_ATTRIBUTE_H
#define GCPROF_ATTRIBUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../world/charging.h"

struct world;

/* The share of one sample in a collection. */
struct charge {
	uint32_t cost; /* of the sample's stack */
	uint32_t type : 30;
	uint32_t promoted : 1; /* or copied in any other way, */
	uint32_t again : 1;    /* though not for the first time */
	float bytes;           /* estimated; only the ratios within one collection matter */
};

/* A collection whose time is to be split over charges. */
struct queued_gc {
	uint32_t process;
	bool minor;
	uint32_t pauses; /* including those carried over from cycles without samples; 0: only
			    objects that the next collection of this process copies again */
	double pause_ns;
	double promoted_bytes;
	bool tracked;     /* objects count, not bytes, and none is copied: see tracked.c */
	bool measured;    /* otherwise promoted_bytes is 0, and charge_queue_estimate() finds it */
	size_t n_charges; /* consecutive charges in the list, */
	size_t first;     /* from this one on */
};

/*
 * Collections wait here until their cost is known. They are settled at the end, or earlier when
 * there are too many, so memory is bounded. Nearly every profile is settled in one go.
 */
struct charge_queue {
	struct charge *charges;
	size_t n_charges, charges_capacity;
	uint64_t settled; /* charges that were in the list before, */
	struct queued_gc *gcs;
	size_t n_gcs, gcs_capacity;
};

#define CHARGE_QUEUE_MAX (1 << 20)
#define CHARGES_ENOUGH   30 /* fewer samples say too little about a collection */

void charge_queue_free(struct charge_queue *queue);

/* Add the charges first, then the collection that counts them. 0 or -ENOMEM. */
int charge_queue_add(struct charge_queue *queue, const struct charge *charge);
int charge_queue_add_gc(struct charge_queue *queue, const struct queued_gc *gc);

/* The number of the next charge, from 1. */
static inline uint64_t charge_queue_next(const struct charge_queue *queue)
{
	return queue->settled + queue->n_charges + 1;
}

/* The object of the charge with this number was promoted, as became known only later. */
void charge_queue_promote(struct charge_queue *queue, uint64_t number);

/* Allocated bytes of a collection's charges. */
double charge_queue_bytes(const struct charge_queue *queue, const struct queued_gc *gc);

/* Takes the promoted bytes of a collection from its charges. */
void charge_queue_estimate(const struct charge_queue *queue, struct queued_gc *gc);

/* Everything is split. */
void charge_queue_clear(struct charge_queue *queue);

/* Adds an object to the charges of the collection in progress in the process. */
int charge_queue_ahead(struct charge_queue *queue, uint32_t process, bool minor,
		       const struct charge *charge);

/* Those of this process that were just added for a collection that is not minor; NULL: none. */
struct queued_gc *charge_queue_major(const struct charge_queue *queue, uint64_t process);

/* Orders the collections by process and kind; those of both keep their order. */
void charge_queue_sort(struct charge_queue *queue);

/*
 * From collection `i` of the sorted queue on, the number of those that are split together: alike,
 * and with enough samples, or all that remain.
 */
size_t charge_queue_group(const struct charge_queue *queue, size_t i);

/* The sums of `n` collections from number `i` on. */
struct queued_gc charge_queue_sum(const struct charge_queue *queue, size_t i, size_t n);

/*
 * Splits `n` collections from number `i` on over their samples with this cost of a collection, and
 * charges these.
 */
void charge_queue_split(const struct charge_queue *queue, size_t i, size_t n,
			const struct minor_cost *cost, struct world *world);

#endif
