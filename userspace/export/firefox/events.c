/* SPDX-License-Identifier: BSD-2-Clause */
/* events.c: collects the records of a profile until all names are known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/system/waits.h"
#include "../../model/world/call_part.h"
#include "firefox.h"

enum {
	GCS_MAX = 200000, /* kept in memory; beyond this, the shorter half is dropped */
	COMPAT_BIT = 31,
	BEFORE_CYCLE_MAX = 64, /* pauses of all processes before the end of a cycle */
};

/* For a thread that the model knows. NULL: no memory. */
static struct ff_thread *thread_of(struct firefox *firefox, uint64_t thread)
{
	if (array_reserve(&firefox->threads, &firefox->threads_capacity, thread,
			  sizeof(*firefox->threads)) < 0)
		return NULL;
	return &firefox->threads[thread];
}

uint64_t firefox_process_of(const struct world *world, uint64_t thread)
{
	return tasks_find_thread(&world->tasks, thread)->process;
}

static int take_cpu(struct firefox *firefox, const struct world *world,
		    const struct record_cpu *record)
{
	struct ff_thread *thread = thread_of(firefox, record->thread);
	struct ff_process *process =
		firefox_process(firefox, firefox_process_of(world, record->thread));
	struct cpu_row row = {record->time, record->stack, record->ns};

	if (!thread || !process)
		return -ENOMEM;
	/* Exiting goes on after the exit was recorded. */
	if (thread->unregistered && thread->unregistered < record->time)
		thread->unregistered = record->time;
	if (process->ended && process->ended < record->time)
		process->ended = record->time;
	firefox->n_cpu++;
	return spool_append(firefox->spool, &thread->cpu, &row, sizeof(row));
}

/* The thread's CPU time that no sample stands for; 0: none. */
static uint64_t unsampled(const struct thread *thread)
{
	uint64_t all = thread ? tasks_cpu_ns(thread) : 0;

	return thread && all > thread->cpu_ns ? all - thread->cpu_ns : 0;
}

static int end_cpu(struct firefox *firefox)
{
	const struct world *world = firefox->world;
	const struct tasks *tasks = &world->tasks;
	double sum = 0, left = (double)world->model->cpu.no_samples_ns;
	int err = 0;

	for (uint64_t id = 1; id < tasks->threads.limit; id++)
		sum += (double)unsampled(tasks_find_thread(tasks, id));
	for (uint64_t id = 1; id < tasks->threads.limit && sum > 0 && !err; id++) {
		uint64_t ns = unsampled(tasks_find_thread(tasks, id));
		bool ended = id < firefox->threads_capacity && firefox->threads[id].unregistered;
		struct record_cpu rest = {
			.time = ended ? firefox->threads[id].unregistered : world->last_time,
			.thread = id,
			/* Samples of a thread may stand for more than its CPU time. */
			.ns = (uint64_t)((double)ns / sum * left),
		};

		err = rest.ns ? take_cpu(firefox, world, &rest) : 0;
	}
	return err;
}

static int64_t wait_of(struct firefox *firefox, const struct wait *wait)
{
	bool added;
	uint64_t *number = map_put(firefox->waits, wait, &added);

	if (!number || array_reserve(&firefox->wait_items, &firefox->wait_items_capacity,
				     firefox->n_wait_items, sizeof(*wait)) < 0)
		return -ENOMEM;
	if (added) {
		*number = firefox->n_wait_items;
		firefox->wait_items[firefox->n_wait_items++] = *wait;
	}
	return (int64_t)*number;
}

