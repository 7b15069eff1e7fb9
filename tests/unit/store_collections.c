// SPDX-License-Identifier: BSD-2-Clause
/* store_collections.c: tests of collections by the batch on their way into a profile and out of it.
 */
#include "store_rig.h"

/* One of three collections, each figure of its own. */
static struct gcprof_collection collection(uint64_t i)
{
	return (struct gcprof_collection){
		.heap = 3,
		.cycle = 10 + 2 * i,
		.begin = 2000 + 100 * i,
		.end = 2050 + 100 * i,
		.stop = 10,
		.kind = GCPROF_GC_STEP,
		.reason = GCPROF_REASON_THRESHOLD,
		.stats = {i + 11, i + 12, i + 13, i + 14, i + 15, i + 16, i + 17, i + 18, i + 19,
			  GCPROF_PHASE_SWEEPING, (uint32_t)i + 4},
	};
}

static struct event_collections *collections(uint32_t count)
{
	struct event_collections *batch = event(
		EVENT_collections, sizeof(*batch) + count * sizeof(batch->entries[0]), 1, 100);

	batch->rss_bytes = 4711;
	batch->count = count;
	for (uint32_t i = 0; i < count; i++)
		batch->entries[i] = collection(i);
	return batch;
}

TEST(collections_by_the_batch_have_all_figures)
{
	begin();
	collections(3);
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_count(rig.store, STREAM_GC), 6);
	finish();
	for (uint64_t i = 0; i < 3; i++) {
		const struct gcprof_collection from = collection(i);
		const struct record_gc_begin *gc_begin = &nth(RECORD_gc_begin, i)->gc_begin;
		const struct record_gc_end *gc_end = &nth(RECORD_gc_end, i)->gc_end;
		struct record_gc_end expected = {
			.time = from.end,
			.thread = 1,
			.heap = 3,
			.cycle = from.cycle,
			.kind = GCPROF_GC_STEP,
			.has_stats = 1,
			.promoted_bytes = from.stats.promoted_bytes,
			.promoted_objects = from.stats.promoted_objects,
			.nursery_used = from.stats.nursery_used,
			.allocated_bytes = from.stats.allocated_bytes,
			.arena_bytes = from.stats.arena_bytes,
			.large_bytes = from.stats.large_bytes,
			.live_bytes = from.stats.live_bytes,
			.freed_bytes = from.stats.freed_bytes,
			.stop_ns = from.stats.stop_ns,
			.phase = from.stats.phase,
			.threads = from.stats.threads,
			.rss_bytes = i == 2 ? 4711 : 0,
			.batched = 1,
		};

		CHECK(!memcmp(gc_end, &expected, sizeof(expected)));
		CHECK_EQ(gc_begin->time, from.begin);
		CHECK_EQ(gc_begin->thread, 1);
		CHECK_EQ(gc_begin->heap, 3);
		CHECK_EQ(gc_begin->cycle, from.cycle);
		CHECK_EQ(gc_begin->kind, GCPROF_GC_STEP);
		CHECK_EQ(gc_begin->reason, GCPROF_REASON_THRESHOLD);
		CHECK_EQ(gc_begin->stop, 10);
	}
}

TEST(collections_that_are_not_all_there_are_refused)
{
	static const uint32_t counts[] = {0, 4, GCPROF_COLLECTIONS_MAX + 1, UINT32_MAX};

	begin();
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		collections(3)->count = counts[i];
		CHECK_EQ(send_event(), 0);
		CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), i + 1);
	}
	finish();
	CHECK_EQ(count(RECORD_gc_begin), 0);
}
