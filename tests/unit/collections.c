// SPDX-License-Identifier: BSD-2-Clause
/* collections.c: tests of batches of collections: what becomes of them, and of nonsense in them. */
#include <errno.h>
#include <string.h>

#include "test.h"
#include "record/ingest/collections.h"

enum { EVENTS_MAX = 256, NOW = 100000 };

/* A batch as the kernel side hands it on, and what came out of it. */
static struct {
	struct event_collections head;
	struct gcprof_collection entries[GCPROF_COLLECTIONS_MAX];
	struct gcprof_fate fates[GCPROF_FATE_MAX];
} batch;

static struct {
	uint16_t code[EVENTS_MAX];
	uint64_t time[EVENTS_MAX];
	uint64_t cycle[EVENTS_MAX]; /* of a fate: its first sample */
	uint64_t rss[EVENTS_MAX];
	uint32_t fates, n;
} seen;

/* All but the fates are there as they were. */
static void see_whole(const struct event_collections *event, size_t size)
{
	size_t entries = event->count * sizeof(event->entries[0]);

	CHECK_EQ(event->count, batch.head.count);
	CHECK_EQ(event->n_fates, 0);
	CHECK_EQ(event->rss_bytes, batch.head.rss_bytes);
	CHECK_EQ(size, sizeof(*event) + entries);
	CHECK(!memcmp(event->entries, batch.entries, entries));
}

static void see(void *context, const struct event_header *event, size_t size)
{
	const struct event_gc_begin *begin = (const void *)event;
	const struct event_gc_end *end = (const void *)event;
	const struct event_fate *fate = (const void *)event;

	(void)context;
	CHECK(seen.n < EVENTS_MAX);
	CHECK_EQ(event->size, size);
	CHECK_EQ(event->tid, 7);
	seen.code[seen.n] = event->code;
	seen.time[seen.n] = event->time;
	if (event->code == EVENT_collections) {
		see_whole((const void *)event, size);
		seen.n++;
		return;
	}
	if (event->code == EVENT_gc_begin) {
		seen.cycle[seen.n] = begin->cycle;
	} else if (event->code == EVENT_gc_end) {
		seen.cycle[seen.n] = end->cycle;
		seen.rss[seen.n] = end->rss_bytes;
		CHECK_EQ(end->batched, 1);
		CHECK_EQ(end->has_stats, 1);
		CHECK_EQ(end->stats.promoted_bytes, 10 * end->cycle);
		CHECK_EQ(end->minor_faults + end->major_faults, 0);
	} else if (event->code == EVENT_phase) {
		seen.cycle[seen.n] = ((const struct event_phase *)event)->phase;
		CHECK_EQ(((const struct event_phase *)event)->heap, 1);
	} else {
		CHECK_EQ(event->code, EVENT_fate);
		seen.cycle[seen.n] = fate->entries[0].sample;
		seen.fates += fate->count;
	}
	seen.n++;
}

/* Three collections, of which the second has two fates and the third one. */
static void make(void)
{
	memset(&seen, 0, sizeof(seen));
	memset(&batch, 0, sizeof(batch));
	batch.head.header = (struct event_header){.code = EVENT_collections, .time = NOW, .tid = 7};
	batch.head.rss_bytes = 4096;
	batch.head.count = 3;
	batch.head.n_fates = 3;
	for (uint64_t i = 0; i < 3; i++) {
		batch.entries[i] = (struct gcprof_collection){
			.heap = 1,
			.cycle = i + 1,
			.begin = 1000 * i + 100,
			.end = 1000 * i + 150,
			.kind = GCPROF_GC_MINOR,
			.fates = i == 1 ? 2 : i == 2,
			.stats.promoted_bytes = 10 * (i + 1),
		};
	}
}

/* The entries lie behind the head, the fates right behind these. */
static int split_from(size_t less, uint64_t began, uint64_t from, struct collections_faults *faults)
{
	static union {
		struct event_collections head;
		char bytes[sizeof(batch)];
	} packed;
	size_t entries = batch.head.count * sizeof(batch.entries[0]);
	size_t fates = batch.head.n_fates * sizeof(batch.fates[0]);

	CHECK(entries <= sizeof(batch.entries) && fates <= sizeof(batch.fates));
	for (uint32_t i = 0; i < batch.head.n_fates; i++)
		batch.fates[i].sample = 900 + i;
	packed.head = batch.head;
	memcpy(packed.bytes + sizeof(batch.head), batch.entries, entries);
	memcpy(packed.bytes + sizeof(batch.head) + entries, batch.fates, fates);
	*faults = (struct collections_faults){0};
	return collections_split(&packed.head, sizeof(batch.head) + entries + fates - less, began,
				 from, faults, see, NULL);
}

