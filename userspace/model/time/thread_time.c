/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_time.c: where the wall time of each thread went. */
#include "thread_time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/map.h"
#include "../rows.h"
#include "../world/syscall_text.h"
#include "../world/system_calls.h"
#include "../world/world.h"

/* What the functions of a stack say so far; TIME_PARTS: nothing. */
struct found {
	enum time_part strong, weak, general;
	bool collects; /* the collector waits for threads, or for its own */
};

static const enum time_part of_files[WAIT_FILES] = {
#define WAIT_FILE_CAUSE(file, part) [WAIT_##file] = TIME_##part,
#include "wait_causes.def"
};

static const struct {
	const char *function;
	enum time_part part;
} functions[] = {
#define WAIT_FUNCTION(function, part) {#function, TIME_##part},
#include "wait_causes.def"
};

/* Without the decorations of a C library's own symbols: "__GI___pthread_mutex_lock@@GLIBC_2.2.5".
 */
static enum time_part general(const char *name)
{
	size_t size;

	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3))
		name += 3 + strspn(name + 3, "_");
	size = strcspn(name, "@.(");
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strncmp(functions[i].function, name, size) && !functions[i].function[size])
			return functions[i].part;
	return TIME_PARTS;
}

static void note(const struct world *world, const char *name, struct found *found)
{
	bool weak;
	enum runtime_wait wait = runtimes_wait(&world->runtimes, name, &weak);
	enum time_part *of = weak ? &found->weak : &found->strong;

	if (wait < RUNTIME_WAITS && *of == TIME_PARTS)
		*of = wait == RUNTIME_LOCKS ? TIME_LOCK : TIME_IDLE;
	found->collects |= runtimes_work(&world->runtimes, name) == WORK_COLLECTOR;
	if (found->general == TIME_PARTS)
		found->general = general(name);
}

/* The innermost of functions that are inlined into each other comes last. */
static void note_frame(const struct world *world, uint32_t id, struct found *found)
{
	const struct functions *table = &world->functions;
	const struct frame *frame = tree_frame(&world->tree, id);

	for (uint32_t i = frame ? frame->n_functions : 0; i--;)
		note(world, table->rows[table->of_frames[frame->first_function + i]].name, found);
}

static enum time_part by_stack(const struct world *world, uint64_t stack)
{
	struct found found = {TIME_PARTS, TIME_PARTS, TIME_PARTS, false};

	for (const struct stack *node = tree_node(&world->tree, stack);
	     node && found.strong == TIME_PARTS; node = tree_node(&world->tree, node->parent))
		note_frame(world, node->frame, &found);
	if (found.strong < TIME_PARTS)
		return found.strong;
	if (found.weak < TIME_PARTS)
		return found.weak;
	return found.general == TIME_PARTS && found.collects ? TIME_COLLECTOR : found.general;
}

/*
 * The part of a wait in the call of this number (as in struct syscall_call) for this kind of file
 * (enum wait_file) with this stack; 0: none. TIME_BLOCKED if nothing tells. Call when all names are
 * known.
 */
static enum time_part wait_cause(const struct world *world, uint64_t number, uint64_t file,
				 uint64_t stack)
{
	const struct system_call *call =
		system_call_find(syscall_name(world->model->run.machine, number));
	enum time_part part = TIME_PARTS;

	if (call->decides & BY_FILE && file && file < WAIT_FILES)
		return of_files[file];
	if (call->decides & BY_STACK && stack)
		part = by_stack(world, stack);
	return part < TIME_PARTS ? part : call->part;
}

struct thread_wait {
	struct wait_place {
		uint64_t stack, file;
		uint32_t thread, number;
	} key;
	uint64_t ns, queued, stopped; /* of ns: without a CPU; and of the rest, in collections */
};

/* One call of one process. */
struct process_call {
	uint64_t process, number;
	uint64_t all, recorded;    /* ns of its waits: all; and those with a record */
	uint64_t part[TIME_PARTS]; /* of these: what they were for */
};

void thread_time_free(struct thread_time *time)
{
	free(time->waits);
	free(time->calls);
	map_free(time->wait_index);
	map_free(time->call_index);
	stops_free(&time->stops);
}

int thread_time_cpu(struct world *world, const struct event *event)
{
	const struct record_cpu *record = &event->record->cpu;
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);

	if (!thread)
		return -EBADMSG;
	thread->time[record->recording ? TIME_RECORDING
		     : event->gc_kind  ? TIME_COLLECTOR
				       : time_of_mode(record)] += record->ns;
	return 0;
}

