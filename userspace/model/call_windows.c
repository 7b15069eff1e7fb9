/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.c: estimates of system calls that were made outside of tracing windows. */
#include "call_windows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../util/map.h"
#include "arena.h"

#define SLOWER_MAX 16.0 /* tracing does not slow down more: then the figures are wrong */
/* How well the cost of tracing a call is known, relative to it. */
#define COST_DOUBT 0.6
/* What tracing pushes out of the caches makes the program itself slower: by this part of its own
 * time, at most by so many times the cost of tracing. It may be nothing, or twice as much. */
#define CACHE_SHARE     0.1
#define CACHE_TIMES_MAX 2
/* ns of CPU time of a process: what it did in less says little, and waits for its next window. */
#define CPU_MIN 1e6
/* Of few samples, the variance between them is taken to be larger by this, divided by as many. */
#define FEW 3

/* Quantile of the normal distribution for a two-sided 95 % interval. */
static const double z = 1.959963984540054;

/* One call in one process. */
struct window_total {
	/* So far, when the process's last window was closed, and when the first gap began. */
	uint64_t now[CALL_FIGURES], before[CALL_FIGURES], first[CALL_FIGURES];
	struct call_gaps *sum;
	struct window_total *next; /* of the process */
};

struct window_process {
	uint64_t traced, untraced; /* CPU time so far, ns */
	double cpu, gap, calls;    /* since its last window: CPU time in that and the gap, calls */
	double own;   /* CPU time in windows without what tracing took; which may be off */
	double doubt; /* by this part */
	double more[CALL_FIGURES]; /* in gaps */
	double windows;
	struct window_total *totals;
	struct window_process *next, *next_open; /* of all; of those with CPU time of late */
	bool open;                               /* is one of these */
};

int call_windows_init(struct call_windows *windows)
{
	memset(windows, 0, sizeof(*windows));
	windows->items = map_create(2 * sizeof(uint64_t));
	return windows->items ? arena_create(&windows->arena) : -ENOMEM;
}

void call_windows_free(struct call_windows *windows)
{
	map_free(windows->items);
	arena_free(windows->arena);
}

/* A call in a process, one in all (process 0), or a process (CALL_ALL). NULL: no memory. */
static void *item_get(struct call_windows *windows, uint64_t process, uint64_t call, size_t size)
{
	const uint64_t key[] = {process, call};
	uint64_t *item = map_put(windows->items, key, NULL);

	if (item && !*item)
		*item = (uintptr_t)arena_alloc(windows->arena, size);
	return item ? (void *)(uintptr_t)*item : NULL;
}

static void *item_find(const struct call_windows *windows, uint64_t process, uint64_t call)
{
	const uint64_t key[] = {process, call}, *item = map_get(windows->items, key);

	return item ? (void *)(uintptr_t)*item : NULL;
}

/* --- what the profile says ------------------------------------------------------ */

static struct window_process *process_get(struct call_windows *windows, uint64_t id)
{
	bool known = item_find(windows, id, CALL_ALL);
	struct window_process *process = item_get(windows, id, CALL_ALL, sizeof(*process));

	if (process && !known) {
		process->next = windows->processes;
		windows->processes = process;
	}
	return process;
}

/* Totals do not shrink: returns by how much this one grew. */
static double grow(uint64_t *total, uint64_t now)
{
	uint64_t before = *total;

	*total = now > before ? now : before;
	return (double)(*total - before);
}

int call_windows_total(struct call_windows *windows, uint64_t id, uint64_t call,
		       const uint64_t figures[CALL_FIGURES])
{
	struct window_process *process = process_get(windows, id);
	struct window_total *total = item_get(windows, id, call, sizeof(*total));
	struct call_gaps *sum = item_get(windows, 0, call, sizeof(*sum));

	if (!process || !total || !sum)
		return -ENOMEM;
	if (!total->sum) {
		total->sum = sum;
		total->next = process->totals;
		process->totals = total;
	}
	process->calls += grow(&total->now[CALL_COUNT], figures[CALL_COUNT]);
	grow(&total->now[CALL_NS], figures[CALL_NS]);
	return 0;
}

