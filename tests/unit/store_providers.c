// SPDX-License-Identifier: BSD-2-Clause
/* store_providers.c: tests of the names of providers on their way into a profile. */
#include "store_rig.h"
#include "profile/codes.h"

/* `place` is of the file in the events of its probes. */
static void send_provider(uint32_t process, uint8_t place, const char *name, const char *version,
			  uint32_t refused)
{
	struct event_name *named = name_event(process, GCPROF_NAME_PROVIDER, 0, name, version);

	named->header.provider = place;
	named->line = refused;
	CHECK_EQ(send_event(), 0);
}

static void send_alloc_of(uint32_t process, uint32_t pid, uint8_t place)
{
	struct event_alloc *alloc = event(EVENT_alloc, sizeof(*alloc), process, pid);

	alloc->header.provider = place;
	alloc->provider = place;
	alloc->sample = alloc->bytes = alloc->period = 1;
	alloc->kind = GCPROF_SAMPLE_NURSERY;
	CHECK_EQ(send_event(), 0);
}

/* With its first sample, as types, in each process. */
TEST(providers_have_names)
{
	begin();
	send_provider(1, 5, "never used", "", 0);
	send_provider(1, 6, "agent", "1.0", 0);
	send_fork(1, 100, 2, 200);
	send_alloc_of(1, 100, 6);
	send_alloc_of(1, 100, 6);
	send_alloc_of(2, 200, 7);
	send_alloc_of(2, 200, 6);
	send_provider(2, 7, "runtime", "", 0);
	finish();
	CHECK_EQ(count(RECORD_runtime), 3);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(nth(RECORD_runtime, i)->runtime.process, i + 1);
		CHECK_EQ(nth(RECORD_runtime, i)->runtime.provider, 2);
		CHECK_STR(seen.strings[nth(RECORD_runtime, i)->runtime.name], "agent");
		CHECK_STR(seen.strings[nth(RECORD_runtime, i)->runtime.version], "1.0");
	}
	CHECK_STR(seen.strings[nth(RECORD_runtime, 2)->runtime.name], "runtime");
	CHECK_EQ(nth(RECORD_runtime, 2)->runtime.version, 0);
	CHECK_EQ(nth(RECORD_runtime, 2)->runtime.provider, 3);
}

static void send_gc_name(uint8_t place, uint64_t number, const char *name)
{
	name_event(1, GCPROF_NAME_GC, number, name, "")->header.provider = place;
	CHECK_EQ(send_event(), 0);
}

static void send_cycle(uint8_t place, uint64_t name, uint64_t reason)
{
	struct event_gc_cycle *cycle = event(EVENT_gc_cycle, sizeof(*cycle), 1, 100);

	cycle->header.provider = place;
	cycle->heap = 1;
	cycle->began = 1;
	cycle->name = name;
	cycle->reason = reason;
	CHECK_EQ(send_event(), 0);
}

/* Providers use the same numbers. Names may come later, and are written if they are used. */
TEST(each_provider_has_its_own_kinds_and_reasons)
{
	const struct record_gc_cycle *first, *second;

	begin();
	send_gc_name(5, 16, "mark");
	send_gc_name(5, 17, "never used");
	send_cycle(5, 16, GCPROF_REASON_EXPLICIT);
	send_cycle(6, 16, 18);
	send_gc_name(6, 16, "sweep");
	send_gc_name(6, 18, "stall");
	finish();
	CHECK_EQ(count(RECORD_gc_name), 3);
	first = &nth(RECORD_gc_cycle, 0)->gc_cycle;
	second = &nth(RECORD_gc_cycle, 1)->gc_cycle;
	CHECK(first->heap != second->heap && first->name != second->name);
	CHECK_EQ(first->reason, GCPROF_REASON_EXPLICIT);
	CHECK_EQ(nth(RECORD_gc_name, 0)->gc_name.number, first->name);
	CHECK_STR(seen.strings[nth(RECORD_gc_name, 0)->gc_name.name], "mark");
	CHECK_EQ(nth(RECORD_gc_name, 1)->gc_name.number, second->name);
	CHECK_STR(seen.strings[nth(RECORD_gc_name, 1)->gc_name.name], "sweep");
	CHECK_EQ(nth(RECORD_gc_name, 2)->gc_name.number, second->reason);
	CHECK_STR(seen.strings[nth(RECORD_gc_name, 2)->gc_name.name], "stall");
}

