/* SPDX-License-Identifier: BSD-2-Clause */
/* export_perfetto.c: tests of the export for Perfetto: that its structure is sound. */
#include "export_rig.h"
#include "synthetic_runtime.h"
#include "export/perfetto/perfetto.pb-c.h"
#include "synthetic_waits.h"
#include "util/map.h"

typedef Perfetto__Protos__Trace Trace;
typedef Perfetto__Protos__TracePacket Packet;
typedef Perfetto__Protos__TrackEvent Event;

enum {
	BEGIN = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
	END = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_SLICE_END,
	INSTANT = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_INSTANT,
	COUNTER = PERFETTO__PROTOS__TRACK_EVENT__TYPE__TYPE_COUNTER,
	CLEARED = 1,
	MONOTONIC = 3,
	COARSE = 4,
};

/* What a walk over a trace finds. */
struct seen {
	struct map *times;  /* sequence -> time of its latest packet */
	struct map *tracks; /* uuid -> 1 + open slices */
	struct map *functions, *frames, *stacks, *mappings, *strings;
	uint64_t ticks, allocs, slices, counters, waits, wait_stacks, losses, fibers;
	uint64_t paused;
	double allocated, freed;
};

static Trace *decode(const struct exported *exported)
{
	Trace *trace = perfetto__protos__trace__unpack(NULL, exported->size,
						       (const uint8_t *)exported->data);

	CHECK(trace);
	return trace;
}

static void define(struct map *map, uint64_t iid)
{
	bool added;

	CHECK(iid != 0);
	CHECK(map_put(map, &iid, &added));
	CHECK(added);
}

static void check_defined(const struct map *map, uint64_t iid)
{
	if (!map_get(map, &iid))
		test_fail(__FILE__, __LINE__, "%llu is not defined", (unsigned long long)iid);
}

static void see_interned(struct seen *seen, const Perfetto__Protos__InternedData *data)
{
	for (size_t i = 0; i < data->n_function_names; i++)
		define(seen->functions, data->function_names[i]->iid);
	for (size_t i = 0; i < data->n_mapping_paths; i++)
		define(seen->strings, data->mapping_paths[i]->iid);
	for (size_t i = 0; i < data->n_mappings; i++) {
		define(seen->mappings, data->mappings[i]->iid);
		CHECK_EQ(data->mappings[i]->n_path_string_ids, 1);
		check_defined(seen->strings, data->mappings[i]->path_string_ids[0]);
	}
	for (size_t i = 0; i < data->n_frames; i++) {
		define(seen->frames, data->frames[i]->iid);
		check_defined(seen->functions, data->frames[i]->function_name_id);
		/* Perfetto drops stacks with a frame that has none. */
		check_defined(seen->mappings, data->frames[i]->mapping_id);
	}
	for (size_t i = 0; i < data->n_callstacks; i++) {
		define(seen->stacks, data->callstacks[i]->iid);
		CHECK(data->callstacks[i]->n_frame_ids > 0);
		for (size_t j = 0; j < data->callstacks[i]->n_frame_ids; j++)
			check_defined(seen->frames, data->callstacks[i]->frame_ids[j]);
	}
}

static void see_event(struct seen *seen, const Packet *packet)
{
	const Event *event = packet->track_event;
	uint64_t *open = map_get(seen->tracks, &event->track_uuid);

	CHECK(open);
	for (size_t i = 0; i < event->n_debug_annotations; i++)
		if (!strcmp(event->debug_annotations[i]->name, "fiber (goroutine)"))
			seen->fibers += (uint64_t)event->debug_annotations[i]->int_value;
	if (event->has_callstack_iid)
		check_defined(seen->stacks, event->callstack_iid);
	if ((int)event->type == INSTANT && !strcmp(event->categories[0], "loss")) {
		CHECK(event->n_debug_annotations == 1);
		seen->losses += (uint64_t)event->debug_annotations[0]->int_value;
	} else if ((int)event->type == INSTANT) {
		seen->allocs++;
	}
	seen->counters += (int)event->type == COUNTER;
	if ((int)event->type == BEGIN) {
		CHECK(event->name && *event->name && event->n_categories == 1);
		++*open;
		if (strcmp(event->categories[0], "off-cpu") == 0) {
			seen->waits++;
			seen->wait_stacks += event->has_callstack_iid;
		}
		seen->paused += strcmp(event->name, "recording paused") == 0;
		seen->slices++;
	} else if ((int)event->type == END) {
		CHECK(*open > 1);
		--*open;
	}
}