static int take_wait(struct firefox *firefox, const struct world *world,
		     const struct record_wait *record)
{
	bool known = tree_node(&world->tree, record->stack);
	struct wait wait = {known ? (uint32_t)record->stack : 0, (uint32_t)record->reason};
	struct ff_thread *thread = thread_of(firefox, record->thread);
	int64_t number = wait_of(firefox, &wait);
	struct wait_row row = {
		.end = record->time,
		.duration = record->duration < record->time ? record->duration : record->time,
		.held_ns = record->held_ns,
		.wait = (uint32_t)number,
	};

	if (!thread || number < 0)
		return -ENOMEM;
	firefox->n_waits++;
	return spool_append(firefox->spool, &thread->waits, &row, sizeof(row));
}

static int take_fault(struct firefox *firefox, const struct world *world,
		      const struct record_fault *record)
{
	struct ff_process *process =
		firefox_process(firefox, firefox_process_of(world, record->thread));
	struct fault_row row = {record->time, record->stack, record->minor + record->major};

	if (!process)
		return -ENOMEM;
	firefox->n_faults++;
	return spool_append(firefox->spool, &process->faults, &row, sizeof(row));
}

/* Faults and waits without a record. */
static int take_usage(struct firefox *firefox, const struct world *world,
		      const struct record_usage *record)
{
	struct record_fault faults = faults_unrecorded(world, record);
	int err = faults.minor || faults.major ? take_fault(firefox, world, &faults) : 0;

	for (unsigned reason = 0; reason < WAIT_KINDS && !err; reason++) {
		struct record_wait rest = waits_unrecorded(world, record, reason);

		err = rest.held_ns ? take_wait(firefox, world, &rest) : 0;
	}
	return err;
}

static int64_t combo_of(struct firefox *firefox, const struct combo *combo)
{
	bool added;
	uint64_t *number = map_put(firefox->combos, combo, &added);

	if (!number || array_reserve(&firefox->combo_items, &firefox->combos_capacity,
				     firefox->n_combos, sizeof(*combo)) < 0)
		return -ENOMEM;
	if (added) {
		*number = firefox->n_combos;
		firefox->combo_items[firefox->n_combos++] = *combo;
	}
	return (int64_t)*number;
}

/* Remembers an object until its death. */
static int keep_live(struct firefox *firefox, uint64_t process, uint64_t sample,
		     const struct live_object *object)
{
	uint32_t *place = id_map_put(firefox->live, process, sample);
	uint32_t number = firefox->free_live;

	if (!place)
		return -ENOMEM;
	if (number) {
		firefox->free_live = firefox->live_items[number].next_free;
	} else {
		if (firefox->n_live >= UINT32_MAX ||
		    array_reserve(&firefox->live_items, &firefox->live_capacity, firefox->n_live,
				  sizeof(*firefox->live_items)) < 0)
			return -ENOMEM;
		number = (uint32_t)firefox->n_live++;
	}
	firefox->live_items[number] = *object;
	*place = number;
	return 0;
}

static int take_alloc(struct firefox *firefox, const struct world *world, const struct event *event)
{
	const struct record_alloc *record = &event->record->alloc;
	uint64_t process_id = firefox_process_of(world, record->thread);
	struct ff_thread *thread = thread_of(firefox, record->thread);
	struct ff_process *process = firefox_process(firefox, process_id);
	struct combo combo = {(uint32_t)record->stack, 0};
	double bytes = (double)record->size / sample_probability(record->size, record->period);
	int64_t number;
	struct live_object object = {.bytes = bytes,
				     .thread = (uint32_t)record->thread,
				     .manual = record->kind == GCPROF_SAMPLE_MANUAL};
	struct alloc_row row = {.time = record->time, .bytes = bytes};
	int error;

	if (!thread || !process)
		return -ENOMEM;
	combo.stack = tree_node(&world->tree, record->stack) ? (uint32_t)record->stack : 0;
	combo.type = (uint32_t)event->type;
	number = combo_of(firefox, &combo);
	if (number < 0 || array_reserve(&firefox->survivals, &firefox->survivals_capacity,
					firefox->n_survivals, 1) < 0)
		return -ENOMEM;
	firefox->survivals[firefox->n_survivals] =
		record->kind == GCPROF_SAMPLE_BORN_OLD ? SURVIVAL_LIVED : SURVIVAL_UNKNOWN;
	object.number = row.object = firefox->n_survivals++;
	row.combo = object.combo = (uint32_t)number;
	firefox->n_allocs++;
	thread->allocations++;
	error = firefox_cause(process, row.combo, bytes, 0);
	if (!error)
		error = keep_live(firefox, process_id, record->sample, &object);
	if (!error)
		error = spool_append(firefox->spool, &thread->allocs, &row, sizeof(row));
	return error ? error : spool_append(firefox->spool, &process->allocs, &row, sizeof(row));
}