static void send_object(uint64_t heap, uint64_t address)
{
	struct event_alloc *alloc = event(EVENT_alloc, sizeof(*alloc), 1, 100);

	alloc->bytes = 48;
	alloc->period = 4096;
	alloc->address = address;
	alloc->heap = heap;
	alloc->kind = GCPROF_SAMPLE_FOREIGN;
	CHECK_EQ(send_event(), 0);
}

static void send_collection(uint64_t heap)
{
	struct event_gc_begin *collection = event(EVENT_gc_begin, sizeof(*collection), 1, 100);

	collection->heap = heap;
	CHECK_EQ(send_event(), 0);
}

static void send_freed(uint64_t address, uint32_t is_heap)
{
	struct event_freed *freed = event(EVENT_freed, sizeof(*freed), 1, 100);

	freed->address = address;
	freed->is_heap = is_heap;
	CHECK_EQ(send_event(), 0);
}

static void check_fate(size_t i, uint64_t sample, uint64_t outcome, uint64_t collections)
{
	const struct record_fate *fate = &nth(RECORD_fate, i)->fate;

	CHECK_EQ(fate->sample, sample);
	CHECK_EQ(fate->outcome, outcome);
	CHECK_EQ(fate->collections, collections);
}

TEST(objects_survive_the_collections_of_their_own_heap_and_end_with_it)
{
	begin();
	send_object(7, 0x100);
	send_object(8, 0x200);
	send_object(7, 0x300);
	send_collection(7);
	/* In this collection it dies; that of the other heap means nothing. */
	send_freed(0x100, 0);
	send_collection(8);
	send_collection(7);
	send_freed(7, 1);
	send_freed(0x200, 0);
	send_freed(0x300, 0);
	finish();
	CHECK_EQ(count(RECORD_fate), 4);
	check_fate(0, 1, GCPROF_DIED_YOUNG, 0);
	check_fate(1, 3, GCPROF_PROMOTED, 1);
	check_fate(2, 3, GCPROF_DIED_OLD, 2);
	check_fate(3, 2, GCPROF_DIED_YOUNG, 0);
}

/* The version may be any text; a reason that a later provider invented is one for another reason.
 */
TEST(a_provider_that_samples_nothing_says_why_by_a_number)
{
	const struct record *agent;

	begin();
	send_provider(1, 5, "runtime", "1.0: with a colon", 0);
	send_alloc_of(1, 100, 5);
	send_fork(1, 100, 2, 200);
	send_provider(2, 6, "agent", "1.0", GCPROF_REFUSED_MALLOC);
	finish();
	CHECK_EQ(count(RECORD_runtime), 2);
	CHECK_EQ(nth(RECORD_runtime, 0)->runtime.unsampled, 0);
	CHECK_STR(seen.strings[nth(RECORD_runtime, 0)->runtime.version], "1.0: with a colon");
	agent = nth(RECORD_runtime, 1);
	CHECK_EQ(agent->runtime.unsampled, UNSAMPLED_MALLOC);
	CHECK_EQ(agent->runtime.note, 0);
	CHECK_STR(seen.strings[agent->runtime.version], "1.0");
	CHECK(strstr(unsampled_why(UNSAMPLED_MALLOC), "malloc()"));
	CHECK_STR(unsampled_why(1000), unsampled_why(GCPROF_REFUSED_OTHER));
	CHECK(!unsampled_why(0));
}
