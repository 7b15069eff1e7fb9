/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.c: page faults, by stack and by what their threads were doing. */
#include "faults.h"

#include <errno.h>

#include "pass.h"

/* No thread takes more in its life; keeps sums of records that lie from wrapping round. */
#define FAULTS_MAX (UINT64_C(1) << 48)

int faults_record(struct pass *pass, const struct record_fault *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);
	struct model_faults *faults = &pass->model->faults;
	struct cost_rest *rest;
	uint64_t count;
	int64_t cost;

	if (!thread || record->minor > FAULTS_MAX || record->major > FAULTS_MAX)
		return -EBADMSG;
	count = record->minor + record->major;
	thread->told_faults.minor += record->minor;
	thread->told_faults.major += record->major;
	if (!pass->selected)
		return 0;
	cost = tree_cost(&pass->tree, record->stack);
	rest = cost < 0 ? NULL : tree_rest(&pass->tree, (uint32_t)cost);
	if (!rest)
		return -ENOMEM;
	rest->faults += count;
	faults->told += count;
	faults->told_major += record->major;
	if (!cycles_kind(pass, record->thread, record->time))
		return 0;
	rest->gc_faults += count;
	faults->told_in_gc += count;
	return 0;
}

static uint64_t beyond(uint64_t all, uint64_t told)
{
	return all > told ? all - told : 0;
}

struct record_fault faults_untold(const struct pass *pass, const struct record_usage *usage)
{
	const struct thread *thread = tasks_find_thread(&pass->tasks, usage->thread);
	bool recorded = pass->streams.streams[STREAM_FAULT].attached || thread->told_faults.minor ||
			thread->told_faults.major;
	struct record_fault rest = {.time = usage->time, .thread = usage->thread};

	/* What a filter selects of them is not known. */
	if (pass->selection || !recorded)
		return rest;
	rest.minor = beyond(thread->minor_faults, thread->told_faults.minor);
	rest.major = beyond(thread->major_faults, thread->told_faults.major);
	return rest;
}

void faults_usage(struct pass *pass, const struct record_usage *usage)
{
	struct record_fault rest = faults_untold(pass, usage);
	struct model_faults *faults = &pass->model->faults;

	faults->known = true;
	faults->minor += usage->minor_faults;
	faults->major += usage->major_faults;
	faults->told += rest.minor + rest.major;
	faults->told_major += rest.major;
	tree_rest(&pass->tree, 0)->faults += rest.minor + rest.major;
}
