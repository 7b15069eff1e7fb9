/* SPDX-License-Identifier: BSD-2-Clause */
/* events.c: rows of single events, joined with the state of their process and thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../model/system/waits.h"
#include "../../model/world/call_part.h"
#include "../../model/world/syscall_text.h"
#include "../../model/world/text.h"
#include "sql.h"

enum { COMPAT_BIT = 31 };

struct sample_key {
	uint64_t process, sample;
};

static uint64_t process_of(const struct world *world, uint64_t thread)
{
	const struct thread *task = tasks_find_thread(&world->tasks, thread);

	return task ? task->process : 0;
}

static struct cell stack_of(const struct world *world, uint64_t stack)
{
	return reference(tree_node(&world->tree, stack) ? stack : 0);
}

/* --- allocation samples ------------------------------------------------------------------- */

static int take_alloc(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record_alloc *record = &event->record->alloc;
	static const char *const kinds[] = {
		[GCPROF_SAMPLE_NURSERY] = "nursery",   [GCPROF_SAMPLE_LARGE] = "large",
		[GCPROF_SAMPLE_BORN_OLD] = "born old", [GCPROF_SAMPLE_FOREIGN] = "foreign",
		[GCPROF_SAMPLE_MANUAL] = "manual",
	};
	uint64_t process = process_of(world, record->thread);
	const struct sql_process *state = sql_process(sql, process);
	double p = sample_probability(record->size, record->period), bytes = (double)record->size;
	struct sample_key key = {process, record->sample};
	uint64_t *living = map_put(sql->living, &key, NULL);
	struct row_samples row;

	if (!state || !living)
		return -ENOMEM;
	*living = sql_next(sql, TABLE_samples);
	row = (struct row_samples){
		.id = integer(*living),
		.time = integer(record->time),
		.process = integer(process),
		.thread = integer(record->thread),
		.stack = stack_of(world, record->stack),
		.type = reference(event->type),
		.size = integer(record->size),
		.period = integer(record->period),
		.kind = text(sql_name(kinds, record->kind)),
		.probability = real(p),
		.bytes = real(bytes / p),
		.objects = real(1 / p),
		.variance = real((1 - p) * (bytes / p) * (bytes / p)),
		.cycle = integer(state->minors + 1),
		.phase = text(state->phase),
		.quality = integer(record->quality),
		.fiber = reference(record->fiber),
	};
	return database_put(sql->database, TABLE_samples, &row);
}

static int take_fate(struct sql *sql, const struct record_fate *record)
{
	static const char *const outcomes[] = {
		[GCPROF_DIED_YOUNG] = "died young",
		[GCPROF_PROMOTED] = "promoted",
		[GCPROF_PINNED] = "pinned",
		[GCPROF_FREED] = "freed",
	};
	bool lives = record->outcome == GCPROF_PROMOTED || record->outcome == GCPROF_PINNED;
	struct sample_key key = {record->process, record->sample};
	const uint64_t *living = map_get(sql->living, &key);
	struct cell first[] = {text(sql_name(outcomes, record->outcome)),
			       integer(lives),
			       integer(record->time),
			       reference(record->age),
			       integer(record->collections),
			       {0}};
	struct cell death[] = {
		integer(record->time), reference(record->age), integer(record->collections), {0}};
	int error = 0;

	if (!living || record->outcome == GCPROF_COPIED)
		return 0;
	first[5] = death[3] = integer(*living);
	if (record->outcome != GCPROF_DIED_OLD && record->outcome <= GCPROF_FREED)
		error = database_run(sql->first_fate, first, 6);
	if (lives || error)
		return error;
	map_remove(sql->living, &key);
	return record->outcome > GCPROF_FREED ? 0 : database_run(sql->death, death, 4);
}

/* --- timer samples, system calls, waits ------------------------------------------------------- */