static int put_death(struct firefox *firefox, const struct live_object *object, uint64_t time,
		     enum death death)
{
	struct ff_thread *thread = thread_of(firefox, object->thread);
	struct alloc_row row = {
		.time = time, .bytes = object->bytes, .object = object->number, .death = death};

	if (!thread)
		return -ENOMEM;
	firefox->n_deaths++;
	thread->deaths++;
	return spool_append(firefox->spool, &thread->allocs, &row, sizeof(row));
}

static int take_fate(struct firefox *firefox, const struct record_fate *record)
{
	uint32_t number = id_map_get(firefox->live, record->process, record->sample);
	bool lives = record->outcome == GCPROF_PROMOTED || record->outcome == GCPROF_PINNED;
	struct live_object *object;
	int error;

	if (!number || record->outcome == GCPROF_COPIED)
		return 0;
	object = &firefox->live_items[number];
	if (lives && firefox->survivals[object->number] == SURVIVAL_UNKNOWN &&
	    firefox_cause(&firefox->processes[record->process], object->combo, 0, object->bytes) <
		    0)
		return -ENOMEM;
	if (firefox->survivals[object->number] == SURVIVAL_UNKNOWN &&
	    record->outcome != GCPROF_DIED_OLD && record->outcome < GCPROF_FREED)
		firefox->survivals[object->number] = lives ? SURVIVAL_LIVED : SURVIVAL_DIED;
	if (lives)
		return 0;
	error = record->outcome > GCPROF_FREED
			? 0 /* it may live on */
			: put_death(firefox, object, record->time,
				    record->outcome == GCPROF_FREED      ? DEATH_FREED
				    : record->outcome == GCPROF_DIED_OLD ? DEATH_OLD
									 : DEATH_YOUNG);
	if (error)
		return error;
	id_map_remove(firefox->live, record->process, record->sample);
	*object = (struct live_object){.next_free = firefox->free_live};
	firefox->free_live = number;
	return 0;
}

/*
 * Retained objects at the end are those that reports call live: old objects, and objects
 * that the program must free and has not freed. For other objects it is unknown whether
 * they are in use.
 */
static bool is_of_freeing(const struct firefox *firefox, const struct live_object *object)
{
	const struct tasks *tasks = &firefox->world->tasks;

	return object->manual ||
	       tasks_find_process(tasks, tasks_find_thread(tasks, object->thread)->process)->frees;
}

static int end_lives(struct firefox *firefox)
{
	const struct model_run *run = &firefox->world->model->run;
	int error = 0;

	for (size_t i = 1; i < firefox->n_live && !error; i++) {
		const struct live_object *object = &firefox->live_items[i];

		if (object->number && firefox->survivals[object->number] == SURVIVAL_UNKNOWN &&
		    !is_of_freeing(firefox, object))
			error = put_death(firefox, object, run->start + run->duration,
					  DEATH_UNKNOWN);
	}
	return error;
}

static int longest_first(const void *a, const void *b)
{
	const struct gc_mark *x = a, *y = b;

	if (x->closed.pause_ns != y->closed.pause_ns)
		return x->closed.pause_ns < y->closed.pause_ns ? 1 : -1;
	return x->end.time < y->end.time ? -1 : x->end.time > y->end.time;
}

