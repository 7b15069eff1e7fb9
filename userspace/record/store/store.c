/* SPDX-License-Identifier: BSD-2-Clause */
/* store.c: turns ring events, in order of time, into records of a profile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "store_events.h"
#include "../machine/viewer.h"

enum { STACKS_KEPT = 1 << 17 }; /* stacks that programs name by keys */
enum { OPEN_KEPT = 4096 };      /* collections that began in a pause */

/* One that runs: a process may collect several heaps at once. */
struct open_collection {
	uint64_t process, heap, cycle;
};

static bool lives(void *context, uint64_t process)
{
	struct store *store = context;

	return processes_written(store->processes, (uint32_t)process) != NULL;
}

int store_create(struct profile_writer *writer, struct files *files, struct processes *processes,
		 struct store **out)
{
	struct store *store = calloc(1, sizeof(*store));
	const struct stack_owners owners = {lives, store};
	int err;

	if (!store)
		return -ENOMEM;
	store->writer = writer;
	store->processes = processes;
	store->denied = viewer_find() != 0;
	store->files = files;
	err = stacks_create(writer, store->processes, files, &store->stacks);
	if (!err)
		err = stack_keys_create(&owners, STACKS_KEPT, 2 * STACKS_KEPT, &store->keys);
	if (!err)
		err = composer_create(&owners, &store->composer);
	store->left = map_create(sizeof(uint64_t));
	store->used = map_create(sizeof(uint64_t));
	store->left_out = map_create(sizeof(struct open_collection));
	store->live = live_objects_create();
	store->followed = followed_create();
	if (!err &&
	    (!store->left || !store->used || !store->left_out || !store->live || !store->followed))
		err = -ENOMEM;
	if (!err)
		err = frame_names_create(writer, files, &store->names);
	if (err) {
		store_free(store);
		return err;
	}
	*out = store;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	buffer_free(&store->pauses);
	frame_names_free(store->names);
	composer_free(store->composer);
	stack_keys_free(store->keys);
	map_free(store->left);
	map_free_all(store->used, free);
	map_free(store->left_out);
	live_objects_free(store->live);
	followed_free(store->followed);
	buffer_free(&store->left_at);
	stacks_free(store->stacks);
	free(store);
}

uint64_t store_own_ticks(const struct store *store)
{
	return store->own_ticks;
}

void store_know_kernel(struct store *store, struct session *session)
{
	frame_names_know_kernel(store->names, session);
}

void store_know_own_code(struct store *store, struct own_code *own)
{
	store->own = own;
}

void store_meet_mapping(struct store *store, const struct event_mmap *event, const char *path,
			uint32_t user)
{
	if (store_is_generated(event, path))
		frame_names_meet(store->names, event->header.process, event->header.tid);
	if (event->inode)
		frame_names_map(store->names, event->header.process, event, path, user);
}

void store_meet_fork(struct store *store, const struct process *child)
{
	const struct remote_process ids = {child->pid, child->proc_pid, child->user};

	frame_names_fork(store->names, child->parent, child->id, &ids);
}

void store_meet_end(struct store *store, uint64_t process)
{
	frame_names_end(store->names, process);
}

void store_forget(struct store *store, uint64_t process)
{
	frame_names_forget(store->names, process);
	files_forget_generated(store->files, process);
}

int store_add_process(struct store *store, uint32_t process, uint32_t pid, uint32_t ns_pid,
		      uint64_t time)
{
	const struct process_ids ids = {pid, ns_pid, ns_pid};
	struct process *first = NULL;

	if (processes_begin(store->processes, process, &ids, time) >= 0)
		first = processes_write(store->processes, process, &ids, 0, time);
	if (!first || !processes_thread_begins(store->processes, first, pid, ns_pid))
		return -ENOMEM;
	return 0;
}

/* NULL: it becomes other events, or acts, before it gets here. */
static store_function *const functions[] = {
#define COPIED(name)                                           store_copied
#define BY_HAND(name)                                          store_##name
#define EARLIER(name)                                          NULL
#define EVENT(code, name, stream, record, stored, traits, doc) [code] = stored(name),
#include "../../../bpf/events.def"
};

