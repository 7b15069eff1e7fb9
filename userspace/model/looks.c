/* SPDX-License-Identifier: BSD-2-Clause */
/* looks.c: system calls were traced in windows of time only: estimates of those in the gaps. */
#include "looks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"
#include "arena.h"
#include "looks_state.h"

#define SLOWER_MAX 16.0 /* a program cannot be slowed down by more: then the figures are wrong */
/* How well the cost of tracing a call is known, relative to it. */
#define COST_DOUBT 0.4
/* What tracing pushes out of the caches makes the program itself slower: by this part of its own
 * time, at most by so many times the cost of tracing. It may be nothing, or twice as much. */
#define CACHE_SHARE     0.1
#define CACHE_TIMES_MAX 2
/* ns of CPU time of a process: what it did in less says little, and waits for its next window. */
#define CPU_MIN 1e6

/* Quantile of the normal distribution for a two-sided 95 % interval. */
static const double z = 1.959963984540054;

int looks_init(struct looks *looks)
{
	memset(looks, 0, sizeof(*looks));
	looks->process_index = map_create(sizeof(uint64_t));
	looks->sum_index = map_create(sizeof(uint64_t));
	looks->sums = calloc(1, sizeof(*looks->sums));
	looks->n_sums = looks->sums_capacity = 1;
	return looks->process_index && looks->sum_index && looks->sums ? 0 : -ENOMEM;
}

void looks_free(struct looks *looks)
{
	free(looks->totals);
	free(looks->grown);
	free(looks->processes);
	free(looks->fresh);
	free(looks->open);
	free(looks->sums);
	free(looks->touched);
	map_free(looks->process_index);
	map_free(looks->sum_index);
}

/* --- what the profile says ---------------------------------------------------- */

/* The number of what stands under `key`, counted from `first` on, in an array of `count`. */
static int find_or_add(struct map *index, uint64_t key, void *array, size_t *capacity,
		       size_t *count, size_t item_size, size_t *out)
{
	bool added;
	uint64_t *item = map_put(index, &key, &added);

	if (!item || array_reserve(array, capacity, *count, item_size) < 0)
		return -ENOMEM;
	if (added)
		*item = (*count)++;
	*out = *item;
	return 0;
}

/* Appends to a list of numbers. */
static int list_add(size_t **list, size_t *capacity, size_t *count, size_t number)
{
	if (array_reserve(list, capacity, *count, sizeof(**list)) < 0)
		return -ENOMEM;
	(*list)[(*count)++] = number;
	return 0;
}

static int find_process(struct looks *looks, uint64_t id, size_t *out)
{
	int error = find_or_add(looks->process_index, id, &looks->processes,
				&looks->processes_capacity, &looks->n_processes,
				sizeof(*looks->processes), out);

	struct look_process *process;

	if (error)
		return error;
	process = &looks->processes[*out];
	if (!process->id) {
		process->id = id;
		process->clock_seen = looks->seen_ns;
		process->clock_gaps = looks->gaps_ns;
	}
	return 0;
}

static int know_total(struct looks *looks, struct look_total *total, uint64_t process,
		      uint64_t call)
{
	int error = find_process(looks, process, &total->process);

	if (!error)
		error = find_or_add(looks->sum_index, call, &looks->sums, &looks->sums_capacity,
				    &looks->n_sums, sizeof(*looks->sums), &total->sum);
	total->known = !error;
	return error;
}

int looks_total(struct looks *looks, size_t item, uint64_t process, uint64_t call,
		const uint64_t figures[LOOK_FIGURES])
{
	struct look_total *total;

	if (array_reserve(&looks->totals, &looks->totals_capacity, item, sizeof(*total)) < 0)
		return -ENOMEM;
	total = &looks->totals[item];
	if (item >= looks->n_totals)
		looks->n_totals = item + 1;
	if (!total->known && know_total(looks, total, process, call) < 0)
		return -ENOMEM;
	memcpy(total->now, figures, sizeof(total->now));
	if (total->grown)
		return 0;
	total->grown = true;
	return list_add(&looks->grown, &looks->grown_capacity, &looks->n_grown, item);
}

int looks_cpu(struct looks *looks, const struct record_call_cpu *record)
{
	struct look_process *process;
	size_t number;

	if (find_process(looks, record->process, &number) < 0)
		return -ENOMEM;
	process = &looks->processes[number];
	process->traced = record->traced_ns;
	process->untraced = record->untraced_ns;
	if (process->fresh)
		return 0;
	process->fresh = true;
	return list_add(&looks->fresh, &looks->fresh_capacity, &looks->n_fresh, number);
}