static int split_late(size_t less, uint64_t from, struct collections_faults *faults)
{
	return split_from(less, 0, from, faults);
}

static int split_sized(size_t less, struct collections_faults *faults)
{
	return split_late(less, 0, faults);
}

struct expected {
	uint16_t code;
	uint64_t time, cycle, rss;
};

static void check_seen(const struct expected *expected, size_t n)
{
	CHECK_EQ(seen.n, n);
	CHECK_EQ(seen.fates, 3);
	for (uint32_t i = 0; i < seen.n; i++) {
		CHECK_EQ(seen.code[i], expected[i].code);
		CHECK_EQ(seen.time[i], expected[i].time);
		CHECK_EQ(seen.cycle[i], expected[i].cycle);
		CHECK_EQ(seen.rss[i], expected[i].rss);
	}
}

TEST(they_stay_together_and_each_fate_has_its_own_time)
{
	static const struct expected expected[] = {
		{EVENT_collections, 100, 0, 0},
		{EVENT_fate, 1150, 900, 0},
		{EVENT_fate, 2150, 902, 0},
	};
	struct collections_faults faults;

	make();
	CHECK_EQ(split_late(0, 100, &faults), 0);
	CHECK_EQ(faults.collections + faults.fates, 0);
	check_seen(expected, sizeof(expected) / sizeof(*expected));
}

TEST(those_before_the_recording_are_left_out_with_their_fates)
{
	static const struct expected expected[] = {
		{EVENT_gc_begin, 2100, 3, 0},
		{EVENT_fate, 2150, 902, 0},
		{EVENT_gc_end, 2150, 3, 4096},
	};
	struct collections_faults faults;

	make();
	CHECK_EQ(split_from(0, 1101, 0, &faults), 0);
	CHECK_EQ(faults.collections + faults.fates, 0);
	CHECK_EQ(seen.n, sizeof(expected) / sizeof(*expected));
	CHECK_EQ(seen.fates, 1);
	for (uint32_t i = 0; i < seen.n; i++) {
		CHECK_EQ(seen.code[i], expected[i].code);
		CHECK_EQ(seen.time[i], expected[i].time);
		CHECK_EQ(seen.cycle[i], expected[i].cycle);
	}
}

TEST(late_ones_become_what_probes_would_have_told_each_at_its_own_time)
{
	static const struct expected expected[] = {
		{EVENT_gc_begin, 100, 1, 0},  {EVENT_gc_end, 150, 1, 0},
		{EVENT_gc_begin, 1100, 2, 0}, {EVENT_fate, 1150, 900, 0},
		{EVENT_gc_end, 1150, 2, 0},   {EVENT_gc_begin, 2100, 3, 0},
		{EVENT_fate, 2150, 902, 0},   {EVENT_gc_end, 2150, 3, 4096},
	};
	struct collections_faults faults;

	make();
	CHECK_EQ(split_late(0, 101, &faults), 0);
	CHECK_EQ(faults.collections + faults.fates, 0);
	check_seen(expected, sizeof(expected) / sizeof(*expected));
}

TEST(phases_begin_with_their_collection_or_with_its_end)
{
	static const struct {
		uint16_t code;
		uint64_t time, cycle;
	} expected[] = {
		{EVENT_gc_begin, 100, 1},
		{EVENT_phase, 100, GCPROF_PHASE_MARKING},
		{EVENT_phase, 150, GCPROF_PHASE_SWEEPING},
		{EVENT_phase, 150, GCPROF_PHASE_MARKING},
		{EVENT_gc_end, 150, 1},
		{EVENT_gc_begin, 1100, 2},
		{EVENT_phase, 1150, GCPROF_PHASE_FINALIZING},
		{EVENT_phase, 1150, GCPROF_PHASE_SCANNING},
		{EVENT_fate, 1150, 900},
		{EVENT_gc_end, 1150, 2},
	};
	struct collections_faults faults;

	make();
	batch.entries[0].phases = 0x232;
	batch.entries[1].phases = 0x14;
	CHECK_EQ(split_late(0, 101, &faults), 0);
	CHECK_EQ(faults.collections + faults.fates, 0);
	CHECK_EQ(seen.n, sizeof(expected) / sizeof(*expected) + 3);
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		CHECK_EQ(seen.code[i], expected[i].code);
		CHECK_EQ(seen.time[i], expected[i].time);
		CHECK_EQ(seen.cycle[i], expected[i].cycle);
	}
}