static void see_heap(struct seen *seen, const Perfetto__Protos__ProfilePacket *profile)
{
	for (size_t i = 0; i < profile->n_process_dumps; i++) {
		for (size_t j = 0; j < profile->process_dumps[i]->n_samples; j++) {
			check_defined(seen->stacks,
				      profile->process_dumps[i]->samples[j]->callstack_id);
			seen->allocated +=
				(double)profile->process_dumps[i]->samples[j]->self_allocated;
			seen->freed += (double)profile->process_dumps[i]->samples[j]->self_freed;
		}
	}
}

static void see_packet(struct seen *seen, const Packet *packet)
{
	uint64_t sequence = packet->trusted_packet_sequence_id, *time;
	bool first;

	CHECK(sequence != 0);
	time = map_put(seen->times, &sequence, &first);
	CHECK_EQ(first, (packet->sequence_flags & CLEARED) != 0);
	CHECK_EQ(first, packet->first_packet_on_sequence);
	if (packet->has_timestamp) {
		CHECK_EQ(packet->timestamp_clock_id, MONOTONIC);
		CHECK(packet->timestamp >= *time);
		*time = packet->timestamp;
	}
	if (packet->track_descriptor) {
		define(seen->tracks, packet->track_descriptor->uuid);
		*map_get(seen->tracks, &packet->track_descriptor->uuid) = 1;
		if (packet->track_descriptor->has_parent_uuid)
			check_defined(seen->tracks, packet->track_descriptor->parent_uuid);
	}
	if (packet->interned_data)
		see_interned(seen, packet->interned_data);
	if (packet->track_event)
		see_event(seen, packet);
	if (packet->profile_packet)
		see_heap(seen, packet->profile_packet);
	if (packet->perf_sample) {
		seen->ticks++;
		if (packet->perf_sample->has_callstack_iid)
			check_defined(seen->stacks, packet->perf_sample->callstack_iid);
	}
}

/* Times of packets are MONOTONIC, those of dumps of the heap MONOTONIC_COARSE. */
static void check_clocks(const Perfetto__Protos__ClockSnapshot *snapshot)
{
	CHECK_EQ(snapshot->primary_trace_clock, MONOTONIC);
	CHECK(snapshot->n_clocks >= 2);
	CHECK_EQ(snapshot->clocks[0]->clock_id, MONOTONIC);
	CHECK_EQ(snapshot->clocks[1]->clock_id, COARSE);
	CHECK_EQ(snapshot->clocks[1]->timestamp, snapshot->clocks[0]->timestamp);
}

static struct seen check_trace(const struct exported *exported)
{
	Trace *trace = decode(exported);
	struct seen seen = {0};
	struct map **const maps[] = {&seen.times,  &seen.tracks,   &seen.functions, &seen.frames,
				     &seen.stacks, &seen.mappings, &seen.strings};
	const void *key;
	uint64_t *open;
	size_t cursor = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		CHECK(*maps[i] = map_create(sizeof(uint64_t)));
	for (size_t i = 0; i < trace->n_packet; i++)
		see_packet(&seen, trace->packet[i]);
	while (map_next(seen.tracks, &cursor, &key, &open))
		CHECK_EQ(*open, 1);
	CHECK(trace->n_packet && trace->packet[0]->clock_snapshot);
	check_clocks(trace->packet[0]->clock_snapshot);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_free(*maps[i]);
	perfetto__protos__trace__free_unpacked(trace, NULL);
	return seen;
}

static struct seen see(const struct synthetic *synthetic)
{
	struct exported exported = export_as(synthetic, "perfetto", NULL);
	struct seen seen = check_trace(&exported);

	free(exported.data);
	return seen;
}