static struct sql_thread *thread_of(struct sql *sql, uint64_t thread)
{
	return array_reserve(&sql->threads, &sql->threads_capacity, thread, sizeof(*sql->threads)) <
			       0
		       ? NULL
		       : &sql->threads[thread];
}

/*
 * A system call is reported when it returns, so events that it may contain wait for the
 * thread's next call.
 */
static void wait_for_syscall(struct sql_pending *pending, uint64_t id, uint64_t time)
{
	if (pending->count == PENDING_MAX) {
		memmove(pending->items, pending->items + 1,
			(PENDING_MAX - 1) * sizeof(*pending->items));
		pending->count--;
	}
	pending->items[pending->count].id = id;
	pending->items[pending->count++].time = time;
}

static int take_cpu(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record_cpu *record = &event->record->cpu;
	uint64_t process = process_of(world, record->thread), id = sql_next(sql, TABLE_ticks);
	uint64_t frequency = world->model->run.frequency;
	const struct sql_process *state = sql_process(sql, process);
	struct sql_thread *thread = thread_of(sql, record->thread);
	struct row_ticks row;

	if (!state || !thread)
		return -ENOMEM;
	/* A tick in user mode ends the wait: a later call began after it. */
	if (record->mode == CPU_MODE_KERNEL)
		wait_for_syscall(&thread->ticks, id, record->time);
	else
		thread->ticks.count = 0;
	row = (struct row_ticks){
		.id = integer(id),
		.time = integer(record->time),
		.process = integer(process),
		.thread = integer(record->thread),
		.stack = stack_of(world, record->stack),
		.cpu = integer(record->cpu),
		.mode = text(record->mode == CPU_MODE_KERNEL ? "kernel" : "user"),
		.call = record->call ? text(syscall_describe(world->model, record->call - 1))
				     : nothing(),
		.collection = reference(sql_collection_of(sql, event, record->thread)),
		.cycle = integer(state->minors + 1),
		.phase = text(state->phase),
		.ns = frequency ? real((double)record->ns) : nothing(),
		.quality = integer(record->quality),
		.fiber = reference(record->fiber),
		.samples = integer(record->ticks ? record->ticks : 1),
	};
	return database_put(sql->database, TABLE_ticks, &row);
}

/* Faults without a record have no address. */
static int take_fault(struct sql *sql, const struct world *world, const struct event *event,
		      const struct record_fault *record)
{
	uint64_t process = process_of(world, record->thread);
	const struct sql_process *state = sql_process(sql, process);
	struct row_faults row;

	if (!state)
		return -ENOMEM;
	row = (struct row_faults){
		.id = integer(sql_next(sql, TABLE_faults)),
		.time = integer(record->time),
		.process = integer(process),
		.thread = integer(record->thread),
		.stack = stack_of(world, record->stack),
		.address = event->record->kind == RECORD_fault ? integer(record->address)
							       : nothing(),
		.minor = integer(record->minor),
		.major = integer(record->major),
		.collection = reference(sql_collection_of(sql, event, record->thread)),
		.cycle = integer(state->minors + 1),
		.phase = text(state->phase),
		.quality = integer(record->quality),
	};
	return database_put(sql->database, TABLE_faults, &row);
}

/* Faults without a record. */
static int take_usage(struct sql *sql, const struct world *world, const struct event *event)
{
	struct record_fault rest = faults_unrecorded(world, &event->record->usage);

	return rest.minor || rest.major ? take_fault(sql, world, event, &rest) : 0;
}

/* Assigns the events between start and finish to the call. */
static int assign_call(struct sql_pending *pending, struct sqlite3_stmt *update, uint64_t id,
		       uint64_t start, uint64_t finish)
{
	int error = 0;

	for (uint32_t i = 0; i < pending->count && !error; i++) {
		struct cell cells[] = {integer(id), integer(pending->items[i].id)};

		if (pending->items[i].time >= start && pending->items[i].time <= finish)
			error = database_run(update, cells, 2);
	}
	pending->count = 0;
	return error;
}

