/* SPDX-License-Identifier: BSD-2-Clause */
/* utilisation.c: minimum mutator utilisation. */
#include "cycles.h"

#include <stdlib.h>

#include "../model.h"

static int by_begin(const void *a, const void *b)
{
	const struct pause *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/*
 * Pauses overlap if a full collection contains a minor one, or if two heaps collect at the same
 * time. *threads: pauses of two threads do.
 */
static size_t merge(struct pause *pauses, size_t count, bool *threads)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct pause *last = kept ? &pauses[kept - 1] : NULL;

		if (pauses[i].end <= pauses[i].begin)
			continue;
		if (last && last->process == pauses[i].process && pauses[i].begin <= last->end) {
			*threads |= last->thread != pauses[i].thread && pauses[i].begin < last->end;
			if (pauses[i].end > last->end) {
				last->end = pauses[i].end;
				last->thread = pauses[i].thread;
			}
			continue;
		}
		pauses[kept++] = pauses[i];
	}
	return kept;
}

/*
 * The most pause time in any span of `window` ns. Such a span begins or ends with a pause, so
 * each of the two kinds is tried in one sweep.
 */
static uint64_t worst(const struct pause *pauses, size_t count, uint64_t window)
{
	uint64_t most = 0, inside = 0;
	size_t first = 0;

	/* Spans that end with pause i; `inside` is the sum of pauses first to i. */
	for (size_t i = 0; i < count; i++) {
		uint64_t end = pauses[i].end, begin = end > window ? end - window : 0, cut = 0;

		inside += end - pauses[i].begin;
		for (; pauses[first].end <= begin; first++)
			inside -= pauses[first].end - pauses[first].begin;
		if (pauses[first].begin < begin)
			cut = begin - pauses[first].begin;
		if (inside - cut > most)
			most = inside - cut;
	}
	/* Spans that begin with pause i - 1, in reverse order: the mirrored sweep. */
	inside = 0;
	first = count;
	for (size_t i = count; i > 0; i--) {
		uint64_t begin = pauses[i - 1].begin, cut = 0;
		uint64_t end = begin < UINT64_MAX - window ? begin + window : UINT64_MAX;

		inside += pauses[i - 1].end - begin;
		for (; pauses[first - 1].begin >= end; first--)
			inside -= pauses[first - 1].end - pauses[first - 1].begin;
		if (pauses[first - 1].end > end)
			cut = pauses[first - 1].end - end;
		if (inside - cut > most)
			most = inside - cut;
	}
	return most;
}

static double minimum(const struct pause *pauses, size_t count, uint64_t window)
{
	uint64_t most = 0;

	for (size_t first = 0, next; first < count; first = next) {
		uint64_t taken;

		for (next = first; next < count && pauses[next].process == pauses[first].process;)
			next++;
		taken = worst(pauses + first, next - first, window);
		if (taken > most)
			most = taken;
	}
	return most < window ? 1 - (double)most / (double)window : 0;
}

void utilisation_fill(struct pause *pauses, size_t count, uint64_t duration, struct model_gc *gc)
{
	static const uint64_t factors[] = {1, 2, 5};
	uint64_t decade = 1000000;

	gc->n_utilisation = 0;
	gc->any_ns = 0;
	gc->overlap = false;
	if (!count)
		return;
	qsort(pauses, count, sizeof(*pauses), by_begin);
	count = merge(pauses, count, &gc->overlap);
	for (size_t i = 0; i < count; i++)
		gc->any_ns += pauses[i].end - pauses[i].begin;
	for (size_t i = 0; i < UTILISATIONS_MAX; i++) {
		uint64_t window = decade * factors[i % 3];

		if (window > duration)
			break;
		gc->utilisation[gc->n_utilisation++] =
			(struct model_utilisation){window, minimum(pauses, count, window)};
		if (i % 3 == 2)
			decade *= 10;
	}
}
