/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_oracle.h: says which allocations are sampled, and checks all that is reported of them. */
/*
 * The oracle is given every allocation and knows the stride, or the state of the
 * thread's random numbers. The ledger has one entry for each sample that it
 * expects, in their order, which is that of their ids. Samples may be reported later
 * than they are expected, by the batch; then they wait in their thread, and
 * nowhere else. Fates are compared with the shadows: what is reachable is never
 * reported dead, and has the age that was counted here.
 */
#ifndef GCPROF_GC_ORACLE_H
#define GCPROF_GC_ORACLE_H

#include "gc_shadow.h"

#include <math.h>

/* What the sampler must do in one thread: see sample.c. */
struct oracle {
	bool available, wanted, on;
	uint32_t stride;
	int64_t budget;
	uint64_t period, wanted_period;
	uint64_t random[4];
};

struct ledger_entry {
	struct gcprof_sample expected, reported;
	bool is_reported, promoted, died;
	uint64_t birth;  /* bytes allocated then, the object included */
	uint64_t minors; /* collections then */
	uint32_t shadow; /* 0: nobody kept it */
	uint64_t shadow_id;
};

/* Of one heap. */
static struct ledger {
	struct shadow_heap *shadows; /* NULL: what is reachable is not known */
	struct ledger_entry *entries;
	uint64_t capacity;
	uint64_t first_id; /* of the process; ids go on from heap to heap */
	uint64_t expected, reported;
	uint64_t parents; /* so many of the first ones are those of the process that forked */
	uint64_t settled; /* so many of the first ones have a fate */
	uint64_t allocated, minors;
} ledger = {.first_id = 1};

static inline struct ledger_entry *ledger_at(uint64_t index)
{
	if (index >= ledger.capacity) {
		uint64_t capacity = ledger.capacity ? ledger.capacity : 1024;

		while (index >= capacity)
			capacity *= 2;
		ledger.entries = realloc(ledger.entries, capacity * sizeof(*ledger.entries));
		CHECK(ledger.entries);
		memset(ledger.entries + ledger.capacity, 0,
		       (capacity - ledger.capacity) * sizeof(*ledger.entries));
		ledger.capacity = capacity;
	}
	return &ledger.entries[index];
}

static inline void ledger_open(struct shadow_heap *shadows)
{
	uint64_t first = ledger.first_id + ledger.expected;

	free(ledger.entries);
	ledger = (struct ledger){.shadows = shadows, .first_id = first};
}

/* What was waiting is reported by the parent, and the fates of all that there are. */
static inline void ledger_forked(void)
{
	ledger.parents = ledger.settled = ledger.reported = ledger.expected;
}

static inline void ledger_compare(const struct ledger_entry *entry)
{
	CHECK_EQ(entry->reported.size, entry->expected.size);
	CHECK_EQ(entry->reported.type, entry->expected.type);
	CHECK_EQ(entry->reported.period, entry->expected.period);
	CHECK_EQ(entry->reported.kind, entry->expected.kind);
}

/* An object was allocated and must be sampled. */
static inline void ledger_expect(const struct gcprof_sample *sample)
{
	struct ledger_entry *entry = ledger_at(ledger.expected++);

	entry->expected = *sample;
	entry->birth = ledger.allocated;
	entry->minors = ledger.minors;
	if (entry->is_reported)
		ledger_compare(entry);
}

/* The sample of the object that was allocated last is of this shadow. */
static inline void ledger_keep(uint32_t reference, uint64_t id)
{
	struct ledger_entry *entry = ledger_at(ledger.expected - 1);

	entry->shadow = reference;
	entry->shadow_id = id;
}

static inline void ledger_told(const struct gcprof_sample *sample)
{
	uint64_t index = sample->sample - ledger.first_id;
	struct ledger_entry *entry;

	/* One is reported before it is expected: it is, when its allocation returns. */
	CHECK(index >= ledger.parents && index <= ledger.expected);
	entry = ledger_at(index);
	CHECK(!entry->is_reported);
	entry->is_reported = true;
	entry->reported = *sample;
	ledger.reported++;
	if (index < ledger.expected)
		ledger_compare(entry);
}

/* By the shadows. Right behind shadow_reach() or shadow_compare(). */
static inline bool ledger_is_reached(const struct ledger_entry *entry)
{
	const struct shadow *object;

	if (!entry->shadow || !ledger.shadows)
		return false;
	object = shadow_at(ledger.shadows, entry->shadow);
	return object->used && object->id == entry->shadow_id && object->reached;
}

static inline void ledger_fate(const struct gcprof_fate *fate)
{
	uint64_t index = fate->sample - ledger.first_id;
	struct ledger_entry *entry;

	CHECK(index >= ledger.parents && index < ledger.expected);
	entry = ledger_at(index);
	CHECK(entry->is_reported && !entry->died);
	CHECK_EQ(fate->age, ledger.allocated - entry->birth);
	CHECK_EQ(fate->collections,
		 ledger.minors - entry->minors - (fate->outcome == GCPROF_DIED_YOUNG));
	if (fate->outcome == GCPROF_PROMOTED) {
		CHECK(!entry->promoted);
		entry->promoted = true;
		return;
	}
	CHECK_EQ(fate->outcome, entry->promoted ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG);
	CHECK(!ledger_is_reached(entry));
	entry->died = true;
}