static int settle_thread(struct sql *sql, const struct record_syscall *record, uint64_t id,
			 uint64_t start)
{
	struct sql_thread *thread = thread_of(sql, record->thread);
	int error;

	if (!thread)
		return -ENOMEM;
	error = assign_call(&thread->ticks, sql->tick_in_syscall, id, start, record->time);
	return error ? error
		     : assign_call(&thread->waits, sql->wait_in_syscall, id, start, record->time);
}

static int take_syscall(struct sql *sql, const struct world *world,
			const struct record_syscall *record)
{
	uint64_t process = process_of(world, record->thread), id = sql_next(sql, TABLE_syscalls);
	uint64_t start = record->time > record->duration ? record->time - record->duration : 0;
	const struct sql_process *state = sql_process(sql, process);
	struct syscall_call call = syscall_of_record(world, record);
	const char *machine = world->model->run.machine;
	char label[SYSCALL_LABEL], arguments[SYSCALL_TEXT];
	struct row_syscalls row;
	int error = settle_thread(sql, record, id, start);

	if (!state || error)
		return state ? error : -ENOMEM;
	syscall_arguments(&call, arguments, sizeof(arguments));
	row = (struct row_syscalls){
		.id = integer(id),
		.start = integer(start),
		.finish = integer(record->time),
		.process = integer(process),
		.thread = integer(record->thread),
		.number = integer(record->number),
		.name = text(syscall_label(machine, call.number, label)),
		.duration_ns = integer(record->duration),
		.result = call.unfinished ? nothing() : integer((uint64_t)record->result),
		.arg0 = integer(record->arg0),
		.arg1 = integer(record->arg1),
		.arg2 = integer(record->arg2),
		.arguments = call.arguments ? text(arguments) : nothing(),
		.path = call.path ? text(call.path) : nothing(),
		.gc_ns = integer(record->gc_ns),
		.by_collector = integer(record->flags & SYSCALL_COLLECTOR ? 1 : 0),
		.stack = stack_of(world, record->stack),
		.cycle = integer(state->minors + 1),
		.phase = text(state->phase),
		.quality = integer(record->quality),
		.stands = record->stands ? integer(call_stands(record)) : nothing(),
		.fiber = reference(record->fiber),
	};
	if (record->gc_ns)
		row.collection = reference(sql_collection_during(state, start, record->time));
	return database_put(sql->database, TABLE_syscalls, &row);
}

static int take_wait(struct sql *sql, const struct world *world, const struct record_wait *record)
{
	uint64_t process = process_of(world, record->thread), id = sql_next(sql, TABLE_waits);
	uint64_t start = record->time > record->duration ? record->time - record->duration : 0;
	const struct sql_process *state = sql_process(sql, process);
	struct sql_thread *thread = thread_of(sql, record->thread);
	uint64_t compat = record->flags & WAIT_COMPAT ? SYSCALL_NUMBER_COMPAT : 0;
	const char *machine = world->model->run.machine;
	bool in_call = record->flags & WAIT_IN_CALL;
	char label[SYSCALL_LABEL];
	struct row_waits row;

	if (!state || !thread)
		return -ENOMEM;
	row = (struct row_waits){
		.id = integer(id),
		.start = integer(start),
		.finish = integer(record->time),
		.process = integer(process),
		.thread = integer(record->thread),
		.reason = text(wait_reason_name((unsigned)record->reason)),
		.duration_ns = integer(record->duration),
		.queued_ns = integer(record->reason == WAIT_PREEMPTED ? record->duration
								      : record->queued),
		.file = reference(record->file),
		.waker = reference(record->waker),
		.held = integer(record->held),
		.held_ns = integer(record->held_ns),
		.unfinished = integer(record->flags & WAIT_OPEN ? 1 : 0),
		.collection = reference(sql_collection_during(state, start, record->time)),
		.stack = stack_of(world, record->stack),
		.cycle = integer(state->minors + 1),
		.phase = text(state->phase),
		.quality = integer(record->quality),
		.fiber = reference(record->fiber),
	};
	if (in_call) {
		row.number = integer(record->number);
		row.name = text(syscall_label(machine, record->number | compat, label));
		wait_for_syscall(&thread->waits, id, record->time);
	}
	return database_put(sql->database, TABLE_waits, &row);
}