/* A number for the key, from 1; the items have room for it. 0: no memory. */
static uint64_t number_of(struct map **index, size_t key_size, const void *key, void *items,
			  size_t *capacity, size_t count, size_t size, bool *added)
{
	uint64_t *number;

	if (!*index)
		*index = map_create(key_size);
	number = *index ? map_put(*index, key, added) : NULL;
	if (!number || array_reserve(items, capacity, count, size) < 0)
		return 0;
	if (*added)
		*number = count + 1;
	return *number;
}

static struct thread_wait *wait_of(struct thread_time *time, struct wait_place key)
{
	bool added;
	uint64_t number = number_of(&time->wait_index, sizeof(key), &key, &time->waits,
				    &time->waits_capacity, time->n_waits, sizeof(*time->waits),
				    &added);

	if (number && added)
		time->waits[time->n_waits++] = (struct thread_wait){.key = key};
	return number ? &time->waits[number - 1] : NULL;
}

static struct process_call *call_of(struct thread_time *time, uint64_t process, uint64_t call)
{
	const uint64_t key[2] = {process, call};
	bool added;
	uint64_t number = number_of(&time->call_index, sizeof(key), key, &time->calls,
				    &time->calls_capacity, time->n_calls, sizeof(*time->calls),
				    &added);

	if (number && added)
		time->calls[time->n_calls++] =
			(struct process_call){.process = process, .number = call};
	return number ? &time->calls[number - 1] : NULL;
}

int thread_time_total(struct thread_time *time, const struct record_syscall_total *record)
{
	struct process_call *call = record->wait_ns ? call_of(time, record->process, record->number)
						    : NULL;

	if (call)
		call->all += record->wait_ns;
	return call || !record->wait_ns ? 0 : -ENOMEM;
}

int thread_time_wait(struct thread_time *time, struct world *world, const struct event *event,
		     const struct open_gcs *open)
{
	const struct record_wait *record = &event->record->wait;
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	uint64_t begin = record->time > record->duration ? record->time - record->duration : 0;
	struct wait_place key = {record->stack, record->file, (uint32_t)record->thread,
				 (uint32_t)(record->number & INT32_MAX)};
	uint64_t queued = record->queued < record->duration ? record->queued : record->duration;
	struct thread_wait *wait;

	if (!thread)
		return -EBADMSG;
	if (record->reason != WAIT_CALL)
		return 0;
	if (record->flags & WAIT_COMPAT)
		key.number |= SYSCALL_NUMBER_COMPAT;
	thread->recorded_queued_ns += queued;
	if (event->gc_kind) {
		thread->gc_wait_ns += record->duration + record->held_ns - queued;
		return 0;
	}
	wait = wait_of(time, key);
	if (!wait)
		return -ENOMEM;
	wait->ns += record->duration + record->held_ns - queued;
	wait->stopped +=
		stops_between(&time->stops, open, thread->process, begin, record->time - queued);
	return 0;
}

/* Only what waits for other threads of its program waits for a collection as well. */
static bool may_wait_for_collector(enum time_part part)
{
	return part == TIME_LOCK || part == TIME_BLOCKED;
}

static int add_wait(struct thread_time *time, struct world *world, const struct thread_wait *wait)
{
	struct thread *thread = tasks_find_thread(&world->tasks, wait->key.thread);
	enum time_part part = wait_cause(world, wait->key.number, wait->key.file, wait->key.stack);
	struct process_call *call = call_of(time, thread->process, wait->key.number);
	uint64_t stopped = wait->stopped < wait->ns ? wait->stopped : wait->ns;

	if (!call)
		return -ENOMEM;
	if (!may_wait_for_collector(part))
		stopped = 0;
	thread->time[TIME_STOPPED] += stopped;
	thread->time[part] += wait->ns - stopped;
	call->part[part] += wait->ns;
	call->recorded += wait->ns;
	return 0;
}

/* What the waits of each process without a record are for, by weight. */
static void weigh(const struct process_call *call, const struct world *world,
		  double weights[TIME_PARTS])
{
	double rest = call->all > call->recorded ? (double)(call->all - call->recorded) : 0;

	if (!call->recorded)
		weights[wait_cause(world, call->number, WAIT_NO_FILE, 0)] += rest;
	for (int i = 0; call->recorded && i < TIME_PARTS; i++)
		weights[i] += rest * (double)call->part[i] / (double)call->recorded;
}

