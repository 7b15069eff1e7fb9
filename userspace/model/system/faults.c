/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.c: page faults, by stack and by the thread's phase. */
#include "faults.h"

#include <errno.h>

#include "../../../bpf/events.h"
#include "../world/world.h"

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
