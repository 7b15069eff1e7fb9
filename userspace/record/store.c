// SPDX-License-Identifier: BSD-2-Clause
/* store.c: turns ring events, in order of time, into records of a profile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "frame_names.h"
#include "histogram.h"
#include "modules.h"
#include "processes.h"
#include "stack_keys.h"
#include "stacks.h"
#include "store.h"

#define PATH_BYTES_MAX 4096
#define AGE_BITS       8 /* of an object's age that are kept: 0.4 %, and a third of its sample */

struct store {
	struct profile_writer *writer;
	struct processes *processes;
	struct modules *modules;
	struct stacks *stacks;
	struct stack_keys *keys;
	struct frame_names *names;
	uint64_t losses[LOSS_MAX];
	uint64_t counts[STREAM_END];
};

/* An event on its way into the profile. */
struct incoming {
	const struct event_header *header;
	struct process *process;
	uint64_t thread;   /* id */
	struct bytes tail; /* what follows the fixed part */
};

typedef int store_function(struct store *store, const struct incoming *in);

int store_create(struct profile_writer *writer, struct store **out)
{
	struct store *store = calloc(1, sizeof(*store));
	int err = -ENOMEM;

	if (!store)
		return err;
	store->writer = writer;
	err = processes_create(writer, &store->processes);
	if (!err)
		err = modules_create(writer, &store->modules);
	if (!err)
		err = stacks_create(writer, store->processes, store->modules, &store->stacks);
	if (!err)
		err = stack_keys_create(&store->keys);
	if (!err)
		err = frame_names_create(writer, store->modules, &store->names);
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
	frame_names_free(store->names);
	stack_keys_free(store->keys);
	stacks_free(store->stacks);
	modules_free(store->modules);
	processes_free(store->processes);
	free(store);
}

int store_add_process(struct store *store, uint32_t process, uint32_t pid, uint32_t ns_pid,
		      uint64_t time)
{
	struct process_ids ids = {pid, ns_pid};
	struct process *first = processes_get(store->processes, process, &ids, 0, time);

	if (!first || !processes_thread_begins(store->processes, first, pid, ns_pid))
		return -ENOMEM;
	return 0;
}

/* The record of an event that has a thread: every one begins with these two fields. */
#define RECORD_OF(name, in)                         \
	{                                           \
		.kind = RECORD_##name, .name = {    \
			.time = (in)->header->time, \
			.thread = (in)->thread      \
		}                                   \
	}

/* A text of `size` bytes at the start of *tail, which moves behind it and its padding. */
static int take_text(struct bytes *tail, size_t size, size_t max, struct bytes *out)
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

static uint64_t put_string(struct store *store, struct bytes text)
{
	return profile_writer_string(store->writer, text.data, text.size);
}

static int put_stack(struct store *store, const struct incoming *in,
		     const struct event_stack *counts, struct stored_stack *out)
{
	int err = stacks_put(store->stacks, in->process, counts, in->tail, out);

	store->losses[LOSS_COPY_SHORT] += out->copy_short;
	return err;
}

/* Completes a sample, whose stack is known, and writes it. */
static int put_alloc(struct store *store, const struct incoming *in, struct record *record)
{
	struct record_alloc *alloc = &record->alloc;
	int err;

	alloc->sample = process_number(in->process, alloc->sample);
	alloc->type = process_number(in->process, alloc->type);
	err = processes_reference(store->processes, in->process, NAME_TYPE, alloc->type);
	return err ? err : profile_writer_put(store->writer, record);
}

static int store_alloc(struct store *store, const struct incoming *in)
{
	const struct event_alloc *event = (const void *)in->header;
	struct record record = RECORD_OF(alloc, in);
	struct stack_told told;
	struct stored_stack stack;
	int err = put_stack(store, in, &event->stack, &stack);

	told = (struct stack_told){stack.id, stack.quality};
	if (!err && event->key)
		err = stack_keys_set(store->keys, in->process->id,
				     process_number(in->process, event->key), &told);
	if (err)
		return err;
	record.alloc.stack = told.stack;
	record.alloc.sample = event->sample;
	record.alloc.type = event->type;
	record.alloc.size = event->bytes;
	record.alloc.period = event->period;
	record.alloc.kind = event->kind;
	record.alloc.quality = told.quality;
	return put_alloc(store, in, &record);
}

/* Batches are taken apart before they come here: what comes is one sample of a batch. */
#define store_samples NULL

