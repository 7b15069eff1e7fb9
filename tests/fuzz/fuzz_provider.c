// SPDX-License-Identifier: BSD-2-Clause
/* fuzz_provider.c: whatever a runtime does with the provider's library, probes keep their contract.
 */
/*
 * A string is a program on two heaps: it allocates, names, frees and collects, pauses, and is asked
 * for anything by recorders. What must hold (gc/provider/PROBES.md):
 *
 *	an object is sampled exactly if it has a hit, and each sample is reported once, with its
 *type and size, a period that was announced, and a stack that is known an outcome comes after its
 *sample gc_begin and gc_end go together, and with the sums they are all collections
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider/data.h"
#include "provider/system.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAPS = 2, TYPES = 3, SAMPLES = 8192, KEYS = 4096, PERIODS = 1024 };

#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

struct taken {
	struct gcprof_sample expected, reported;
	uint64_t typed; /* by the probe */
	uint32_t heap;
	bool gone, placed; /* placed: its address is that of this struct */
};

struct heap {
	struct gcprof_provider *provider;
	struct gcprof_thread *thread;
	uint64_t types[TYPES];
	bool collects, paused, open; /* open: as the probes say */
	uint64_t cycle;              /* the last that gc_begin named */
	uint32_t name;               /* of the last collection; 0: none */
	uint64_t began[GCPROF_GC_FULL + 1], reported[GCPROF_GC_FULL + 1];
	uint64_t untyped; /* sample whose type is to come */
	struct gcprof_frame frames[4];
	uint32_t n_frames;
};

static struct heap heaps[HEAPS];
static struct taken samples[SAMPLES];
static uint64_t first_sample; /* of this string */
static size_t n_samples;
static uint64_t keys[KEYS], periods[PERIODS];
static size_t n_keys, n_periods;
static uint64_t native_callers; /* key of the last stack that needs native frames, too; 0: none */
static struct {
	uint64_t key, time; /* when it was reported first, ns */
} pieces[KEYS];
static size_t n_pieces;
static uint64_t time_now = 1000000000;

static const uint8_t *input, *input_end;

static uint64_t take(void)
{
	return input < input_end ? *input++ : 0;
}

/* --- what probes say ------------------------------------------------------------------------ */

static void add(uint64_t *list, size_t *n, size_t most, uint64_t value)
{
	if (*n < most)
		list[(*n)++] = value;
}

static bool has(const uint64_t *list, size_t n, size_t most, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return true;
	return n == most;
}

static struct taken *find(uint64_t id)
{
	if (!first_sample)
		first_sample = id;
	MUST(id >= first_sample);
	return id - first_sample < SAMPLES ? &samples[id - first_sample] : NULL;
}

/* Only a whole stack may be named by samples that wait. */
static void see_stack(const struct probe_stack *stack)
{
	MUST(stack->stack && stack->count && stack->count <= GCPROF_FRAMES_MAX);
	native_callers = stack->how == GCPROF_STACK_WHOLE ? 0 : stack->stack;
	if (!native_callers)
		add(keys, &n_keys, KEYS, stack->stack);
}

static void see_sample(const struct gcprof_sample *sample)
{
	struct taken *taken = find(sample->sample);

	if (!taken)
		return;
	MUST(!taken->reported.sample);
	MUST(has(periods, n_periods, PERIODS, sample->period));
	taken->reported = *sample;
}

static void see_alone(const struct probe_sample *alone)
{
	const struct gcprof_sample sample = {.sample = alone->sample,
					     .type = alone->type,
					     .size = alone->size,
					     .period = alone->period,
					     .stack = alone->stack,
					     .kind = alone->kind};

	see_sample(&sample);
	if (alone->stack && alone->stack != native_callers)
		add(keys, &n_keys, KEYS, alone->stack);
}

static void see_pieces(const struct probe_pieces *stack)
{
	const struct gcprof_piece *piece = stack->pieces;

	MUST(stack->stack && stack->count && stack->count <= GCPROF_PIECES_MAX);
	for (uint64_t i = 0; i < stack->count && n_pieces < KEYS; i++) {
		size_t known = 0;

		MUST(piece[i].piece && (!i || piece[i].top < piece[i - 1].top));
		while (known < n_pieces && pieces[known].key != piece[i].piece)
			known++;
		if (known < n_pieces)
			continue;
		pieces[n_pieces].key = piece[i].piece;
		pieces[n_pieces++].time = system_now();
	}
}

