/* SPDX-License-Identifier: BSD-2-Clause */
/* store_system.c: stores system events: ticks, system calls, processes, mappings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../bpf/syscall_args.h"
#include "../kernel/session.h"
#include "../opener/code_owner.h"
#include "../world/ahead.h"
#include "store_events.h"

int store_cpu(struct store *store, const struct incoming *in)
{
	const struct event_cpu *event = (const void *)in->header;
	struct record record = {0};
	int err = store_fill(store, in, &record);

	if (err)
		return err;
	record.cpu.call = event->call & ~CPU_CALL_COMPAT;
	if (event->call & CPU_CALL_COMPAT)
		record.cpu.call += UINT64_C(1) << 31;
	/* The frames lie within the event, otherwise its stack would not have been stored. */
	record.cpu.recording = store->own && own_code_has(store->own, (const void *)in->tail.data,
							  event->stack.n_kernel);
	if (record.cpu.recording)
		store->own_ticks += event->ticks > 1 ? event->ticks : 1;
	if (event->ticks > 1) {
		record.cpu.ticks = event->ticks;
		store->losses[LOSS_TICKS_HELD] += event->ticks - 1;
	}
	err = profile_writer_ran(store->writer, in->thread, event->ran,
				 record_cpu_ticks(&record.cpu));
	return err ? err : profile_writer_put(store->writer, &record);
}

int store_ran(struct store *store, const struct incoming *in)
{
	const struct event_ran *event = (const void *)in->header;

	return profile_writer_ran(store->writer, in->thread, event->ran, 0);
}

int store_syscall(struct store *store, const struct incoming *in)
{
	const struct event_syscall *event = (const void *)in->header;
	/* The table is of the 64-bit calls. */
	unsigned args = event->flags & SYSCALL_COMPAT ? SYSCALL_ARGS_MAX
						      : syscall_args_of(event->number);
	struct record record = {0};
	int err = store_fill(store, in, &record);

	record.syscall.arg0 = args > 0 ? event->args[0] : 0;
	record.syscall.arg1 = args > 1 ? event->args[1] : 0;
	record.syscall.arg2 = args > 2 ? event->args[2] : 0;
	return err ? err : profile_writer_put(store->writer, &record);
}

/* --- waits ------------------------------------------------------------------------------ */

/* Where a thread last left its CPU, outside of a system call. */
struct departure {
	uint64_t time, stack;
	uint32_t quality, fiber;
};

enum { DEPARTURES_MAX = 1 << 17 }; /* then all are dropped: most threads have ended by then */

/* The thread's departure, zeroed if it had none; NULL: no memory. */
static struct departure *departure_of(struct store *store, uint64_t thread)
{
	static const struct departure none;
	uint64_t *number;

	if (map_count(store->left) >= DEPARTURES_MAX && !map_get(store->left, &thread)) {
		map_clear(store->left);
		store->left_at.size = 0;
	}
	number = map_put(store->left, &thread, NULL);
	if (!number)
		return NULL;
	if (!*number) {
		if (buffer_append(&store->left_at, &none, sizeof(none)))
			return NULL;
		*number = store->left_at.size / sizeof(none);
	}
	return (struct departure *)(void *)store->left_at.data + *number - 1;
}

int store_leave(struct store *store, const struct incoming *in)
{
	const struct event_leave *event = (const void *)in->header;
	struct departure *departure;
	struct stored_stack stack;
	int err = store_put_stack(store, in, &event->stack, &stack);

	if (err)
		return err;
	departure = departure_of(store, in->thread);
	if (!departure)
		return -ENOMEM;
	*departure =
		(struct departure){in->header->time, stack.id, stack.quality, in->header->fiber};
	return 0;
}