static int store_sample(struct store *store, const struct incoming *in)
{
	const struct gcprof_sample *sample = &((const struct event_sample *)in->header)->entry;
	struct stack_told told = {0, STACK_UNTOLD};
	struct record record = RECORD_OF(alloc, in);

	if (!stack_keys_get(store->keys, in->process->id,
			    process_number(in->process, sample->stack), &told))
		store->losses[LOSS_STACK_UNTOLD]++;
	record.alloc.stack = told.stack;
	record.alloc.sample = sample->sample;
	record.alloc.type = sample->type;
	record.alloc.size = sample->size;
	record.alloc.period = sample->period;
	record.alloc.kind = sample->kind;
	record.alloc.quality = told.quality;
	return put_alloc(store, in, &record);
}

/* The nearest number with AGE_BITS significant bits: the rest would not compress. */
static uint64_t round_age(uint64_t age)
{
	unsigned bits = age ? 64 - (unsigned)__builtin_clzll(age) : 0;
	unsigned drop = bits > AGE_BITS ? bits - AGE_BITS : 0;
	uint64_t half = drop ? UINT64_C(1) << (drop - 1) : 0;

	if (age > UINT64_MAX - half)
		half = 0;
	return (age + half) >> drop << drop;
}

static int store_fate(struct store *store, const struct incoming *in)
{
	const struct event_fate *event = (const void *)in->header;
	int err = 0;

	if (event->count > GCPROF_FATE_MAX ||
	    event->count * sizeof(event->entries[0]) > in->tail.size)
		return -EBADMSG;
	for (uint32_t i = 0; i < event->count && !err; i++) {
		const struct gcprof_fate *fate = &event->entries[i];
		struct record record = {.kind = RECORD_fate};

		record.fate.time = in->header->time;
		record.fate.process = in->process->id;
		record.fate.sample = process_number(in->process, fate->sample);
		record.fate.outcome = fate->outcome;
		record.fate.age = round_age(fate->age);
		record.fate.collections = fate->collections;
		err = profile_writer_put(store->writer, &record);
	}
	return err;
}

static int store_gc_begin(struct store *store, const struct incoming *in)
{
	const struct event_gc_begin *event = (const void *)in->header;
	struct record record = RECORD_OF(gc_begin, in);

	record.gc_begin.heap = event->heap;
	record.gc_begin.cycle = event->cycle;
	record.gc_begin.kind = event->kind;
	record.gc_begin.reason = event->reason;
	return profile_writer_put(store->writer, &record);
}

static int store_gc_end(struct store *store, const struct incoming *in)
{
	const struct event_gc_end *event = (const void *)in->header;
	const struct gcprof_gc_stats *stats = &event->stats;
	struct record record = RECORD_OF(gc_end, in);

	record.gc_end.heap = event->heap;
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
	return profile_writer_put(store->writer, &record);
}

static int store_phase(struct store *store, const struct incoming *in)
{
	const struct event_phase *event = (const void *)in->header;
	struct record record = RECORD_OF(phase, in);

	record.phase.heap = event->heap;
	record.phase.phase = event->phase;
	return profile_writer_put(store->writer, &record);
}

static int store_type(struct store *store, const struct incoming *in)
{
	const struct event_type *event = (const void *)in->header;
	struct bytes tail = in->tail, text;
	struct name name = {0};
	int err = take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (err)
		return err;
	name.text = text.data;
	name.text_size = text.size;
	return processes_name(store->processes, in->process, NAME_TYPE,
			      process_number(in->process, event->type), &name);
}

static int store_code(struct store *store, const struct incoming *in)
{
	const struct event_code *event = (const void *)in->header;
	struct bytes tail = in->tail, text, file;
	struct name name = {0};
	int err = take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (!err)
		err = take_text(&tail, event->file_size, NAME_BYTES_MAX, &file);
	if (err)
		return err;
	name.text = text.data;
	name.text_size = text.size;
	name.file = file.data;
	name.file_size = file.size;
	name.line = event->line;
	return processes_name(store->processes, in->process, NAME_CODE,
			      process_number(in->process, event->code), &name);
}

static int store_period(struct store *store, const struct incoming *in)
{
	const struct event_period *event = (const void *)in->header;
	struct record record = RECORD_OF(period, in);

	record.period.old_period = event->old_period;
	record.period.new_period = event->new_period;
	record.period.reason = event->reason;
	return profile_writer_put(store->writer, &record);
}

static int store_mutator(struct store *store, const struct incoming *in)
{
	const struct event_mutator *event = (const void *)in->header;
	struct record record = RECORD_OF(mutator, in);

	record.mutator.heap = event->heap;
	record.mutator.event = event->event;
	return profile_writer_put(store->writer, &record);
}

static int store_cpu(struct store *store, const struct incoming *in)
{
	const struct event_cpu *event = (const void *)in->header;
	struct record record = RECORD_OF(cpu, in);
	struct stored_stack stack;
	int err = put_stack(store, in, &event->stack, &stack);

	if (err)
		return err;
	record.cpu.stack = stack.id;
	record.cpu.cpu = in->header->cpu;
	record.cpu.mode = event->mode;
	record.cpu.quality = stack.quality;
	return profile_writer_put(store->writer, &record);
}

