/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.c: estimates of system calls that were made outside of tracing windows. */
#include "call_windows.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/map.h"
#include "arena.h"

#define SLOWER_MAX 16.0 /* tracing does not slow down more: then the figures are wrong */
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

/* One call in one process. */
struct window_total {
	uint64_t now[CALL_FIGURES];
	double growth[CALL_FIGURES]; /* since the process's last window was closed */
	double window[CALL_FIGURES]; /* in that one */
	uint64_t process;
	size_t sum, next; /* next: of the process's that have any of both; 0: the last */
	bool listed;
};

struct window_process {
	uint64_t traced, untraced; /* CPU time so far, ns */
	/* Since its last window was closed: CPU time in windows and in gaps, calls; the clock then.
	 */
	double cpu, gap, calls;
	double clock_traced, clock_gaps;
	/* Of that one: CPU time without tracing, half of the gap before, what else tracing may have
	 * taken, its group. */
	double own, half, doubt;
	unsigned group;
	double all_own; /* in all windows */
	unsigned windows;
	double more[CALL_FIGURES]; /* in gaps */
	size_t first;              /* of its totals */
	bool open;
};

int call_windows_init(struct call_windows *windows)
{
	memset(windows, 0, sizeof(*windows));
	windows->sum_index = map_create(sizeof(uint64_t));
	windows->n_sums = 1;
	return windows->sum_index ? array_reserve(&windows->sums, &windows->sums_capacity, 0,
						  sizeof(*windows->sums))
				  : -ENOMEM;
}

void call_windows_free(struct call_windows *windows)
{
	free(windows->totals);
	free(windows->processes);
	free(windows->sums);
	free(windows->open);
	map_free(windows->sum_index);
}

/* --- what the profile says ------------------------------------------------------ */

static struct window_process *process_get(struct call_windows *windows, uint64_t id)
{
	if (array_reserve(&windows->processes, &windows->processes_capacity, id,
			  sizeof(*windows->processes)) < 0)
		return NULL;
	if (id >= windows->n_processes)
		windows->n_processes = id + 1;
	return &windows->processes[id];
}

static struct window_total *total_get(struct call_windows *windows, size_t item, uint64_t call)
{
	uint64_t *sum = map_put(windows->sum_index, &call, NULL);

	if (!sum ||
	    array_reserve(&windows->totals, &windows->totals_capacity, item,
			  sizeof(*windows->totals)) < 0 ||
	    array_reserve(&windows->sums, &windows->sums_capacity, windows->n_sums,
			  sizeof(*windows->sums)) < 0)
		return NULL;
	if (!*sum)
		*sum = windows->n_sums++;
	if (item >= windows->n_totals)
		windows->n_totals = item + 1;
	windows->totals[item].sum = *sum;
	return &windows->totals[item];
}

/* Totals do not shrink. */
static double growth(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

int call_windows_total(struct call_windows *windows, size_t item, uint64_t id, uint64_t call,
		       const uint64_t figures[CALL_FIGURES])
{
	struct window_process *process = process_get(windows, id);
	struct window_total *total = process ? total_get(windows, item, call) : NULL;

	if (!total)
		return -ENOMEM;
	process->calls += growth(figures[CALL_COUNT], total->now[CALL_COUNT]);
	for (int i = 0; i < CALL_FIGURES; i++) {
		total->growth[i] += growth(figures[i], total->now[i]);
		total->now[i] = figures[i];
	}
	total->process = id;
	if (total->listed)
		return 0;
	total->listed = true;
	total->next = process->first;
	process->first = item;
	return 0;
}

int call_windows_cpu(struct call_windows *windows, const struct record_call_cpu *record)
{
	struct window_process *process = process_get(windows, record->process);

	if (!process)
		return -ENOMEM;
	process->cpu += growth(record->traced_ns, process->traced);
	process->gap += growth(record->untraced_ns, process->untraced);
	process->traced = record->traced_ns;
	process->untraced = record->untraced_ns;
	if (process->open)
		return 0;
	process->open = true;
	if (array_reserve(&windows->open, &windows->open_capacity, windows->n_open,
			  sizeof(*windows->open)) < 0)
		return -ENOMEM;
	windows->open[windows->n_open++] = record->process;
	return 0;
}

/* --- a window is over ------------------------------------------------------------- */

/* `weight` times what there was of a call belongs to gaps. */
static void add_more(struct call_windows *windows, const struct window_total *total,
		     const double figures[CALL_FIGURES], double weight)
{
	struct window_process *process = &windows->processes[total->process];
	struct call_gaps *sums[] = {&windows->sums[0], &windows->sums[total->sum]};

	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < CALL_FIGURES; j++)
			sums[i]->more[j][process->group] += figures[j] * weight;
		sums[i]->doubt += figures[CALL_COUNT] * weight * process->doubt;
	}
}

