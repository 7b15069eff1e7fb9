/* SPDX-License-Identifier: BSD-2-Clause */
/* store_outside.c: stores what is found out about runtimes without our probes. */
#include <errno.h>

#include "store_events.h"
#include "../../profile/codes.h"

/* Places have become other events before they get here. */
int store_place(struct store *store, const struct incoming *in)
{
	(void)store;
	(void)in;
	return -EBADMSG;
}

static int put_fate(struct store *store, uint64_t time, uint64_t process, uint64_t sample,
		    enum gcprof_outcome outcome, uint64_t age, uint64_t collections)
{
	struct record record = {.kind = RECORD_fate};

	record.fate.time = time;
	record.fate.process = process;
	record.fate.sample = sample;
	record.fate.outcome = outcome;
	record.fate.age = store_round_age(age);
	record.fate.collections = collections;
	return profile_writer_put(store->writer, &record);
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
	uint32_t outcome = event->outcome;

	if (!outcome)
		outcome = object->outlasted ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG;
	if (!ending->err)
		ending->err = put_fate(ending->store, event->header.time, ending->in->process->id,
				       object->sample, outcome, event->age,
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

	if (!several->err)
		several->err = put_fate(several->store, several->in->header->time,
					several->in->process->id, object->sample, GCPROF_PROMOTED,
					0, 1);
}

int store_outlast(struct store *store, const struct incoming *in, uint64_t heap, uint64_t began)
{
	struct several several = {store, in, 0};

	live_objects_cycle(store->live, in->process->id, heap, began, put_outlasted, &several);
	return several.err;
}

int store_gc_cycle(struct store *store, const struct incoming *in)
{
	const struct event_gc_cycle *event = (const void *)in->header;
	struct record record = {.kind = RECORD_gc_cycle};
	int err = 0;

	if (event->began > in->header->time)
		return -EBADMSG;
	/* Providers report outcomes themselves. */
	if (!event->unfinished && !in->header->provider)
		err = store_outlast(store, in, 0, event->began);
	record.gc_cycle.time = in->header->time;
	record.gc_cycle.process = in->process->id;
	record.gc_cycle.heap = process_heap(in->process, in->header->provider, event->heap);
	record.gc_cycle.cycle = event->cycle;
	record.gc_cycle.span = in->header->time - event->began;
	record.gc_cycle.name = event->name;
	record.gc_cycle.reason = event->reason;
	record.gc_cycle.heap_before = event->heap_before;
	record.gc_cycle.heap_after = event->heap_after;
	record.gc_cycle.live = event->live;
	record.gc_cycle.unfinished = event->unfinished;
	err = err ? err : store_refer_gc(store, in, &record.gc_cycle.name);
	err = err ? err : store_refer_gc(store, in, &record.gc_cycle.reason);
	return err ? err : profile_writer_put(store->writer, &record);
}

int store_heap_area(struct store *store, const struct incoming *in)
{
	const struct event_heap_area *event = (const void *)in->header;
	struct record record = {.kind = RECORD_heap_area};
	int err;

	record.heap_area.time = in->header->time;
	record.heap_area.process = in->process->id;
	record.heap_area.heap = process_heap(in->process, in->header->provider, event->heap);
	record.heap_area.cycle = event->cycle;
	record.heap_area.name = event->name;
	record.heap_area.flags = event->flags;
	record.heap_area.before = event->before;
	record.heap_area.after = event->after;
	record.heap_area.size = event->size;
	record.heap_area.limit = event->limit;
	err = store_refer_gc(store, in, &record.heap_area.name);
	return err ? err : profile_writer_put(store->writer, &record);
}

/* The runtime is known; its samples cannot be read. */
static int put_unreadable(struct store *store, const struct incoming *in)
{
	const struct event_runtime *event = (const void *)in->header;
	struct bytes tail = in->tail, name, version, why;
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &name);

	err = err ? err : store_take_text(&tail, event->version_size, NAME_BYTES_MAX, &version);
	err = err ? err : store_take_text(&tail, event->note_size, NAME_BYTES_MAX, &why);
	return err ? err : store_put_unsampled(store, in->process, name, version, why);
}

/* Writes the text at the start of the tail; 0: none. */
static int take_string(struct store *store, struct bytes *tail, size_t size, uint64_t *out)
{
	struct bytes text;
	int err = store_take_text(tail, size, NAME_BYTES_MAX, &text);

	if (!err)
		*out = text.size ? store_put_string(store, text) : 0;
	return err;
}

int store_runtime(struct store *store, const struct incoming *in)
{
	const struct event_runtime *event = (const void *)in->header;
	struct record record = {.kind = RECORD_runtime};
	struct bytes tail = in->tail;
	int err;

	if (event->unsampled == RUNTIME_UNSAMPLED)
		return put_unreadable(store, in);
	record.runtime.process = in->process->id;
	record.runtime.names_file = event->names_file;
	record.runtime.unsampled = event->unsampled;
	err = take_string(store, &tail, event->name_size, &record.runtime.name);
	if (!err)
		err = take_string(store, &tail, event->version_size, &record.runtime.version);
	if (!err)
		err = take_string(store, &tail, event->note_size, &record.runtime.note);
	if (!err)
		err = take_string(store, &tail, event->collector_size, &record.runtime.collector);
	if (!err)
		err = take_string(store, &tail, event->compiler_size, &record.runtime.compiler);
	if (!err)
		err = take_string(store, &tail, event->names_size, &record.runtime.names);
	return err ? err : profile_writer_put(store->writer, &record);
}

int store_refer_gc(struct store *store, const struct incoming *in, uint64_t *number)
{
	if (*number < GC_NAMES_FIRST)
		return 0;
	*number = store_number(in, *number);
	return processes_reference(store->processes, in->process, NAME_GC, *number);
}

int store_gc_name(struct store *store, const struct incoming *in)
{
	const struct event_gc_name *event = (const void *)in->header;
	struct bytes tail = in->tail, text;
	struct name name = {0};
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (err || event->number < GC_NAMES_FIRST || event->number >= GCPROF_GC_NAMES_END)
		return err ? err : -EBADMSG;
	name.text = text.data;
	name.text_size = text.size;
	return text.size ? processes_name(store->processes, in->process, NAME_GC,
					  store_number(in, event->number), &name)
			 : 0;
}

int store_heap_site(struct store *store, const struct incoming *in)
{
	const struct event_heap_site *event = (const void *)in->header;
	struct record record = {.kind = RECORD_heap_site};
	struct stored_stack stack;
	int err = store_put_stack(store, in, &event->stack, &stack);

	if (err)
		return err;
	record.heap_site.time = in->header->time;
	record.heap_site.process = in->process->id;
	record.heap_site.stack = stack.id;
	record.heap_site.objects = event->objects;
	record.heap_site.bytes = event->bytes;
	record.heap_site.all_objects = event->all_objects;
	record.heap_site.all_bytes = event->all_bytes;
	record.heap_site.rate = event->rate;
	return profile_writer_put(store->writer, &record);
}