/* What a recorder composes before the first sample it must have by then. */
static void check_piece(uint64_t key, uint64_t first_sample_time)
{
	for (size_t i = 0; i < n_pieces; i++)
		if (pieces[i].key == key) {
			MUST(pieces[i].time <= first_sample_time);
			return;
		}
	MUST(n_pieces == KEYS);
}

static void see_batch(const struct probe_samples *batch)
{
	const struct gcprof_sample *entries = batch->entries;
	const uint64_t *words = batch->stacks;
	size_t at = 0, composed = 0;

	MUST(batch->count && batch->count <= GCPROF_SAMPLES_MAX);
	MUST(batch->words <= GCPROF_STACK_WORDS_MAX);
	while (at < batch->words) {
		struct gcprof_stack stack;

		memcpy(&stack, words + at, sizeof(stack));
		MUST(stack.stack && stack.kept <= composed);
		composed = stack.kept + stack.added;
		at += sizeof(stack) / sizeof(*words) + stack.added;
		MUST(composed <= GCPROF_PIECES_MAX && at <= batch->words);
		for (uint32_t i = 1; i <= stack.added; i++)
			check_piece(words[at - i], entries[0].time);
		add(keys, &n_keys, KEYS, stack.stack);
	}
	for (uint64_t i = 0; i < batch->count; i++) {
		MUST(!i || entries[i].time >= entries[i - 1].time);
		MUST(has(keys, n_keys, KEYS, entries[i].stack));
		see_sample(&entries[i]);
	}
}

static void see_fates(const struct probe_fate *fate)
{
	const struct gcprof_fate *entries = fate->entries;

	MUST(fate->count && fate->count <= GCPROF_FATE_MAX);
	for (uint64_t i = 0; i < fate->count; i++) {
		const struct taken *taken = find(entries[i].sample);

		MUST(!taken || taken->reported.sample);
	}
}

static struct heap *heap_of(uint64_t id)
{
	for (int i = 0; i < HEAPS; i++)
		if (heaps[i].provider->id == id)
			return &heaps[i];
	MUST(!"a heap that exists");
	return NULL;
}

static void see_begin(const struct probe_gc_begin *begin)
{
	struct heap *heap = heap_of(begin->heap);

	MUST(!heap->open && begin->cycle > heap->cycle && begin->stop <= begin->cycle);
	MUST(begin->name == heap->name);
	/* One that turned out long is reported at its end. */
	MUST(begin->time || !heap->provider->summary.count);
	heap->open = true;
	heap->cycle = begin->cycle;
}

static void see_end(const struct probe_gc_end *end)
{
	struct heap *heap = heap_of(end->heap);

	MUST(heap->open && end->cycle == heap->cycle);
	heap->open = false;
	heap->reported[end->kind]++;
}

static void see_sums(const struct probe_gc_summary *summary)
{
	struct heap *heap = heap_of(summary->heap);
	const struct gcprof_gc_sums *sums = summary->sums;

	MUST(summary->count && summary->count <= GCPROF_GC_SUMS_MAX && !heap->open);
	for (uint64_t i = 0; i < summary->count; i++) {
		uint64_t counted = 0;

		for (int bucket = 0; bucket < GCPROF_GC_BUCKETS; bucket++)
			counted += sums[i].histogram[bucket];
		MUST(counted == sums[i].count && sums[i].max_ns <= sums[i].total_ns);
		MUST(sums[i].kind != GCPROF_GC_FULL);
		if (sums[i].kind != GCPROF_GC_STOPS)
			heap->reported[sums[i].kind] += sums[i].count;
	}
}

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_typed *typed = arguments;
	struct taken *taken;

	switch (probe) {
	case PROBE_sample:
		see_alone(arguments);
		break;
	case PROBE_samples:
		see_batch(arguments);
		break;
	case PROBE_pieces:
		see_pieces(arguments);
		break;
	case PROBE_stack:
		see_stack(arguments);
		break;
	case PROBE_period:
		add(periods, &n_periods, PERIODS,
		    ((const struct probe_period *)arguments)->new_period);
		break;
	case PROBE_typed:
		taken = find(typed->sample);
		MUST(!taken || (taken->reported.sample && !taken->reported.type));
		if (taken)
			taken->typed = typed->type;
		break;
	case PROBE_fate:
		see_fates(arguments);
		break;
	case PROBE_gc_begin:
		see_begin(arguments);
		break;
	case PROBE_gc_end:
		see_end(arguments);
		break;
	case PROBE_gc_summary:
		see_sums(arguments);
		break;
	default:
		break;
	}
}

/* --- what the program does -------------------------------------------------------------------- */

