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
	uint64_t process;
	size_t sum, next; /* next: of the process's that grew; 0: the last */
	bool grown;
};

struct window_process {
	uint64_t traced, untraced; /* CPU time so far, ns */
	/* Since its last window was closed: CPU time in windows and in gaps, calls; the clock then.
	 */
	double cpu, gap, calls;
	double clock_traced, clock_gaps;
	double own, doubt; /* in windows: CPU time without tracing; what else it may have taken */
	double more[CALL_FIGURES]; /* in gaps */
	unsigned windows;
	size_t first; /* of its totals that grew */
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
	free(windows->gaps);
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
	if (total->grown)
		return 0;
	total->grown = true;
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

/* What a window says of its gap, and what the one before lets expect. */
static void compare(const struct call_windows *windows, struct call_gaps *sum)
{
	double gap = windows->gaps[sum->window], cpu = fabs(gap);

	for (int i = 0; i < CALL_FIGURES; i++) {
		double off = sum->now[i] - sum->rate[i] * cpu;

		sum->squares[i] += sum->window && gap > 0 ? off * off : 0;
		sum->rate[i] = sum->now[i] / cpu;
		sum->now[i] = 0;
	}
	sum->window++;
}

/* Windows that a call was not in are compared, too: the first, to the others they are equal. */
static void catch_up(const struct call_windows *windows, struct call_gaps *sum)
{
	for (int i = 0; i < 2 && sum->window < windows->n_gaps; i++)
		compare(windows, sum);
	sum->window = windows->n_gaps;
}

/* What tracing took is no time of the program's. Returns what is, in the window that is over. */
static double own_time(const struct call_windows *windows, struct window_process *process)
{
	double tracing = process->calls * windows->call_ns;
	double left = fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	double caches = fmin(CACHE_SHARE * left, CACHE_TIMES_MAX * tracing), own = left - caches;

	process->own += own;
	process->doubt = (COST_DOUBT * fmin(tracing, process->cpu) + caches) / own;
	return own;
}

/* What a call grew by says what there was of it in the gap. */
static void add_growth(struct call_windows *windows, struct window_process *process,
		       struct window_total *total, double weight, double by_clock)
{
	struct call_gaps *sums[] = {&windows->sums[0], &windows->sums[total->sum]};

