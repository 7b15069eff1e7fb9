/* SPDX-License-Identifier: BSD-2-Clause */
/* looks.c: system calls were looked at now and then only: what there was meanwhile. */
#include "looks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"
#include "arena.h"

#define SPEED_UP_MAX 16.0 /* a call cannot be slowed down by more: then the figures are wrong */
#define RUNS_MAX     32.0 /* of a call: runs may be counted by samples that stand for so many */
/* How well the cost of a look is known, relative to it: in a window that has just begun our
 * programs are not in the caches, and it is more than on average. */
#define COST_DOUBT 0.4

/* Quantile of the normal distribution for a two-sided 95 % interval. */
static const double z = 1.959963984540054;

/* One call in one process. */
struct look_total {
	uint64_t now[LOOK_FIGURES], before[LOOK_FIGURES]; /* before: at the last look */
	size_t process, sum;
	bool known, grown;
};

/* What all calls of a process tell of how fast it runs; each look counts twice the last. */
struct look_process {
	double runs, run_ns;
	uint64_t look; /* of which the last are */
};

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
	free(looks->sums);
	free(looks->touched[0]);
	free(looks->touched[1]);
	map_free(looks->process_index);
	map_free(looks->sum_index);
}

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

static int know_total(struct looks *looks, struct look_total *total, uint64_t process,
		      uint64_t call)
{
	int error = find_or_add(looks->process_index, process, &looks->processes,
				&looks->processes_capacity, &looks->n_processes,
				sizeof(*looks->processes), &total->process);

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

	if (array_reserve(&looks->totals, &looks->totals_capacity, item, sizeof(*total)) < 0 ||
	    array_reserve(&looks->grown, &looks->grown_capacity, looks->n_grown,
			  sizeof(*looks->grown)) < 0)
		return -ENOMEM;
	total = &looks->totals[item];
	if (!total->known && know_total(looks, total, process, call) < 0)
		return -ENOMEM;
	memcpy(total->now, figures, sizeof(total->now));
	if (!total->grown)
		looks->grown[looks->n_grown++] = item;
	total->grown = true;
	return 0;
}

/* Since the last look; totals do not shrink. */
static double growth(const struct look_total *total, enum look_figure figure)
{
	return total->now[figure] > total->before[figure]
		       ? (double)(total->now[figure] - total->before[figure])
		       : 0;
}

/* How many calls threads that run would have made instead of one. */
static double speed_up(const struct look_process *process, double call_ns)
{
	double rest = process->run_ns - process->runs * call_ns;

	if (process->run_ns <= 0)
		return 1;
	return process->run_ns / fmax(rest, process->run_ns / SPEED_UP_MAX);
}

/* Counts a sum among those that have calls in the window at hand. */
static int touch(struct looks *looks, size_t sum)
{
	if (looks->sums[sum].number == looks->window)
		return 0;
	if (array_reserve(&looks->touched[1], &looks->touched_capacity[1], looks->n_touched[1],
			  sizeof(*looks->touched[1])) < 0)
		return -ENOMEM;
	looks->touched[1][looks->n_touched[1]++] = sum;
	looks->sums[sum].number = looks->window;
	return 0;
}

/* Each call stands for `scale` calls that would have been made if nobody had looked. */
static void add_growth(struct look_sum *sum, const struct look_total *total, double scale,
		       double doubt)
{
	sum->observed += growth(total, LOOK_COUNT);
	sum->doubt += growth(total, LOOK_COUNT) * doubt;
	for (int figure = 0; figure < LOOK_SCALED; figure++)
		sum->window[figure] += growth(total, (enum look_figure)figure) * scale;
}

static int take_growth(struct looks *looks, struct look_total *total, double call_ns)
{
	double faster = speed_up(&looks->processes[total->process], call_ns);
	double count = growth(total, LOOK_COUNT), more = 0;
	int error;

	if (count > 0)
		more = (faster - 1) * fmin(growth(total, LOOK_RUNS) / count, RUNS_MAX);
	error = touch(looks, 0);
	if (!error)
		error = touch(looks, total->sum);
	if (error)
		return error;
	/* The derivative of the correction by the cost of a look is that much larger. */
	add_growth(&looks->sums[0], total, 1 + more, more * faster * COST_DOUBT);
	add_growth(&looks->sums[total->sum], total, 1 + more, more * faster * COST_DOUBT);
	return 0;
}

/* Few samples of runs say little: the older ones help, and are forgotten by halves. */
static void learn_speeds(struct looks *looks)
{
	for (size_t i = 0; i < looks->n_grown; i++) {
		const struct look_total *total = &looks->totals[looks->grown[i]];
		struct look_process *process = &looks->processes[total->process];

		if (process->look != looks->looks) {
			process->look = looks->looks;
			process->runs /= 2;
			process->run_ns /= 2;
		}
		process->runs += growth(total, LOOK_RUNS);
		process->run_ns += growth(total, LOOK_RUN_NS);
	}
}

/* What all totals grew by, into the window at hand. */
static int take_all_growth(struct looks *looks, double call_ns)
{
	int error = 0;

	learn_speeds(looks);
	for (size_t i = 0; i < looks->n_grown && !error; i++)
		error = take_growth(looks, &looks->totals[looks->grown[i]], call_ns);
	for (size_t i = 0; i < looks->n_grown; i++) {
		struct look_total *total = &looks->totals[looks->grown[i]];

		memcpy(total->before, total->now, sizeof(total->before));
		total->grown = false;
	}
	looks->n_grown = 0;
	return error;
}