static uint32_t walk(void *context, struct gcprof_frame *frames, uint32_t max)
{
	const struct heap *heap = context;

	MUST(max >= heap->n_frames);
	memcpy(frames, heap->frames, heap->n_frames * sizeof(*frames));
	return heap->n_frames;
}

static void attach(struct heap *heap)
{
	MUST(!gcprof_thread_attach(heap->provider, NULL, &heap->thread));
}

/* Bytes of objects up to the next hit, that byte included. */
static int64_t distance(const struct gcprof_thread *thread)
{
	return thread->head.budget - (thread->armed - thread->head.countdown);
}

static void check_distance(const struct heap *heap, int64_t before, uint64_t period, size_t size)
{
	const struct gcprof_thread *thread = heap->thread;
	int64_t after = before - (int64_t)size;

	if (!thread->head.on)
		return;
	MUST(distance(thread) > 0);
	if (thread->period != period)
		return;
	if (heap->provider->options.fixed_stride == GCPROF_STRIDE_EVERY)
		after = 1;
	else if (after <= 0 && heap->provider->options.fixed_stride)
		after += ((int64_t)size - before) / (int64_t)period * (int64_t)period +
			 (int64_t)period;
	else if (after <= 0)
		after = distance(thread); /* drawn */
	MUST(after > 0 && distance(thread) == after);
}

static void allocate(struct heap *heap)
{
	struct gcprof_thread *thread = heap->thread;
	uint64_t kind = take(), type = kind >> 4 ? heap->types[(kind >> 4) % TYPES] : 0;
	size_t size = 1 + (take() << take() % 24);
	bool was_on = thread->head.on;
	int64_t before = distance(thread);
	uint64_t period = thread->period;
	uint64_t id = gcprof_alloc(thread, size, type, GCPROF_SAMPLE_NURSERY + kind % 5);
	struct taken *taken = id ? find(id) : NULL;

	if (was_on) {
		MUST(!id == (before > (int64_t)size));
		check_distance(heap, before, period, size);
	}
	if (!taken)
		return;
	n_samples = (size_t)(taken - samples) + 1;
	taken->heap = (uint32_t)(heap - heaps);
	taken->expected = (struct gcprof_sample){
		.sample = id, .type = type, .size = size, .kind = GCPROF_SAMPLE_NURSERY + kind % 5};
	heap->untyped = type ? 0 : id;
	taken->placed = kind & 8;
	if (taken->placed)
		MUST(!gcprof_placed(thread, id, taken, id));
}

static void give_type(struct heap *heap)
{
	struct taken *taken = heap->untyped ? find(heap->untyped) : NULL;

	if (!taken)
		return;
	taken->expected.type = heap->types[take() % TYPES];
	gcprof_typed(heap->thread, heap->untyped, taken->expected.type);
	heap->untyped = 0;
}

/* Of some samples of the heap that are alive. */
static void end_objects(struct heap *heap)
{
	struct gcprof_fate fates[16];
	uint32_t n = 0, outcome = heap->collects ? 1 + (uint32_t)take() % 5 : GCPROF_FREED;
	size_t step = 1 + take() % 7;

	for (size_t i = take(); i < n_samples && n < 16; i += step) {
		struct taken *taken = &samples[i];

		if (!taken->expected.sample || taken->gone || &heaps[taken->heap] != heap)
			continue;
		taken->gone = outcome != GCPROF_PROMOTED && outcome != GCPROF_PINNED;
		if (outcome == GCPROF_FREED && !heap->collects) {
			gcprof_freed(heap->thread, taken, 2 * taken->expected.sample);
			if (taken->placed)
				continue;
		}
		fates[n++] = (struct gcprof_fate){taken->expected.sample, 1, outcome, 0};
	}
	if (n)
		gcprof_outcomes(heap->thread, fates, n);
}

static void collect(struct heap *heap)
{
	struct gcprof_gc_stats stats = {.promoted_bytes = 1};
	uint32_t what = (uint32_t)take();

	time_now += UINT64_C(1) << what % 24;
	if (!heap->collects) {
		uint32_t kind = GCPROF_GC_MINOR + what / 32 % GCPROF_GC_FULL;

		heap->name = what & 16 ? GCPROF_GC_NAMES_FIRST + kind : 0;
		gcprof_gc_begin(heap->thread, heap->name ? heap->name : kind, what % 7, time_now);
		heap->began[kind]++;
	} else {
		if (what & 64)
			gcprof_phase(heap->provider, what % 4);
		gcprof_gc_end(heap->thread, &stats, time_now);
		if (what & 128)
			gcprof_stop_end(heap->thread);
	}
	heap->collects = !heap->collects;
}

