/* SPDX-License-Identifier: BSD-2-Clause */
/* runtimes.c: runtimes recorded without gcprof's probes, and providers of probes. */
#include "runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../model.h"
#include "arena.h"
#include "tasks.h"
#include "tree.h"

void runtimes_free(struct runtimes *runtimes)
{
	free(runtimes->rows);
}

int runtimes_record(struct runtimes *runtimes, const struct tasks *tasks, const struct tree *tree,
		    const struct record_runtime *record)
{
	const struct process *process = tasks_find_process(tasks, record->process);
	const char *name = tree_text(tree, record->name);
	const char *version = tree_text(tree, record->version);
	const char *note = tree_text(tree, record->note);

	if (!process || !name)
		return -EBADMSG;
	if (array_reserve(&runtimes->rows, &runtimes->capacity, runtimes->count,
			  sizeof(*runtimes->rows)) < 0)
		return -ENOMEM;
	runtimes->rows[runtimes->count++] = (struct model_runtime){
		.process = record->process,
		.pid = process->pid,
		.provider = record->provider,
		.name = name,
		.version = version ? version : "",
		.note = note || !record->unsampled ? note : "",
		.unsampled = record->unsampled,
		.program = process->name,
		.work = {[WORK_COLLECTOR] = tree_text(tree, record->collector),
			 [WORK_COMPILER] = tree_text(tree, record->compiler)},
	};
	return 0;
}

/* Is the function in the list, without its arguments or the name of a nested function? "VM_G1*" is
 * any that begins so. */
static bool is_listed(const char *list, const char *function)
{
	while (list && *list) {
		size_t size = strcspn(list, " ");

		bool begins = size && list[size - 1] == '*';

		if (!strncmp(list, function, size - begins) &&
		    (begins || strchr("(.", function[size])))
			return true;
		list += size + (list[size] == ' ');
	}
	return false;
}

enum work_kind runtimes_work(const struct runtimes *runtimes, const char *function)
{
	for (size_t i = 0; i < runtimes->count; i++)
		for (int work = 0; work < WORKS; work++)
			if (is_listed(runtimes->rows[i].work[work], function))
				return (enum work_kind)work;
	return WORK_PROGRAM;
}

int runtimes_finish(const struct runtimes *runtimes, const struct tasks *tasks, struct model *model)
{
	size_t size = runtimes->count * sizeof(*runtimes->rows);

	model->runtimes = arena_alloc(model->arena, size + 1);
	if (!model->runtimes)
		return -ENOMEM;
	if (size)
		memcpy(model->runtimes, runtimes->rows, size);
	for (size_t i = 0; i < runtimes->count; i++) {
		struct model_runtime *row = &model->runtimes[i];
		const struct process *process = tasks_find_process(tasks, row->process);

		if (!row->program)
			row->program = process && process->name ? process->name : "?";
	}
	model->n_runtimes = runtimes->count;
	return 0;
}