static inline void ledger_fates(const struct probe_fate *fates)
{
	if (ledger.shadows)
		shadow_reach(ledger.shadows, true);
	for (uint64_t i = 0; i < fates->count; i++)
		ledger_fate((const struct gcprof_fate *)fates->entries + i);
}

static inline void ledger_observe(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *one = arguments;
	const struct probe_samples *batch = arguments;
	const struct probe_gc_begin *begin = arguments;

	if (probe == PROBE_sample)
		ledger_told(&(struct gcprof_sample){one->sample, 0, one->type, one->size,
						    one->period, one->stack, one->kind, 0});
	else if (probe == PROBE_samples)
		for (uint64_t i = 0; i < batch->count; i++)
			ledger_told((const struct gcprof_sample *)batch->entries + i);
	else if (probe == PROBE_fate)
		ledger_fates(arguments);
	else if (probe == PROBE_gc_begin)
		ledger.minors += begin->kind == GCPROF_GC_MINOR;
}

/* Behind a minor collection nothing that was sampled before it is without a fate. */
static inline void ledger_check_settled(void)
{
	while (ledger.settled < ledger.expected) {
		const struct ledger_entry *entry = ledger_at(ledger.settled);

		if (entry->minors == ledger.minors)
			return;
		CHECK(entry->promoted || entry->died);
		ledger.settled++;
	}
}

/* Behind a full collection that left nothing to finalize, and shadow_compare(): those that live
 * are those that are reachable. */
static inline void ledger_check_full(void)
{
	ledger_check_settled();
	for (uint64_t i = ledger.parents; i < ledger.expected; i++) {
		const struct ledger_entry *entry = ledger_at(i);

		CHECK_EQ(entry->died, !ledger_is_reached(entry));
	}
}

/* The heap is closed. Says what was reported, in its order. */
static inline uint64_t ledger_close(void)
{
	uint64_t digest = 0;

	CHECK_EQ(ledger.reported, ledger.expected);
	for (uint64_t i = 0; i < ledger.expected; i++) {
		const struct gcprof_sample *reported = &ledger_at(i)->reported;
		/* The upper bits of a type's id name the heap. */
		uint64_t words[] = {reported->size, reported->type & 0xffff, reported->period,
				    reported->kind};

		for (int k = 0; k < 4; k++)
			digest = (digest ^ words[k]) * UINT64_C(0x100000001b3);
	}
	return digest;
}

static inline int64_t oracle_draw(struct oracle *o)
{
	if (o->stride != GCPROF_STRIDE_EXPONENTIAL)
		return (int64_t)o->period;
	return (int64_t)fmax(1, ceil(random_exponential(o->random) * (double)o->period));
}

static inline void oracle_begin(struct oracle *o)
{
	if (!o->available || !o->wanted || o->on)
		return;
	o->on = true;
	o->period = o->wanted_period;
	o->budget = oracle_draw(o);
}

/* The thread looks at its settings without allocating. */
static inline void oracle_settle(struct oracle *o)
{
	oracle_begin(o);
	o->on = o->on && o->wanted;
	if (o->on && o->period != o->wanted_period) {
		o->period = o->wanted_period;
		o->budget = oracle_draw(o);
	}
}

/* What it draws from now on. */
static inline void oracle_reseed(struct oracle *o, const struct gc_thread *thread)
{
#if !GCPROF_NO_SAMPLING
	memcpy(o->random, thread->sampler->random, sizeof(o->random));
#else
	(void)o;
	(void)thread;
#endif
}

/* A thread was attached: the first distance was drawn, with random numbers of its own. */
static inline void oracle_attach(struct oracle *o, const struct gc_thread *thread)
{
	oracle_begin(o);
	oracle_reseed(o, thread);
#if !GCPROF_NO_SAMPLING
	if (o->on && o->stride == GCPROF_STRIDE_EXPONENTIAL)
		o->budget = thread->sampler->head.budget;
	if (o->available)
		CHECK(thread->sampler->head.on == o->on);
#endif
}

/* An object was allocated: was it to be sampled? A new period counts behind it. */
static inline bool oracle_charge(struct oracle *o, struct gc_heap *heap, gc_type type, size_t size)
{
	bool hit;

	ledger.allocated += size;
	if (!o->on)
		return false;
	hit = o->budget <= (int64_t)size;
	if (hit)
		ledger_expect(&(struct gcprof_sample){
			.type = type_probe_id(heap, type),
			.size = size,
			.period = o->period,
			.kind = size < heap->options.large_size ? GCPROF_SAMPLE_NURSERY
								: GCPROF_SAMPLE_LARGE,
		});
	if (o->period != o->wanted_period) {
		o->period = o->wanted_period;
		o->budget = (int64_t)size + oracle_draw(o);
	}
	if (o->stride == GCPROF_STRIDE_EVERY)
		o->budget = (int64_t)size + 1;
	else if (o->stride == GCPROF_STRIDE_EXPONENTIAL && o->budget <= (int64_t)size)
		o->budget = (int64_t)size + oracle_draw(o);
	while (o->budget <= (int64_t)size)
		o->budget += (int64_t)o->period;
	o->budget -= (int64_t)size;
	o->on = o->wanted;
	return hit;
}

/* Between allocations: what was not reported waits in its thread. */
static inline void oracle_check(const struct oracle *o, const struct gc_thread *thread)
{
#if !GCPROF_NO_SAMPLING
	if (o->available)
		CHECK_EQ(ledger.reported + batch_waiting(thread->sampler), ledger.expected);
#else
	(void)o;
	(void)thread;
#endif
}

#endif