static void settle(struct heap *heap)
{
	uint64_t what = take();

	if (what % 4 == 0) {
		gcprof_flush(heap->thread);
		gcprof_flush_sums(heap->provider);
	} else if (what % 4 == 1) {
		heap->paused = !heap->paused;
		gcprof_set_paused(heap->provider, heap->paused);
	} else if (what % 4 == 2) {
		gcprof_set_period(heap->provider, 1 + (take() << what / 4 % 16));
	} else {
		heap->n_frames = (uint32_t)(what / 8 % 5);
		for (uint32_t i = 0; i < heap->n_frames; i++)
			heap->frames[i] = (struct gcprof_frame){1, (uint32_t)take()};
		gcprof_thread_walk(heap->thread, what & 4 ? walk : NULL, heap,
				   GCPROF_STACK_WHOLE + (uint32_t)(what / 64 % 3));
	}
}

/* Another process writes what it likes. */
static void request(void)
{
	struct gcprof_request *row = &gcprof_control.requests[take() % GCPROF_RECORDERS_MAX];

	row->recorder = (uint32_t)take() % 3;
	row->generation = gcprof_control.generation += take() % 2;
	row->period = take() << take() % 64;
	row->ceiling = take() << take() % 64;
	row->flags = take() % 4;
}

static void act(struct heap *heap, uint64_t what)
{
	if (what < 10 && !heap->collects)
		allocate(heap);
	else if (what == 10)
		give_type(heap);
	else if (what == 11)
		end_objects(heap);
	else if (what == 12)
		collect(heap);
	else if (what == 13 && !heap->collects)
		settle(heap);
	else if (what == 14)
		request();
	else if (what == 15 && !heap->collects) {
		gcprof_thread_detach(heap->thread);
		attach(heap);
	}
}

/* --- a string ------------------------------------------------------------------------------------
 */

static void begin(void)
{
	static const char *const names[TYPES] = {"one", "two", "three"};
	static const struct gcprof_gc_name gc_names[] = {
		{GCPROF_GC_NAMES_FIRST + GCPROF_GC_MINOR, GCPROF_GC_MINOR, "young"},
		{GCPROF_GC_NAMES_FIRST + GCPROF_GC_STEP, GCPROF_GC_STEP, "slice"},
		{GCPROF_GC_NAMES_FIRST + GCPROF_GC_FULL, GCPROF_GC_FULL, "whole"},
	};
	uint64_t how = take();

	memset(heaps, 0, sizeof(heaps));
	memset(samples, 0, sizeof(samples));
	memset(&gcprof_control.requests, 0, sizeof(gcprof_control.requests));
	first_sample = n_samples = n_keys = n_periods = n_pieces = 0;
	probe_observer = observe;
	for (int i = 0; i < HEAPS; i++) {
		const struct gcprof_options options = {
			.period = 1 + (take() << how % 12),
			.ceiling = how & 16 ? UINT64_MAX : 1 + take(),
			.gc_ceiling = 1,
			.seed = 1 + take(),
			.fixed_stride = (uint32_t)(how >> 5) % 3,
			.no_batching = how >> 7,
			.always_sample = 1,
			.gc_names = gc_names,
			.n_gc_names = sizeof(gc_names) / sizeof(gc_names[0]),
		};

		MUST(!gcprof_open(&options, &heaps[i].provider));
	}
	for (int i = 0; i < HEAPS; i++) {
		attach(&heaps[i]);
		for (int type = 0; type < TYPES; type++)
			heaps[i].types[type] = gcprof_type(heaps[i].provider, names[type]);
	}
}

static void end(void)
{
	for (int i = 0; i < HEAPS; i++) {
		if (heaps[i].collects)
			collect(&heaps[i]);
		gcprof_stop_end(heaps[i].thread);
		gcprof_thread_detach(heaps[i].thread);
		gcprof_flush_sums(heaps[i].provider);
		MUST(!memcmp(heaps[i].began, heaps[i].reported, sizeof(heaps[i].began)));
	}
	for (size_t i = 0; i < n_samples; i++) {
		const struct gcprof_sample *expected = &samples[i].expected;
		const struct gcprof_sample *reported = &samples[i].reported;
		uint64_t type = samples[i].typed ? samples[i].typed : reported->type;

		MUST(expected->sample == reported->sample && expected->type == type);
		MUST(expected->size == reported->size && expected->kind == reported->kind);
	}
	for (int i = 0; i < HEAPS; i++)
		gcprof_close(heaps[i].provider);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	input_end = data + size;
	begin();
	while (input < input_end) {
		uint64_t what = take();

		act(&heaps[what >> 7], what & 15);
	}
	end();
	return 0;
}
