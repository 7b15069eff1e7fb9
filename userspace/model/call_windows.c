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
	/* So far, and when the process's last window was closed. */
	uint64_t now[CALL_FIGURES], before[CALL_FIGURES];
	uint64_t process;
	size_t sum, next; /* next: of the process's that grew; 0: the last */
	bool listed;      /* among these */
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
static double grown(uint64_t now, uint64_t before)
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
	process->calls += grown(figures[CALL_COUNT], total->now[CALL_COUNT]);
	memcpy(total->now, figures, sizeof(total->now));
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
	process->cpu += grown(record->traced_ns, process->traced);
	process->gap += grown(record->untraced_ns, process->untraced);
	process->traced = record->traced_ns;
	process->untraced = record->untraced_ns;
	if (process->open)
		return 0;
	process->open = true;
	process->next = windows->open;
	windows->open = record->process;
	return 0;
}

/* --- a window is over ------------------------------------------------------------- */

/* What tracing took is no time of the program's. Returns what is, since the last window. */
static double find_own(const struct call_windows *windows, struct window_process *process)
{
	double tracing = process->calls * windows->call_ns;
	double left = fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	double caches = fmin(CACHE_SHARE * left, CACHE_TIMES_MAX * tracing), own = left - caches;

	process->own += own;
	process->doubt = (COST_DOUBT * fmin(tracing, process->cpu) + caches) / own;
	return own;
}

/*
 * So many calls stand for `weight` times as many in a gap of a process: they are one sample of it.
 * What is seen of a call in several processes at the same time is one sample, too.
 */
static void add_sample(struct call_windows *windows, struct window_process *process,
		       const struct window_total *total, const double calls[CALL_FIGURES],
		       double weight)
{
	struct call_gaps *sums[] = {&windows->sums[0], &windows->sums[total->sum]};

	for (int i = 0; i < 2; i++) {
		bool same = sums[i]->number == windows->sample;

		for (int j = 0; j < CALL_FIGURES; j++) {
			double more = calls[j] * weight, before = same ? sums[i]->sample[j] : 0;

			sums[i]->more[j] += more;
			sums[i]->squares[j] += more * (2 * before + more);
			sums[i]->sample[j] = before + more;
		}
		sums[i]->number = windows->sample;
		sums[i]->doubt += calls[CALL_COUNT] * weight * process->doubt;
		sums[i]->by_clock += weight > 0 ? calls[CALL_NS] * windows->by_clock : 0;
	}
	for (int j = 0; j < CALL_FIGURES; j++)
		process->more[j] += calls[j] * weight;
}

static void close_process(struct call_windows *windows, struct window_process *process)
{
	double own = find_own(windows, process);

	while (process->first) {
		struct window_total *total = &windows->totals[process->first];
		const double calls[] = {grown(total->now[0], total->before[0]),
					grown(total->now[1], total->before[1])};

		add_sample(windows, process, total, calls, process->gap / own);
		memcpy(total->before, total->now, sizeof(total->now));
		total->listed = false;
		process->first = total->next;
	}
	windows->untraced += process->gap;
	windows->own += fmin(own, process->gap);
	process->cpu = process->gap = process->calls = 0;
	process->windows++;
}

int call_windows_add(struct call_windows *windows, const struct record_call_window *record)
{
	double gap, traced = (double)(record->end - record->begin);

	if (record->end <= record->begin || record->begin < windows->end)
		return -EBADMSG;
	/* Where the first window begins the recording does: there is no gap before it. */
	gap = windows->end ? (double)(record->begin - windows->end) : 0;
	windows->windows += record->begin > windows->end;
	windows->sample++;
	windows->gaps_ns += gap;
	windows->traced_ns += traced;
	windows->by_clock = gap / traced;
	windows->end = record->end;
	windows->call_ns = (double)record->call_ns;
	while (windows->open) {
		struct window_process *process = &windows->processes[windows->open];

		windows->open = process->next;
		process->open = false;
		if (process->cpu >= CPU_MIN)
			close_process(windows, process);
	}
	return 0;
}

/* --- the recording is over ---------------------------------------------------------- */

/* For processes that no window saw stand those that come and go as well: in one window at most. */
static bool stands(const struct call_windows *windows, const struct window_process *process)
{
	return process->own > 0 && process->windows <= windows->strangers.windows;
}

static void find_strangers(struct call_windows *windows)
{
	struct window_process *strangers = &windows->strangers;
	double all = 0;

	strangers->windows = 1;
	for (size_t i = 0; i < windows->n_processes; i++) {
		struct window_process *process = &windows->processes[i];

		windows->untraced += process->gap;
		strangers->gap += process->windows ? 0 : process->gap;
		if (!process->windows && process->cpu > 0)
			find_own(windows, process);
		strangers->own += stands(windows, process) ? process->own : 0;
		all += process->own;
	}
	if (strangers->own > 0)
		return;
	strangers->windows = UINT_MAX;
	strangers->own = all;
}

/* What a process did in all windows stands for its last gap, and for strangers: one sample each. */
static void add_rest(struct call_windows *windows, const struct window_total *total)
{
	struct window_process *process = &windows->processes[total->process];
	struct window_process *strangers = &windows->strangers;
	const double calls[] = {(double)total->now[0], (double)total->now[1]};

	windows->sample = UINT64_MAX - total->process;
	if (process->windows) {
		windows->by_clock = process->gap / process->own;
		add_sample(windows, process, total, calls, windows->by_clock);
	}
	if (stands(windows, process)) {
		windows->by_clock = strangers->gap / strangers->own;
		strangers->doubt = process->doubt;
		add_sample(windows, strangers, total, calls, windows->by_clock);
	}
}

void call_windows_finish(struct call_windows *windows, uint64_t end)
{
	if (!windows->end)
		return;
	if (end > windows->end)
		windows->gaps_ns += (double)(end - windows->end);
	find_strangers(windows);
	for (size_t i = 1; i < windows->n_totals; i++)
		add_rest(windows, &windows->totals[i]);
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
	const struct window_process *process = &windows->processes[id];

	if (id >= windows->n_processes || !call_windows_all(windows))
		return 0;
	return process->windows || !process->gap
		       ? process->more[figure]
		       : windows->strangers.more[figure] * process->gap / windows->strangers.gap;
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
	tally.variance =
		gaps->squares[figure] * (1 + windows->own / windows->untraced) + doubt * doubt;
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){traced + out.value, traced + out.low, traced + out.high};
}
