/* SPDX-License-Identifier: BSD-2-Clause */
/* runtimes.c: runtimes recorded without gcprof's probes, and providers of probes. */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/id_map.h"
#include "../model.h"
#include "arena.h"
#include "tasks.h"
#include "tree.h"

void runtimes_unnamed(const char *what, uint64_t number, char *out, size_t size)
{
	unsigned place = number >> PROVIDER_SHIFT & (PROFILE_PROVIDERS - 1);
	int used = snprintf(out, size, "%s %" PRIu64, what,
			    number & ((UINT64_C(1) << PROVIDER_SHIFT) - 1));

	if (place && used > 0 && (size_t)used < size)
		snprintf(out + used, size - (size_t)used, " of provider %u", place + 1);
}

void runtimes_free(struct runtimes *runtimes)
{
	free(runtimes->rows);
	free(runtimes->periods);
	id_map_free(runtimes->index);
}

int runtimes_record(struct runtimes *runtimes, const struct tasks *tasks, const struct tree *tree,
		    const struct record_runtime *record)
{
	struct process *process = tasks_find_process(tasks, record->process);
	const char *name = tree_text(tree, record->name);
	const char *version = tree_text(tree, record->version);
	bool none = record->unsampled == UNSAMPLED_NO_SAMPLER;
	const char *note = record->unsampled && !none ? unsampled_why(record->unsampled)
						      : tree_text(tree, record->note);

	if (!process || !name)
		return -EBADMSG;
	if (array_reserve(&runtimes->rows, &runtimes->capacity, runtimes->count,
			  sizeof(*runtimes->rows)) < 0)
		return -ENOMEM;
	process->listed |= record->collector != 0;
	if (record->collector && record->pacing < GC_PACINGS)
		process->pacing = (uint8_t)record->pacing;
	runtimes->rows[runtimes->count++] = (struct model_runtime){
		.process = record->process,
		.pid = process->pid,
		.provider = record->provider,
		.name = name,
		.version = version ? version : "",
		.note = note,
		.unsampled = record->unsampled && !none,
		.has_sampler = !record->unsampled,
		.program = process->name,
		.names_file = record->names_file,
		.outside = record->outside,
		.names = tree_text(tree, record->names),
		.plain = tree_text(tree, record->plain),
		.waits = {[RUNTIME_LOCKS] = tree_text(tree, record->locks),
			  [RUNTIME_RESTS] = tree_text(tree, record->rests)},
		.work = {[WORK_COLLECTOR] = tree_text(tree, record->collector),
			 [WORK_COMPILER] = tree_text(tree, record->compiler)},
#define PART(NAME, name, words) .parts[GC_##NAME] = tree_text(tree, record->name),
#include "../../../bpf/gc_parts.def"
#undef PART
	};
	return 0;
}

/* The row of this provider, perhaps new; NULL: no memory. */
static struct provider_period *find_period(struct runtimes *runtimes, uint64_t process,
					   uint64_t place)
{
	struct provider_period *last = runtimes->periods + runtimes->last;
	uint32_t *number;

	/* Samples of a provider mostly follow each other. */
	if (runtimes->n_periods && last->process == process && last->place == place)
		return last;
	if (!runtimes->index)
		runtimes->index = id_map_create();
	number = runtimes->index ? id_map_put(runtimes->index, process, place + 1) : NULL;
	if (!number || array_reserve(&runtimes->periods, &runtimes->periods_capacity,
				     runtimes->n_periods, sizeof(*last)) < 0)
		return NULL;
	if (!*number) {
		*number = (uint32_t)++runtimes->n_periods;
		runtimes->periods[*number - 1] =
			(struct provider_period){process, place, UINT64_MAX, 0, false};
	}
	runtimes->last = *number - 1;
	return &runtimes->periods[runtimes->last];
}

int runtimes_sampled(struct runtimes *runtimes, uint64_t process, uint64_t sample, uint64_t period)
{
	struct provider_period *row =
		find_period(runtimes, process, sample >> PROVIDER_SHIFT & (PROFILE_PROVIDERS - 1));

	if (!row)
		return -ENOMEM;
	if (period < row->shortest)
		row->shortest = period;
	if (period > row->longest)
		row->longest = period;
	return 0;
}

/* NULL: it has no samples. */
static struct provider_period *period_at(const struct runtimes *runtimes, uint64_t process,
					 uint64_t provider)
{
	uint32_t number = runtimes->index ? id_map_get(runtimes->index, process, provider) : 0;

	return number ? &runtimes->periods[number - 1] : NULL;
}

/*
 * A ceiling makes periods longer, so the shortest is the provider's. Samples of a runtime without
 * probes have the number that no provider of the process has; their periods may be shorter than the
 * runtime's, where its sampler prefers some objects.
 */
static void fill_periods(const struct runtimes *runtimes, const struct model_alloc *alloc,
			 struct model_runtime *rows)
{
	struct provider_period *period;

	for (size_t i = 0; i < runtimes->count; i++) {
		period = rows[i].provider ? period_at(runtimes, rows[i].process, rows[i].provider)
					  : NULL;
		if (!period)
			continue;
		rows[i].period = period->shortest;
		period->named = true;
	}
	for (size_t i = 0; i < runtimes->count; i++)
		for (uint64_t provider = 1; provider <= PROFILE_PROVIDERS && !rows[i].provider;
		     provider++) {
			period = period_at(runtimes, rows[i].process, provider);
			if (period && !period->named)
				rows[i].period = alloc->period_changes ? alloc->period
								       : period->longest;
		}
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

/* The first of `n` lists, at `offset` in the rows, that has the function; n: none has. Processes of
 * one runtime have the same lists. */
static int find_list(const struct runtimes *runtimes, size_t offset, int n, const char *function)
{
	const char *const *before = NULL;

	for (size_t i = 0; i < runtimes->count; i++) {
		const char *const *lists =
			(const void *)((const char *)&runtimes->rows[i] + offset);

		if (before && !memcmp(lists, before, (size_t)n * sizeof(*lists)))
			continue;
		for (int list = 0; list < n; list++)
			if (is_listed(lists[list], function))
				return list;
		before = lists;
	}
	return n;
}

enum work_kind runtimes_work(const struct runtimes *runtimes, const char *function)
{
	int work = find_list(runtimes, offsetof(struct model_runtime, work), WORKS, function);

	return work < WORKS ? (enum work_kind)work : WORK_PROGRAM;
}

enum gc_part runtimes_part(const struct runtimes *runtimes, const char *function)
{
	return (enum gc_part)find_list(runtimes, offsetof(struct model_runtime, parts), GC_PARTS,
				       function);
}

enum runtime_wait runtimes_wait(const struct runtimes *runtimes, const char *function, bool *weak)
{
	const size_t offset = offsetof(struct model_runtime, waits);
	int found = find_list(runtimes, offset, RUNTIME_WAITS, function);
	char marked[256] = "?";

	*weak = found == RUNTIME_WAITS;
	if (*weak) {
		snprintf(marked + 1, sizeof(marked) - 1, "%s", function);
		found = find_list(runtimes, offset, RUNTIME_WAITS, marked);
	}
	return (enum runtime_wait)found;
}

bool runtimes_plain(const struct runtimes *runtimes, const char *type)
{
	for (size_t i = 0; i < runtimes->count; i++)
		if (is_listed(runtimes->rows[i].plain, type))
			return true;
	return false;
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
	fill_periods(runtimes, &model->alloc, model->runtimes);
	model->n_runtimes = runtimes->count;
	return 0;
}