TEST(slices_are_balanced_and_everything_is_defined)
{
	struct app app;
	struct model *model;
	struct seen seen;

	synthetic_app(&app, 100, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	seen = see(&app.synthetic);
	CHECK_EQ(seen.ticks, model->cpu.samples);
	CHECK_EQ(seen.allocs, model->alloc.samples);
	CHECK_EQ(seen.slices, model->gc.minor.count + model->syscall_count);
	CHECK(seen.counters >= 2 * model->gc.minor.count);
	CHECK(is_near(seen.allocated, model->alloc.bytes.value, 100));
	CHECK(is_near(seen.allocated - seen.freed, model->alloc.live_bytes, 100));
	CHECK(model->alloc.live_bytes > 0);
	synthetic_close(&app.synthetic, model);
}

/* A call that began before the one around it, collections that overlap, ends before beginnings. */
TEST(slices_that_cross_are_cut)
{
	struct synthetic synthetic;
	struct seen seen;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, syscall, .time = 5000, .thread = 1, .number = 1, .duration = 3000);
	PUT(&synthetic, syscall, .time = 6000, .thread = 1, .number = 2, .duration = 2000);
	PUT(&synthetic, syscall, .time = 6500, .thread = 1, .number = 3, .duration = 100000);
	PUT(&synthetic, gc_begin, .time = 5500, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	PUT(&synthetic, gc_end, .time = 5200, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	PUT(&synthetic, gc_begin, .time = 5600, .thread = 1, .heap = 1, .cycle = 2, .kind = 1);
	PUT(&synthetic, gc_begin, .time = 5700, .thread = 1, .heap = 2, .cycle = 1, .kind = 1);
	PUT(&synthetic, gc_end, .time = 5800, .thread = 1, .heap = 1, .cycle = 2, .kind = 1);
	PUT(&synthetic, gc_end, .time = 9000, .thread = 1, .heap = 2, .cycle = 1, .kind = 1);
	synthetic_end(&synthetic, 10000);
	seen = see(&synthetic);
	CHECK(seen.slices >= 5);
	synthetic_free(&synthetic);
}

/* The second lasts until the end. */
TEST(pauses_of_the_recording_are_slices)
{
	struct synthetic synthetic;
	struct seen seen;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, paused, .time = 5000, .on = 1);
	PUT(&synthetic, paused, .time = 6000);
	PUT(&synthetic, paused, .time = 7000, .on = 1);
	synthetic_end(&synthetic, 10000);
	seen = see(&synthetic);
	CHECK_EQ(seen.paused, 2);
	CHECK_EQ(seen.slices, 2);
	synthetic_free(&synthetic);
}

TEST(losses_stand_on_the_timeline)
{
	for (int lost = 0; lost < 2; lost++) {
		struct app app;
		struct seen seen;

		synthetic_app(&app, 10, lost);
		synthetic_end(&app.synthetic, app.time + 1000);
		seen = see(&app.synthetic);
		CHECK_EQ(seen.losses, lost ? 1234 : 0);
		synthetic_free(&app.synthetic);
	}
}

TEST(waits_are_slices_with_stacks)
{
	struct synthetic synthetic;
	struct seen seen;

	synthetic_waits(&synthetic);
	seen = see(&synthetic);
	CHECK_EQ(seen.waits, 4);
	CHECK_EQ(seen.wait_stacks, 3);
	/* With the read() and the collection. */
	CHECK_EQ(seen.slices, 6);
	synthetic_free(&synthetic);
}

TEST(cycles_of_a_concurrent_collector_have_a_track)
{
	struct synthetic_runtime runtime;
	struct exported exported;
	struct seen seen;

	synthetic_runtime(&runtime, "go");
	synthetic_end(&runtime.synthetic, runtime.time);
	exported = export_as(&runtime.synthetic, "perfetto", NULL);
	seen = check_trace(&exported);
	/* Four pauses, two cycles. */
	CHECK_EQ(seen.slices, 6);
	/* What the heap and its only area have after each, and what cycles found alive. */
	CHECK_EQ(seen.counters, 6 + 6 + 2);
	CHECK(memmem(exported.data, exported.size, "old space", 9) != NULL);
	CHECK(memmem(exported.data, exported.size, "concurrent collector", 20) != NULL);
	CHECK(memmem(exported.data, exported.size, "go 1.2.3, agent 4.5", 19) != NULL);
	CHECK(memmem(exported.data, exported.size, "mark termination", 16) != NULL);
	free(exported.data);
	synthetic_free(&runtime.synthetic);
}

TEST(calls_and_allocations_say_which_fiber_it_was)
{
	struct synthetic synthetic;
	struct seen seen;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, alloc, .time = 2000, .thread = 1, .sample = 1, .size = 100, .period = 1,
	    .kind = 1, .fiber = 10);
	PUT(&synthetic, alloc, .time = 2001, .thread = 1, .sample = 2, .size = 100, .period = 1,
	    .kind = 1);
	PUT(&synthetic, syscall, .time = 3000, .thread = 1, .duration = 10, .fiber = 7);
	PUT(&synthetic, syscall, .time = 4000, .thread = 1, .duration = 10);
	synthetic_end(&synthetic, 9000);
	seen = see(&synthetic);
	CHECK_EQ(seen.allocs, 2);
	CHECK_EQ(seen.slices, 2);
	CHECK_EQ(seen.fibers, 17);
	synthetic_free(&synthetic);
}

TEST(hostile_names_stay_valid_protobuf)
{
	struct synthetic synthetic;
	struct seen seen;

	hostile_profile(&synthetic);
	seen = see(&synthetic);
	CHECK_EQ(seen.allocs, HOSTILE_TEXTS);
	synthetic_free(&synthetic);
}
