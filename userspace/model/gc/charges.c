/* SPDX-License-Identifier: BSD-2-Clause */
/* charges.c: what collections cost, charged to stacks and types. */
#include "charges.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../world/world.h"
#include "spent.h"

static double sum_of_charges(const struct charging *charging)
{
	return charging->charged[CHARGE_FIXED] + charging->charged[CHARGE_COPIED] +
	       charging->charged[CHARGE_KEPT];
}

/* CPU time of a process's collector. */
struct pools {
	double young, old; /* to be split over the samples of cycles, and over live objects */
	double others;     /* which of both is not known */
	double stops;      /* stops without a collection */
};

void charges_add(struct world *world, const struct charged *who, enum charge_part part, double ns)
{
	const struct cost *cost = &world->tree.costs[who->cost];

	if (stack_life_charge(&world->tree.lives, cost->life, who->process, part, ns) < 0)
		world->no_memory = true;
	world->types.items[who->type].charged[part] += ns;
	if (who->type == TYPE_UNSELECTED && part == CHARGE_KEPT)
		world->types.items[who->real].hidden += ns;
}

/* The pacing of a process's collector. */
static enum gc_pacing pacing_of(const struct world *world, uint32_t process)
{
	const struct process *of =
		tasks_runtime(&world->tasks, tasks_find_process(&world->tasks, process));

	return of ? (enum gc_pacing)of->pacing : GC_PACING_FIXED;
}

/* What a filter leaves out has one life for all of a process. */
static void forget_hidden(struct world *world, const struct type *type)
{
	struct stack_lives *lives = &world->tree.lives;
	uint32_t life = world->tree.unselected ? world->tree.costs[world->tree.unselected].life : 0;

	for (uint32_t at = lives->items[life].charge; at; at = lives->charges[at].next)
		if (lives->charges[at].process == type->process)
			lives->charges[at].parts[CHARGE_KEPT] = fmaxf(
				lives->charges[at].parts[CHARGE_KEPT] - (float)type->hidden, 0);
}

/* Objects without references cost nothing as long as they are kept, and where collections count
 * objects, nothing at all. Which these are is known with their types. A stack with objects of
 * several types is charged for all. */
static void forget_plain(struct world *world)
{
	struct stack_lives *lives = &world->tree.lives;

	for (size_t i = TYPE_UNSELECTED + 1; i < world->types.count; i++) {
		struct type *type = &world->types.items[i];

		type->plain |= type->name && runtimes_plain(&world->runtimes, type->name);
		if (type->plain)
			forget_hidden(world, type);
	}
	for (size_t i = 1; i < lives->count; i++) {
		if (!lives->items[i].samples || lives->items[i].mixed ||
		    !world->types.items[lives->items[i].type].plain)
			continue;
		for (uint32_t at = lives->items[i].charge; at; at = lives->charges[at].next)
			for (int part = 0; part < CHARGES; part++)
				if (part == CHARGE_KEPT ||
				    pacing_of(world, lives->charges[at].process) ==
					    GC_PACING_GROWTH)
					lives->charges[at].parts[part] = 0;
	}
}

/* Sums by process. */
static void sum_up(struct world *world)
{
	const struct stack_lives *lives = &world->tree.lives;

	for (size_t i = 1; i < lives->n_charges; i++)
		for (int part = 0; part < CHARGES; part++)
			tasks_find_process(&world->tasks, lives->charges[i].process)
				->charging.charged[part] += (double)lives->charges[i].parts[part];
}

static struct pools pools_of(const struct gc_spent *spent)
{
	return (struct pools){
		.young = spent->parts[GC_COPYING] + spent->parts[GC_CARDS] +
			 spent->parts[GC_ROOTS] + spent->kinds[GCPROF_GC_MINOR],
		.old = spent->parts[GC_MARKING] + spent->parts[GC_COMPACTING] +
		       spent->kinds[GCPROF_GC_STEP] + spent->kinds[GCPROF_GC_FULL],
		.others = spent->parts[GC_IDLE] + spent->kinds[0],
		.stops = spent->kinds[GCPROF_GC_STOP],
	};
}

/* The pauses and cycles themselves. */
static struct pools pauses_of(const struct charging *charging)
{
	return (struct pools){
		.young = charging->charged[CHARGE_FIXED] + charging->charged[CHARGE_COPIED],
		.old = charging->charged[CHARGE_KEPT],
		.others = charging->carried_ns,
	};
}

static double sum_of(const struct pools *pools)
{
	return pools->young + pools->old + pools->others + pools->stops;
}

/*
 * What is to be charged in a process. Without CPU time, its pauses are. If all are so short that no
 * sample lies in one, they took less than the time between two.
 */
static struct pools cost_of(const struct charging *charging, double tick, struct model_gc *gc)
{
	struct pools pauses = pauses_of(charging), spent = pools_of(&charging->spent);
	double all = sum_of(&pauses), part = all > tick ? tick / all : 1;

