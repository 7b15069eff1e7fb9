/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c: time off the CPU by cause and by thread, who ended waits, and page faults. */
#include "waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/map.h"
#include "../world/syscall_text.h"
#include "../world/world.h"

struct wait_key {
	uint64_t reason, number;
};

struct wait_sum {
	struct wait_key key;
	uint64_t count, total_ns, max_ns, queued_ns;
};

/* In place of a call number: calls that no record tells apart. */
#define NUMBER_NONE UINT64_MAX

_Static_assert((int)WAIT_KINDS == (int)WAIT_REASONS, "a reason is missing");

static const char *const reasons[WAIT_KINDS][2] = {
	[WAIT_CALL] = {"call", "(other system calls)"},
	[WAIT_FAULT] = {"fault", "page fault"},
	[WAIT_PREEMPTED] = {"preempted", "preempted"},
	[WAIT_STOPPED] = {"stopped", "stopped"},
};

const char *wait_reason_name(unsigned reason)
{
	return reason < WAIT_KINDS ? reasons[reason][0] : "unknown";
}

int waits_init(struct waits *waits)
{
	memset(waits, 0, sizeof(*waits));
	waits->count = 1;
	waits->index = map_create(sizeof(struct wait_key));
	return waits->index ? 0 : -ENOMEM;
}

void waits_free(struct waits *waits)
{
	free(waits->items);
	map_free(waits->index);
}

/* Numbers only matter for calls. NULL: no memory. */
static struct wait_sum *waits_get(struct waits *waits, uint64_t reason, uint64_t number)
{
	struct wait_key key = {reason, reason == WAIT_CALL ? number : NUMBER_NONE};
	uint64_t *item = map_put(waits->index, &key, NULL);

	if (!item ||
	    array_reserve(&waits->items, &waits->capacity, waits->count, sizeof(*waits->items)) < 0)
		return NULL;
	if (!*item) {
		*item = waits->count;
		waits->items[waits->count++] = (struct wait_sum){.key = key};
	}
	return &waits->items[*item];
}

static void keep_longest(uint64_t *max, uint64_t ns)
{
	if (ns > *max)
		*max = ns;
}

int waits_record(struct waits *waits, struct world *world, const struct event *event)
{
	const struct record_wait *record = &event->record->wait;
	uint64_t number = record->number & INT32_MAX, ns = record->duration + record->held_ns;
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	struct wait_sum *sum;
	int64_t cost;

	if (!thread || record->reason >= WAIT_KINDS)
		return -EBADMSG;
	thread->recorded_wait_ns[record->reason] += ns;
	if (!event->selected)
		return 0;
	if (record->flags & WAIT_COMPAT)
		number |= SYSCALL_NUMBER_COMPAT;
	if (!(record->flags & WAIT_IN_CALL))
		number = NUMBER_NONE;
	sum = waits_get(waits, record->reason, number);
	cost = record->stack ? tree_cost(&world->tree, record->stack) : 0;
	if (!sum || cost < 0)
		return -ENOMEM;
	timeline_wait(&world->timeline, record->time - record->duration, record->time);
	sum->count += 1 + record->held;
	sum->total_ns += ns;
	keep_longest(&sum->max_ns, record->duration);
	sum->queued_ns += record->queued;
	if (cost) {
		struct cost_rest *rest = tree_rest(&world->tree, (uint32_t)cost);

		if (!rest)
			return -ENOMEM;
		rest->off_cpu_ns += ns;
		world->model->wait_stack_ns += ns;
	}
	return 0;
}

struct record_wait waits_unrecorded(const struct world *world, const struct record_usage *usage,
				    unsigned reason)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, usage->thread);
	uint64_t all = thread->wait_ns[reason], recorded = thread->recorded_wait_ns[reason];
	struct record_wait rest = {.time = usage->time, .thread = usage->thread, .reason = reason};

	/* The part that a filter selects is unknown. */
	if (!world->filtered && thread->waits_known && all > recorded)
		rest.held_ns = all - recorded;
	return rest;
}