int store_wait(struct store *store, const struct incoming *in)
{
	const struct event_wait *event = (const void *)in->header;
	struct record record = {0};
	struct stack_base base = {.provider = in->header->provider};
	struct departure left = {0}, *last;
	struct stored_stack stack;
	int err;

	if (event->reason >= WAIT_REASONS || event->duration > event->ended)
		return -EBADMSG;
	last = event->flags & WAIT_LEFT ? departure_of(store, in->thread) : NULL;
	/* Otherwise the record of this departure was lost. */
	if (last && last->time == event->ended - event->duration)
		left = *last;
	base.below = profile_writer_renew_stack(store->writer, left.stack);
	if (left.stack && !base.below)
		left.quality |= STACK_LOST;
	err = store_put_stack_on(store, in, &base, &event->stack, &stack);
	err = err ? err : store_fill(store, in, &record);
	if (err)
		return err;
	record.wait.flags = event->flags & (WAIT_IN_CALL | WAIT_COMPAT | WAIT_OPEN);
	record.wait.stack = stack.id;
	record.wait.quality = stack.quality | left.quality;
	if (event->reason == WAIT_CALL && event->queued <= event->duration)
		record.wait.queued = event->queued;
	if (event->waker)
		record.wait.waker = processes_thread_known(store->processes, event->waker_process,
							   event->waker);
	record.wait.fiber = left.time ? left.fiber : in->header->fiber;
	return profile_writer_put(store->writer, &record);
}

/* The process of a fork's child; a thread's is its creator's. */
static struct process *child_process(struct store *store, const struct incoming *in)
{
	const struct event_fork *event = (const void *)in->header;
	const struct process_ids ids = {event->child_pid, event->child_ns_pid,
					event->child_proc_pid};
	struct process *child;

	if (event->kind == FORK_THREAD)
		return in->process;
	child = processes_write(store->processes, event->child_process, &ids, in->process->id,
				in->header->time);
	if (child)
		process_inherit(child, in->process);
	return child;
}

int store_fork(struct store *store, const struct incoming *in)
{
	const struct event_fork *event = (const void *)in->header;
	struct record record = {0};
	struct process *child;
	int err;

	if (!event->child_process || event->kind < FORK_THREAD || event->kind > FORK_SHARING)
		return -EBADMSG;
	if ((event->child_process == in->header->process) != (event->kind == FORK_THREAD))
		return -EBADMSG;
	child = child_process(store, in);
	if (!child)
		return -ENOMEM;
	err = store_fill(store, in, &record);
	record.fork.child = processes_thread_begins(store->processes, child, event->child_tid,
						    event->child_ns_tid);
	if (!record.fork.child)
		err = -ENOMEM;
	return err ? err : profile_writer_put(store->writer, &record);
}

/* The latest are kept: those before them started them. */
static void note_program(struct store *store, struct bytes path)
{
	char(*names)[sizeof(store->programs.names[0])] = store->programs.names;
	const char *slash = memrchr(path.data, '/', path.size);
	const char *base = slash ? slash + 1 : path.data;
	char name[sizeof(*names)];

	snprintf(name, sizeof(name), "%.*s", (int)(path.data + path.size - base), base);
	for (size_t i = 0; i < store->programs.count && i < PROGRAMS_NAMED; i++)
		if (!strcmp(names[i], name))
			return;
	if (store->programs.count >= PROGRAMS_NAMED)
		memmove(names, names + 1, (PROGRAMS_NAMED - 1) * sizeof(*names));
	memcpy(names[store->programs.count < PROGRAMS_NAMED ? store->programs.count
							    : PROGRAMS_NAMED - 1],
	       name, sizeof(name));
	if (store->programs.count <= PROGRAMS_NAMED)
		store->programs.count++;
}

int store_exec(struct store *store, const struct incoming *in)
{
	const struct event_exec *event = (const void *)in->header;
	struct record record = {0};
	struct bytes tail = in->tail, path;
	int err = store_take_text(&tail, event->name_size, PATH_BYTES_MAX, &path);

	if (err)
		return err;
	live_objects_forget(store->live, in->process->id);
	followed_forget(store->followed, in->process->id);
	err = store_check_agent(store, in->process, in->header->time, true);
	if (!err)
		err = process_exec(store->processes, in->process, in->header->time);
	if (err)
		return err;
	in->process->expects = in->header->time;
	in->process->unsampled = in->process->collects = false;
	/* The thread that called exec continues as the leader. */
	if (event->old_tid != in->header->tid)
		processes_thread_ended(store->processes, in->process, event->old_tid);
	note_program(store, path);
	err = store_fill(store, in, &record);
	record.exec.path = store_put_string(store, path);
	return err ? err : profile_writer_put(store->writer, &record);
}

