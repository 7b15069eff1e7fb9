/* SPDX-License-Identifier: BSD-2-Clause */
/* store_runtime.c: stores what the probes of a program report: samples, collections, names. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "store_events.h"

#define AGE_BITS 8 /* kept bits of an object's age: 0.4 %, and a third of a sample's bytes */

/* Writes the provider's name, if it has one, with the first event of that provider. */
static int reference_provider(struct store *store, const struct incoming *in, uint8_t provider)
{
	return provider ? processes_reference(store->processes, in->process, NAME_PROVIDER,
					      process_number(in->process, provider, 0))
			: 0;
}

/* Completes and writes a sample, whose stack is known. */
static int put_alloc(struct store *store, const struct incoming *in, uint8_t provider,
		     struct record *record)
{
	struct record_alloc *alloc = &record->alloc;
	int err = reference_provider(store, in, provider);

	if (!err && alloc->type) {
		alloc->type = process_number(in->process, provider, alloc->type);
		err = processes_reference(store->processes, in->process, NAME_TYPE, alloc->type);
	}
	return err ? err : profile_writer_put(store->writer, record);
}

/* The bytes that a sample represents. */
static uint64_t bytes_meant(const struct event_alloc *event)
{
	return (uint64_t)((double)event->bytes /
			  -expm1(-(double)event->bytes / (double)event->period));
}

/* The id of a sample, assigned if it has none. Its end may be reported by address. */
static int number_object(struct store *store, const struct incoming *in, uint64_t *sample)
{
	const struct event_alloc *event = (const void *)in->header;
	struct live_object object = {.heap = event->heap, .time = in->header->time};
	int err;

	*sample = event->sample
			  ? process_number(in->process, (uint8_t)event->provider, event->sample)
			  : ++store->samples;
	object.sample = *sample;
	if (event->address)
		err = live_objects_add(store->live, in->process->id, event->address, &object);
	else if (!event->sample)
		err = followed_taken(store->followed, in->process->id, in->header->tid, *sample,
				     bytes_meant(event));
	else
		return 0;
	if (err != -ENOSPC)
		return err;
	store->losses[LOSS_LIVE_OBJECTS]++;
	return 0;
}

int store_alloc(struct store *store, const struct incoming *in)
{
	const struct event_alloc *event = (const void *)in->header;
	const uint8_t provider = (uint8_t)event->provider;
	struct record record = RECORD_OF(alloc, in);
	struct keyed_stack keyed;
	int err = store_put_keyed(store, in, &keyed);

	if (err)
		return err;
	if (!event->provider)
		store_is_sampled(store, in->process);
	record.alloc.stack = keyed.stack;
	err = number_object(store, in, &record.alloc.sample);
	if (err)
		return err;
	record.alloc.type = event->type;
	record.alloc.size = event->bytes;
	record.alloc.period = event->period;
	record.alloc.kind = event->kind;
	record.alloc.quality = keyed.quality;
	record.alloc.fiber = in->header->fiber;
	return put_alloc(store, in, provider, &record);
}

/* Batches were split before: this is one sample of a batch. */
int store_samples(struct store *store, const struct incoming *in)
{
	(void)store;
	(void)in;
	return -EBADMSG;
}

/* Interpreted functions are not sorted by time, see store_meet_bytecode(). */
int store_bytecode(struct store *store, const struct incoming *in)
{
	(void)store;
	(void)in;
	return -EBADMSG;
}

/* Acted on at once, see flow.c. */
int store_replaced(struct store *store, const struct incoming *in)
{
	(void)store;
	(void)in;
	return -EBADMSG;
}

/* The sample has already taken the type. */
int store_typed(struct store *store, const struct incoming *in)
{
	(void)store;
	(void)in;
	return -EBADMSG;
}