void store_meet_event(struct store *store, const struct event_header *event, size_t size)
{
	const struct event_info *info = event_info(event->code);
	const struct event_native *frames = event_frames(event, size);

	store->arrived_samples += event->code == EVENT_alloc;
	store->arrived_gc += info && info->stream == STREAM_GC;
	if (frames &&
	    frame_names_frames(store->names, event->process, (const void *)(event + 1), frames))
		store->losses[LOSS_MEMORY]++;
}

void store_meet_bytecode(struct store *store, const struct event_header *event, size_t size)
{
	const struct process *process = processes_find(store->processes, event->process);
	int err = frame_names_bytecode(store->names, (const void *)event, size,
				       process ? process->user : USER_UNKNOWN);

	if (err)
		store->losses[err == -EBADMSG  ? LOSS_BAD_EVENT
			      : err == -ENOSPC ? LOSS_SHARE
					       : LOSS_MEMORY]++;
}

/* The process of the event's index, written if new. */
static struct process *identify_process(struct store *store, const struct event_header *header)
{
	const struct event_task *task = (const void *)header;
	const struct process_ids ids = {
		.pid = header->pid,
		.ns_pid = header->code == EVENT_task ? task->ns_pid : 0,
	};

	return processes_write(store->processes, header->process, &ids, 0, header->time);
}

/* Finds the process and thread of the event. -ENOENT: it is not traced. */
static int identify(struct store *store, struct incoming *in)
{
	const struct event_header *header = in->header;

	if (!header->process)
		return -ENOENT;
	/* A mapping does not create a process, because its time may precede the process's begin. */
	if (header->code == EVENT_mmap) {
		in->process = processes_written(store->processes, header->process);
		return in->process ? 0 : -ENOENT;
	}
	in->process = identify_process(store, header);
	if (!in->process)
		return -ENOMEM;
	if (in->info->traits & TRAIT_PROCESS)
		return 0;
	if (header->code == EVENT_task)
		in->thread = processes_thread_begins(
			store->processes, in->process, header->tid,
			((const struct event_task *)(const void *)header)->ns_tid);
	else
		in->thread = processes_thread(store->processes, in->process, header->tid);
	return in->thread ? 0 : -ENOMEM;
}

uint64_t store_events_in(const struct event_header *event)
{
	return event->code == EVENT_fate ? ((const struct event_fate *)(const void *)event)->count
					 : 1;
}

bool store_is_auxiliary(const struct event_header *event)
{
	const struct event_info *info = event_info(event->code);
	const struct event_usage *usage = (const void *)event;

	if (event->code == EVENT_usage)
		return usage->flags & USAGE_GOES_ON;
	return info && info->traits & TRAIT_SERVES;
}

/* Counts the event as stored, or as dropped because of `err`. */
static int count(struct store *store, const struct event_header *event, int err)
{
	const struct event_info *info;

	switch (err) {
	case 0:
		info = event_info(event->code);
		if (!store_is_auxiliary(event))
			store->counts[info->stream] += store_events_in(event);
		store->sampled += event->code == EVENT_alloc;
		store->collections += event->code == EVENT_gc_end;
		return 0;
	case -EBADMSG:
		store->losses[LOSS_BAD_EVENT]++;
		return 0;
	case -ENOENT:
		/* Of a process that was found later, or ended long ago. */
		if (event->code != EVENT_mmap)
			store->losses[LOSS_UNKNOWN_PROCESS]++;
		return 0;
	case -ENOMEM:
	case -EOVERFLOW:
		store->losses[err == -ENOMEM ? LOSS_MEMORY : LOSS_SHARE] += store_events_in(event);
		return 0;
	default:
		return err;
	}
}

struct pause {
	uint64_t begin, end;
};

int store_pause(struct store *store, uint64_t time, bool on)
{
	const struct record record = {.kind = RECORD_paused, .paused = {.time = time, .on = on}};
	const struct pause pause = {time, UINT64_MAX};
	struct pause *last;

	if (on && buffer_append(&store->pauses, &pause, sizeof(pause)))
		return -ENOMEM;
	last = (struct pause *)(void *)(store->pauses.data + store->pauses.size) - 1;
	last->end = on ? UINT64_MAX : time;
	return profile_writer_put(store->writer, &record);
}