	if (tick <= 0)
		return pauses;
	if (sum_of(&spent) > 0 || all <= 0)
		return spent;
	gc->spent_ns += all * part;
	return (struct pools){
		.young = pauses.young * part,
		.old = pauses.old * part,
		.others = pauses.others * part,
	};
}

/* Time that belongs to one of the others as much as the others themselves. */
static void share_out(struct pools *pools, double young, double old)
{
	double all = pools->young + pools->old + pools->others;
	double known = pools->young + pools->old;
	double part = known > 0 ? pools->young / known : young / (young + old);

	/* What no object can be charged with is charged to those that can. */
	part = old <= 0 ? 1 : young <= 0 ? 0 : part;
	pools->young = all * part;
	pools->old = all - pools->young;
	pools->others = 0;
}

/* Finds the factors of a process, and what of its collector's time cannot be charged. */
static void settle(struct charging *charging, enum gc_pacing pacing, double tick,
		   struct model_gc *gc)
{
	struct pools pools = cost_of(charging, tick, gc);
	/* What is neither marking nor for roots is sweeping there, of what was allocated. */
	double swept = pacing == GC_PACING_LIVE ? pools.others : 0;
	double young = charging->charged[CHARGE_FIXED] + charging->charged[CHARGE_COPIED];
	double old = charging->charged[CHARGE_KEPT];
	double part;

	gc->unattributed[UNATTRIBUTED_STOPS] += pools.stops;
	if (young + old <= 0) {
		gc->unattributed[UNATTRIBUTED_SAMPLES] += sum_of(&pools) - pools.stops;
		return;
	}
	pools.young += swept;
	pools.others -= swept;
	share_out(&pools, young, old);
	part = (young + old) / (young + old + charging->carried_ns);
	gc->unattributed[UNATTRIBUTED_CYCLES] += (1 - part) * (pools.young + pools.old);
	if (young > 0)
		charging->factors[CHARGE_FIXED] = charging->factors[CHARGE_COPIED] =
			part * pools.young / young;
	if (old > 0)
		charging->factors[CHARGE_KEPT] = part * pools.old / old;
}

static void scale_charge(const struct world *world, struct stack_charge *charge)
{
	const struct process *process = tasks_find_process(&world->tasks, charge->process);

	for (int part = 0; part < CHARGES; part++)
		charge->parts[part] *= (float)process->charging.factors[part];
	charge->process = pacing_of(world, charge->process);
}

static void scale_stacks(struct world *world)
{
	struct stack_lives *lives = &world->tree.lives;

	for (size_t i = 1; i < lives->n_charges; i++)
		scale_charge(world, &lives->charges[i]);
	for (size_t i = 1; i < lives->count; i++) {
		struct stack_life *life = &lives->items[i];
		double ns = 0;

		for (uint32_t at = life->charge; at; at = lives->charges[at].next) {
			struct model_gc_pace *pace =
				&world->model->gc.paces.of[lives->charges[at].process];

			for (int part = 0; part < CHARGES; part++) {
				ns += (double)lives->charges[at].parts[part];
				pace->parts[part] += (double)lives->charges[at].parts[part];
				pace->bytes[part] += part == CHARGE_FIXED ? life->bytes.value
									  : life->survived.some;
			}
		}
		life->gc_ns = (float)ns;
	}
}

/* What has references, of all that is charged for being kept. */
static double referring(const struct world *world)
{
	double all = 0, some = 0;

	for (size_t i = TYPE_UNSELECTED + 1; i < world->types.count; i++) {
		const struct type *type = &world->types.items[i];

		all += type->charged[CHARGE_KEPT] + type->hidden;
		some += type->plain ? 0 : type->charged[CHARGE_KEPT] + type->hidden;
	}
	return all > 0 ? some / all : 1;
}

static void scale_types(struct world *world)
{
	for (size_t i = TYPE_UNSELECTED + 1; i < world->types.count; i++) {
		struct type *type = &world->types.items[i];
		const struct process *process = tasks_find_process(&world->tasks, type->process);
		double *parts = type->caused.parts[pacing_of(world, type->process)];

		for (int part = 0; process && part < CHARGES; part++)
			if (!type->plain || (part != CHARGE_KEPT &&
					     pacing_of(world, type->process) != GC_PACING_GROWTH))
				parts[part] = type->charged[part] * process->charging.factors[part];
	}
}

/* Did the heap's size begin it? Go's other cycles are called for, or come by the clock. */
static bool is_paced(const struct model_gc_cycle *cycle)
{
	return !cycle->named_reason || !strcmp(cycle->named_reason, "heap size");
}

/* A limit that was nearer than what the cycle's growth would allow: the heap's size then. Else the
 * limit, which is never reached. */
static double peak_of(const struct model_gc_cycle *cycle)
{
	double live = (double)cycle->live_bytes, limit = (double)cycle->limit_bytes;
	double goal = live * (1 + (double)cycle->growth_percent / 100);

	return cycle->heap_after_bytes && limit < goal
		       ? fmin(limit, (double)cycle->heap_after_bytes)
		       : limit;
}