/* A process's last window stands for so many ns of CPU time in gaps. */
static void stand_for(struct call_windows *windows, struct window_process *process, double gaps)
{
	double weight = gaps / process->own;

	for (size_t item = process->first; item; item = windows->totals[item].next) {
		const struct window_total *total = &windows->totals[item];

		add_more(windows, total, total->window, weight);
		for (int i = 0; i < CALL_FIGURES; i++)
			process->more[i] += total->window[i] * weight;
	}
	windows->gaps[process->group] += gaps;
	windows->own += fmin(process->own, gaps);
}

/* What tracing took is no time of the program's. */
static void take_own(const struct call_windows *windows, struct window_process *process)
{
	double tracing = process->calls * windows->call_ns;
	double left = fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	double caches = fmin(CACHE_SHARE * left, CACHE_TIMES_MAX * tracing);

	process->own = left - caches;
	process->doubt = (COST_DOUBT * fmin(tracing, process->cpu) + caches) / process->own;
	process->all_own += process->own;
}

/* Totals without any calls in the window are left out until they have some again. */
static void close_totals(struct call_windows *windows, struct window_process *process,
			 double by_clock)
{
	size_t *link = &process->first;

	while (*link) {
		struct window_total *total = &windows->totals[*link];

		windows->sums[0].by_clock += total->growth[CALL_NS] * by_clock;
		windows->sums[total->sum].by_clock += total->growth[CALL_NS] * by_clock;
		memcpy(total->window, total->growth, sizeof(total->window));
		memset(total->growth, 0, sizeof(total->growth));
		total->listed = total->window[CALL_COUNT] > 0;
		if (total->listed)
			link = &total->next;
		else
			*link = total->next;
	}
}

/* Half of a gap is taken to be as the window before it, half as the one behind it. */
static void close_process(struct call_windows *windows, struct window_process *process)
{
	double clock = windows->traced_ns - process->clock_traced;
	double gap = windows->gaps_ns - process->clock_gaps;
	bool first = process->own <= 0;

	if (!first)
		stand_for(windows, process, process->half + process->gap / 2);
	close_totals(windows, process, process->gap > 0 && clock > 0 ? gap / clock : 0);
	take_own(windows, process);
	process->half = first ? process->gap : process->gap / 2;
	process->group = windows->windows % CALL_GROUPS;
	process->cpu = process->gap = process->calls = 0;
	process->clock_traced = windows->traced_ns;
	process->clock_gaps = windows->gaps_ns;
	process->windows++;
}

int call_windows_add(struct call_windows *windows, const struct record_look *record)
{
	if (record->end <= record->begin || record->begin < windows->end)
		return -EBADMSG;
	/* Where the first window begins the recording does: there is no gap before it. */
	if (windows->end)
		windows->gaps_ns += (double)(record->begin - windows->end);
	if (record->begin > windows->end)
		windows->windows++;
	windows->traced_ns += (double)(record->end - record->begin);
	windows->end = record->end;
	windows->call_ns = (double)record->call_ns;
	for (size_t i = 0; i < windows->n_open; i++) {
		struct window_process *process = &windows->processes[windows->open[i]];

		process->open = false;
		if (process->cpu >= CPU_MIN)
			close_process(windows, process);
	}
	windows->n_open = 0;
	return 0;
}

/* --- the recording is over ---------------------------------------------------------- */

/* Processes that come and go are stood for by those that were seen in one window at most. */
static bool gives(const struct window_process *process, bool all)
{
	return process->all_own > 0 && (all || process->windows <= 1);
}