static int store_syscall(struct store *store, const struct incoming *in)
{
	const struct event_syscall *event = (const void *)in->header;
	struct record record = RECORD_OF(syscall, in);
	struct stored_stack stack;
	int err = put_stack(store, in, &event->stack, &stack);

	if (err)
		return err;
	record.syscall.stack = stack.id;
	record.syscall.number = event->number;
	record.syscall.duration = event->duration;
	record.syscall.result = event->result;
	record.syscall.arg0 = event->args[0];
	record.syscall.arg1 = event->args[1];
	record.syscall.arg2 = event->args[2];
	record.syscall.gc_ns = event->gc_ns;
	record.syscall.flags = event->flags;
	record.syscall.quality = stack.quality;
	return profile_writer_put(store->writer, &record);
}

/* The process of a fork's child; a thread's is its maker's own. */
static struct process *child_process(struct store *store, const struct incoming *in)
{
	const struct event_fork *event = (const void *)in->header;
	struct process_ids ids = {event->child_pid, event->child_ns_pid};
	struct process *child;

	if (event->kind == FORK_THREAD)
		return in->process;
	child = processes_get(store->processes, event->child_process, &ids, in->process->id,
			      in->header->time);
	if (child)
		process_inherit(child, in->process);
	return child;
}

static int store_fork(struct store *store, const struct incoming *in)
{
	const struct event_fork *event = (const void *)in->header;
	struct record record = RECORD_OF(fork, in);
	struct process *child;

	if (!event->child_process || (event->kind != FORK_THREAD && event->kind != FORK_PROCESS))
		return -EBADMSG;
	if ((event->child_process == in->header->process) != (event->kind == FORK_THREAD))
		return -EBADMSG;
	child = child_process(store, in);
	if (!child)
		return -ENOMEM;
	record.fork.child = processes_thread_begins(store->processes, child, event->child_tid,
						    event->child_ns_tid);
	record.fork.kind = event->kind;
	return record.fork.child ? profile_writer_put(store->writer, &record) : -ENOMEM;
}

static int store_exec(struct store *store, const struct incoming *in)
{
	const struct event_exec *event = (const void *)in->header;
	struct record record = RECORD_OF(exec, in);
	struct bytes tail = in->tail, path;
	int err = take_text(&tail, event->name_size, PATH_BYTES_MAX, &path);

	if (err)
		return err;
	err = process_exec(in->process, in->header->time);
	if (err)
		return err;
	/* The thread that called exec goes on as the leader. */
	if (event->old_tid != in->header->tid)
		processes_thread_ended(store->processes, in->process, event->old_tid);
	record.exec.path = put_string(store, path);
	return profile_writer_put(store->writer, &record);
}

static int store_exit(struct store *store, const struct incoming *in)
{
	const struct event_exit *event = (const void *)in->header;
	struct record record = RECORD_OF(exit, in);

	processes_thread_ended(store->processes, in->process, in->header->tid);
	if (event->last)
		processes_ended(store->processes, in->process);
	record.exit.status = event->status;
	record.exit.last = event->last;
	return profile_writer_put(store->writer, &record);
}

static int put_comm(struct store *store, const struct incoming *in, const char name[16])
{
	struct record record = RECORD_OF(comm, in);

	record.comm.name = put_string(store, (struct bytes){name, strnlen(name, 16)});
	return profile_writer_put(store->writer, &record);
}

static int store_comm(struct store *store, const struct incoming *in)
{
	return put_comm(store, in, ((const struct event_comm *)(const void *)in->header)->name);
}

/* A thread that was there before: identify() made it known, with its numbers. */
static int store_task(struct store *store, const struct incoming *in)
{
	return put_comm(store, in, ((const struct event_task *)(const void *)in->header)->name);
}

/* What was mapped: a file, something of the kernel's like [vdso], or nothing that has a name. */
static int mmap_module(struct store *store, const struct incoming *in, uint64_t *module)
{
	const struct event_mmap *event = (const void *)in->header;
	struct module_place place = {
		.inode = event->inode,
		.start = event->address,
		.end = event->address + event->length,
		.major = event->major,
		.minor = event->minor,
		.pid = in->header->tid,
	};
	char path[PATH_BYTES_MAX + 1];
	struct bytes tail = in->tail, text;
	int err = take_text(&tail, event->name_size, PATH_BYTES_MAX, &text);

	*module = 0;
	if (err)
		return err;
	memcpy(path, text.data, text.size);
	path[text.size] = 0;
	place.path = path;
	if (!(event->protection & PROT_EXEC) || (!event->inode && path[0] != '['))
		return 0;
	*module = modules_find(store->modules, &place);
	return *module ? 0 : -ENOMEM;
}