int store_sample(struct store *store, const struct incoming *in)
{
	const struct gcprof_sample *sample = &((const struct event_sample *)in->header)->entry;
	struct keyed_stack keyed = {0, STACK_LOST};
	struct record record = RECORD_OF(alloc, in);

	if (!stack_keys_get(store->keys, in->process->id, store_number(in, sample->stack), &keyed))
		store->losses[LOSS_STACK_LOST]++;
	record.alloc.stack = keyed.stack;
	record.alloc.sample = store_number(in, sample->sample);
	record.alloc.type = sample->type;
	record.alloc.size = sample->size;
	record.alloc.period = sample->period;
	record.alloc.kind = sample->kind;
	record.alloc.quality = keyed.quality & STACK_FLAWS;
	return put_alloc(store, in, in->header->provider, &record);
}

/* The nearest number with AGE_BITS significant bits: more would not compress. */
uint64_t store_round_age(uint64_t age)
{
	unsigned bits = age ? 64 - (unsigned)__builtin_clzll(age) : 0;
	unsigned drop = bits > AGE_BITS ? bits - AGE_BITS : 0;
	uint64_t half = drop ? UINT64_C(1) << (drop - 1) : 0;

	if (age > UINT64_MAX - half)
		half = 0;
	return (age + half) >> drop << drop;
}

int store_followed(struct store *store, const struct incoming *in)
{
	const struct event_followed *event = (const void *)in->header;
	int err = followed_name(store->followed, in->process->id, in->header->tid,
				store_number(in, event->sample));

	if (err != -ENOSPC)
		return err;
	store->losses[LOSS_LIVE_OBJECTS]++;
	return 0;
}

/* The sample of an outcome, as in the profile, and the age of its object. */
static struct followed_sample sample_of(struct store *store, const struct incoming *in,
					const struct gcprof_fate *fate)
{
	bool ends = fate->outcome != GCPROF_PROMOTED && fate->outcome != GCPROF_PINNED;
	struct followed_sample sample = {store_number(in, fate->sample), fate->age};

	followed_find(store->followed, in->process->id, sample.sample, ends, &sample);
	/* 0 means unknown. */
	sample.age = store_round_age(sample.age ? sample.age : 1);
	return sample;
}

int store_fate(struct store *store, const struct incoming *in)
{
	const struct event_fate *event = (const void *)in->header;
	int err = 0;

	if (event->count > GCPROF_FATE_MAX ||
	    event->count * sizeof(event->entries[0]) > in->tail.size)
		return -EBADMSG;
	for (uint32_t i = 0; i < event->count && !err; i++) {
		const struct gcprof_fate *fate = &event->entries[i];
		const struct followed_sample sample = sample_of(store, in, fate);
		struct record record = {.kind = RECORD_fate};

		record.fate.time = in->header->time;
		record.fate.process = in->process->id;
		record.fate.sample = sample.sample;
		record.fate.outcome = fate->outcome;
		record.fate.age = sample.age;
		record.fate.collections = fate->collections;
		err = profile_writer_put(store->writer, &record);
	}
	return err;
}

int store_gc_begin(struct store *store, const struct incoming *in)
{
	const struct event_gc_begin *event = (const void *)in->header;
	struct record record = RECORD_OF(gc_begin, in);
	int err = 0;

	in->process->collects |= !in->header->provider;
	record.gc_begin.heap = process_heap(in->process, in->header->provider, event->heap);
	record.gc_begin.cycle = event->cycle;
	record.gc_begin.kind = event->kind;
	record.gc_begin.reason = event->reason;
	record.gc_begin.stop = event->stop;
	record.gc_begin.name = event->name;
	if (!in->header->provider && event->heap)
		err = store_outlast(store, in, event->heap, in->header->time);
	err = err ? err : reference_provider(store, in, in->header->provider);
	err = err ? err : store_refer_gc(store, in, &record.gc_begin.reason);
	err = err ? err : store_refer_gc(store, in, &record.gc_begin.name);
	return err ? err : profile_writer_put(store->writer, &record);
}