/* Pauses of a cycle have its reason and causes. */
static void add_to_cycle(struct gc_mark *gc, const struct mark *cycle)
{
	if (cycle->values[0] != gc->process || gc->closed.begin > cycle->end ||
	    gc->end.time < cycle->start)
		return;
	if (!gc->closed.reason)
		gc->closed.reason = cycle->values[3];
	gc->causes = cycle->causes;
}

static int add_causes(struct firefox *firefox, struct gc_mark *gc)
{
	struct ff_process *process = &firefox->processes[gc->process];
	int64_t causes = 0;

	if (gc->end.kind == GCPROF_GC_MINOR)
		causes = firefox_take_causes(firefox, process, CAUSE_MINOR);
	else if (gc->end.kind != GCPROF_GC_STOP)
		causes = firefox_take_causes(firefox, process, CAUSE_MAJOR);
	gc->causes = causes > 0 ? (uint32_t)causes : 0;
	add_to_cycle(gc, &process->cycle);
	return causes < 0 ? -ENOMEM : 0;
}

static int take_gc_end(struct firefox *firefox, const struct world *world,
		       const struct event *event)
{
	const struct record_gc_end *record = &event->record->gc_end;
	struct gc_mark *mark;

	if (!event->closed.paired || !event->selected)
		return 0;
	if (firefox->n_gcs > GCS_MAX) {
		qsort(firefox->gcs + 1, firefox->n_gcs - 1, sizeof(*mark), longest_first);
		firefox->gcs_dropped += firefox->n_gcs - GCS_MAX / 2;
		firefox->n_gcs = GCS_MAX / 2;
	}
	if (array_reserve(&firefox->gcs, &firefox->gcs_capacity, firefox->n_gcs, sizeof(*mark)) < 0)
		return -ENOMEM;
	mark = &firefox->gcs[firefox->n_gcs++];
	*mark = (struct gc_mark){.closed = event->closed,
				 .end = *record,
				 .process = firefox_process_of(world, record->thread)};
	mark->end.thread = mark->closed.thread;
	if (!firefox_process(firefox, mark->process))
		return -ENOMEM;
	return add_causes(firefox, mark);
}

/*
 * On the thread of the process's last pause, which is likely a pause of the cycle. Those that began
 * the cycle come before its record.
 */
static int take_gc_cycle(struct firefox *firefox, const struct record_gc_cycle *record)
{
	struct ff_process *process = firefox_process(firefox, record->process);
	struct mark mark = {.kind = MARK_CYCLE,
			    .start = record->time - record->span,
			    .end = record->time,
			    .values = {record->process, record->cycle, record->name, record->reason,
				       record->heap_before, record->heap_after, record->live,
				       record->heap}};
	int64_t causes = process ? firefox_take_causes(firefox, process, CAUSE_CYCLE) : -ENOMEM;

	if (causes < 0)
		return -ENOMEM;
	mark.causes = (uint32_t)causes;
	for (size_t i = firefox->n_gcs, left = BEFORE_CYCLE_MAX; left-- && i-- > 1;) {
		struct gc_mark *gc = &firefox->gcs[i];

		if (gc->process == record->process && !mark.thread)
			mark.thread = gc->end.thread;
		if (gc->process == record->process && gc->end.time < mark.start)
			break;
		add_to_cycle(gc, &mark);
	}
	process->cycle = mark;
	return firefox_add_mark(firefox, &mark);
}

static uint64_t hex_digits(uint64_t number)
{
	uint64_t count = 1;

	for (; number >= 16; number /= 16)
		count++;
	return count;
}