/* Formats the command line as one line, or the title written over it. Returns the length. */
static size_t title_text(const struct event_title *event, char text[sizeof(event->text)])
{
	size_t size = event->size < sizeof(event->text) ? event->size : sizeof(event->text);

	memcpy(text, event->text, sizeof(event->text));
	if (event->overwritten)
		return strnlen(text, sizeof(event->text));
	while (size && !text[size - 1])
		size--;
	for (size_t i = 0; i < size; i++)
		text[i] = text[i] ? text[i] : ' ';
	return size;
}

int store_title(struct store *store, const struct incoming *in)
{
	const struct event_title *event = (const void *)in->header;
	struct record record = {0};
	char text[sizeof(event->text)];
	struct bytes title = {text, title_text(event, text)};
	int err = store_fill(store, in, &record);

	record.title.text = store_put_string(store, title);
	if (!title.size || record.title.text == in->process->title)
		return 0;
	in->process->title = record.title.text;
	return err ? err : profile_writer_put(store->writer, &record);
}

/* --- usage ------------------------------------------------------------------------------- */

static void forget_usage(struct store *store, uint64_t thread)
{
	const uint64_t *place = map_get(store->used, &thread);

	if (place)
		free((void *)(uintptr_t)*place);
	map_remove(store->used, &thread);
}

static void subtract(uint64_t *sum, uint64_t before)
{
	*sum -= before < *sum ? before : *sum;
}

/*
 * Replaces sums by what was added since `before`. A longest wait that is not longer is 0. Of a
 * thread that ended while it was asked, the kernel may have counted more in `before`.
 */
static void subtract_usage(struct event_usage *usage, const struct event_usage *before)
{
	subtract(&usage->minor_faults, before->minor_faults);
	subtract(&usage->major_faults, before->major_faults);
	subtract(&usage->queued, before->queued);
	for (int i = 0; i < WAIT_REASONS; i++) {
		subtract(&usage->waits[i], before->waits[i]);
		subtract(&usage->wait_ns[i], before->wait_ns[i]);
		if (usage->wait_max[i] <= before->wait_max[i])
			usage->wait_max[i] = 0;
	}
}

int store_usage(struct store *store, const struct incoming *in)
{
	struct event_usage more = *(const struct event_usage *)(const void *)in->header, *so_far;
	const bool goes_on = more.flags & USAGE_GOES_ON;
	struct incoming copy = *in;
	uint64_t *place = goes_on ? map_put(store->used, &in->thread, NULL)
				  : map_get(store->used, &in->thread);
	int err;

	if (goes_on && place && !*place)
		*place = (uintptr_t)calloc(1, sizeof(*so_far));
	so_far = place ? (struct event_usage *)(uintptr_t)*place : NULL;
	if (goes_on && !so_far)
		return -ENOMEM;
	copy.header = &more.header;
	if (so_far)
		subtract_usage(&more, so_far);
	err = store_copied(store, &copy);
	if (!err && goes_on)
		*so_far = *(const struct event_usage *)(const void *)in->header;
	if (!goes_on)
		forget_usage(store, in->thread);
	return err;
}

int store_exit(struct store *store, const struct incoming *in)
{
	const struct event_exit *event = (const void *)in->header;
	int err = event->last ? store_check_agent(store, in->process, in->header->time, true) : 0;

	processes_thread_ended(store->processes, in->process, in->header->tid);
	forget_usage(store, in->thread);
	if (event->last) {
		live_objects_forget(store->live, in->process->id);
		followed_forget(store->followed, in->process->id);
		process_over(in->process, in->header->time);
	}
	return err ? err : store_copied(store, in);
}

/* `name` is a string. */
static int put_comm(struct store *store, const struct incoming *in, uint64_t name)
{
	const struct record record = {
		.kind = RECORD_comm,
		.comm = {.time = in->header->time, .thread = in->thread, .name = name},
	};

	return profile_writer_put(store->writer, &record);
}

static uint64_t comm_string(struct store *store, const char name[COMM_BYTES])
{
	return store_put_string(store, (struct bytes){name, strnlen(name, COMM_BYTES)});
}

static struct long_name *long_name_of(struct store *store, const struct incoming *in)
{
	return &store->long_names[in->thread %
				  (sizeof(store->long_names) / sizeof(store->long_names[0]))];
}

/* The kernel will have part of it. */
int store_thread_name(struct store *store, const struct incoming *in)
{
	const struct event_thread_name *event = (const void *)in->header;
	struct bytes tail = in->tail, text;
	int err = store_take_text(&tail, event->name_size, NAME_BYTES_MAX, &text);

	if (!err)
		*long_name_of(store, in) = (struct long_name){
			in->thread, text.size < COMM_BYTES ? 0 : store_put_string(store, text)};
	return err;
}