int waits_usage(struct world *world, const struct record_usage *record)
{
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	const uint64_t waits[WAIT_KINDS] = {record->call_waits, record->fault_waits,
					    record->preempted_waits, record->stopped_waits};
	const uint64_t ns[WAIT_KINDS] = {record->call_ns, record->fault_ns, record->preempted_ns,
					 record->stopped_ns};
	const uint64_t max[WAIT_KINDS] = {record->call_max, record->fault_max,
					  record->preempted_max, record->stopped_max};

	if (!thread || thread->ended)
		return -EBADMSG;
	/* Totals cannot be divided by a filter. */
	if (world->filtered)
		return 0;
	thread->goes_on = record->flags & USAGE_GOES_ON;
	thread->ended = !thread->goes_on;
	thread->end = record->time;
	thread->waits_known |= record->flags & USAGE_WAITS;
	thread->waits_part |= (record->flags & USAGE_WAITS_PART) != 0;
	thread->queue_known |= record->flags & USAGE_QUEUED;
	thread->queued_ns += record->queued_ns;
	world->model->cpu.queue_known |= thread->queue_known;
	world->model->cpu.queued_ns += record->queued_ns;
	thread->minor_faults += record->minor_faults;
	thread->major_faults += record->major_faults;
	for (int i = 0; i < WAIT_KINDS; i++) {
		thread->waits[i] += waits[i];
		thread->wait_ns[i] += ns[i];
		keep_longest(&thread->wait_max[i], max[i]);
	}
	return 0;
}

/* Totals of calls are exact. Where they are missing, records of waits are used. */
static int take_totals(struct waits *waits, const struct model *model)
{
	/* In a split recording, figures and records do not change files at the same moment. */
	const bool part = model->run.part && model->state == PROFILE_COMPLETE;

	for (size_t i = 0; i < model->n_syscalls; i++) {
		const struct model_syscall *call = &model->syscalls[i];
		struct wait_sum *sum;

		if (!call->traced_waits && !part)
			continue;
		sum = waits_get(waits, WAIT_CALL, call->number);
		if (!sum)
			return -ENOMEM;
		keep_longest(&sum->max_ns, call->wait_max);
		if (call->traced_waits < sum->count && !part)
			continue;
		sum->count = call->traced_waits;
		sum->total_ns = call->traced_wait_ns;
	}
	return 0;
}

/* Adds waits that are not covered by any record. */
static int add_unrecorded(struct waits *waits, const struct tasks *tasks)
{
	uint64_t count[WAIT_KINDS] = {0}, ns[WAIT_KINDS] = {0}, max[WAIT_KINDS] = {0};
	uint64_t call_max = 0;

	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);

		for (int i = 0; thread && i < WAIT_KINDS; i++) {
			count[i] += thread->waits[i];
			ns[i] += thread->wait_ns[i];
			keep_longest(&max[i], thread->wait_max[i]);
		}
	}
	for (size_t i = 1; i < waits->count; i++) {
		const struct wait_sum *sum = &waits->items[i];
		uint64_t reason = sum->key.reason;

		count[reason] -= sum->count < count[reason] ? sum->count : count[reason];
		ns[reason] -= sum->total_ns < ns[reason] ? sum->total_ns : ns[reason];
		if (reason == WAIT_CALL)
			keep_longest(&call_max, sum->max_ns);
	}
	for (int i = 0; i < WAIT_KINDS; i++) {
		struct wait_sum *sum;

		/* A call's own row has its longest wait. */
		if (i == WAIT_CALL && (!count[i] || max[i] <= call_max))
			max[i] = 0;
		if (!count[i] && !max[i])
			continue;
		sum = waits_get(waits, (uint64_t)i, NUMBER_NONE);
		if (!sum)
			return -ENOMEM;
		sum->count += count[i];
		sum->total_ns += ns[i];
		keep_longest(&sum->max_ns, max[i]);
	}
	return 0;
}