TEST(phases_of_those_that_stay_together_are_told_all_the_same)
{
	static const struct expected expected[] = {
		{EVENT_collections, 100, 0, 0},
		{EVENT_phase, 100, GCPROF_PHASE_MARKING, 0},
		{EVENT_phase, 150, GCPROF_PHASE_SWEEPING, 0},
		{EVENT_fate, 1150, 900, 0},
		{EVENT_phase, 2150, GCPROF_PHASE_SCANNING, 0},
		{EVENT_fate, 2150, 902, 0},
	};
	struct collections_faults faults;

	make();
	batch.entries[0].phases = 0x32;
	batch.entries[2].phases = 0x1;
	CHECK_EQ(split_sized(0, &faults), 0);
	CHECK_EQ(faults.collections + faults.fates, 0);
	check_seen(expected, sizeof(expected) / sizeof(*expected));
}

/* What is done to the second collection; it must be refused, the others stay. */
static const struct {
	uint64_t heap, begin, end;
	uint32_t kind, fates, phases;
} nonsense[] = {
	{0, 1100, 1150, GCPROF_GC_MINOR, 0, 0},
	{1, 140, 1150, GCPROF_GC_MINOR, 0, 0},
	{1, 1100, 1099, GCPROF_GC_MINOR, 0, 0},
	{1, 1100, NOW + 1, GCPROF_GC_MINOR, 0, 0},
	{1, 1100, UINT64_MAX, GCPROF_GC_MINOR, 0, 0},
	{1, 1100, 1150, 0, 0, 0},
	{1, 1100, 1150, GCPROF_GC_SURVEY + 1, 0, 0},
	{1, 1100, 1150, GCPROF_GC_MINOR, 4, 0},
	{1, 1100, 1150, GCPROF_GC_MINOR, UINT32_MAX, 0},
	{1, 1100, 1150, GCPROF_GC_STEP, 0, 0x5},
	{1, 1100, 1150, GCPROF_GC_STEP, 0, 0x102},
	{1, 1100, 1150, GCPROF_GC_STEP, 0, UINT32_MAX},
};

TEST(what_cannot_be_is_refused_and_counted_and_the_rest_stays)
{
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		struct collections_faults faults;
		struct gcprof_collection *entry = &batch.entries[1];

		make();
		entry->heap = nonsense[i].heap;
		entry->begin = nonsense[i].begin;
		entry->end = nonsense[i].end;
		entry->kind = nonsense[i].kind;
		entry->fates = nonsense[i].fates;
		entry->phases = nonsense[i].phases;
		CHECK_EQ(split_sized(0, &faults), 0);
		CHECK_EQ(faults.collections, 1);
		/* Fates are told apart by their order: the third collection's is the first left. */
		CHECK_EQ(faults.fates, 2);
		CHECK_EQ(seen.n, 5);
		CHECK_EQ(seen.cycle[0], 1);
		CHECK_EQ(seen.cycle[4], 3);
	}
}

TEST(none_is_before_the_program_began)
{
	struct collections_faults faults;

	make();
	batch.head.since = 1050;
	CHECK_EQ(split_sized(0, &faults), 0);
	CHECK_EQ(faults.collections, 1);
	CHECK_EQ(seen.cycle[0], 2);
}

TEST(a_batch_that_is_not_whole_is_none)
{
	struct collections_faults faults;

	make();
	CHECK_EQ(split_sized(1, &faults), -EBADMSG);
	make();
	CHECK_EQ(
		split_sized(3 * sizeof(batch.entries[0]) + 3 * sizeof(batch.fates[0]) + 1, &faults),
		-EBADMSG);
	make();
	batch.head.count = 0;
	CHECK_EQ(split_sized(0, &faults), -EBADMSG);
	CHECK_EQ(seen.n, 0);
}