static bool was_paused(const struct store *store, uint64_t time)
{
	const struct pause *all = (const void *)store->pauses.data;
	size_t i = store->pauses.size / sizeof(*all);

	while (i && all[i - 1].begin > time)
		i--;
	return i && time < all[i - 1].end;
}

/* Leaves out the end of a collection as well. Past the limit, ends without a begin are stored. */
static int leave_out(struct store *store, const struct open_collection *collection)
{
	if (map_count(store->left_out) >= OPEN_KEPT)
		map_clear(store->left_out);
	return map_put(store->left_out, collection, NULL) ? 1 : -ENOMEM;
}

/*
 * Is it a sample or collection of a pause? A collection belongs to the time when it began. 0, 1 or
 * -ENOMEM.
 */
static int is_left_out(struct store *store, const struct incoming *in)
{
	const struct event_gc_begin *begin = (const void *)in->header;
	const struct event_gc_end *end = (const void *)in->header;
	struct open_collection collection = {.process = in->process->id};
	bool paused = was_paused(store, in->header->time);

	switch (in->header->code) {
	case EVENT_gc_begin:
		collection.heap = process_heap(in->process, in->header->provider, begin->heap);
		collection.cycle = begin->cycle;
		return paused ? leave_out(store, &collection) : 0;
	case EVENT_gc_end:
		collection.heap = process_heap(in->process, in->header->provider, end->heap);
		collection.cycle = end->cycle;
		return map_remove(store->left_out, &collection);
	default:
		return paused && in->info->traits & TRAIT_PAUSES;
	}
}

int store_event(struct store *store, const struct event_header *event)
{
	const struct event_info *info = event_info(event->code);
	struct incoming in = {.info = info, .header = event};
	int err;

	if (event->size < sizeof(*event) || !info || !functions[event->code] ||
	    event->size < info->size)
		return count(store, event, -EBADMSG);
	in.tail = (struct bytes){(const char *)event + info->size, event->size - info->size};
	err = identify(store, &in);
	if (!err && store->pauses.size)
		err = is_left_out(store, &in);
	if (err > 0)
		return 0;
	if (!err && in.process->expects)
		err = store_check_agent(store, in.process, event->time, false);
	return count(store, event, err ? err : functions[event->code](store, &in));
}

int store_syscall_total(struct store *store, uint64_t time, const struct syscall_key *key,
			const struct syscall_total *total)
{
	const struct process *process = processes_written(store->processes, key->process);
	uint8_t histogram[HISTOGRAM_BYTES_MAX];
	struct record record = {.kind = RECORD_syscall_total};

	if (!process)
		return -ENOENT;
	record.syscall_total.time = time;
	record.syscall_total.process = process->id;
	record.syscall_total.number = key->number;
	record.syscall_total.count = total->count;
	record.syscall_total.errors = total->errors;
	record.syscall_total.total_ns = total->total_ns;
	record.syscall_total.max_ns = total->max_ns;
	record.syscall_total.gc_count = total->gc_count;
	record.syscall_total.gc_ns = total->gc_ns;
	record.syscall_total.waits = total->waits;
	record.syscall_total.wait_ns = total->wait_ns;
	record.syscall_total.wait_max = total->wait_max;
	record.syscall_total.histogram.data = (const char *)histogram;
	record.syscall_total.histogram.size =
		store_pack_histogram(total->histogram, SYSCALL_BUCKETS, histogram);
	return profile_writer_put(store->writer, &record);
}

int store_call_cpu(struct store *store, uint64_t time, uint32_t process, const struct call_cpu *cpu)
{
	const struct process *known = processes_written(store->processes, process);
	struct record record = {.kind = RECORD_call_cpu};

	if (!known)
		return -ENOENT;
	record.call_cpu.time = time;
	record.call_cpu.process = known->id;
	record.call_cpu.traced_ns = cpu->traced_ns;
	record.call_cpu.untraced_ns = cpu->untraced_ns;
	return profile_writer_put(store->writer, &record);
}