int store_comm(struct store *store, const struct incoming *in)
{
	const struct event_comm *event = (const void *)in->header;
	struct long_name *longer = long_name_of(store, in);
	uint64_t name = longer->thread == in->thread ? longer->name : 0;

	if (name)
		longer->name = 0;
	return put_comm(store, in, name ? name : comm_string(store, event->name));
}

/* An existing thread: identify() has added it, with its pids. */
int store_task(struct store *store, const struct incoming *in)
{
	const struct event_task *event = (const void *)in->header;

	return put_comm(store, in, comm_string(store, event->name));
}

/* --- mappings ---------------------------------------------------------------------------- */

/* Shared memory is also used to map generated code twice, writable and executable, or for all
 * processes of a server. */
static bool is_memory(const char *path)
{
	static const char *const names[] = {"/memfd:", "/dev/zero", "/dev/shm/", "/SYSV"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(path, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool store_is_generated(const struct event_mmap *event, const char *path)
{
	if (!(event->protection & PROT_EXEC))
		return false;
	return event->inode ? is_memory(path) || code_owner_is_dump(path) : path[0] != '[';
}

/*
 * The module of a mapping; 0 if it contains no code. While the process lives, looks for what will
 * be needed to name its code. Code of the vdso is found by its place in the image, generated code
 * by address. -ENOMEM.
 */
static int find_module(struct store *store, const struct process *process,
		       const struct module_place *place, struct mapping *mapping)
{
	const struct file *file;

	/* JIT compilers map this file to show profilers where they describe their code. */
	if (place->inode && code_owner_is_dump(place->path))
		return frame_names_dump(store->names, process->id, place);
	if (place->inode || place->path[0] == '[') {
		mapping->module = files_module(store->files, store->writer, place);
		file = files_by_module(store->files, mapping->module);
		mapping->offset = place->inode ? mapping->offset : 0;
		if (!mapping->module || !is_memory(place->path) || (file && file_is_program(file)))
			return mapping->module ? 0 : -ENOMEM;
	}
	mapping->module = files_generated(store->files, store->writer, process->id, process->user);
	mapping->offset = mapping->start;
	return mapping->module ? frame_names_generated(store->names, process->id, place->pid)
			       : -ENOMEM;
}

/* What was mapped: a file, a kernel mapping like [vdso], or generated code. */
static int mmap_module(struct store *store, const struct incoming *in, struct mapping *mapping)
{
	const struct event_mmap *event = (const void *)in->header;
	struct module_place place;
	char path[PATH_BYTES_MAX + 1];
	struct bytes tail = in->tail, text;
	int err = store_take_text(&tail, event->name_size, PATH_BYTES_MAX, &text);

	if (err)
		return err;
	memcpy(path, text.data, text.size);
	path[text.size] = 0;
	if (!(event->protection & PROT_EXEC))
		return 0;
	place = module_place_of(event, path);
	place.user = in->process->user;
	return find_module(store, in->process, &place, mapping);
}

int store_mmap(struct store *store, const struct incoming *in)
{
	const struct event_mmap *event = (const void *)in->header;
	struct record record = {0};
	struct mapping mapping = {
		.start = event->address,
		.end = event->address + event->length,
		.offset = event->offset,
		.time = in->header->time,
	};
	int err = -EBADMSG;

	if (mapping.end <= mapping.start)
		return err;
	mapping.file = ahead_reach(store->processes, in->process, &mapping);
	err = mmap_module(store, in, &mapping);
	if (!mapping.module)
		mapping.file = 0;
	/* Existing mappings may come twice, from /proc and from the perf ring. */
	if (!err && mapping.module && mappings_have(in->process->mappings, &mapping))
		return 0;
	if (!err)
		err = mappings_add(&in->process->mappings, processes_pool(store->processes),
				   &mapping);
	in->process->changes++;
	if (err || !mapping.module)
		return err;
	err = store_fill(store, in, &record);
	record.mmap.module = mapping.module;
	record.mmap.address = store->denied ? 0 : event->address;
	record.mmap.offset = mapping.offset;
	return err ? err : profile_writer_put(store->writer, &record);
}
