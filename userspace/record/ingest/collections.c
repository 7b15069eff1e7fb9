/* SPDX-License-Identifier: BSD-2-Clause */
/* collections.c: takes batches of collections apart. */
#include "collections.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct split {
	const struct event_collections *batch;
	const struct gcprof_fate *fates; /* not yet handed on */
	uint32_t n_fates;
	uint64_t ended; /* the one before */
	batches_visit *visit;
	void *context;
};

static uint32_t next_phase(uint32_t *phases)
{
	uint32_t phase = *phases & ((1u << GCPROF_PHASE_BITS) - 1);

	*phases >>= GCPROF_PHASE_BITS;
	return phase;
}

static bool are_phases(uint32_t phases)
{
	while (phases) {
		uint32_t phase = next_phase(&phases);

		if (!phase || phase > GCPROF_PHASE_FINALIZING)
			return false;
	}
	return true;
}

/* One thread's collections follow each other, and none ended after it was told. */
static bool is_sane(const struct split *split, const struct gcprof_collection *collection)
{
	return collection->heap && collection->kind >= GCPROF_GC_MINOR &&
	       collection->kind <= GCPROF_GC_SURVEY && collection->begin >= split->ended &&
	       collection->end >= collection->begin &&
	       collection->end <= split->batch->header.time &&
	       collection->fates <= split->n_fates && are_phases(collection->phases);
}

/* The header of an event that is made of a part of the batch. */
static struct event_header header_of(const struct split *split, uint16_t code, uint64_t time,
				     size_t size)
{
	struct event_header header = split->batch->header;

	header.size = (uint32_t)size;
	header.code = code;
	header.time = time;
	return header;
}

static void split_begin(const struct split *split, const struct gcprof_collection *collection)
{
	struct event_gc_begin event = {
		.header = header_of(split, EVENT_gc_begin, collection->begin, sizeof(event)),
		.heap = collection->heap,
		.cycle = collection->cycle,
		.stop = collection->stop,
		.kind = collection->kind,
		.reason = collection->reason,
	};

	split->visit(split->context, &event.header, sizeof(event));
}

static void split_phases(const struct split *split, const struct gcprof_collection *collection)
{
	uint64_t time = collection->begin;

	for (uint32_t phases = collection->phases; phases; time = collection->end) {
		uint32_t phase = next_phase(&phases);
		bool begins = phase == GCPROF_PHASE_MARKING;
		struct event_phase event = {
			.header = header_of(split, EVENT_phase, begins ? time : collection->end,
					    sizeof(event)),
			.heap = collection->heap,
			.phase = phase,
		};

		split->visit(split->context, &event.header, sizeof(event));
	}
}

static void split_fates(struct split *split, const struct gcprof_collection *collection)
{
	struct {
		struct event_fate event;
		struct gcprof_fate entries[GCPROF_FATE_MAX];
	} fate;
	size_t bytes = collection->fates * sizeof(fate.entries[0]);
	size_t size = sizeof(fate.event) + bytes;

	if (!collection->fates)
		return;
	fate.event.header = header_of(split, EVENT_fate, collection->end, size);
	fate.event.count = collection->fates;
	fate.event.reserved = 0;
	memcpy(fate.entries, split->fates, bytes);
	split->fates += collection->fates;
	split->n_fates -= collection->fates;
	split->visit(split->context, &fate.event.header, size);
}

/* Nobody looked at the process when it ended: `rss` is known of the last one only. */
static void split_end(const struct split *split, const struct gcprof_collection *collection,
		      uint64_t rss)
{
	struct event_gc_end event = {
		.header = header_of(split, EVENT_gc_end, collection->end, sizeof(event)),
		.heap = collection->heap,
		.cycle = collection->cycle,
		.kind = collection->kind,
		.has_stats = 1,
		.batched = 1,
		.stats = collection->stats,
		.rss_bytes = rss,
	};

	split->visit(split->context, &event.header, sizeof(event));
}

/* Are all collections and fates there that it says? */
static bool is_whole(const struct event_collections *batch, size_t size)
{
	return size >= sizeof(*batch) && batch->count && batch->count <= GCPROF_COLLECTIONS_MAX &&
	       batch->n_fates <= GCPROF_FATE_MAX &&
	       batch->count * sizeof(batch->entries[0]) +
			       batch->n_fates * sizeof(struct gcprof_fate) <=
		       size - sizeof(*batch);
}

/* Is nothing wrong with any, and none too late? */
static bool are_sane(struct split split, uint64_t from)
{
	const struct gcprof_collection *collection = split.batch->entries;
	const struct gcprof_collection *end = collection + split.batch->count;

	if (collection->begin < from)
		return false;
	for (; collection < end; collection++) {
		if (!is_sane(&split, collection))
			return false;
		split.ended = collection->end;
		split.n_fates -= collection->fates;
	}
	return true;
}

/* All of them as one event. */
static void pass_whole(const struct split *split)
{
	struct {
		struct event_collections event;
		struct gcprof_collection entries[GCPROF_COLLECTIONS_MAX];
	} whole;
	size_t bytes = split->batch->count * sizeof(whole.entries[0]);
	size_t size = sizeof(whole.event) + bytes;

	whole.event = *split->batch;
	whole.event.header =
		header_of(split, EVENT_collections, split->batch->entries[0].begin, size);
	whole.event.n_fates = 0;
	memcpy(whole.entries, split->batch->entries, bytes);
	split->visit(split->context, &whole.event.header, size);
}

/* It is of before the recording: so are its fates. */
static void leave_out(struct split *split, const struct gcprof_collection *collection)
{
	split->fates += collection->fates;
	split->n_fates -= collection->fates;
}

int collections_split(const struct event_collections *batch, size_t size, uint64_t began,
		      uint64_t from, struct collections_faults *faults, batches_visit *visit,
		      void *context)
{
	struct split split = {.batch = batch, .visit = visit, .context = context};
	bool whole;

	if (!is_whole(batch, size))
		return -EBADMSG;
	split.fates = (const void *)&batch->entries[batch->count];
	split.n_fates = batch->n_fates;
	split.ended = batch->since;
	whole = are_sane(split, from > began ? from : began);
	if (whole)
		pass_whole(&split);
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct gcprof_collection *collection = &batch->entries[i];

		if (!whole && !is_sane(&split, collection)) {
			faults->collections++;
			continue;
		}
		split.ended = collection->end;
		if (collection->begin < began) {
			leave_out(&split, collection);
			continue;
		}
		if (!whole)
			split_begin(&split, collection);
		split_phases(&split, collection);
		split_fates(&split, collection);
		if (!whole)
			split_end(&split, collection, i + 1 == batch->count ? batch->rss_bytes : 0);
	}
	faults->fates += split.n_fates;
	return 0;
}
