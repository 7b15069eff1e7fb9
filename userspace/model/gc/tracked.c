/* SPDX-License-Identifier: BSD-2-Clause */
/* tracked.c: objects that the program frees, and collections too: CPython's. */
#include "samples.h"

#include "../world/world.h"
#include "attribute.h"
#include "charges.h"

/* How many objects the sample stands for. */
static double count_of(const struct sample *sample)
{
	return 1 / (double)sample->probability;
}

double tracked_garbage(const struct sample *sample)
{
	return TRACKED_GARBAGE * count_of(sample);
}

bool tracked_alloc(const struct world *world, struct sample *sample)
{
	const struct process *process =
		tasks_runtime(&world->tasks, tasks_find_process(&world->tasks, sample->process));

	sample->tracked = sample->manual && process && process->pacing == GC_PACING_GROWTH;
	return sample->tracked;
}

bool tracked_charge(struct world *world, struct sample *sample, struct charge *charge)
{
	struct charging *charging = &tasks_find_process(&world->tasks, sample->process)->charging;

	charge->bytes = (float)(sample->dead ? tracked_garbage(sample) : count_of(sample));
	if (sample->dead)
		return sample->fated;
	charge->promoted = charge->again = 1;
	sample->walked = 1;
	sample->level = charging->level;
	charging->tracked += count_of(sample);
	charging->walked += count_of(sample);
	return true;
}

bool tracked_end(struct world *world, struct sample *sample)
{
	struct process *process = tasks_find_process(&world->tasks, sample->process);
	const struct charged who = {sample->process, sample->cost, sample->type, sample->real};

	sample->fated = process->collecting;
	if (!sample->walked)
		return false;
	sample->walked = 0;
	process->charging.tracked -= count_of(sample);
	charges_add(world, &who, CHARGE_KEPT,
		    count_of(sample) * (process->charging.level - sample->level));
	return process->collecting && process->last_gc == GCPROF_GC_FULL;
}

void tracked_full(struct charging *charging, double ns)
{
	charging->level += ns / charging->tracked;
	charging->fulls++;
	charging->alive += charging->tracked;
}