/* --- other records ---------------------------------------------------------------------------- */

static int put_marker(struct sql *sql, const struct world *world, struct row_markers marker,
		      uint64_t thread)
{
	marker.id = integer(sql_next(sql, TABLE_markers));
	marker.process = reference(process_of(world, thread));
	marker.thread = reference(thread);
	return database_put(sql->database, TABLE_markers, &marker);
}

static struct row_markers marker(const char *kind, uint64_t time, const char *name, uint64_t value)
{
	return (struct row_markers){.kind = text(kind),
				    .time = integer(time),
				    .text = text(name),
				    .value = integer(value)};
}

static int take_marker(struct sql *sql, const struct world *world, const struct record *record)
{
	static const char *const mutators[] = {NULL, "attached", "detached", "announced"};
	static const char *const periods[] = {NULL,       "start",   "ceiling",
					      "recovery", "request", "stop"};
	const struct tree *tree = &world->tree;

	switch (record->kind) {
	case RECORD_period:
		return put_marker(sql, world,
				  marker("period", record->period.time,
					 sql_name(periods, record->period.reason),
					 record->period.new_period),
				  record->period.thread);
	case RECORD_mutator:
		return put_marker(sql, world,
				  marker("mutator", record->mutator.time,
					 sql_name(mutators, record->mutator.event),
					 record->mutator.heap),
				  record->mutator.thread);
	case RECORD_fork:
		return put_marker(sql, world,
				  marker("fork", record->fork.time,
					 record->fork.kind == 1 ? "thread" : "process",
					 record->fork.child),
				  record->fork.thread);
	case RECORD_exec:
		return put_marker(
			sql, world,
			marker("exec", record->exec.time, tree_text(tree, record->exec.path), 0),
			record->exec.thread);
	case RECORD_exit:
		return put_marker(sql, world,
				  marker("exit", record->exit.time,
					 record->exit.last ? "process" : "thread",
					 record->exit.status),
				  record->exit.thread);
	case RECORD_comm:
		return put_marker(
			sql, world,
			marker("comm", record->comm.time, tree_text(tree, record->comm.name), 0),
			record->comm.thread);
	case RECORD_title:
		return put_marker(
			sql, world,
			marker("title", record->title.time, tree_text(tree, record->title.text), 0),
			record->title.thread);
	default:
		return 0;
	}
}

static int take_loss(struct sql *sql, const struct world *world, const struct record_loss *record)
{
	const struct loss_state *loss = &world->streams.losses[record->kind];

	return put_marker(sql, world, marker("loss", record->time, loss->text, loss->count), 0);
}

static int take_source(struct sql *sql, const struct world *world,
		       const struct record_source *record)
{
	struct arena *arena = world->model->arena;
	struct row_sources row = {
		.id = integer(sql_next(sql, TABLE_sources)),
		.recording = integer(record->recording),
		.file = text(name_clean(arena, record->path)),
		.host = text(name_clean(arena, record->host)),
		.command = text(name_clean(arena, record->command)),
		.start = integer(record->begin),
		.finish = integer(record->end),
		.realtime = reference(record->realtime),
	};

	return database_put(sql->database, TABLE_sources, &row);
}

static int take_window(struct sql *sql, const struct record_call_window *record)
{
	struct row_call_windows row = {
		.id = integer(sql_next(sql, TABLE_call_windows)),
		.start = integer(record->begin),
		.finish = integer(record->end),
		.call_ns = integer(record->call_ns),
		.recording = reference(record->recording),
	};

	return database_put(sql->database, TABLE_call_windows, &row);
}