/* --- what was since the last look ---------------------------------------------- */

/* Totals do not shrink. */
static double growth(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static void take_total(struct looks *looks, size_t item)
{
	struct look_total *total = &looks->totals[item];
	struct look_process *process = &looks->processes[total->process];

	for (int figure = 0; figure < LOOK_FIGURES; figure++) {
		double more = growth(total->now[figure], total->before[figure]);

		total->window[figure] += more;
		process->all.window[figure] += more;
		total->before[figure] = total->now[figure];
	}
	total->grown = false;
	if (total->listed)
		return;
	total->listed = true;
	total->next = process->first;
	process->first = item;
}

static int take_process(struct looks *looks, size_t number)
{
	struct look_process *process = &looks->processes[number];
	double gap = growth(process->untraced, process->untraced_before);

	process->cpu += growth(process->traced, process->traced_before);
	process->gap += gap;
	looks->measured |= gap > 0;
	process->traced_before = process->traced;
	process->untraced_before = process->untraced;
	process->fresh = false;
	if (process->open)
		return 0;
	process->open = true;
	return list_add(&looks->open, &looks->open_capacity, &looks->n_open, number);
}

static int take_growth(struct looks *looks)
{
	int error = 0;

	for (size_t i = 0; i < looks->n_grown; i++)
		take_total(looks, looks->grown[i]);
	for (size_t i = 0; i < looks->n_fresh && !error; i++)
		error = take_process(looks, looks->fresh[i]);
	looks->n_grown = looks->n_fresh = 0;
	return error;
}

/* --- a window is over ------------------------------------------------------------ */

/* A window of a process, and the gap between it and the one before. */
struct closing {
	double own, clock;              /* CPU time that was the program's, and by the clock */
	double doubt;                   /* as look_process.doubt */
	double gap;                     /* CPU time */
	double before, after;           /* of the gap, laid to the window before and to this one */
	double wall_before, wall_after; /* the same by the clock, relative to these */
	double stands;                  /* what the window before stands for in all, CPU time */
};

/* What tracing took is no time of the program's; `call_ns` for each call. */
static void free_of_tracing(const struct look_process *process, double call_ns, struct closing *out)
{
	double tracing = process->all.window[LOOK_COUNT] * call_ns;
	double left = fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	double caches = fmin(CACHE_SHARE * left, CACHE_TIMES_MAX * tracing);

	out->own = left - caches;
	out->doubt = (COST_DOUBT * fmin(tracing, process->cpu) + caches) / out->own;
}

/* By the clock a gap of so much is as many windows. */
static double by_clock(double cpu, double clock, double gap, double clock_gap)
{
	return cpu > 0 && clock > 0 && gap > 0 ? clock_gap / clock * cpu / gap : 1;
}

static struct closing closing_of(const struct look_process *process, double call_ns)
{
	struct closing closing = {.clock = process->clock, .gap = process->gap};

	free_of_tracing(process, call_ns, &closing);
	closing.before = process->own > 0 ? closing.gap / 2 : 0;
	closing.after = closing.gap - closing.before;
	closing.stands = process->half + closing.before;
	closing.wall_before =
		by_clock(process->own, process->own_clock, closing.gap, process->clock_gap);
	closing.wall_after = by_clock(closing.own, closing.clock, closing.gap, process->clock_gap);
	return closing;
}

static int touch(struct looks *looks, size_t number)
{
	struct look_sum *sum = &looks->sums[number];

	if (sum->touched)
		return 0;
	sum->touched = true;
	return list_add(&looks->touched, &looks->touched_capacity, &looks->n_touched, number);
}

/* What the rates on both sides of a gap say of it. */
static void add_gap(struct look_sum *sum, struct look_process *process,
		    const struct look_total *total, const struct closing *closing,
		    const double rate[LOOK_FIGURES])
{
	for (int figure = 0; figure < LOOK_FIGURES; figure++) {
		double more = total->rate[figure] * closing->before + rate[figure] * closing->after;

		sum->more[figure] += more;
		if (figure < LOOK_SPREADS && total == &process->all)
			process->more[figure] += more;
	}
	sum->spread.doubt += total->rate[LOOK_COUNT] * closing->before * process->doubt +
			     rate[LOOK_COUNT] * closing->after * closing->doubt;
	sum->spread.wall +=
		total->rate[LOOK_TOTAL_NS] * closing->before * (closing->wall_before - 1) +
		rate[LOOK_TOTAL_NS] * closing->after * (closing->wall_after - 1);
	sum->spread.gaps += closing->gap;
}

/* The window before stands for the gaps on both of its sides: now these are known. */
static void add_reach(struct look_spread *spread, const struct look_total *total, double own,
		      double stands)
{
	double weight = own > 0 ? stands / own : 0;

	spread->reach += stands * weight;
	spread->chance += total->rate[LOOK_COUNT] * own * weight * (1 + weight);
}

/* What the window before lets expect; if the process had none, what other processes did. */
static void compare(struct look_sum *sum, const struct look_process *process,
		    const struct look_total *total, double own)
{
	for (int j = 0; j < LOOK_SPREADS; j++) {
		sum->now[j] += total->window[j];
		sum->expected[j] += (process->own > 0 ? total->rate[j] : sum->rate[j]) * own;
	}
	sum->cpu += own;
	sum->cpu_before += process->own > 0 ? process->own : own;
}

static int close_total(struct looks *looks, struct look_process *process, struct look_total *total,
		       const struct closing *closing)
{
	struct look_sum *sum = &looks->sums[total->sum];
	double rate[LOOK_FIGURES];

	for (int figure = 0; figure < LOOK_FIGURES; figure++)
		rate[figure] = total->window[figure] / closing->own;
	add_gap(sum, process, total, closing, rate);
	add_reach(&sum->spread, total, process->own, closing->stands);
	compare(sum, process, total, closing->own);
	memcpy(total->rate, rate, sizeof(rate));
	memset(total->window, 0, sizeof(total->window));
	return touch(looks, total->sum);
}

/* Those without any calls in the window have no rate either, and are left out from then on. */
static int close_totals(struct looks *looks, struct look_process *process,
			const struct closing *closing)
{
	size_t *link = &process->first;
	int error = 0;

	while (*link && !error) {
		struct look_total *total = &looks->totals[*link];
		bool any = total->window[LOOK_COUNT] > 0;

		error = close_total(looks, process, total, closing);
		total->listed = any;
		if (any)
			link = &total->next;
		else
			*link = total->next;
	}
	return error;
}

static int close_process(struct looks *looks, struct look_process *process)
{
	struct closing closing;
	int error;

	process->clock = looks->seen_ns - process->clock_seen;
	process->clock_gap = looks->gaps_ns - process->clock_gaps;
	closing = closing_of(process, looks->call_ns);
	error = close_totals(looks, process, &closing);
	if (!error)
		error = close_total(looks, process, &process->all, &closing);
	process->half = closing.after;
	process->own = closing.own;
	process->own_clock = closing.clock;
	process->doubt = closing.doubt;
	process->seen_cpu += closing.own;
	process->windows++;
	process->cpu = process->gap = 0;
	process->clock_seen = looks->seen_ns;
	process->clock_gaps = looks->gaps_ns;
	return error;
}

/* How far what was is from what was expected. */
static void close_sum(struct look_sum *sum)
{
	bool first = sum->rate[LOOK_COUNT] <= 0 && sum->expected[LOOK_COUNT] <= 0;
	double spread = sum->cpu + sum->cpu * sum->cpu / sum->cpu_before;

	for (int j = 0; j < LOOK_SPREADS; j++) {
		double off = sum->now[j] - sum->expected[j];

		if (!first)
			sum->spread.differences[j] += off * off / spread;
		sum->rate[j] = sum->now[j] / sum->cpu;
		sum->now[j] = sum->expected[j] = 0;
	}
	sum->spread.compared += first ? 0 : 1;
	sum->cpu = sum->cpu_before = 0;
	sum->touched = false;
}

/* The window at hand is over. `least`: CPU time that a process has to have used in it. */
static int close_window(struct looks *looks, double least)
{
	int error = 0;

	looks->seen_ns += (double)(looks->end - looks->begin);
	looks->windows++;
	for (size_t i = 0; i < looks->n_open && !error; i++) {
		struct look_process *process = &looks->processes[looks->open[i]];

		process->open = false;
		if (process->cpu > 0 && process->cpu >= least)
			error = close_process(looks, process);
	}
	for (size_t i = 0; i < looks->n_touched; i++)
		close_sum(&looks->sums[looks->touched[i]]);
	looks->n_open = looks->n_touched = 0;
	return error;
}

int looks_look(struct looks *looks, const struct record_look *record)
{
	int error = 0;

	if (record->end <= record->begin || record->begin < looks->end)
		return -EBADMSG;
	if (!looks->end || record->begin > looks->end) {
		/* Where the first look begins the recording does: there is no gap before it. */
		if (looks->end)
			error = close_window(looks, CPU_MIN);
		if (looks->end)
			looks->gaps_ns += (double)(record->begin - looks->end);
		looks->begin = record->begin;
	}
	looks->end = record->end;
	looks->call_ns = (double)record->call_ns;
	return error ? error : take_growth(looks);
}

/* --- the recording is over -------------------------------------------------------- */

/* What was too little for a window of its own is one now. */
static int close_rest(struct looks *looks)
{
	for (size_t i = 0; i < looks->n_processes; i++) {
		struct look_process *process = &looks->processes[i];

		if (process->open || process->cpu <= 0)
			continue;
		process->open = true;
		if (list_add(&looks->open, &looks->open_capacity, &looks->n_open, i) < 0)
			return -ENOMEM;
	}
	return close_window(looks, 0);
}

/* The gap after a process's last window is like that. */
static void add_last_gap(struct looks *looks, struct look_process *process)
{
	static const double nothing[LOOK_FIGURES];
	const struct closing closing = {
		.gap = process->gap,
		.before = process->gap,
		.wall_before = by_clock(process->own, process->own_clock, process->gap,
					looks->gaps_ns - process->clock_gaps),
	};
	double stands = process->half + process->gap;

	for (size_t item = process->first; item; item = looks->totals[item].next) {
		struct look_total *total = &looks->totals[item];

		add_gap(&looks->sums[total->sum], process, total, &closing, nothing);
		add_reach(&looks->sums[total->sum].spread, total, process->own, stands);
	}
	add_gap(&looks->sums[0], process, &process->all, &closing, nothing);
	add_reach(&looks->sums[0].spread, &process->all, process->own, stands);
}

int looks_finish(struct looks *looks, uint64_t end)
{
	int error = looks->end ? close_rest(looks) : 0;

	if (error || !looks->end)
		return error;
	if (end > looks->end) {
		looks->gaps_ns += (double)(end - looks->end);
		for (size_t i = 0; i < looks->n_fresh && !error; i++)
			error = take_process(looks, looks->fresh[i]);
	}
	for (size_t i = 0; i < looks->n_processes && !error; i++)
		if (looks->processes[i].windows && looks->processes[i].gap > 0)
			add_last_gap(looks, &looks->processes[i]);
	return error ? error : looks_add_strangers(looks);
}

/* --- estimates ----------------------------------------------------------------------- */

const struct look_sum *looks_sum(const struct looks *looks, uint64_t call)
{
	const uint64_t *item = map_get(looks->sum_index, &call);

	return item && looks_are_estimated(looks) ? &looks->sums[*item] : NULL;
}

const struct look_sum *looks_all(const struct looks *looks)
{
	return looks_are_estimated(looks) ? &looks->sums[0] : NULL;
}

double looks_of_process(const struct looks *looks, uint64_t process, enum look_figure figure)
{
	const uint64_t *item = map_get(looks->process_index, &process);

	return item && looks_are_estimated(looks) ? looks->processes[*item].more[figure] : 0;
}

/*
 * Student's quantile over the normal one: intervals from few windows are wider. So many
 * differences of neighbours, each of which shares a window with the next, say as much as
 * two thirds of that many windows.
 */
static double few(double differences)
{
	double free = fmax(differences * 2 / 3, 2);

	return (z + (z * z * z + z) / (4 * free) +
		(5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * free * free)) /
	       z;
}

/* Of the count or the time in the gaps. */
static double variance_of(const struct look_sum *sum, enum look_figure figure)
{
	const struct look_spread *spread = &sum->spread;
	double more = sum->more[figure], count = sum->more[LOOK_COUNT];
	double each = count > 0 ? more / count : 0; /* 1, or the time of a call */
	double between = more * more, doubt = spread->doubt * each / z;

	/* One window says nothing of how different they are. */
	if (spread->compared > 0) {
		double wider = few(spread->compared);

		between = spread->differences[figure] / spread->compared *
			  (spread->reach + spread->gaps) * wider * wider;
	}
	/* While calls wait the clock is the better scale. */
	if (figure == LOOK_TOTAL_NS)
		doubt += fabs(spread->wall) / z;
	return fmax(between, spread->chance * each * each) + doubt * doubt +
	       spread->strangers[figure];
}

struct estimate looks_estimate(const struct look_sum *sum, enum look_figure figure, double seen)
{
	struct tally tally = {.value = sum->more[figure]};
	struct estimate out;

	tally.variance = variance_of(sum, figure);
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){seen + out.value, seen + out.low, seen + out.high};
}