int store_gc_end(struct store *store, const struct incoming *in)
{
	const struct event_gc_end *event = (const void *)in->header;
	const struct gcprof_gc_stats *stats = &event->stats;
	struct record record = RECORD_OF(gc_end, in);
	int err;

	record.gc_end.heap = process_heap(in->process, in->header->provider, event->heap);
	record.gc_end.cycle = event->cycle;
	record.gc_end.kind = event->kind;
	record.gc_end.has_stats = event->has_stats;
	record.gc_end.promoted_bytes = stats->promoted_bytes;
	record.gc_end.promoted_objects = stats->promoted_objects;
	record.gc_end.nursery_used = stats->nursery_used;
	record.gc_end.allocated_bytes = stats->allocated_bytes;
	record.gc_end.arena_bytes = stats->arena_bytes;
	record.gc_end.large_bytes = stats->large_bytes;
	record.gc_end.live_bytes = stats->live_bytes;
	record.gc_end.freed_bytes = stats->freed_bytes;
	record.gc_end.stop_ns = stats->stop_ns;
	record.gc_end.phase = stats->phase;
	record.gc_end.threads = stats->threads;
	record.gc_end.rss_bytes = event->rss_bytes;
	record.gc_end.minor_faults = event->minor_faults;
	record.gc_end.major_faults = event->major_faults;
	record.gc_end.batched = event->late;
	record.gc_end.heap_before = event->heap_before;
	record.gc_end.heap_after = event->heap_after;
	record.gc_end.heap_size = event->heap_size;
	record.gc_end.reason = event->reason;
	record.gc_end.unreachable = event->unreachable;
	err = store_refer_gc(store, in, &record.gc_end.reason);
	return err ? err : profile_writer_put(store->writer, &record);
}

/* Written by a program, so it must match its histogram and take no more time than has passed. */
static bool are_sane(const struct gcprof_gc_sums *sums, uint64_t span)
{
	uint64_t count = 0;

	for (size_t i = 0; i < GCPROF_GC_BUCKETS; i++)
		count += sums->histogram[i];
	return sums->kind <= GCPROF_GC_STEP && sums->reason < GCPROF_GC_NAMES_END && sums->count &&
	       sums->count == count && sums->max_ns <= sums->total_ns && sums->total_ns <= span;
}

static int put_sums(struct store *store, const struct incoming *in,
		    const struct gcprof_gc_sums *sums, uint64_t cycles)
{
	const struct event_gc_summary *event = (const void *)in->header;
	struct record record = RECORD_OF(gc_summary, in);
	uint8_t histogram[HISTOGRAM_BYTES_MAX];
	int err;

	_Static_assert(GCPROF_GC_BUCKETS <= SYSCALL_BUCKETS, "the same buckets");
	store->collections += sums->kind == GCPROF_GC_STOPS ? 0 : sums->count;
	record.gc_summary.heap = process_heap(in->process, in->header->provider, event->heap);
	record.gc_summary.span = in->header->time - event->begin;
	record.gc_summary.kind = sums->kind;
	record.gc_summary.reason = sums->reason;
	record.gc_summary.count = sums->count;
	record.gc_summary.total_ns = sums->total_ns;
	record.gc_summary.max_ns = sums->max_ns;
	record.gc_summary.histogram.data = (const char *)histogram;
	record.gc_summary.histogram.size =
		store_pack_histogram(sums->histogram, GCPROF_GC_BUCKETS, histogram);
	record.gc_summary.promoted_bytes = sums->promoted_bytes;
	record.gc_summary.promoted_objects = sums->promoted_objects;
	record.gc_summary.stop_ns = sums->stop_ns;
	record.gc_summary.stop_max_ns = sums->stop_max_ns;
	record.gc_summary.nursery_max = sums->nursery_max;
	record.gc_summary.heap_max = sums->heap_max;
	record.gc_summary.cycles = cycles;
	err = store_refer_gc(store, in, &record.gc_summary.reason);
	return err ? err : profile_writer_put(store->writer, &record);
}

