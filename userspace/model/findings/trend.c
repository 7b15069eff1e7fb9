/* SPDX-License-Identifier: BSD-2-Clause */
/* trend.c: whether the heap grows all the time, and what it reaches then. */
#include "trend.h"

#include "../model.h"

#define GROWTH   1.15 /* in the second half of the recording */
#define RISING   0.8  /* of all pairs of collections: the later one leaves more */
#define RISE_MIN (16.0 * 1024 * 1024)

void trend_find(const struct timeline *timeline, struct trend *trend)
{
	size_t first = 0;
	bool live = false;

	trend->count = 0;
	trend->ns = 0;
	for (size_t i = 0; timeline && i < timeline->count; i++)
		live |= timeline->windows[i].live_bytes > 0;
	for (size_t i = 0; timeline && i < timeline->count; i++) {
		const struct window *window = &timeline->windows[i];
		uint64_t bytes = live ? window->live_bytes : window->heap_bytes;

		if (!bytes)
			continue;
		first = trend->count ? first : i;
		trend->bytes[trend->count++] = (double)bytes;
		trend->ns = (double)timeline->step_ns * (double)(i - first);
	}
}

static double mean(const double *values, size_t from, size_t to)
{
	double sum = 0;

	for (size_t i = from; i < to; i++)
		sum += values[i];
	return to > from ? sum / (double)(to - from) : 0;
}

/* Kendall's pairs, and two means. */
bool trend_rises(const struct trend *trend)
{
	size_t n = trend->count, up = 0, pairs = 0;

	if (n < TREND_MIN)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++, pairs++)
			up += trend->bytes[j] > trend->bytes[i];
	return trend->bytes[n - 1] > trend->bytes[0] + RISE_MIN &&
	       (double)up >= RISING * (double)pairs &&
	       mean(trend->bytes, n - (n + 3) / 4, n) >
		       GROWTH * mean(trend->bytes, n / 2 - (n + 3) / 8, n / 2 + 1);
}

double room_fullest(const struct model *model, const struct model_heap_area **fullest)
{
	double most = 0;

	for (size_t i = 0; i < model->n_heap_areas; i++) {
		const struct model_heap_area *area = &model->heap_areas[i];
		double share = area->max_bytes && area->in_heap
				       ? (double)area->used_bytes / (double)area->max_bytes
				       : 0;

		if (share <= most || area->collections < TREND_MIN)
			continue;
		most = share;
		*fullest = area;
	}
	return most;
}

/* By the area that is fullest, or as the collector paces its cycles. */
static struct room heap_room(const struct model *model)
{
	const struct model_heap_area *area = NULL;
	const struct model_gc_cycle *cycle;
	struct room room = {.name = "its limit"};

	if (room_fullest(model, &area) > 0) {
		room.limit = (double)area->max_bytes;
		room.used = (double)area->used_bytes;
	}
	for (size_t i = model->n_gc_cycles; i > 0 && room.limit <= 0; i--) {
		cycle = &model->gc_cycles[i - 1];
		if (!cycle->limit_bytes || !cycle->live_bytes)
			continue;
		room.limit = (double)cycle->limit_bytes;
		room.used = (double)cycle->live_bytes;
	}
	return room;
}

struct room room_of(const struct model *model)
{
	const struct room heap = heap_room(model);
	const struct room group = {(double)model->run.memory_limit, (double)model->run.memory_used,
				   "the memory of its control group"};

	if (group.limit <= 0 ||
	    (heap.limit > 0 && heap.limit - heap.used < group.limit - group.used))
		return heap;
	return group;
}