	for (int i = 0; i < 2; i++) {
		catch_up(windows, sums[i]);
		for (int j = 0; j < CALL_FIGURES; j++) {
			sums[i]->more[j] += total->growth[j] * weight;
			sums[i]->now[j] += total->growth[j] * (windows->behind_gap ? weight : 1);
		}
		sums[i]->doubt += total->growth[CALL_COUNT] * weight * process->doubt;
		sums[i]->by_clock += total->growth[CALL_NS] * by_clock;
	}
	for (int j = 0; j < CALL_FIGURES; j++)
		process->more[j] += total->growth[j] * weight;
	memset(total->growth, 0, sizeof(total->growth));
	total->grown = false;
}

static void close_process(struct call_windows *windows, struct window_process *process)
{
	double own = own_time(windows, process), weight = process->gap / own;
	double clock = windows->traced_ns - process->clock_traced;
	double gap = windows->gaps_ns - process->clock_gaps;
	double by_clock = process->gap > 0 && clock > 0 ? gap / clock : 0;
	size_t item = process->first;

	for (; item; item = windows->totals[item].next)
		add_growth(windows, process, &windows->totals[item], weight, by_clock);
	windows->gap += windows->behind_gap ? process->gap : -own;
	windows->untraced += process->gap;
	windows->own += fmin(own, process->gap);
	process->cpu = process->gap = process->calls = 0;
	process->clock_traced = windows->traced_ns;
	process->clock_gaps = windows->gaps_ns;
	process->windows++;
	process->first = 0;
}

static int close_window(struct call_windows *windows)
{
	if (array_reserve(&windows->gaps, &windows->gaps_capacity, windows->n_gaps,
			  sizeof(*windows->gaps)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < windows->n_open; i++) {
		struct window_process *process = &windows->processes[windows->open[i]];

		process->open = false;
		if (process->cpu >= CPU_MIN)
			close_process(windows, process);
	}
	windows->n_open = 0;
	if (windows->gap)
		windows->gaps[windows->n_gaps++] = windows->gap;
	windows->gap = 0;
	return 0;
}

int call_windows_add(struct call_windows *windows, const struct record_look *record)
{
	if (record->end <= record->begin || record->begin < windows->end)
		return -EBADMSG;
	/* Where the first window begins the recording does: there is no gap before it. */
	windows->behind_gap = windows->end && record->begin > windows->end;
	if (windows->behind_gap)
		windows->gaps_ns += (double)(record->begin - windows->end);
	windows->windows += windows->behind_gap || !windows->end;
	windows->traced_ns += (double)(record->end - record->begin);
	windows->end = record->end;
	windows->call_ns = (double)record->call_ns;
	return close_window(windows);
}

/* --- the recording is over ---------------------------------------------------------- */

/* CPU time of processes that no window saw, and of those that stand for them. */
struct strangers {
	double gap, own, all[CALL_FIGURES];
	bool once; /* processes that come and go stand for them: those in one window at most */
};

static bool stands(const struct strangers *strangers, const struct window_process *process)
{
	return process->own > 0 && (process->windows <= 1 || !strangers->once);
}

static struct strangers find_strangers(struct call_windows *windows)
{
	struct strangers found = {.once = true};

	for (size_t i = 0; i < windows->n_processes; i++) {
		struct window_process *process = &windows->processes[i];

		windows->untraced += process->gap;
		found.gap += process->windows ? 0 : process->gap;
		if (!process->windows && process->cpu > 0)
			own_time(windows, process);
	}
	for (int turn = 0; turn < 2 && found.own <= 0; turn++) {
		found.once = !turn;
		for (size_t i = 0; i < windows->n_processes; i++)
			if (stands(&found, &windows->processes[i]))
				found.own += windows->processes[i].own;
	}
	return found;
}

/*
 * What a process did in all windows stands for its last gap: that is off by as much as one of them
 * may be. And it stands for strangers: each of them may be far from it.
 */
static void add_rest(struct call_windows *windows, const struct window_total *total,
		     struct strangers *strangers)
{
	struct window_process *process = &windows->processes[total->process];
	struct call_gaps *sums[] = {&windows->sums[0], &windows->sums[total->sum]};
	double last = process->windows ? process->gap / process->own : 0;
	double others = stands(strangers, process) ? strangers->gap / strangers->own : 0;
	double square = last * last / fmax(process->windows, 1) + others * (1 + others);

	for (int j = 0; j < CALL_FIGURES; j++) {
		double now = (double)total->now[j];

		for (int i = 0; i < 2; i++) {
			sums[i]->more[j] += now * (last + others);
			sums[i]->squares[j] += 2 * now * now * square;
		}
		process->more[j] += now * last;
		strangers->all[j] += others > 0 ? now : 0;
	}
	for (int i = 0; i < 2; i++) {
		sums[i]->doubt += (double)total->now[CALL_COUNT] * (last + others) * process->doubt;
		sums[i]->by_clock += (double)total->now[CALL_NS] * (last + others);
	}
}

void call_windows_finish(struct call_windows *windows, uint64_t end)
{
	struct strangers strangers;

	if (!windows->end)
		return;
	if (end > windows->end)
		windows->gaps_ns += (double)(end - windows->end);
	strangers = find_strangers(windows);
	for (size_t i = 0; i < windows->n_sums; i++)
		catch_up(windows, &windows->sums[i]);
	for (size_t i = 1; i < windows->n_totals; i++)
		add_rest(windows, &windows->totals[i], &strangers);
	for (size_t i = 0; i < windows->n_processes && strangers.own > 0; i++) {
		struct window_process *process = &windows->processes[i];

		for (int j = 0; j < CALL_FIGURES && !process->windows; j++)
			process->more[j] += strangers.all[j] * process->gap / strangers.own;
	}
}

/* --- estimates ------------------------------------------------------------------------ */

const struct call_gaps *call_windows_all(const struct call_windows *windows)
{
	return windows->gaps_ns > 0 && windows->untraced > 0 ? &windows->sums[0] : NULL;
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

/*
 * Variance of what the windows say of their gaps. Two neighbours differ by the chance of both; a
 * gap differs from its rate by its own. Student's quantile over the normal one makes up for there
 * being few: differences of neighbours say as much as two thirds of that many windows.
 */
static double between(const struct call_windows *windows, double squares)
{
	double gaps = 0, of_gaps = 1, n, wider;

	for (size_t i = 0; i < windows->n_gaps; i++) {
		gaps += fmax(windows->gaps[i], 0);
		of_gaps += windows->gaps[i] > 0 ? windows->gaps[i] * windows->gaps[i] : 0;
	}
	n = fmax(gaps * gaps / of_gaps * 2 / 3, 2);
	wider = 1 + 1.21 / n + 1.44 / (n * n);
	return squares / 2 * (1 + windows->own / windows->untraced) * wider * wider;
}

struct estimate call_windows_estimate(const struct call_windows *windows,
				      const struct call_gaps *gaps, enum call_figure figure,
				      double traced)
{
	double more = gaps->more[figure], count = gaps->more[CALL_COUNT];
	double doubt = count > 0 ? gaps->doubt * more / count / z : 0;
	struct tally tally = {.value = more};
	struct estimate out;

	/* While calls wait the clock is the better scale. */
	if (figure == CALL_NS)
		doubt += fabs(gaps->by_clock - more) / z;
	tally.variance = between(windows, gaps->squares[figure]) + doubt * doubt;
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){traced + out.value, traced + out.low, traced + out.high};
}