/* Concurrent cycles of collectors that are paced so. Where the growth is not known, the heap may
 * double: the default of the only runtime with this pacing. */
static void count_cycles(const struct world *world, enum gc_pacing pacing)
{
	const struct model *model = world->model;
	struct model_gc_pace *pace = &world->model->gc.paces.of[pacing];
	double bound = 0, limited = 0;

	for (size_t i = 0; i < model->n_gc_cycles; i++) {
		const struct model_gc_cycle *cycle = &model->gc_cycles[i];
		uint64_t percent = cycle->growth_percent ? cycle->growth_percent : 100;

		if (pacing_of(world, (uint32_t)cycle->process) != pacing || !cycle->live_bytes)
			continue;
		pace->cycles++;
		pace->live += (double)cycle->live_bytes;
		pace->paced += is_paced(cycle);
		pace->growth += percent < GC_GROWTH_NO_BOUND ? (double)percent / 100 : 0;
		bound += percent < GC_GROWTH_NO_BOUND;
		pace->peak += cycle->limit_bytes ? peak_of(cycle) : 0;
		limited += cycle->limit_bytes != 0;
	}
	pace->live /= fmax(pace->cycles, 1);
	pace->paced /= fmax(pace->cycles, 1);
	pace->growth /= fmax(bound, 1);
	pace->peak /= fmax(limited, 1);
	pace->empty_ns = EMPTY_CYCLE_NS;
}

/* Full collections where what is new is compared to what is alive. */
static void count_fulls(const struct world *world)
{
	struct model_gc_pace *pace = &world->model->gc.paces.of[GC_PACING_GROWTH];
	double fulls = 0, referring = pace->referring;

	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		const struct process *process = tasks_find_process(&world->tasks, id);

		if (!process || pacing_of(world, (uint32_t)id) != GC_PACING_GROWTH)
			continue;
		fulls += process->charging.fulls;
		pace->alive += process->charging.alive;
		pace->apart += process->charging.walked;
	}
	pace->alive *= referring / fmax(fulls, 1);
	pace->apart *= referring / fmax(fulls, 1);
}

/* How uncertain the parts are: by the number of timer samples, and that of samples that split young
 * collections. */
static void set_variances(struct model_gc *gc, double tick, double worth)
{
	for (int pacing = 0; pacing < GC_PACINGS; pacing++) {
		struct model_gc_pace *pace = &gc->paces.of[pacing];
		double fixed = pace->parts[CHARGE_FIXED], copied = pace->parts[CHARGE_COPIED];

		for (int part = 0; part < CHARGES; part++)
			if (pace->parts[part] > 0)
				pace->variances[part] = tick / pace->parts[part];
		if (pacing == GC_PACING_FIXED && fixed > 0 && copied > 0) {
			pace->variances[CHARGE_FIXED] += copied / fixed / (worth + 1);
			pace->variances[CHARGE_COPIED] += fixed / copied / (worth + 1);
		}
	}
}

/* Shows the cost of the process with most minor collections. Returns what its split is worth. */
static double show_cost(const struct world *world)
{
	struct minor_cost cost = {.worth = 2};
	double most = 0;

	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		const struct process *process = tasks_find_process(&world->tasks, id);

		if (!process || process->charging.n <= most)
			continue;
		most = process->charging.n;
		cost = charging_cost(&process->charging, spent_copying(process));
	}
	world->model->gc.fixed_ns = cost.fixed_ns;
	world->model->gc.copy_ns_per_byte = cost.ns_per_byte;
	return cost.worth;
}

int charges_finish(struct world *world)
{
	struct model *model = world->model;
	struct model_gc *gc = &model->gc;
	double tick = model->run.frequency ? 1e9 / (double)model->run.frequency : 0;

	if (!world->filtered && !model->cpu.on_cpu_ns)
		tick = 0;
	gc->pauses_charged = tick <= 0;
	for (int pacing = 0; pacing < GC_PACINGS; pacing++)
		gc->paces.of[pacing].referring = referring(world);
	forget_plain(world);
	sum_up(world);
	for (uint64_t id = 1; id < world->tasks.processes.limit; id++) {
		struct process *process = tasks_find_process(&world->tasks, id);

		if (!process)
			continue;
		settle(&process->charging, pacing_of(world, (uint32_t)id), tick, gc);
		gc->paces.kept_known |= process->outcomes && sum_of_charges(&process->charging) > 0;
	}
	scale_stacks(world);
	scale_types(world);
	count_cycles(world, GC_PACING_LIVE);
	count_fulls(world);
	set_variances(gc, tick, show_cost(world));
	for (int i = 0; i < UNATTRIBUTED; i++) {
		gc->unattributed[i] = world->filtered ? 0 : gc->unattributed[i];
		gc->unattributed_ns += gc->unattributed[i];
	}
	return world->no_memory ? -ENOMEM : 0;
}