int call_windows_cpu(struct call_windows *windows, const struct record_call_cpu *record)
{
	struct window_process *process = process_get(windows, record->process);

	if (!process)
		return -ENOMEM;
	process->cpu += grow(&process->traced, record->traced_ns);
	process->gap += grow(&process->untraced, record->untraced_ns);
	if (process->open)
		return 0;
	process->open = true;
	process->next_open = windows->open;
	windows->open = process;
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

/* Begins a sample, which stands for so much CPU time in gaps. */
static void begin_sample(struct call_windows *windows, double gap)
{
	windows->sample++;
	windows->gap = gap;
	windows->gaps += gap;
	windows->gap_squares += gap * gap;
}

/* What a sample has of a call in several processes is one figure. */
static void add_figure(const struct call_windows *windows, struct call_gaps *sum, int figure,
		       double more, double doubt)
{
	double sample = sum->number[figure] == windows->sample ? sum->sample[figure] : 0;

	sum->number[figure] = windows->sample;
	sum->sample[figure] = sample + more;
	sum->more[figure] += more;
	sum->squares[figure] += more * (2 * sample + more);
	sum->products[figure] += more * windows->gap;
	sum->doubt[figure] += more * doubt;
}

/* What a process did since `before` stands for `weight` times as much in the gaps of `gaps`. */
static void add_calls(struct call_windows *windows, struct window_process *process,
		      struct window_process *gaps, double weight)
{
	for (struct window_total *total = process->totals; total; total = total->next) {
		for (int i = 0; i < CALL_FIGURES; i++) {
			double more = (double)(total->now[i] - total->before[i]) * weight;

			add_figure(windows, &windows->all, i, more, process->doubt);
			add_figure(windows, total->sum, i, more, process->doubt);
			gaps->more[i] += more;
			total->before[i] = total->now[i];
		}
	}
}

/* A first gap is to be estimated: what was traced all the time before, and under the load of a
 * recording that begins, says less about gaps than windows do. */
static void forget(struct call_windows *windows)
{
	for (struct window_process *process = windows->processes; process;
	     process = process->next) {
		process->own = process->windows = 0;
		for (struct window_total *total = process->totals; total; total = total->next)
			memcpy(total->first, total->before, sizeof(total->first));
	}
}

static void close_process(struct call_windows *windows, struct window_process *process)
{
	double own;

	if (process->gap > 0 && windows->own <= 0)
		forget(windows);
	own = find_own(windows, process);
	add_calls(windows, process, process, process->gap / own);
	windows->own += fmin(own, process->gap);
	process->cpu = process->gap = process->calls = 0;
	process->windows++;
}

int call_windows_add(struct call_windows *windows, const struct record_call_window *record)
{
	struct window_process *process;
	double gap = 0;

	if (record->end <= record->begin || record->begin < windows->end)
		return -EBADMSG;
	/* Where the first window begins the recording does: there is no gap before it. */
	windows->gaps_ns += windows->end ? (double)(record->begin - windows->end) : 0;
	windows->windows += record->begin > windows->end;
	windows->traced_ns += (double)(record->end - record->begin);
	windows->end = record->end;
	windows->call_ns = (double)record->call_ns;
	for (process = windows->open; process; process = process->next_open)
		gap += process->cpu >= CPU_MIN ? process->gap : 0;
	begin_sample(windows, gap);
	for (; windows->open; windows->open = process->next_open) {
		process = windows->open;
		process->open = false;
		if (process->cpu >= CPU_MIN)
			close_process(windows, process);
	}
	return 0;
}

/* --- the recording is over ---------------------------------------------------------- */

/* For processes that no window saw stand those that come and go as well, in few windows. */
static double stand_in(const struct window_process *process)
{
	return process->own / pow(fmax(process->windows, 1), 3);
}

/* What a process did in all windows stands for its last gap, and for others. */
static void add_rest(struct call_windows *windows, struct window_process *process,
		     struct window_process *gaps, double gap)
{
	if (process->own <= 0 || gap <= 0)
		return;
	for (struct window_total *total = process->totals; total; total = total->next)
		memcpy(total->before, total->first, sizeof(total->before));
	begin_sample(windows, gap);
	add_calls(windows, process, gaps, gap / process->own);
}

void call_windows_finish(struct call_windows *windows, uint64_t end)
{
	double stand_ins = 0;

	windows->gaps_ns += windows->end && end > windows->end ? (double)(end - windows->end) : 0;
	windows->strangers = arena_alloc(windows->arena, sizeof(*windows->strangers));
	if (!windows->strangers)
		return;
	for (struct window_process *process = windows->processes; process;
	     process = process->next) {
		if (!process->windows && process->cpu > 0)
			find_own(windows, process);
		windows->strangers->gap += process->windows ? 0 : process->gap;
		stand_ins += stand_in(process);
	}
	for (struct window_process *process = windows->processes; process;
	     process = process->next) {
		add_rest(windows, process, process, process->windows ? process->gap : 0);
		add_rest(windows, process, windows->strangers,
			 windows->strangers->gap * stand_in(process) / stand_ins);
	}
}

/* --- estimates ------------------------------------------------------------------------ */

const struct call_gaps *call_windows_gaps(const struct call_windows *windows, uint64_t call)
{
	if (windows->gaps_ns <= 0 || windows->gaps <= 0)
		return NULL;
	return call == CALL_ALL ? &windows->all : item_find(windows, 0, call);
}

double call_windows_of(const struct call_windows *windows, uint64_t id, enum call_figure figure)
{
	const struct window_process *process = item_find(windows, id, CALL_ALL);
	const struct window_process *strangers = windows->strangers;

	if (!process || !strangers)
		return 0;
	return process->windows || strangers->gap <= 0
		       ? process->more[figure]
		       : strangers->more[figure] * process->gap / strangers->gap;
}

/* By how far samples are from the rate of all, and by what each is itself where they are few. */
static double variance(const struct call_windows *windows, const struct call_gaps *sum, int figure)
{
	double rate = sum->more[figure] / windows->gaps, squares = sum->squares[figure];
	double samples = windows->gaps * windows->gaps / windows->gap_squares;
	double differ = squares + rate * (rate * windows->gap_squares - 2 * sum->products[figure]);

	return (fmax(differ, 0) * (1 + FEW / samples) + squares / samples) *
	       (1 + windows->own / windows->gaps);
}

struct estimate call_windows_estimate(const struct call_windows *windows,
				      const struct call_gaps *gaps, enum call_figure figure,
				      double traced)
{
	double more = gaps->more[figure], doubt = gaps->doubt[figure] / z;
	struct tally tally = {.value = more};
	struct estimate out;

	/* While calls wait the clock is the better scale. */
	if (figure == CALL_NS)
		doubt += fabs(traced * windows->gaps_ns / windows->traced_ns - more) / z;
	tally.variance = variance(windows, gaps, figure) + doubt * doubt;
	out = tally_estimate(&tally);
	/* Of less than one window's worth the score interval has no useful end. */
	out.high = fmin(out.high, out.value + 2 * z * sqrt(tally.variance));
	return (struct estimate){traced + out.value, traced + out.low, traced + out.high};
}