/* What processes did that no window saw, in `gap` ns of CPU time. */
static void add_strangers(struct call_windows *windows, double gap, bool all)
{
	double cpu = 0, sum[CALL_FIGURES] = {0};

	for (size_t i = 0; i < windows->n_processes; i++)
		cpu += gives(&windows->processes[i], all) ? windows->processes[i].all_own : 0;
	for (size_t i = 1; i < windows->n_totals && cpu > 0; i++) {
		const struct window_total *total = &windows->totals[i];
		const double now[] = {(double)total->now[CALL_COUNT], (double)total->now[CALL_NS]};

		if (!gives(&windows->processes[total->process], all))
			continue;
		add_more(windows, total, now, gap / cpu);
		for (int j = 0; j < CALL_FIGURES; j++)
			sum[j] += now[j];
	}
	for (size_t i = 0; i < windows->n_processes && cpu > 0; i++) {
		struct window_process *process = &windows->processes[i];

		if (gives(process, all)) {
			windows->gaps[process->group] += process->all_own * gap / cpu;
			windows->own += process->all_own * fmin(1, gap / cpu);
		}
		for (int j = 0; j < CALL_FIGURES && !process->windows; j++)
			process->more[j] += sum[j] * process->gap / cpu;
	}
	if (cpu <= 0 && !all)
		add_strangers(windows, gap, true);
}

void call_windows_finish(struct call_windows *windows, uint64_t end)
{
	double gap = 0;

	if (!windows->end)
		return;
	if (end > windows->end)
		windows->gaps_ns += (double)(end - windows->end);
	for (size_t i = 0; i < windows->n_processes; i++) {
		struct window_process *process = &windows->processes[i];

		if (process->own > 0)
			stand_for(windows, process, process->half + process->gap);
		else
			gap += process->gap;
		if (process->own <= 0 && process->cpu > 0)
			take_own(windows, process);
	}
	if (gap > 0)
		add_strangers(windows, gap, false);
}

/* --- estimates ------------------------------------------------------------------------ */

static double sum_of(const double groups[CALL_GROUPS])
{
	double sum = 0;

	for (int i = 0; i < CALL_GROUPS; i++)
		sum += groups[i];
	return sum;
}

const struct call_gaps *call_windows_all(const struct call_windows *windows)
{
	return windows->gaps_ns > 0 && sum_of(windows->gaps) > 0 ? &windows->sums[0] : NULL;
}

const struct call_gaps *call_windows_gaps(const struct call_windows *windows, uint64_t call)
{
	const uint64_t *item = map_get(windows->sum_index, &call);

	return item && call_windows_all(windows) ? &windows->sums[*item] : NULL;
}

double call_windows_of(const struct call_windows *windows, uint64_t id, enum call_figure figure)
{
	return id < windows->n_processes && call_windows_all(windows)
		       ? windows->processes[id].more[figure]
		       : 0;
}

double call_gaps_more(const struct call_gaps *gaps, enum call_figure figure)
{
	return sum_of(gaps->more[figure]);
}

/* How much of the sum of the groups is chance: by how different they are. Student's quantile over
 * the normal one makes up for there being few. */
static double between(const struct call_windows *windows, const double more[CALL_GROUPS])
{
	double value = sum_of(more), gaps = sum_of(windows->gaps), off = 0, squares = 0, n, wider;

	for (int i = 0; i < CALL_GROUPS; i++) {
		off += pow(more[i] - value / gaps * windows->gaps[i], 2);
		squares += windows->gaps[i] * windows->gaps[i];
	}
	n = gaps * gaps / squares - 1; /* degrees of freedom */
	if (n < 0.5)                   /* one window says nothing of how different they are */
		return value * value;
	wider = 1 + 1.21 / fmax(n, 2) + 1.44 / pow(fmax(n, 2), 2);
	return off * (n + 1) / n * (1 + windows->own / gaps) * wider * wider;
}

struct estimate call_windows_estimate(const struct call_windows *windows,
				      const struct call_gaps *gaps, enum call_figure figure,
				      double traced)
{
	struct tally tally = {.value = call_gaps_more(gaps, figure)};
	double count = call_gaps_more(gaps, CALL_COUNT);
	double doubt = count > 0 ? gaps->doubt * tally.value / count / z : 0;
	struct estimate out;

	/* While calls wait the clock is the better scale. */
	if (figure == CALL_NS)
		doubt += fabs(gaps->by_clock - tally.value) / z;
	tally.variance = between(windows, gaps->more[figure]) + doubt * doubt;
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){traced + out.value, traced + out.low, traced + out.high};
}