static int by_total(const void *a, const void *b)
{
	const struct model_wait *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/*
 * Maximum from records and the kernel's totals; 0 if that is not the real one. Old recorders kept
 * no maximum of waits without a record, and a filter selects only among records.
 */
static uint64_t longest(const struct wait_sum *sum)
{
	return (double)sum->max_ns * (double)sum->count < (double)sum->total_ns ? 0 : sum->max_ns;
}

int waits_finish(struct waits *waits, struct world *world)
{
	struct model *model = world->model;
	int error = take_totals(waits, model);

	error = error ? error : add_unrecorded(waits, &world->tasks);
	model->waits = calloc(waits->count, sizeof(*model->waits));
	if (error || !model->waits)
		return -ENOMEM;
	for (size_t i = 1; i < waits->count; i++) {
		const struct wait_sum *sum = &waits->items[i];
		struct model_wait *row = &model->waits[model->n_waits];

		if (!sum->count && !sum->max_ns)
			continue;
		model->n_waits++;
		row->name = sum->key.number == NUMBER_NONE
				    ? reasons[sum->key.reason][1]
				    : syscall_describe(model, sum->key.number);
		row->reason = reasons[sum->key.reason][0];
		row->count = sum->count;
		row->total_ns = sum->total_ns;
		row->max_ns = longest(sum);
		row->queued_ns = sum->key.reason == WAIT_PREEMPTED ? sum->total_ns : sum->queued_ns;
		model->wait_ns += sum->total_ns;
		if (!row->name)
			return -ENOMEM;
	}
	qsort(model->waits, model->n_waits, sizeof(*model->waits), by_total);
	return 0;
}

struct waker {
	uint64_t thread, count, total_ns, max_ns;
};

int wakers_init(struct wakers *wakers)
{
	*wakers = (struct wakers){.index = map_create(sizeof(uint64_t))};
	return wakers->index ? 0 : -ENOMEM;
}

void wakers_free(struct wakers *wakers)
{
	free(wakers->items);
	map_free(wakers->index);
}

int wakers_record(struct wakers *wakers, const struct world *world,
		  const struct record_wait *record)
{
	struct waker *waker;
	uint64_t *number;

	if (!record->waker || !tasks_find_thread(&world->tasks, record->waker))
		return 0;
	number = map_put(wakers->index, &record->waker, NULL);
	if (!number || array_reserve(&wakers->items, &wakers->capacity, wakers->count,
				     sizeof(*wakers->items)) < 0)
		return -ENOMEM;
	if (!*number) {
		wakers->items[wakers->count++] = (struct waker){.thread = record->waker};
		*number = wakers->count;
	}
	waker = &wakers->items[*number - 1];
	waker->count++;
	waker->total_ns += record->duration;
	if (record->duration > waker->max_ns)
		waker->max_ns = record->duration;
	return 0;
}

static int by_waker_total(const void *a, const void *b)
{
	const struct model_waker *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int wakers_finish(const struct wakers *wakers, struct world *world)
{
	struct model *model = world->model;

	model->wakers = calloc(wakers->count + 1, sizeof(*model->wakers));
	if (!model->wakers)
		return -ENOMEM;
	for (size_t i = 0; i < wakers->count; i++) {
		const struct waker *waker = &wakers->items[i];
		const struct thread *thread = tasks_find_thread(&world->tasks, waker->thread);

		model->wakers[model->n_wakers++] = (struct model_waker){
			.name = thread->name,
			.tid = thread->tid,
			.pid = tasks_find_process(&world->tasks, thread->process)->pid,
			.count = waker->count,
			.total_ns = waker->total_ns,
			.max_ns = waker->max_ns,
		};
	}
	qsort(model->wakers, model->n_wakers, sizeof(*model->wakers), by_waker_total);
	return 0;
}

/* No thread has more in its life. Keeps the sums of false records from wrapping around. */
#define FAULTS_MAX (UINT64_C(1) << 48)

int faults_record(struct world *world, const struct event *event)
{
	const struct record_fault *record = &event->record->fault;
	struct thread *thread = tasks_find_thread(&world->tasks, record->thread);
	struct model_faults *faults = &world->model->faults;
	struct cost_rest *rest;
	uint64_t count;
	int64_t cost;

	if (!thread || record->minor > FAULTS_MAX || record->major > FAULTS_MAX)
		return -EBADMSG;
	count = record->minor + record->major;
	thread->recorded_faults.minor += record->minor;
	thread->recorded_faults.major += record->major;
	if (!event->selected)
		return 0;
	cost = tree_cost(&world->tree, record->stack);
	rest = cost < 0 ? NULL : tree_rest(&world->tree, (uint32_t)cost);
	if (!rest)
		return -ENOMEM;
	rest->faults += count;
	faults->recorded += count;
	faults->recorded_major += record->major;
	if (!event->gc_kind)
		return 0;
	rest->gc_faults += count;
	faults->recorded_in_gc += count;
	return 0;
}

static uint64_t beyond(uint64_t all, uint64_t recorded)
{
	return all > recorded ? all - recorded : 0;
}

struct record_fault faults_unrecorded(const struct world *world, const struct record_usage *usage)
{
	const struct thread *thread = tasks_find_thread(&world->tasks, usage->thread);
	bool recorded = world->streams.streams[STREAM_FAULT].attached ||
			thread->recorded_faults.minor || thread->recorded_faults.major;
	struct record_fault rest = {.time = usage->time, .thread = usage->thread};

	/* The part that a filter selects is unknown. */
	if (world->filtered || !recorded)
		return rest;
	rest.minor = beyond(thread->minor_faults, thread->recorded_faults.minor);
	rest.major = beyond(thread->major_faults, thread->recorded_faults.major);
	return rest;
}

void faults_usage(struct world *world, const struct record_usage *usage)
{
	struct record_fault rest;
	struct model_faults *faults = &world->model->faults;

	faults->known = true;
	faults->minor += usage->minor_faults;
	faults->major += usage->major_faults;
	if (usage->flags & USAGE_GOES_ON)
		return;
	rest = faults_unrecorded(world, usage);
	faults->recorded += rest.minor + rest.major;
	faults->recorded_major += rest.major;
	tree_rest(&world->tree, 0)->faults += rest.minor + rest.major;
}
