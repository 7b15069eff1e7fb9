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
	thread->told_faults += count;
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

void faults_rest(struct pass *pass, const struct thread *thread)
{
	uint64_t all = thread->minor_faults + thread->major_faults;

	/* What a filter selects of them is not known. */
	if (pass->selection || !thread->told_faults || all <= thread->told_faults)
		return;
	tree_rest(&pass->tree, 0)->faults += all - thread->told_faults;
	pass->model->faults.told += all - thread->told_faults;
}
