// SPDX-License-Identifier: BSD-2-Clause
/* batched.c: hands back collections that are stored by the batch, each at its own time. */
/*
 * The batches are a binary heap, by the time of what comes next of each. A
 * recorder tells a batch within a fraction of a second, so only few overlap; who
 * made up a file may not make the reader hold more than BATCHES_MAX.
 */
#include "batched.h"

#include <errno.h>
#include <stdlib.h>

#include "columns.h"

enum { BATCHES_MAX = 4096 }; /* 40 MB */

/* What is left of a record: twice as many events as there are collections. */
struct batch {
	uint64_t order; /* in which it was added */
	uint64_t thread;
	uint64_t rss_bytes;
	uint32_t next, count; /* events */
	struct collection collections[];
};

struct batched {
	struct batch *heap[BATCHES_MAX]; /* each before those at 2 i + 1 and 2 i + 2 */
	size_t count;
	uint64_t added;
};

int batched_create(struct batched **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void batched_free(struct batched *batched)
{
	if (!batched)
		return;
	for (size_t i = 0; i < batched->count; i++)
		free(batched->heap[i]);
	free(batched);
}

bool batched_is_empty(const struct batched *batched)
{
	return !batched->count;
}

bool batched_is_full(const struct batched *batched)
{
	return batched->count == BATCHES_MAX;
}

static uint64_t next_time(const struct batch *batch)
{
	const struct collection *collection = &batch->collections[batch->next / 2];

	return batch->next % 2 ? collection->end : collection->begin;
}

bool batched_is_due(const struct batched *batched, uint64_t time)
{
	const struct batch *batch = batched->count ? batched->heap[0] : NULL;

	if (!batch)
		return false;
	return batch->next % 2 ? next_time(batch) < time : next_time(batch) <= time;
}

static bool is_before(const struct batch *a, const struct batch *b)
{
	uint64_t left = next_time(a), right = next_time(b);

	return left < right || (left == right && a->order < b->order);
}

/* Puts a batch where place `at` is free, or above. */
static void rise(struct batched *batched, size_t at, struct batch *batch)
{
	for (; at && is_before(batch, batched->heap[(at - 1) / 2]); at = (at - 1) / 2)
		batched->heap[at] = batched->heap[(at - 1) / 2];
	batched->heap[at] = batch;
}

/* Puts a batch at the top, which is free, or below. */
static void sink(struct batched *batched, struct batch *batch)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < batched->count &&
		    is_before(batched->heap[child + 1], batched->heap[child]))
			child++;
		if (child >= batched->count || is_before(batch, batched->heap[child]))
			break;
		batched->heap[at] = batched->heap[child];
		at = child;
	}
	batched->heap[at] = batch;
}

int batched_add(struct batched *batched, const struct record_collections *record)
{
	struct batch *batch;
	int err;

	if (!record->count || record->count > COLUMNS_BATCH_MAX)
		return -EBADMSG;
	batch = malloc(sizeof(*batch) + record->count * sizeof(batch->collections[0]));
	if (!batch)
		return -ENOMEM;
	err = columns_unpack(record->columns, record->count, record->begin, batch->collections);
	if (err) {
		free(batch);
		return err;
	}
	batch->order = batched->added++;
	batch->thread = record->thread;
	batch->rss_bytes = record->rss_bytes;
	batch->next = 0;
	batch->count = 2 * (uint32_t)record->count;
	rise(batched, batched->count++, batch);
	return 0;
}

/* What a column is worth to a record, by what columns.def says of it. */
#define OF_BEGIN_BEGIN(take) take
#define OF_BEGIN_END(take)
#define OF_BEGIN_BOTH(take) take
#define OF_BEGIN_NEITHER(take)
#define OF_END_BEGIN(take)
#define OF_END_END(take)  take
#define OF_END_BOTH(take) take
#define OF_END_NEITHER(take)

static void put_begin(const struct batch *batch, const struct collection *from, struct record *out)
{
	struct record_gc_begin *begin = &out->gc_begin;

	*out = (struct record){.kind = RECORD_gc_begin};
	begin->time = from->begin;
	begin->thread = batch->thread;
#define COLUMN(name, source, records, guess) OF_BEGIN_##records(begin->name = from->name;)
#include "columns.def"
}

static void put_end(const struct batch *batch, const struct collection *from, struct record *out)
{
	struct record_gc_end *end = &out->gc_end;

	*out = (struct record){.kind = RECORD_gc_end};
	end->time = from->end;
	end->thread = batch->thread;
	end->has_stats = 1;
	end->rss_bytes = batch->next + 1 == batch->count ? batch->rss_bytes : 0;
	end->batched = 1;
#define COLUMN(name, source, records, guess) OF_END_##records(end->name = from->name;)
#include "columns.def"
}

bool batched_take(struct batched *batched, struct record *out)
{
	struct batch *batch = batched->count ? batched->heap[0] : NULL;

	if (!batch)
		return false;
	(batch->next % 2 ? put_end : put_begin)(batch, &batch->collections[batch->next / 2], out);
	if (++batch->next == batch->count) {
		free(batch);
		batch = batched->heap[--batched->count];
	}
	if (batched->count)
		sink(batched, batch);
	return true;
}
