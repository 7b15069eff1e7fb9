/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.c: attributes the time of collections to the allocations that caused them. */
#include "attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../world/world.h"
#include "charges.h"

void charge_queue_free(struct charge_queue *queue)
{
	free(queue->charges);
	free(queue->gcs);
	*queue = (struct charge_queue){0};
}

int charge_queue_add(struct charge_queue *queue, const struct charge *charge)
{
	if (array_reserve(&queue->charges, &queue->charges_capacity, queue->n_charges,
			  sizeof(*charge)) < 0)
		return -ENOMEM;
	queue->charges[queue->n_charges++] = *charge;
	return 0;
}

int charge_queue_add_gc(struct charge_queue *queue, const struct queued_gc *gc)
{
	if (array_reserve(&queue->gcs, &queue->gcs_capacity, queue->n_gcs, sizeof(*gc)) < 0)
		return -ENOMEM;
	queue->gcs[queue->n_gcs++] = *gc;
	return 0;
}

void charge_queue_promote(struct charge_queue *queue, uint64_t number)
{
	if (number > queue->settled)
		queue->charges[number - queue->settled - 1].promoted = 1;
}

void charge_queue_estimate(const struct charge_queue *queue, struct queued_gc *gc)
{
	for (size_t at = gc->first; at < gc->first + gc->n_charges; at++)
		gc->promoted_bytes += queue->charges[at].promoted ? (double)queue->charges[at].bytes
								  : 0;
}

void charge_queue_clear(struct charge_queue *queue)
{
	queue->settled += queue->n_charges;
	queue->n_charges = queue->n_gcs = 0;
}

int charge_queue_ahead(struct charge_queue *queue, uint32_t process, bool minor,
		       const struct charge *charge)
{
	struct queued_gc *last = queue->n_gcs ? &queue->gcs[queue->n_gcs - 1] : NULL;
	const struct queued_gc gc = {
		.process = process, .minor = minor, .n_charges = 1, .first = queue->n_charges};

	if (charge_queue_add(queue, charge) < 0)
		return -ENOMEM;
	if (!last || last->pauses || last->process != process || last->minor != minor ||
	    last->first + last->n_charges != gc.first)
		return charge_queue_add_gc(queue, &gc);
	last->n_charges++;
	return 0;
}

struct queued_gc *charge_queue_major(const struct charge_queue *queue, uint64_t process)
{
	struct queued_gc *last = queue->n_gcs ? &queue->gcs[queue->n_gcs - 1] : NULL;

	return last && !last->pauses && !last->minor && last->process == process ? last : NULL;
}

/* Sums of bytes over the samples of a collection. */
static void sum_charges(const struct charge_queue *queue, const struct queued_gc *gc,
			double *allocated, double *promoted)
{
	const struct charge *charges = &queue->charges[gc->first];

	for (size_t i = 0; i < gc->n_charges; i++) {
		*allocated += charges[i].again ? 0 : (double)charges[i].bytes;
		*promoted += charges[i].promoted ? (double)charges[i].bytes : 0;
	}
}

double charge_queue_bytes(const struct charge_queue *queue, const struct queued_gc *gc)
{
	double allocated = 0, promoted = 0;

	sum_charges(queue, gc, &allocated, &promoted);
	return allocated;
}

static int by_process(const void *a, const void *b)
{
	const struct queued_gc *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor ? -1 : 1;
	if (x->measured != y->measured)
		return x->measured ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

void charge_queue_sort(struct charge_queue *queue)
{
	if (queue->n_gcs)
		qsort(queue->gcs, queue->n_gcs, sizeof(*queue->gcs), by_process);
}

static bool is_alike(const struct queued_gc *a, const struct queued_gc *b)
{
	return a->process == b->process && a->minor == b->minor && a->measured == b->measured;
}

/* The number of collections from `i` on, alike, that have enough samples; 0: they have not. */
static size_t enough(const struct charge_queue *queue, size_t i)
{
	const struct queued_gc *gc = &queue->gcs[i];
	size_t n = 0, charges = 0;

	while (i + n < queue->n_gcs && is_alike(gc, &gc[n])) {
		charges += gc[n].pauses ? gc[n].n_charges : 0;
		n++;
		if (charges >= CHARGES_ENOUGH)
			return n;
	}
	return 0;
}

size_t charge_queue_group(const struct charge_queue *queue, size_t i)
{
	const struct queued_gc *gc = &queue->gcs[i];
	size_t n = enough(queue, i);

	if (n && i + n < queue->n_gcs && enough(queue, i + n))
		return n;
	/* The last ones, or those before another process or kind. */
	while (i + n < queue->n_gcs && is_alike(gc, &gc[n]))
		n++;
	return n;
}

/* The part of the pauses in which objects were copied, if samples show which. */
static double copying_ns(const struct queued_gc *all, double promoted,
			 const struct minor_cost *cost)
{
	double fixed = cost->fixed_ns * all->pauses;
	double copying = cost->ns_per_byte * all->promoted_bytes;

	if (promoted <= 0 || copying <= 0)
		return 0;
	/* Rounding may make the part slightly more than the whole. */
	return fmin(all->pause_ns * copying / (fixed + copying), all->pause_ns);
}

struct queued_gc charge_queue_sum(const struct charge_queue *queue, size_t i, size_t n)
{
	struct queued_gc all = queue->gcs[i];

	for (const struct queued_gc *gc = &queue->gcs[i] + 1; gc < &queue->gcs[i] + n; gc++) {
		all.pauses += gc->pauses;
		all.pause_ns += gc->pause_ns;
		all.promoted_bytes += gc->promoted_bytes;
		all.n_charges += gc->n_charges;
		all.tracked |= gc->tracked;
	}
	return all;
}

/* What is charged for a sample of such collections. */
static void charge_sample(struct world *world, const struct queued_gc *all,
			  const struct charge *charge, const double parts[CHARGES])
{
	const struct charged who = {all->process, charge->cost, charge->type, charge->type};
	double bytes = (double)charge->bytes;

	/* A major collection without old objects. */
	if (!all->minor) {
		charges_add(world, &who, CHARGE_KEPT, parts[CHARGE_FIXED] * bytes);
		return;
	}
	if (!charge->again)
		charges_add(world, &who, CHARGE_FIXED, parts[CHARGE_FIXED] * bytes);
	if (charge->promoted)
		charges_add(world, &who, CHARGE_COPIED, parts[CHARGE_COPIED] * bytes);
}

void charge_queue_split(const struct charge_queue *queue, size_t i, size_t n,
			const struct minor_cost *cost, struct world *world)
{
	const struct queued_gc all = charge_queue_sum(queue, i, n);
	double allocated = 0, promoted = 0, copying, parts[CHARGES];

	for (const struct queued_gc *gc = &queue->gcs[i]; gc < &queue->gcs[i] + n; gc++)
		sum_charges(queue, gc, &allocated, &promoted);
	copying = copying_ns(&all, promoted, cost);
	parts[CHARGE_FIXED] = allocated > 0 ? (all.pause_ns - copying) / allocated : 0;
	parts[CHARGE_COPIED] = copying > 0 ? copying / promoted : 0;
	if (all.tracked && allocated + promoted > 0)
		parts[CHARGE_FIXED] = parts[CHARGE_COPIED] = all.pause_ns / (allocated + promoted);
	for (const struct queued_gc *gc = &queue->gcs[i]; gc < &queue->gcs[i] + n; gc++)
		for (size_t at = gc->first; at < gc->first + gc->n_charges; at++)
			charge_sample(world, &all, &queue->charges[at], parts);
}
