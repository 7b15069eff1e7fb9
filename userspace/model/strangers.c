/* SPDX-License-Identifier: BSD-2-Clause */
/* strangers.c: calls of processes that lived only while system calls were not traced. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "looks_state.h"

/* What processes that were seen in windows did, of one call. */
struct donated {
	double figures[LOOK_FIGURES];
	double squares[LOOK_SPREADS], products[LOOK_SPREADS]; /* the latter with their CPU time */
};

struct donors {
	bool once; /* only processes that were seen in a single window */
	double number, cpu, cpu_squares;
	struct donated *sums; /* by item */
};

static bool gives(const struct donors *donors, const struct look_process *process)
{
	return donors->once ? process->windows == 1 : process->windows > 0;
}

static void count_donors(const struct looks *looks, struct donors *donors)
{
	donors->number = donors->cpu = donors->cpu_squares = 0;
	for (size_t i = 0; i < looks->n_processes; i++) {
		const struct look_process *process = &looks->processes[i];

		if (!gives(donors, process))
			continue;
		donors->number++;
		donors->cpu += process->seen_cpu;
		donors->cpu_squares += process->seen_cpu * process->seen_cpu;
	}
}

static void donate(struct donated *sum, const struct look_total *total, double cpu)
{
	for (int figure = 0; figure < LOOK_FIGURES; figure++) {
		double value = (double)total->before[figure];

		sum->figures[figure] += value;
		if (figure >= LOOK_SPREADS)
			continue;
		sum->squares[figure] += value * value;
		sum->products[figure] += value * cpu;
	}
}

static void take_donations(const struct looks *looks, struct donors *donors)
{
	for (size_t i = 1; i < looks->n_totals; i++) {
		const struct look_total *total = &looks->totals[i];
		const struct look_process *process = &looks->processes[total->process];

		if (!total->known || !gives(donors, process))
			continue;
		donate(&donors->sums[total->sum], total, process->seen_cpu);
		donate(&donors->sums[0], total, process->seen_cpu);
	}
}

/* `gap` ns are as what the donors did; each of them may be far from their mean. */
static void add_donations(struct look_sum *sum, const struct donors *donors,
			  const struct donated *donated, double gap)
{
	double weight = gap / donors->cpu;

	for (int figure = 0; figure < LOOK_FIGURES; figure++)
		sum->more[figure] += weight * donated->figures[figure];
	for (int j = 0; j < LOOK_SPREADS; j++) {
		double rate = donated->figures[j] / donors->cpu;
		double off = donated->squares[j] - 2 * rate * donated->products[j] +
			     rate * rate * donors->cpu_squares;

		sum->spread.strangers[j] += donors->number > 1
						    ? fmax(off, 0) * weight * (1 + weight)
						    : donated->squares[j] * weight * weight;
	}
	sum->spread.chance += donated->figures[LOOK_COUNT] * weight * (1 + weight);
}

int looks_add_strangers(struct looks *looks)
{
	struct donors donors = {.once = true};
	double gap = 0;

	for (size_t i = 0; i < looks->n_processes; i++)
		gap += looks->processes[i].windows ? 0 : looks->processes[i].gap;
	count_donors(looks, &donors);
	if (donors.cpu <= 0) {
		donors.once = false;
		count_donors(looks, &donors);
	}
	if (gap <= 0 || donors.cpu <= 0)
		return 0;
	donors.sums = calloc(looks->n_sums, sizeof(*donors.sums));
	if (!donors.sums)
		return -ENOMEM;
	take_donations(looks, &donors);
	for (size_t i = 0; i < looks->n_sums; i++)
		add_donations(&looks->sums[i], &donors, &donors.sums[i], gap);
	for (size_t i = 0; i < looks->n_processes; i++)
		for (int j = 0; j < LOOK_SPREADS && !looks->processes[i].windows; j++)
			looks->processes[i].more[j] +=
				donors.sums[0].figures[j] * looks->processes[i].gap / donors.cpu;
	free(donors.sums);
	return 0;
}