static int store_mmap(struct store *store, const struct incoming *in)
{
	const struct event_mmap *event = (const void *)in->header;
	struct record record = {.kind = RECORD_mmap};
	struct mapping mapping = {
		.start = event->address,
		.end = event->address + event->length,
		.offset = event->offset,
		.time = in->header->time,
	};
	int err = -EBADMSG;

	if (mapping.end <= mapping.start)
		return err;
	err = mmap_module(store, in, &mapping.module);
	/* The code of the vdso is found by its place in its image. */
	if (!err && !event->inode)
		mapping.offset = 0;
	/* What was there before may be told twice, by /proc and by the perf ring. */
	if (!err && mapping.module && mappings_have(in->process->mappings, &mapping))
		return 0;
	if (!err)
		err = mappings_add(&in->process->mappings, &mapping);
	in->process->changes++;
	if (err || !mapping.module)
		return err;
	record.mmap.time = in->header->time;
	record.mmap.process = in->process->id;
	record.mmap.module = mapping.module;
	record.mmap.address = event->address;
	record.mmap.length = event->length;
	record.mmap.offset = mapping.offset;
	return profile_writer_put(store->writer, &record);
}

/* How each event is stored. */
static const struct {
	store_function *store;
	size_t size; /* of the fixed part */
	enum stream stream;
} kinds[] = {
#define EVENT(code, name, stream_, doc) \
	[code] = {store_##name, sizeof(struct event_##name), STREAM_##stream_},
#include "../../bpf/events.def"
#undef EVENT
};

/* The process that the event names by its index; made known if it is new. */
static struct process *identify_process(struct store *store, const struct event_header *header)
{
	const struct event_task *task = (const void *)header;
	struct process_ids ids = {header->pid, header->code == EVENT_task ? task->ns_pid : 0};

	return processes_get(store->processes, header->process, &ids, 0, header->time);
}

/* Finds the process and thread that the event is about. -ENOENT if nobody follows it. */
static int identify(struct store *store, struct incoming *in)
{
	const struct event_header *header = in->header;

	if (header->process) {
		in->process = identify_process(store, header);
		if (!in->process)
			return -ENOMEM;
	} else {
		in->process = header->code == EVENT_mmap
				      ? processes_by_pid(store->processes, header->pid)
				      : NULL;
		if (!in->process)
			return -ENOENT;
	}
	/* The others only concern the process: they make no thread known. */
	if (header->code == EVENT_mmap || header->code == EVENT_fate)
		return 0;
	if (header->code == EVENT_task)
		in->thread = processes_thread_begins(
			store->processes, in->process, header->tid,
			((const struct event_task *)(const void *)header)->ns_tid);
	else
		in->thread = processes_thread(store->processes, in->process, header->tid);
	return in->thread ? 0 : -ENOMEM;
}

static int store_known(struct store *store, const struct event_header *event)
{
	struct incoming in = {.header = event};
	size_t size = kinds[event->code].size;
	int err;

	if (event->size < size)
		return -EBADMSG;
	in.tail = (struct bytes){(const char *)event + size, event->size - size};
	err = identify(store, &in);
	return err ? err : kinds[event->code].store(store, &in);
}

int store_event(struct store *store, const struct event_header *event)
{
	const size_t n_kinds = sizeof(kinds) / sizeof(kinds[0]);
	int err = -EBADMSG;

	if (event->size >= sizeof(*event) && event->code < n_kinds && kinds[event->code].store)
		err = store_known(store, event);
	switch (err) {
	case 0:
		store->counts[kinds[event->code].stream]++;
		return 0;
	case -EBADMSG:
		store->losses[LOSS_BAD_EVENT]++;
		return 0;
	case -ENOENT:
		/* Mappings are told of every process, followed or not. */
		if (event->code != EVENT_mmap)
			store->losses[LOSS_UNKNOWN_PROCESS]++;
		return 0;
	case -ENOMEM:
	case -EOVERFLOW:
		store->losses[LOSS_MEMORY]++;
		return 0;
	default:
		return err;
	}
}

int store_syscall_total(struct store *store, uint64_t time, const struct syscall_key *key,
			const struct syscall_total *total)
{
	const struct process *process = processes_by_index(store->processes, key->process);
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
	record.syscall_total.histogram.data = (const char *)histogram;
	record.syscall_total.histogram.size = histogram_pack(total->histogram, histogram);
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

void store_tell_agreement(const struct store *store)
{
	agreement_tell(stacks_agreement(store->stacks), store->modules);
}

uint64_t store_loss(const struct store *store, enum loss reason)
{
	return (unsigned)reason < LOSS_MAX ? store->losses[reason] : 0;
}

uint64_t store_count(const struct store *store, enum stream stream)
{
	return (unsigned)stream < STREAM_END ? store->counts[stream] : 0;
}
