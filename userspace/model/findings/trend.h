/* SPDX-License-Identifier: BSD-2-Clause */
/* trend.h: whether the heap grows all the time, and what it reaches then. */
#ifndef GCPROF_MODEL_TREND_H
#define GCPROF_MODEL_TREND_H

#include <stdbool.h>
#include <stddef.h>

#include "../world/timeline.h"

enum { TREND_MIN = 5 }; /* collections; fewer show no trend */

/* Bytes after collections, in the order of time, and how long after the first one the last was. */
struct trend {
	double bytes[TIMELINE_WINDOWS], ns;
	size_t count;
};

/* Live bytes, or those in use where these are not known. NULL: no windows. */
void trend_find(const struct timeline *timeline, struct trend *trend);

/* Does the heap rise all the time, at the end as well? */
bool trend_rises(const struct trend *trend);

struct model;
struct model_heap_area;

/* The share of its limit that is in use after the last collection, of the fullest area; 0: none. */
double room_fullest(const struct model *model, const struct model_heap_area **fullest);

/* What the heap reaches first as it grows: its own limit, or the memory of its control group. */
struct room {
	double limit, used; /* bytes, after the last collection; limit 0: none is known */
	const char *name;
};

struct room room_of(const struct model *model);

#endif
