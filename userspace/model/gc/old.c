/* SPDX-License-Identifier: BSD-2-Clause */
/* old.c: sampled objects that became old: live bytes, and their part in major collections. */
#include "samples.h"

#include <errno.h>
#include <math.h>

#include "../world/world.h"
#include "charges.h"
#include "pauses.h"

/* Lives are kept by stack and by type. A sample has had both since its allocation. */
uint32_t old_life_of_stack(const struct old *of, const struct sample *sample)
{
	return of->world->tree.costs[sample->cost].life;
}

struct life *old_life_of_type(const struct old *of, const struct sample *sample)
{
	return &of->world->types.items[sample->type].life;
}

int old_begin(struct old *of, struct sample *sample)
{
	struct process *process = tasks_find_process(&of->world->tasks, sample->process);
	struct charging *charging = &process->charging;
	struct stack_old *old;

	if (sample->old)
		return 0;
	old = stack_life_old(&of->world->tree.lives, old_life_of_stack(of, sample));
	if (!old)
		return -ENOMEM;
	sample->old = 1;
	sample->level = charging->level;
	sample->share = charging->share;
	sample->markings = process->markings;
	old->promoted_bytes += sample->bytes;
	old_life_of_type(of, sample)->promoted_bytes += sample->bytes;
	charging->live_bytes += sample->bytes;
	charging->live_count++;
	of->world->types.items[sample->type].live_bytes += sample->bytes;
	return 0;
}

/*
 * Each major pause raises the level of the process by ns per live byte. So the charge for all
 * major pauses in an object's life is a difference of two levels.
 */
static void charge_major_pauses(struct old *of, const struct sample *sample)
{
	const struct charging *charging =
		&tasks_find_process(&of->world->tasks, sample->process)->charging;
	const struct charged who = {sample->process, sample->cost, sample->type, sample->real};

	pauses_old(of->pauses, sample);
	charges_add(of->world, &who, CHARGE_KEPT,
		    sample->bytes * (charging->level - sample->level));
}

/* How many objects like this one it stands for, including those that are no longer followed. */
static double stands_for(const struct charging *charging, const struct sample *sample)
{
	return exp(charging->share - sample->share);
}

void old_end(struct old *of, struct sample *sample)
{
	struct charging *charging =
		&tasks_find_process(&of->world->tasks, sample->process)->charging;

	if (!sample->old)
		return;
	charge_major_pauses(of, sample);
	sample->old = 0;
	charging->live_bytes -= sample->bytes * stands_for(charging, sample);
	charging->live_count--;
	of->world->types.items[sample->type].live_bytes -= sample->bytes;
}

/* It is alive as often as it stands for others: adds to the sums over old objects. */
static void scale_old(struct old *of, const struct sample *sample, double times)
{
	struct stack_old *old =
		stack_life_old(&of->world->tree.lives, old_life_of_stack(of, sample));

	if (old)
		old->promoted_bytes += sample->bytes * times;
	old_life_of_type(of, sample)->promoted_bytes += sample->bytes * times;
}

/* Nothing more is known of an object. If it was left out on purpose, the other old ones of its
 * process stand for it from now on. */
void old_lose(struct old *of, struct sample *sample, bool replaced)
{
	struct charging *charging =
		&tasks_find_process(&of->world->tasks, sample->process)->charging;
	double before = charging->live_bytes;
	bool old = sample->old;

	of->world->model->alloc.lost_fates += !replaced;
	if (old)
		scale_old(of, sample, -1);
	old_end(of, sample);
	if (replaced && old && charging->live_count && charging->live_bytes > 0) {
		charging->share += log(before / charging->live_bytes);
		charging->live_bytes = before;
	}
}

void old_finish(struct old *of, const struct sample *sample, struct tally *live)
{
	const struct charging *charging =
		&tasks_find_process(&of->world->tasks, sample->process)->charging;
	double p = (double)sample->probability, n = stands_for(charging, sample);

	charge_major_pauses(of, sample);
	if (sample->type == TYPE_UNSELECTED)
		return;
	tally_add(live, sample->bytes * p, p / n);
	of->world->types.items[sample->type].live_bytes += sample->bytes * (n - 1);
	if (n > 1)
		scale_old(of, sample, n - 1);
	of->world->model->alloc.live_collected |= !sample->manual;
}