/* Size of a call's marker in bytes; must agree with firefox_markers.c. */
static uint64_t call_size(const struct world *world, const struct call_row *row)
{
	uint64_t size = 140; /* the fixed part, with times up to some years */
	const char *path = row->path ? tree_text(&world->tree, row->path) : NULL;

	for (int i = 0; i < 3; i++)
		size += hex_digits(row->args[i]);
	size += row->result < 0 ? 40 : 6 + hex_digits((uint64_t)row->result) * 5 / 4;
	size += row->gc_ns ? 30 : 0;
	size += row->flags & SYSCALL_COLLECTOR ? 23 : 0;
	size += row->stack ? 60 : 0;
	size += row->stands > 1 ? 20 : 0;
	size += path ? strlen(path) : 0;
	return size;
}

static int take_syscall(struct firefox *firefox, const struct world *world,
			const struct record_syscall *record)
{
	struct ff_thread *thread = thread_of(firefox, record->thread);
	struct call_row row = {
		.end = record->time,
		.duration = record->duration < record->time ? record->duration : record->time,
		.number = record->number & INT32_MAX,
		.result = record->result,
		.args = {record->arg0, record->arg1, record->arg2},
		.gc_ns = record->gc_ns,
		.stands = (uint32_t)call_stands(record),
		.stack = record->stack < UINT32_MAX ? (uint32_t)record->stack : 0,
		.flags = (uint32_t)record->flags,
		.fiber = (uint32_t)record->fiber,
		.path = record->path,
	};

	if (!thread)
		return -ENOMEM;
	if (record->flags & SYSCALL_COMPAT)
		row.number |= UINT64_C(1) << COMPAT_BIT;
	firefox->n_calls++;
	firefox->calls_by_duration[syscall_bucket(row.duration)]++;
	firefox->call_bytes[syscall_bucket(row.duration)] += call_size(world, &row);
	return spool_append(firefox->spool, &thread->calls, &row, sizeof(row));
}

/* Records when threads start and end, and processes end. */
static int take_life(struct firefox *firefox, const struct world *world,
		     const struct record *record)
{
	bool begins = record->kind == RECORD_fork;
	uint64_t id = begins ? record->fork.child : record->exit.thread;
	struct ff_process *process;
	struct ff_thread *thread;

	if (!tasks_find_thread(&world->tasks, id))
		return 0;
	thread = thread_of(firefox, id);
	process = firefox_process(firefox, firefox_process_of(world, id));
	if (!thread || !process)
		return -ENOMEM;
	if (!begins && record->exit.last)
		process->ended = record->exit.time;
	if (begins)
		thread->registered = record->fork.time;
	else
		thread->unregistered = record->exit.time;
	return 0;
}

int firefox_record(struct model_observer *observer, const struct world *world,
		   const struct event *event)
{
	const struct record *record = event->record;
	struct firefox *firefox = (struct firefox *)observer;

	switch (record->kind) {
	case RECORD_cpu:
		return take_cpu(firefox, world, &record->cpu);
	case RECORD_wait:
		return take_wait(firefox, world, &record->wait);
	case RECORD_fault:
		return take_fault(firefox, world, &record->fault);
	case RECORD_alloc:
		return take_alloc(firefox, world, event);
	case RECORD_fate:
		return take_fate(firefox, &record->fate);
	case RECORD_usage:
		return take_usage(firefox, world, &record->usage);
	case RECORD_gc_end:
		return take_gc_end(firefox, world, event);
	case RECORD_gc_cycle:
		return take_gc_cycle(firefox, &record->gc_cycle);
	case RECORD_phase:
	case RECORD_loss:
	case RECORD_period:
	case RECORD_gc_summary:
		return firefox_mark_record(firefox, world, record);
	case RECORD_syscall:
		return take_syscall(firefox, world, &record->syscall);
	case RECORD_fork:
	case RECORD_exit:
		return take_life(firefox, world, record);
	default:
		return 0;
	}
}

int firefox_end(struct firefox *firefox)
{
	int err = end_lives(firefox);

	err = err ? err : firefox_mark_pauses(firefox);
	return err ? err : end_cpu(firefox);
}
