/* SPDX-License-Identifier: BSD-2-Clause */
/* store_runtime.c: stores what the probes of a program report: samples, collections, names. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../../profile/codes.h"
#include "store_events.h"

#define AGE_BITS 8 /* kept bits of an object's age: 0.4 %, and a third of a sample's bytes */

/* Writes the provider's name, if it has one, with the first event of that provider. */
static int reference_provider(struct store *store, const struct incoming *in, uint8_t provider)
{
	return provider ? processes_reference(store->processes, in->process, GCPROF_NAME_PROVIDER,
					      process_number(in->process, provider, 0))
			: 0;
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
		err = live_objects_add(store->live, in->process->id, in->process->user,
				       event->address, &object);
	else if (!event->sample)
		err = followed_taken(store->followed, in->process->id, in->process->user,
				     in->header->tid, *sample, bytes_meant(event));
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
	struct record record = {0};
	struct keyed_stack keyed;
	int err = store_put_keyed(store, in, &keyed);

	if (err)
		return err;
	if (!provider)
		store_is_sampled(store, in->process);
	err = number_object(store, in, &record.alloc.sample);
	err = err ? err : store_fill(store, in, &record);
	err = err ? err : reference_provider(store, in, provider);
	record.alloc.stack = keyed.stack;
	record.alloc.quality = keyed.quality;
	if (!err && event->type) {
		record.alloc.type = process_number(in->process, provider, event->type);
		err = processes_reference(store->processes, in->process, GCPROF_NAME_TYPE,
					  record.alloc.type);
	}
	return err ? err : profile_writer_put(store->writer, &record);
}

/* The nearest number with AGE_BITS significant bits: more would not compress. */
static uint64_t round_age(uint64_t age)
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
	bool ends = fate->outcome != GCPROF_PROMOTED && fate->outcome != GCPROF_PINNED &&
		    fate->outcome != GCPROF_COPIED;
	struct followed_sample sample = {store_number(in, fate->sample), fate->age};

	followed_find(store->followed, in->process->id, sample.sample, ends, &sample);
	/* 0 means unknown. */
	sample.age += !sample.age;
	return sample;
}

static int put_fate(struct store *store, const struct incoming *in,
		    const struct followed_sample *sample, uint32_t outcome, uint64_t collections)
{
	const struct record record = {
		.kind = RECORD_fate,
		.fate = {.time = in->header->time,
			 .process = in->process->id,
			 .sample = sample->sample,
			 .outcome = outcome,
			 .age = round_age(sample->age),
			 .collections = collections},
	};

	return profile_writer_put(store->writer, &record);
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

		err = put_fate(store, in, &sample, fate->outcome, fate->collections);
	}
	return err;
}

/* An event that is the same for several objects. */
struct several {
	struct store *store;
	const struct incoming *in;
	int err;
};

static void put_freed(void *context, const struct live_object *object)
{
	struct several *ending = context;
	const struct event_freed *event = (const void *)ending->in->header;
	const struct followed_sample sample = {object->sample, event->age};
	uint32_t outcome = event->outcome;

	if (!outcome)
		outcome = object->outlasted ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG;
	if (!ending->err)
		ending->err = put_fate(ending->store, ending->in, &sample, outcome,
				       object->cycles ? object->cycles - 1 : 0);
	ending->store->counts[STREAM_ALLOC] += !ending->err;
}

int store_freed(struct store *store, const struct incoming *in)
{
	const struct event_freed *event = (const void *)in->header;
	struct several ending = {store, in, 0};
	struct live_object object;

	if (event->is_heap)
		live_objects_heap_end(store->live, in->process->id, event->address, put_freed,
				      &ending);
	else if (live_objects_take(store->live, in->process->id, event->address, &object))
		put_freed(&ending, &object);
	return ending.err;
}

static void put_outlasted(void *context, const struct live_object *object)
{
	struct several *several = context;
	const struct followed_sample sample = {object->sample, 0};

	if (!several->err)
		several->err = put_fate(several->store, several->in, &sample, GCPROF_PROMOTED, 1);
}

/* Another collection of a heap (0: the process's only one) that reports the ends of its objects:
 * those that were there in its last one have survived that. Those allocated since `began` (ns) have
 * no part in this one. */
static int outlast(struct store *store, const struct incoming *in, uint64_t heap, uint64_t began)
{
	struct several several = {store, in, 0};

	live_objects_cycle(store->live, in->process->id, heap, began, put_outlasted, &several);
	return several.err;
}

