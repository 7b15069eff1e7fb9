/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.c: tracks for the size of each heap and the allocation rate. */
#include <inttypes.h>
#include <stdio.h>

#include "firefox.h"

enum {
	RATE_POINTS = 256,
};

/* Levels of one heap, ordered by time. */
struct heap_levels {
	const struct level *levels;
	size_t count;
	unsigned number; /* of the heap in its process, from 1 */
};

struct counter {
	const char *name, *description, *colour;
	bool rate;    /* the rate of change instead of the level */
	bool process; /* of the process, not of one of its heaps */
	uint64_t (*value)(const struct level *level);
};

static uint64_t used_of(const struct level *level)
{
	return level->used;
}

static uint64_t size_of(const struct level *level)
{
	return level->exact ? 0 : level->committed;
}

static uint64_t arenas_of(const struct level *level)
{
	return level->arenas;
}

static uint64_t large_of(const struct level *level)
{
	return level->large;
}

static uint64_t allocated_of(const struct level *level)
{
	return level->allocated;
}

static uint64_t rss_of(const struct level *level)
{
	return level->rss;
}

static const struct counter counters[] = {
	{"Heap used", "bytes in use as the runtime reports them at collections and cycles", "blue",
	 false, false, used_of},
	{"Heap size", "bytes of the heap, used or not", "grey", false, false, size_of},
	{"Arenas", "bytes reserved for small and medium old objects", "grey", false, false,
	 arenas_of},
	{"Large objects", "bytes in large objects", "purple", false, false, large_of},
	{"Allocation rate", "bytes allocated per second", "orange", true, false, allocated_of},
	{"RSS", "resident set size of the process after each collection", "magenta", false, true,
	 rss_of},
};

/* Without a runtime that counts. */
static const struct counter sampled = {"Allocation rate",
				       "bytes allocated per second, estimated from samples",
				       "orange",
				       true,
				       true,
				       NULL};

enum { N_COUNTERS = sizeof(counters) / sizeof(*counters) };

/* The viewer has levels relative to the lowest one in view; marker tracks have the absolute ones.
 */
static const char level_rows[] =
	"{\"type\":\"value\",\"source\":\"accumulated\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"above the lowest in view\"},"
	"{\"type\":\"value\",\"source\":\"count-range\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"range in the graph\"}";
static const char rate_rows[] =
	"{\"type\":\"value\",\"source\":\"rate\",\"format\":{\"unit\":\"bytes-per-second\"},"
	"\"label\":\"allocation rate\"},"
	"{\"type\":\"value\",\"source\":\"committed-range-total\",\"format\":{\"unit\":\"bytes\"},"
	"\"label\":\"allocated in the view\"}";

static void put_head(struct firefox *firefox, const struct counter *counter, uint64_t process,
		     bool *first)
{
	struct output *output = firefox->job.output;

	output_format(output, "%s{\"name\":\"%s\",\"category\":\"Memory\",", *first ? "" : ",\n",
		      counter->name);
	*first = false;
	output_format(output, "\"description\":\"%s\",\"pid\":", counter->description);
	firefox_put_pid(firefox, process);
	output_format(output, ",\"mainThreadIndex\":%zu,\n", firefox_main_track(firefox, process));
}

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
	output_text(output, "]}}");
}

/*
 * [counters] The viewer ignores the first count, so a zero precedes at the start of the
 * recording.
 */
static void put_samples(struct firefox *firefox, const struct counter *counter,
			const struct heap_levels *heap)
{
	struct output *output = firefox->job.output;
	uint64_t before = 0;

	output_text(output, "\"samples\":{\"time\":[0");
	for (size_t i = 0; i < heap->count; i++) {
		output_text(output, ",");
		output_milliseconds(output, heap->levels[i].time);
	}
	output_text(output, "],\n\"count\":[0");
	for (size_t i = 0; i < heap->count; i++) {
		uint64_t value = counter->value(&heap->levels[i]);

		output_text(output, ",");
		output_integer(output, (int64_t)(value - before));
		before = value;
	}
	output_format(output, "],\"length\":%zu},\n", heap->count + 1);
}

/* What belongs to the process is shown with its first heap. */
static bool is_shown(const struct counter *counter, const struct heap_levels *heap)
{
	for (size_t i = 0; i < heap->count && (!counter->process || heap->number == 1); i++)
		if (counter->value(&heap->levels[i]) ||
		    (heap->levels[i].exact && counter->value != size_of &&
		     counter->value != rss_of))
			return true;
	return false;
}

static void put_heap(struct firefox *firefox, const struct heap_levels *heap, bool *first)
{
	uint64_t process = heap->levels[0].process;

	for (size_t i = 0; i < N_COUNTERS; i++) {
		if (!is_shown(&counters[i], heap))
			continue;
		put_head(firefox, &counters[i], process, first);
		put_samples(firefox, &counters[i], heap);
		put_display(firefox->job.output, &counters[i], heap->number, 10 * (i + 1));
	}
}

/* Sums of samples in equal parts of the recording; the last part is the rest. */
static void put_sampled(struct firefox *firefox, uint64_t process, bool *first)
{
	struct output *output = firefox->job.output;
	uint64_t duration = firefox->world->model->run.duration;
	uint64_t width = duration / RATE_POINTS + 1;
	double bins[RATE_POINTS] = {0};
	struct spool_cursor cursor;
	const struct alloc_row *row;

	spool_rewind(&cursor, &firefox->processes[process].allocs, sizeof(*row));
	while ((row = spool_next(firefox->spool, &cursor)))
		bins[firefox_time(firefox, row->time) / width] += row->bytes;
	put_head(firefox, &sampled, process, first);
	output_text(output, "\"samples\":{\"time\":[0");
	for (uint64_t i = 1; i <= RATE_POINTS; i++) {
		output_text(output, ",");
		output_milliseconds(output, i * width < duration ? i * width : duration);
	}
	output_text(output, "],\n\"count\":[0");
	for (size_t i = 0; i < RATE_POINTS; i++) {
		output_text(output, ",");
		output_rounded(output, bins[i]);
	}
	output_format(output, "],\"length\":%d},\n", RATE_POINTS + 1);
	put_display(output, &sampled, 1, 10 * N_COUNTERS);
}

/* Does a heap of the process count what it allocates? */
static bool counts(const struct firefox *firefox, uint64_t process)
{
	size_t first = firefox->processes[process].first_level;

	for (size_t i = first; i < firefox->n_levels && firefox->levels[i].process == process; i++)
		if (firefox->levels[i].exact)
			return true;
	return false;
}

void firefox_put_counters(struct firefox *firefox)
{
	size_t next, shown = 0;
	unsigned number = 0;
	bool first = true;

	output_text(firefox->job.output, "\"counters\":[\n");
	for (size_t i = 0; i < firefox->n_levels && shown < COUNTED_MAX; i = next, shown++) {
		const struct level *level = &firefox->levels[i];

		next = firefox_heap_end(firefox, i);
		number = i && level[-1].process == level->process ? number + 1 : 1;
		put_heap(firefox, &(struct heap_levels){level, next - i, number}, &first);
	}
	for (uint64_t id = 1; id < firefox->processes_capacity && shown < COUNTED_MAX; id++) {
		if (!firefox->processes[id].allocs.rows || counts(firefox, id))
			continue;
		put_sampled(firefox, id, &first);
		shown++;
	}
	output_text(firefox->job.output, "],\n");
}
