// SPDX-License-Identifier: BSD-2-Clause
/* ahead.c: current mappings of processes, ahead of what the profile has reached. */
#include "ahead.h"

#include <errno.h>
#include <string.h>

#define FORKS_MAX 64 /* forks not in the profile yet, each the parent of the next */

/* Rings are nearly in order, so the new one belongs near the end. */
int ahead_map(struct processes *processes, struct process *process, const struct mapping *mapping)
{
	struct mappings_pool *pool = processes_pool(processes);
	struct mapping *all;
	size_t n;

	process_ahead(process, &n);
	if (mapping->start >= mapping->end)
		return 0;
	if (!mappings_allow(pool, n + 1))
		return -EOVERFLOW;
	if (buffer_append(&process->ahead, mapping, sizeof(*mapping)))
		return -ENOMEM;
	pool->used++;
	all = process_ahead(process, &n);
	for (size_t i = n - 1; i > 0 && all[i - 1].time > mapping->time; i--) {
		all[i] = all[i - 1];
		all[i - 1] = *mapping;
	}
	return 0;
}

/* Drops the first ones. Room is given back when most is empty, so that a program which maps without
 * end costs the same for each mapping. */
static void ahead_drop(struct processes *processes, struct process *process, size_t count)
{
	size_t n;
	const struct mapping *all;

	processes_pool(processes)->used -= count;
	process->reached += count;
	all = process_ahead(process, &n);
	if (process->reached <= n)
		return;
	if (n)
		memmove(process->ahead.data, all, n * sizeof(*all));
	else
		buffer_free(&process->ahead);
	process->ahead.size = n * sizeof(*all);
	process->reached = 0;
}

/* Mappings from before the recording all have the same time. */
uint32_t ahead_reach(struct processes *processes, struct process *process,
		     const struct mapping *mapping)
{
	uint32_t file = 0;
	size_t n, earlier = 0, at;
	struct mapping *all = process_ahead(process, &n);

	while (earlier < n && all[earlier].time < mapping->time)
		earlier++;
	for (at = earlier; at < n && all[at].time == mapping->time; at++) {
		if (all[at].start != mapping->start)
			continue;
		file = all[at].file;
		memmove(all + earlier + 1, all + earlier, (at - earlier) * sizeof(*all));
		earlier++;
		break;
	}
	ahead_drop(processes, process, earlier);
	return file;
}

/* The mappings at a time, if the profile has not reached it. */
static int view_at(struct processes *processes, const struct process *process, uint64_t until,
		   unsigned forks, struct mappings **out)
{
	const struct process *parent = NULL;
	const struct mapping *all;
	size_t n;
	int err = 0;

	if (!process->written && process->parent && forks)
		parent = processes_find(processes, process->parent);
	if (parent)
		err = view_at(processes, parent, process->begin, forks - 1, out);
	else
		*out = mappings_share(process->mappings);
	if (!err && process->program <= until)
		err = mappings_forget(out, process->program);
	all = process_ahead(process, &n);
	for (size_t i = 0; i < n && all[i].time <= until && !err; i++)
		if (all[i].time >= process->program)
			err = mappings_add(out, processes_pool(processes), &all[i]);
	return err;
}

int ahead_view(struct processes *processes, const struct process *process, struct mappings **out)
{
	*out = NULL;
	return view_at(processes, process, UINT64_MAX, FORKS_MAX, out);
}