/* Divides the waits in calls that have no record. */
static void add_rest(struct thread *thread, uint64_t rest, const double weights[TIME_PARTS])
{
	double all = 0;
	uint64_t part, given = 0;

	for (int i = 0; i < TIME_PARTS; i++)
		all += weights[i];
	for (int i = 0; all > 0 && i < TIME_PARTS; i++) {
		part = (uint64_t)((double)rest * (weights[i] / all));
		part = part < rest - given ? part : rest - given;
		thread->time[i] += part;
		given += part;
	}
	thread->time[TIME_BLOCKED] += rest - given;
}

static uint64_t above(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/*
 * Timer samples hit a thread that runs briefly too often or not at all. Where the kernel says how
 * long it ran, they only divide that.
 */
static void fit_samples(struct thread *thread)
{
	uint64_t exact = tasks_cpu_ns(thread);

	for (int i = 0; i < TIME_UNSAMPLED && exact < thread->cpu_ns; i++)
		thread->time[i] = (uint64_t)((double)thread->time[i] * (double)exact /
					     (double)thread->cpu_ns);
	thread->time[TIME_COLLECTOR] += thread->gc_wait_ns;
}

static void finish_thread(struct thread *thread, const double weights[TIME_PARTS])
{
	const uint64_t *ns = thread->wait_ns;
	uint64_t queued = thread->queue_known ? thread->queued_ns
					      : ns[WAIT_PREEMPTED] + thread->recorded_queued_ns;
	uint64_t rest = above(ns[WAIT_CALL], thread->recorded_wait_ns[WAIT_CALL]);
	uint64_t short_queued = above(queued, ns[WAIT_PREEMPTED] + thread->recorded_queued_ns);

	thread->time[TIME_UNSAMPLED] = above(tasks_cpu_ns(thread), thread->cpu_ns);
	thread->time[TIME_READY] = queued;
	thread->time[TIME_FAULTS] += ns[WAIT_FAULT];
	thread->time[TIME_RECORDING] += ns[WAIT_STOPPED];
	add_rest(thread, above(rest, short_queued), weights);
}

int thread_time_finish(struct thread_time *time, struct world *world)
{
	double(*weights)[TIME_PARTS] = calloc(world->tasks.processes.limit + 1, sizeof(*weights));
	int err = weights ? 0 : -ENOMEM;

	for (uint64_t id = 1; id < world->tasks.threads.limit; id++)
		if (tasks_find_thread(&world->tasks, id))
			fit_samples(tasks_find_thread(&world->tasks, id));
	for (size_t i = 0; i < time->n_waits && !err; i++)
		err = add_wait(time, world, &time->waits[i]);
	for (size_t i = 0; i < time->n_calls && !err; i++)
		if (tasks_find_process(&world->tasks, time->calls[i].process))
			weigh(&time->calls[i], world, weights[time->calls[i].process]);
	for (uint64_t id = 1; id < world->tasks.threads.limit && !err; id++) {
		struct thread *thread = tasks_find_thread(&world->tasks, id);

		if (thread)
			finish_thread(thread, weights[thread->process]);
	}
	free(weights);
	return err;
}

void time_divide(uint64_t wall_ns, uint64_t parts[TIME_PARTS])
{
	for (int i = 0; i < TIME_UNRECORDED; i++) {
		if (parts[i] > wall_ns)
			parts[i] = wall_ns;
		wall_ns -= parts[i];
	}
	parts[TIME_UNRECORDED] = wall_ns;
}

bool time_serves(uint64_t wall_ns, const uint64_t parts[TIME_PARTS])
{
	static const bool idle[TIME_PARTS] = {
#define TIME_PART(NAME, name, is_idle, words, doc) is_idle,
#include "time_parts.def"
	};
	uint64_t ran =
		parts[TIME_OWN] + parts[TIME_KERNEL] + parts[TIME_FAULTS] + parts[TIME_UNSAMPLED];
	uint64_t busy = 0;

	for (int i = 0; i < TIME_PARTS; i++)
		busy += idle[i] || i == TIME_READY ? 0 : parts[i];
	/* Nothing says that a thread which hardly runs waits for anything but work. */
	if (ran < wall_ns / 1000)
		busy -= parts[TIME_BLOCKED] + parts[TIME_STOPPED];
	return busy > wall_ns / 100 &&
	       parts[TIME_OWN] >= (parts[TIME_COLLECTOR] + parts[TIME_COMPILER]) / 8;
}
