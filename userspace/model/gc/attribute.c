/* SPDX-License-Identifier: BSD-2-Clause */
/* attribute.c: attributes the time of collections to the allocations that caused them. */
#include "attribute.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "../world/tree.h"
#include "../world/type_table.h"

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

void queued_gc_charge(const struct queued_gc *gc, const struct charge *charges, const double fit[2],
		      const struct charge_targets *targets)
{
	double allocated = 0, promoted = 0, copying, fixed, copying_ns = 0;

	for (size_t i = 0; i < gc->n_charges; i++) {
		allocated += (double)charges[i].bytes;
		promoted += charges[i].promoted ? (double)charges[i].bytes : 0;
	}
	fixed = fit[0] * gc->pauses;
	copying = fit[1] * gc->promoted_bytes;
	/* If no sampled object was promoted, copying has nothing to be charged to. */
	if (promoted > 0 && copying > 0)
		/* Rounding may make the part slightly more than the whole. */
		copying_ns = fmin(gc->pause_ns * copying / (fixed + copying), gc->pause_ns);
	for (size_t i = 0; i < gc->n_charges; i++) {
		double part = (gc->pause_ns - copying_ns) * (double)charges[i].bytes / allocated;

		if (copying_ns > 0 && charges[i].promoted)
			part += copying_ns * (double)charges[i].bytes / promoted;
		tree_charge(targets->tree, charges[i].cost, part);
		targets->types->items[charges[i].type].gc_ns += part;
	}
}