int store_gc_begin(struct store *store, const struct incoming *in)
{
	const struct event_gc_begin *event = (const void *)in->header;
	int err = 0;

	in->process->collects |= !in->header->provider;
	if (!in->header->provider && event->heap)
		err = outlast(store, in, event->heap, in->header->time);
	err = err ? err : reference_provider(store, in, in->header->provider);
	return err ? err : store_copied(store, in);
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
	struct record record = {0};
	uint8_t histogram[HISTOGRAM_BYTES_MAX];
	int err = store_fill(store, in, &record);

	_Static_assert(GCPROF_GC_BUCKETS <= SYSCALL_BUCKETS, "the same buckets");
	store->collections += sums->kind == GCPROF_GC_STOPS ? 0 : sums->count;
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
	err = err ? err : store_refer_gc(store, in, &record.gc_summary.reason);
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

/* The name of a type is in the file with this code. */
static int ask_type(struct store *store, const struct incoming *in)
{
	const struct event_name *event = (const void *)in->header;
	const struct mapping *mapping = mappings_find(in->process->mappings, event->code);

	return mapping ? frame_names_type(store->names, in->process->id,
					  store_number(in, event->number), mapping->module,
					  event->number)
		       : 0;
}

/* Takes the texts of a name, or of a name and its file, from the tail. */
static int take_name(const struct incoming *in, size_t size, size_t file_size, struct name *out)
{
	struct bytes tail = in->tail, text, file;
	int err = store_take_text(&tail, size, NAME_BYTES_MAX, &text);

	err = err ? err : store_take_text(&tail, file_size, NAME_BYTES_MAX, &file);
	if (!err)
		*out = (struct name){.text = text.data,
				     .text_size = text.size,
				     .file = file.data,
				     .file_size = file.size};
	return err;
}

/* The provider or runtime of this name and version samples nothing. */
static int put_unsampled(struct store *store, const struct incoming *in, const struct name *name,
			 uint32_t why)
{
	return store_put_unsampled(store, in->process, (struct bytes){name->text, name->text_size},
				   (struct bytes){name->file, name->file_size}, why);
}

int store_name(struct store *store, const struct incoming *in)
{
	const struct event_name *event = (const void *)in->header;
	const enum gcprof_name_kind kind = event->kind;
	struct name name;
	int err = take_name(in, event->name_size, event->file_size, &name);

	if (!err && (kind < GCPROF_NAME_TYPE || kind > GCPROF_NAME_GC ||
		     (kind == GCPROF_NAME_GC &&
		      (event->number < GC_NAMES_FIRST || event->number >= GCPROF_GC_NAMES_END))))
		err = -EBADMSG;
	if (err || (kind == GCPROF_NAME_GC && !name.text_size))
		return err;
	if (event->code)
		return ask_type(store, in);
	if (kind == GCPROF_NAME_PROVIDER && event->line) {
		in->process->expects = 0;
		return put_unsampled(store, in, &name, event->line);
	}
	name.line = event->line;
	return processes_name(store->processes, in->process, kind,
			      store_number(in, kind == GCPROF_NAME_PROVIDER ? 0 : event->number),
			      &name);
}

int store_period(struct store *store, const struct incoming *in)
{
	if (!in->header->provider)
		store_is_sampled(store, in->process);
	return store_copied(store, in);
}

/* --- runtimes without our probes ------------------------------------------------------- */

int store_gc_cycle(struct store *store, const struct incoming *in)
{
	const struct event_gc_cycle *event = (const void *)in->header;
	int err = 0;

	if (event->began > in->header->time)
		return -EBADMSG;
	/* Providers report outcomes themselves. */
	if (!event->unfinished && !in->header->provider)
		err = outlast(store, in, 0, event->began);
	return err ? err : store_copied(store, in);
}

int store_runtime(struct store *store, const struct incoming *in)
{
	const struct event_runtime *event = (const void *)in->header;
	struct name name;
	int err;

	if (!event->unsampled || event->unsampled == UNSAMPLED_NO_SAMPLER)
		return store_copied(store, in);
	/* The runtime is known; its samples cannot be read. */
	err = take_name(in, event->name_size, event->version_size, &name);
	return err ? err : put_unsampled(store, in, &name, event->unsampled);
}

int store_refer_gc(struct store *store, const struct incoming *in, uint64_t *number)
{
	if (*number < GC_NAMES_FIRST)
		return 0;
	*number = store_number(in, *number);
	return processes_reference(store->processes, in->process, GCPROF_NAME_GC, *number);
}