void store_prepare_symbols(struct store *store)
{
	frame_names_prepare(store->names);
}

int store_symbolize(struct store *store)
{
	return frame_names_write(store->names);
}

int store_symbolize_turn(struct store *store)
{
	return frame_names_turn(store->names);
}

uint64_t store_walk_until(struct store *store, uint64_t time)
{
	return stacks_walk_until(store->stacks, time);
}

int store_symbolize_all(struct store *store, uint64_t ns)
{
	return frame_names_finish(store->names, ns);
}

bool store_is_symbolized(const struct store *store)
{
	return frame_names_are_written(store->names);
}

size_t store_programs(const struct store *store, char *out, size_t size)
{
	size_t count = store->programs.count, used = 0;
	size_t named = count < PROGRAMS_NAMED ? count : PROGRAMS_NAMED;

	*out = '\0';
	for (size_t i = 0; i < named && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 !i               ? ""
					 : i + 1 == count ? " or "
							  : ", ",
					 store->programs.names[i]);
	if (count > named && used < size)
		snprintf(out + used, size - used, " and others");
	return count;
}

uint64_t store_loss(const struct store *store, enum loss reason)
{
	if (reason == LOSS_NAMES_FILE)
		return frame_names_unread(store->names) + files_lost(store->files);
	if (reason == LOSS_NAMES_REMOTE)
		return frame_names_nameless(store->names);
	if (reason == LOSS_SHARE)
		return store->losses[reason] + processes_unnamed(store->processes) +
		       frame_names_unnamed(store->names);
	return (unsigned)reason < LOSS_MAX ? store->losses[reason] : 0;
}

uint64_t store_count(const struct store *store, enum stream stream)
{
	return (unsigned)stream < STREAM_END ? store->counts[stream] : 0;
}

uint64_t store_collections(const struct store *store)
{
	return store->collections;
}

struct store_arrived store_arrived(const struct store *store)
{
	return (struct store_arrived){store->arrived_samples, store->arrived_gc};
}

uint64_t store_sampled(const struct store *store)
{
	return store->sampled;
}

/* --- shared by the files that store events: store_events.h ----------------------- */

int store_take_text(struct bytes *tail, size_t size, size_t max, struct bytes *out)
{
	size_t padded = (size + 7) & ~(size_t)7;

	if (size > tail->size)
		return -EBADMSG;
	*out = (struct bytes){tail->data, strnlen(tail->data, size < max ? size : max)};
	if (padded > tail->size)
		padded = tail->size;
	tail->data += padded;
	tail->size -= padded;
	return 0;
}

uint64_t store_put_string(struct store *store, struct bytes text)
{
	return profile_writer_string(store->writer, text.data, text.size);
}

int store_put_stack_on(struct store *store, const struct incoming *in,
		       const struct stack_base *base, const struct event_stack *counts,
		       struct stored_stack *out)
{
	int err = stacks_put(store->stacks, in->process, base, counts, in->tail, out);

	if (out->quality & STACK_USER_GUESSED && runtimes_keep_frames(in->process->runtimes))
		out->quality &= ~(uint32_t)STACK_USER_GUESSED;
	store->losses[LOSS_COPY_SHORT] += out->dump_short;
	store->losses[LOSS_GUESSED] += (out->quality & STACK_USER_GUESSED) != 0;
	return err;
}

int store_put_stack(struct store *store, const struct incoming *in,
		    const struct event_stack *counts, struct stored_stack *out)
{
	const struct stack_base base = {.provider = in->header->provider};

	return store_put_stack_on(store, in, &base, counts, out);
}

size_t store_pack_histogram(const uint32_t *histogram, uint32_t buckets, uint8_t *out)
{
	uint8_t *at = out;
	uint32_t previous = 0;

	for (uint32_t i = 0; i < buckets; i++) {
		if (!histogram[i])
			continue;
		at = varint_put(at, i - previous);
		at = varint_put(at, histogram[i]);
		previous = i;
	}
	return (size_t)(at - out);
}