/* A rate changed by this from one window to the next: less certain of short windows. */
static double difference(double change, uint64_t length, uint64_t other)
{
	return change * change / (1 / (double)length + 1 / (double)other);
}

/* Compares the rates in the window at hand with those in the one before. */
static void compare_windows(struct looks *looks, uint64_t length)
{
	uint64_t before = looks->length_before;

	for (size_t i = 0; i < looks->n_touched[0]; i++) {
		struct look_sum *sum = &looks->sums[looks->touched[0][i]];

		for (int j = 0; j < LOOK_SPREADS && sum->number != looks->window; j++)
			sum->differences[j] += difference(sum->rate[j], length, before);
	}
	for (size_t i = 0; i < looks->n_touched[1]; i++) {
		struct look_sum *sum = &looks->sums[looks->touched[1][i]];
		bool neighbour = sum->last && sum->last == looks->window - 1;

		for (int j = 0; j < LOOK_SPREADS; j++) {
			double rate = sum->window[j] / (double)length;

			if (before)
				sum->differences[j] += difference(
					rate - (neighbour ? sum->rate[j] : 0), length, before);
			sum->rate[j] = rate;
		}
	}
}

/* The window at hand is over: `gap` ns follow, for which it stands alone if it is the last. */
static void close_window(struct looks *looks, uint64_t gap, bool last)
{
	uint64_t length = looks->end - looks->begin;
	double stands = (double)looks->gap_before / 2 + (double)gap / (last ? 1 : 2);
	double weight = stands / (double)length;

	compare_windows(looks, length);
	for (size_t i = 0; i < looks->n_touched[1]; i++) {
		struct look_sum *sum = &looks->sums[looks->touched[1][i]];

		sum->doubts += sum->doubt * weight;
		sum->chance += sum->observed * weight * (1 + weight);
		for (int figure = 0; figure < LOOK_SCALED; figure++)
			sum->more[figure] += sum->window[figure] * weight;
		memset(sum->window, 0, sizeof(sum->window));
		sum->observed = sum->doubt = 0;
		sum->last = looks->window;
	}
	looks->seen_ns += (double)length;
	looks->gaps_ns += (double)gap;
	looks->reach += stands * weight;
}

/* After a gap. Who had calls in the window at hand had them in the one before. */
static void begin_window(struct looks *looks, uint64_t begin, uint64_t gap)
{
	size_t *touched = looks->touched[0];
	size_t capacity = looks->touched_capacity[0];

	looks->touched[0] = looks->touched[1];
	looks->touched_capacity[0] = looks->touched_capacity[1];
	looks->n_touched[0] = looks->n_touched[1];
	looks->touched[1] = touched;
	looks->touched_capacity[1] = capacity;
	looks->n_touched[1] = 0;
	looks->length_before = looks->end - looks->begin;
	looks->gap_before = gap;
	looks->begin = begin;
	looks->window++;
}

int looks_look(struct looks *looks, const struct record_look *record)
{
	if (record->end <= record->begin || record->begin < looks->end)
		return -EBADMSG;
	if (!looks->window || record->begin > looks->end) {
		/* Where the first look begins the recording does: there is no gap before it. */
		uint64_t gap = looks->window ? record->begin - looks->end : 0;

		if (looks->window)
			close_window(looks, gap, false);
		begin_window(looks, record->begin, gap);
	}
	looks->looks++;
	looks->end = record->end;
	return take_all_growth(looks, (double)record->call_ns);
}

void looks_finish(struct looks *looks, uint64_t end)
{
	if (looks->window)
		close_window(looks, end > looks->end ? end - looks->end : 0, true);
}

const struct look_sum *looks_sum(const struct looks *looks, uint64_t call)
{
	const uint64_t *item = map_get(looks->sum_index, &call);

	return item && looks_has_gaps(looks) ? &looks->sums[*item] : NULL;
}

const struct look_sum *looks_all(const struct looks *looks)
{
	return looks_has_gaps(looks) ? &looks->sums[0] : NULL;
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
static double variance_of(const struct looks *looks, const struct look_sum *sum,
			  enum look_figure figure)
{
	double more = sum->more[figure], count = sum->more[LOOK_COUNT];
	double each = count > 0 ? more / count : 0; /* 1, or the time of a call */
	double between = more * more, doubt = sum->doubts * each / z;

	/* One window says nothing of how different they are. */
	if (looks->window > 1) {
		double differences = (double)(looks->window - 1), wider = few(differences);

		between = sum->differences[figure] / differences * (looks->reach + looks->gaps_ns) *
			  wider * wider;
	}
	return fmax(between, sum->chance * each * each) + doubt * doubt;
}

struct estimate looks_estimate(const struct looks *looks, const struct look_sum *sum,
			       enum look_figure figure, double seen)
{
	struct tally tally = {.value = sum->more[figure]};
	struct estimate out;

	tally.variance = variance_of(looks, sum, figure);
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){seen + out.value, seen + out.low, seen + out.high};
}
