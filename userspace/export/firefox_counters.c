/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_counters.c: tracks for the size of each heap and the allocation rate. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "firefox.h"

enum { HEAPS_MAX = 32 }; /* more tracks are unreadable */

struct counter {
	const char *name, *description, *colour;
	bool rate; /* the rate of change instead of the level */
	uint64_t (*value)(const struct record_gc_end *end);
};

static uint64_t used_of(const struct record_gc_end *end)
{
	return end->live_bytes;
}

static uint64_t arenas_of(const struct record_gc_end *end)
{
	return end->arena_bytes;
}

static uint64_t large_of(const struct record_gc_end *end)
{
	return end->large_bytes;
}

static uint64_t allocated_of(const struct record_gc_end *end)
{
	return end->allocated_bytes;
}

static uint64_t rss_of(const struct record_gc_end *end)
{
	return end->rss_bytes;
}

static const struct counter counters[] = {
	{"Heap used", "bytes in old and large objects after each collection", "blue", false,
	 used_of},
	{"Arenas", "bytes reserved for small and medium old objects", "grey", false, arenas_of},
	{"Large objects", "bytes in large objects", "purple", false, large_of},
	{"Allocation rate", "bytes allocated per second", "orange", true, allocated_of},
	{"RSS", "resident set size of the process after each collection", "magenta", false, rss_of},
};

enum { N_COUNTERS = sizeof(counters) / sizeof(*counters) };

/* The collections of one heap that have its figures, ordered by time. */
struct heap_gcs {
	const struct gc_mark *const *gcs;
	size_t count;
	unsigned number; /* of the heap in its process, from 1 */
};

static const char level_rows[] =
	"{\"type\":\"value\",\"source\":\"accumulated\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"at this time\"},"
	"{\"type\":\"value\",\"source\":\"count-range\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"range in the graph\"}";
static const char rate_rows[] =
	"{\"type\":\"value\",\"source\":\"rate\",\"format\":{\"unit\":\"bytes-per-second\"},"
	"\"label\":\"allocation rate\"},"
	"{\"type\":\"value\",\"source\":\"committed-range-total\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"allocated in the view\"}";

static void put_display(struct output *output, const struct counter *counter, unsigned number,
			size_t weight)
{
	char label[64];

	snprintf(label, sizeof(label), number > 1 ? "%s (heap %u)" : "%s", counter->name, number);
	output_format(output,
		      "\"display\":{\"graphType\":\"%s\",\"unit\":\"bytes\",\"color\":\"%s\","
		      "\"markerSchemaLocation\":%s,\"sortWeight\":%zu,\"label\":\"%s\","
		      "\"tooltipRows\":[",
		      counter->rate ? "line-rate" : "line-accumulated", counter->colour,
		      counter->value == used_of ? "\"timeline-memory\"" : "null", weight, label);
	output_text(output, counter->rate ? rate_rows : level_rows);
	output_text(output, "]}");
}

/*
 * [counters] The viewer ignores the first count, so a zero precedes at the start of the
 * recording.
 */
static void put_samples(struct firefox *firefox, const struct counter *counter,
			const struct heap_gcs *heap)
{
	struct output *output = firefox->job.output;
	uint64_t before = 0, latest = 0;

	output_text(output, "\"samples\":{\"time\":[0");
	for (size_t i = 0; i < heap->count; i++) {
		uint64_t time = firefox_time(firefox, heap->gcs[i]->end.time);

		latest = time > latest ? time : latest;
		output_text(output, ",");
		output_milliseconds(output, latest);
	}
	output_text(output, "],\n\"count\":[0");
	for (size_t i = 0; i < heap->count; i++) {
		uint64_t value = counter->value(&heap->gcs[i]->end);

		/*
		 * Counters that only grow may be slightly out of order; some collections
		 * have no RSS.
		 */
		if ((counter->rate && value < before) || (counter->value == rss_of && !value))
			value = before;
		output_text(output, ",");
		output_integer(output, (int64_t)(value - before));
		before = value;
	}
	output_format(output, "],\"length\":%zu},\n", heap->count + 1);
}

/* The RSS belongs to the process: it is shown with the first heap, if it is known. */
static bool is_shown(const struct counter *counter, const struct heap_gcs *heap)
{
	if (counter->value != rss_of)
		return true;
	for (size_t i = 0; i < heap->count && heap->number == 1; i++)
		if (heap->gcs[i]->end.rss_bytes)
			return true;
	return false;
}

static void put_heap(struct firefox *firefox, const struct heap_gcs *heap, bool first)
{
	struct output *output = firefox->job.output;
	uint64_t process = heap->gcs[0]->process;

	for (size_t i = 0; i < N_COUNTERS; i++) {
		if (!is_shown(&counters[i], heap))
			continue;
		output_format(output, "%s{\"name\":\"%s\",\"category\":\"Memory\",",
			      first && !i ? "" : ",\n", counters[i].name);
		output_format(output, "\"description\":\"%s\",\"pid\":", counters[i].description);
		firefox_put_pid(firefox, process);
		output_format(output, ",\"mainThreadIndex\":%zu,\n",
			      firefox_main_track(firefox, process));
		put_samples(firefox, &counters[i], heap);
		put_display(output, &counters[i], heap->number, 10 * (i + 1));
		output_text(output, "}");
	}
}

static int by_heap(const void *a, const void *b)
{
	const struct gc_mark *x = *(const struct gc_mark *const *)a;
	const struct gc_mark *y = *(const struct gc_mark *const *)b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->end.heap != y->end.heap)
		return x->end.heap < y->end.heap ? -1 : 1;
	return x->end.time < y->end.time ? -1 : x->end.time > y->end.time;
}

static bool is_same_heap(const struct gc_mark *a, const struct gc_mark *b)
{
	return a->process == b->process && a->end.heap == b->end.heap;
}

int firefox_put_counters(struct firefox *firefox)
{
	const struct gc_mark **gcs = calloc(firefox->n_gcs + 1, sizeof(*gcs));
	size_t count = 0, next, heaps = 0;
	unsigned number = 0;

	if (!gcs)
		return -ENOMEM;
	for (size_t i = 1; i < firefox->n_gcs; i++)
		if (firefox->gcs[i].end.has_stats)
			gcs[count++] = &firefox->gcs[i];
	qsort(gcs, count, sizeof(*gcs), by_heap);
	output_text(firefox->job.output, "\"counters\":[\n");
	for (size_t i = 0; i < count && heaps < HEAPS_MAX; i = next) {
		struct heap_gcs heap = {gcs + i, 0, 0};

		number = i && gcs[i - 1]->process == gcs[i]->process ? number + 1 : 1;
		for (next = i; next < count && is_same_heap(gcs[i], gcs[next]);)
			next++;
		heap.count = next - i;
		heap.number = number;
		put_heap(firefox, &heap, heaps++ == 0);
	}
	output_text(firefox->job.output, "],\n");
	free(gcs);
	return 0;
}
