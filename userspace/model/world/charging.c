/* SPDX-License-Identifier: BSD-2-Clause */
/* charging.c: the estimated cost of minor collections, and live bytes. */
#include "charging.h"

#include <math.h>
#include <stdbool.h>

/* Steady programs copy the same each time; then a fit finds noise. */
#define FIT_OBSERVED  10
#define FIT_VARIATION 0.5 /* standard deviation of the promoted bytes / mean */
#define FIT_R2        0.5

void charging_observe(struct charging *charging, double n, double promoted_bytes, double pause_ns)
{
	double each = pause_ns / n;

	if (!charging->observed++ || each < charging->shortest_ns)
		charging->shortest_ns = each;
	charging->n += n;
	charging->x += promoted_bytes;
	charging->y += pause_ns;
	charging->xx += promoted_bytes * promoted_bytes / n;
	charging->xy += promoted_bytes * pause_ns / n;
	charging->yy += pause_ns * pause_ns / n;
}

/* pause = fixed + promoted bytes * ns per byte; false: the collections do not show both. */
static bool fit(const struct charging *charging, struct minor_cost *cost)
{
	double n = charging->n, mean = charging->x / n;
	double xx = charging->xx - charging->x * mean;
	double xy = charging->xy - charging->y * mean;
	double yy = charging->yy - charging->y * charging->y / n;

	if (charging->observed < FIT_OBSERVED || sqrt(fmax(xx, 0) / n) < FIT_VARIATION * mean ||
	    xy <= 0 || xy * xy < FIT_R2 * xx * yy)
		return false;
	cost->ns_per_byte = xy / xx;
	cost->fixed_ns = (charging->y - cost->ns_per_byte * charging->x) / n;
	/* With a fixed part >= 0 the minimum lies on the border: a line through 0. */
	if (cost->fixed_ns < 0)
		*cost = (struct minor_cost){0, charging->xy / charging->xx, cost->worth};
	return true;
}

struct minor_cost charging_cost(const struct charging *charging, struct copying copying)
{
	struct minor_cost cost = {.worth = charging->observed};

	if (charging->n <= 0)
		return cost;
	cost.fixed_ns = charging->y / charging->n;
	if (charging->x <= 0 || fit(charging, &cost))
		return cost;
	/* Without stacks, half of the shortest one is taken as fixed: a guess. */
	cost.worth = copying.share >= 0 ? copying.samples : 2;
	cost.fixed_ns = copying.share >= 0 ? cost.fixed_ns * (1 - copying.share)
					   : charging->shortest_ns / 2;
	cost.ns_per_byte = fmax(charging->y - cost.fixed_ns * charging->n, 0) / charging->x;
	return cost;
}