static int take_heap_site(struct sql *sql, const struct world *world,
			  const struct record_heap_site *record)
{
	const struct heap_estimate live =
		heap_estimate(record->objects, record->bytes, record->rate);
	const struct heap_estimate all =
		heap_estimate(record->all_objects, record->all_bytes, record->rate);
	struct row_heap_sites row = {
		.id = integer(sql_next(sql, TABLE_heap_sites)),
		.time = integer(record->time),
		.process = integer(record->process),
		.stack = stack_of(world, record->stack),
		.objects = real(live.objects),
		.bytes = real(live.bytes),
		.all_objects = real(all.objects),
		.all_bytes = real(all.bytes),
	};

	return database_put(sql->database, TABLE_heap_sites, &row);
}

static int take_clock(struct sql *sql, const struct record_clock *record)
{
	struct row_clock row = {
		.id = integer(sql_next(sql, TABLE_clock)),
		.before = integer(record->before),
		.realtime = integer(record->realtime),
		.tsc = reference(record->tsc),
		.after = integer(record->after),
	};

	return database_put(sql->database, TABLE_clock, &row);
}

static int take_meta(struct sql *sql, const struct world *world, const struct record_meta *record)
{
	struct arena *arena = world->model->arena;
	struct row_meta row = {
		.id = integer(sql_next(sql, TABLE_meta)),
		.key = text(name_clean(arena, record->key)),
		.value = text(name_clean(arena, record->value)),
	};

	return database_put(sql->database, TABLE_meta, &row);
}

int sql_event(struct sql *sql, const struct world *world, const struct event *event)
{
	const struct record *record = event->record;

	switch (record->kind) {
	case RECORD_alloc:
		if (!database_wants(sql->database, TABLE_samples))
			return 0;
		return take_alloc(sql, world, event);
	case RECORD_fate:
		return take_fate(sql, &record->fate);
	case RECORD_cpu:
		if (!database_wants(sql->database, TABLE_ticks))
			return 0;
		return take_cpu(sql, world, event);
	case RECORD_syscall:
		if (!database_wants(sql->database, TABLE_syscalls) &&
		    !database_wants(sql->database, TABLE_ticks) &&
		    !database_wants(sql->database, TABLE_waits))
			return 0;
		return take_syscall(sql, world, &record->syscall);
	case RECORD_fault:
		if (!database_wants(sql->database, TABLE_faults))
			return 0;
		return take_fault(sql, world, event, &record->fault);
	case RECORD_usage:
		if (!database_wants(sql->database, TABLE_faults))
			return 0;
		return take_usage(sql, world, event);
	case RECORD_wait:
		if (!database_wants(sql->database, TABLE_waits))
			return 0;
		return take_wait(sql, world, &record->wait);
	case RECORD_gc_begin:
		return sql_gc_begin(sql, world, &record->gc_begin);
	case RECORD_gc_summary:
		return sql_gc_summary(sql, world, event);
	case RECORD_gc_end:
		return sql_gc_end(sql, world, event);
	case RECORD_heap_area:
		return sql_heap_area(sql, world, event);
	case RECORD_phase:
		return sql_phase(sql, world, &record->phase);
	case RECORD_call_window:
		return take_window(sql, &record->call_window);
	case RECORD_heap_site:
		if (!database_wants(sql->database, TABLE_heap_sites))
			return 0;
		return take_heap_site(sql, world, &record->heap_site);
	case RECORD_loss:
		return take_loss(sql, world, &record->loss);
	case RECORD_source:
		return take_source(sql, world, &record->source);
	case RECORD_clock:
		return take_clock(sql, &record->clock);
	case RECORD_meta:
		return take_meta(sql, world, &record->meta);
	default:
		return take_marker(sql, world, record);
	}
}