int store_gc_summary(struct store *store, const struct incoming *in)
{
	const struct event_gc_summary *event = (const void *)in->header;
	uint64_t cycles = event->cycles;
	int err = 0;

	if (event->begin > in->header->time || event->count > GCPROF_GC_SUMS_MAX ||
	    event->count * sizeof(event->sums[0]) > in->tail.size)
		return -EBADMSG;
	for (uint32_t i = 0; i < event->count; i++)
		if (!are_sane(&event->sums[i], in->header->time - event->begin))
			return -EBADMSG;
	for (uint32_t i = 0; i < event->count && !err; i++, cycles = 0)
		err = put_sums(store, in, &event->sums[i], cycles);
	return err;
}

int store_phase(struct store *store, const struct incoming *in)
{
	const struct event_phase *event = (const void *)in->header;
	struct record record = RECORD_OF(phase, in);

	record.phase.heap = process_heap(in->process, in->header->provider, event->heap);
	record.phase.phase = event->phase;
	return profile_writer_put(store->writer, &record);
}

/* Its name is in the file with this code. */
static int ask_type(struct store *store, const struct incoming *in)
{
	const struct event_type *event = (const void *)in->header;
	const struct mapping *mapping = mappings_find(in->process->mappings, event->code);

	return mapping ? frame_names_type(store->names, in->process->id,
					  store_number(in, event->type), mapping->module,
					  event->type)
		       : 0;
}

int store_type(struct store *store, const struct incoming *in)
{
	const struct event_type *event = (const void *)in->header;
	struct bytes tail = in->tail, text;
	struct name name = {0};
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (err)
		return err;
	if (event->code)
		return ask_type(store, in);
	name.text = text.data;
	name.text_size = text.size;
	return processes_name(store->processes, in->process, NAME_TYPE,
			      store_number(in, event->type), &name);
}

int store_code(struct store *store, const struct incoming *in)
{
	const struct event_code *event = (const void *)in->header;
	struct bytes tail = in->tail, text, file;
	struct name name = {0};
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (!err)
		err = store_take_text(&tail, event->file_size, NAME_BYTES_MAX, &file);
	if (err)
		return err;
	name.text = text.data;
	name.text_size = text.size;
	name.file = file.data;
	name.file_size = file.size;
	name.line = event->line;
	return processes_name(store->processes, in->process, NAME_CODE,
			      store_number(in, event->code), &name);
}

int store_provider(struct store *store, const struct incoming *in)
{
	const struct event_provider *event = (const void *)in->header;
	struct bytes tail = in->tail, text, version, why;
	struct name name = {0};
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (!err)
		err = store_take_text(&tail, event->version_size, NAME_BYTES_MAX, &version);
	if (err)
		return err;
	/* "0.1.0: why it samples nothing" */
	why.data = version.size ? memmem(version.data, version.size, ": ", 2) : NULL;
	if (why.data) {
		why.data += 2;
		why.size = version.size - (size_t)(why.data - version.data);
		version.size -= why.size + 2;
		in->process->expects = 0;
		return store_put_unsampled(store, in->process, text, version, why);
	}
	name.text = text.data;
	name.text_size = text.size;
	name.file = version.data;
	name.file_size = version.size;
	return processes_name(store->processes, in->process, NAME_PROVIDER, store_number(in, 0),
			      &name);
}

int store_period(struct store *store, const struct incoming *in)
{
	const struct event_period *event = (const void *)in->header;
	struct record record = RECORD_OF(period, in);

	if (!in->header->provider)
		store_is_sampled(store, in->process);
	record.period.old_period = event->old_period;
	record.period.new_period = event->new_period;
	record.period.reason = event->reason;
	return profile_writer_put(store->writer, &record);
}

int store_mutator(struct store *store, const struct incoming *in)
{
	const struct event_mutator *event = (const void *)in->header;
	struct record record = RECORD_OF(mutator, in);

	record.mutator.heap = process_heap(in->process, in->header->provider, event->heap);
	record.mutator.event = event->event;
	return profile_writer_put(store->writer, &record);
}
