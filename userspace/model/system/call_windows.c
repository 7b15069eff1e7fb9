/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.c: estimates of system calls that were made outside of tracing windows. */
#include "call_windows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../util/map.h"
#include "../world/arena.h"
#include "../world/tasks.h"

/* In place of a process, of each recording. */
#define POOL(recording) (UINT64_MAX - 2 * (recording))   /* all with less than CPU_MIN in windows */
#define SUMS(recording) (UINT64_MAX - 2 * (recording)-1) /* all */

#define CALL_NONE (CALL_ALL - 1) /* in place of a call: the set itself */

#define SLOWER_MAX 16.0 /* tracing does not slow down more: then the figures are wrong */
/* How well the cost of tracing a call is known, relative to it. */
#define COST_DOUBT 0.6
/* What tracing pushes out of the caches makes the program itself slower: by this part of its own
 * time, at most by so many times the cost of tracing. It may be nothing, or twice as much. */
#define CACHE_SHARE     0.1
#define CACHE_TIMES_MAX 2
/* ns of CPU time in windows: less says little, and waits for the next one. */
#define CPU_MIN 1e6
/* So much of a window counts in the next one as well, or for a gap without one: that waits for so
 * many of other processes. */
#define KEPT      0.0625
#define WAITS_MAX 64
/* Of few samples, the variance between them is taken to be larger by this, divided by as many. */
#define FEW 3

/* What is estimated of one call over all processes. */
struct call_sum {
	double more[CALL_FIGURES]; /* in the gaps */
	/* Of the samples that it is estimated from, and of them with the CPU time of their gaps. */
	double squares[CALL_FIGURES], products[CALL_FIGURES];
	double sample[CALL_FIGURES]; /* the last of them, and its number */
	uint64_t number;
	double doubt[CALL_FIGURES]; /* tracing may have cost more, or less */
	double traced[CALL_FIGURES];
};

/* One call in one process. */
struct window_total {
	double fresh[CALL_FIGURES]; /* since the last window, and what is kept of that */
	struct call_sum *sum;
	struct window_total *next; /* of the process */
};

struct window_process {
	uint64_t traced, untraced; /* CPU time so far, ns */
	double cpu, gap;           /* in windows, and in the gap before: since the last one */
	double pooled;             /* in gaps in which it was in the pool */
	double more[CALL_FIGURES]; /* in the other gaps */
	struct window_total *totals;
	struct window_process *next; /* of those with CPU time of late */
	unsigned waits;              /* windows since it is one of these; 0: it is none */
};

/* A call in a process, one in all, or a process (CALL_ALL), made if it has a size. NULL: there is
 * none, or no memory. */
static void *item_get(const struct call_windows *windows, uint64_t process, uint64_t call,
		      size_t size)
{
	const uint64_t key[] = {process, call};
	uint64_t *item = size ? map_put(windows->items, key, NULL) : map_get(windows->items, key);

	if (item && !*item)
		*item = (uintptr_t)arena_alloc(windows->arena, size);
	return item ? (void *)(uintptr_t)*item : NULL;
}

int call_windows_init(struct call_windows *windows)
{
	memset(windows, 0, sizeof(*windows));
	windows->items = map_create(2 * sizeof(uint64_t));
	return windows->items && arena_create(&windows->arena) >= 0 ? 0 : -ENOMEM;
}

static struct window_set *set_find(const struct call_windows *windows, uint64_t recording)
{
	return item_get(windows, SUMS(recording), CALL_NONE, 0);
}

/* NULL: no memory. */
static struct window_set *set_get(struct call_windows *windows, uint64_t recording)
{
	struct window_set *set = set_find(windows, recording);

	if (set)
		return set;
	set = item_get(windows, SUMS(recording), CALL_NONE, sizeof(*set));
	if (!set)
		return NULL;
	set->recording = recording;
	set->all = item_get(windows, SUMS(set->recording), CALL_ALL, sizeof(*set->all));
	set->pool = item_get(windows, POOL(set->recording), CALL_ALL, sizeof(*set->pool));
	if (!set->all || !set->pool)
		return NULL;
	set->next = windows->sets;
	windows->sets = set;
	return set;
}

void call_windows_free(struct call_windows *windows)
{
	map_free(windows->items);
	arena_free(windows->arena);
}

/* --- what the profile says ------------------------------------------------------ */

static int add_calls(struct call_windows *windows, struct window_set *set, uint64_t id,
		     uint64_t call, const double more[CALL_FIGURES])
{
	struct window_process *process = item_get(windows, id, CALL_ALL, sizeof(*process));
	struct window_total *total = item_get(windows, id, call, sizeof(*total));
	struct call_sum *sum = item_get(windows, SUMS(set->recording), call, sizeof(*sum));

	if (!process || !total || !sum)
		return -ENOMEM;
	if (!total->sum) {
		total->sum = sum;
		total->next = process->totals;
		process->totals = total;
	}
	for (int i = 0; i < CALL_FIGURES; i++) {
		total->fresh[i] += more[i];
		sum->traced[i] += id != POOL(set->recording) ? more[i] : 0;
	}
	return process->traced < CPU_MIN && id != POOL(set->recording)
		       ? add_calls(windows, set, POOL(set->recording), call, more)
		       : 0;
}

int call_windows_calls(struct call_windows *windows, uint64_t recording, uint64_t id, uint64_t call,
		       const double more[CALL_FIGURES])
{
	struct window_set *set = set_get(windows, recording);

	for (int i = 0; set && i < CALL_FIGURES; i++)
		set->all->traced[i] += more[i];
	return set ? add_calls(windows, set, id, call, more) : -ENOMEM;
}

static void add_cpu(struct window_set *windows, struct window_process *process, double cpu,
		    double gap)
{
	process->cpu += cpu;
	process->gap += gap;
	if (process->waits)
		return;
	process->waits = 1;
	process->next = windows->open;
	windows->open = process;
}

int call_windows_cpu(struct call_windows *windows, uint64_t recording,
		     const struct record_call_cpu *record)
{
	struct window_process *process =
		item_get(windows, record->process, CALL_ALL, sizeof(*process));
	struct window_set *set = set_get(windows, recording);
	double cpu, gap;

	if (!process || !set)
		return -ENOMEM;
	if (record->traced_ns < process->traced || record->untraced_ns < process->untraced)
		return -EBADMSG;
	cpu = (double)(record->traced_ns - process->traced);
	gap = (double)(record->untraced_ns - process->untraced);
	if (process->traced < CPU_MIN) {
		add_cpu(set, set->pool, cpu, gap);
		set->pool->pooled += gap;
		process->pooled += gap;
		gap = 0;
	}
	add_cpu(set, process, cpu, gap);
	process->traced = record->traced_ns;
	process->untraced = record->untraced_ns;
	return 0;
}

/* --- a window is over ------------------------------------------------------------- */

/* What a sample has of a call in several processes is one figure. */
static void add_figures(const struct window_set *windows, struct call_sum *sum,
			const double more[CALL_FIGURES], double doubt)
{
	if (sum->number != windows->sample)
		memset(sum->sample, 0, sizeof(sum->sample));
	sum->number = windows->sample;
	for (int i = 0; i < CALL_FIGURES; i++) {
		sum->squares[i] += more[i] * (2 * sum->sample[i] + more[i]);
		sum->sample[i] += more[i];
		sum->more[i] += more[i];
		sum->products[i] += more[i] * windows->gap;
		sum->doubt[i] += more[i] * doubt;
	}
}

/* What a process did in windows stands for its gap, by its own CPU time: without that of tracing.
 */
static void close_process(struct window_set *windows, struct window_process *process)
{
	double kept = process->cpu < CPU_MIN ? 1 : KEPT, tracing = 0, left, caches, own, doubt;

	for (struct window_total *total = process->totals; total; total = total->next)
		tracing += total->fresh[CALL_COUNT] * windows->call_ns;
	left = fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	caches = fmin(CACHE_SHARE * left, CACHE_TIMES_MAX * tracing);
	own = fmax(left - caches, 1);
	doubt = (COST_DOUBT * fmin(tracing, process->cpu) + caches) / own;
	for (struct window_total *total = process->totals; total; total = total->next) {
		double more[CALL_FIGURES];

		for (int i = 0; i < CALL_FIGURES; i++) {
			more[i] = total->fresh[i] * process->gap / own;
			total->fresh[i] *= kept;
			process->more[i] += more[i];
		}
		add_figures(windows, total->sum, more, doubt);
		add_figures(windows, windows->all, more, doubt);
	}
	windows->own += fmin(own, process->gap);
	process->cpu *= kept;
	process->gap = 0;
}

/* Of those that have so much CPU time in windows, or waited for it that long, one sample is taken.
 */
static void take_sample(struct window_set *windows, double least, unsigned waits)
{
	struct window_process **at = &windows->open, *process, *taken = NULL;

	windows->gap = 0;
	while ((process = *at)) {
		if (process->cpu < least && process->waits++ < waits) {
			at = &process->next;
			continue;
		}
		*at = process->next;
		process->next = taken;
		process->waits = 0;
		taken = process;
		windows->gap += process->gap;
	}
	windows->sample++;
	windows->gaps += windows->gap;
	windows->gap_squares += windows->gap * windows->gap;
	for (; taken; taken = taken->next)
		close_process(windows, taken);
}

int call_windows_add(struct call_windows *windows, const struct record_call_window *record,
		     uint64_t *gap)
{
	struct window_set *set;

	if (record->recording >= RECORDINGS_MAX)
		return -EBADMSG;
	set = set_get(windows, record->recording);
	if (!set)
		return -ENOMEM;
	*gap = set->end;
	if (record->end <= record->begin || record->begin < set->end)
		return -EBADMSG;
	/* Where the first window begins the recording does: there is no gap before it. */
	set->gaps_ns += set->end ? (double)(record->begin - set->end) : 0;
	set->windows += record->begin > set->end;
	set->traced_ns += (double)(record->end - record->begin);
	set->end = record->end;
	set->call_ns = (double)record->call_ns;
	take_sample(set, CPU_MIN, WAITS_MAX);
	return 0;
}

int call_windows_end(struct call_windows *windows, uint64_t recording, uint64_t end)
{
	struct window_set *set = recording < RECORDINGS_MAX ? set_get(windows, recording) : NULL;

	if (set && end > set->recording_end)
		set->recording_end = end;
	return set ? 0 : recording < RECORDINGS_MAX ? -ENOMEM : -EBADMSG;
}

void call_windows_finish(struct call_windows *windows)
{
	for (struct window_set *set = windows->sets; set; set = set->next) {
		if (set->end && set->recording_end > set->end)
			set->gaps_ns += (double)(set->recording_end - set->end);
		take_sample(set, 0, 0);
	}
}

/* --- estimates ------------------------------------------------------------------------ */

double call_windows_of(const struct call_windows *windows, uint64_t recording, uint64_t id,
		       enum call_figure figure)
{
	const struct window_process *process = item_get(windows, id, CALL_ALL, 0);
	const struct window_set *set = set_find(windows, recording);

	if (!process || !set)
		return 0;
	return process->more[figure] +
	       set->pool->more[figure] * process->pooled / fmax(set->pool->pooled, 1);
}

/* By how far samples are from the rate of all, and by what each is itself where they are few. */
static double variance(const struct window_set *windows, const struct call_sum *sum, int figure)
{
	double rate = sum->more[figure] / windows->gaps, squares = sum->squares[figure];
	double samples = windows->gaps * windows->gaps / windows->gap_squares;
	double differ = squares + rate * (rate * windows->gap_squares - 2 * sum->products[figure]);

	return (fmax(differ, 0) * (1 + FEW / samples) + squares / samples) *
	       (1 + windows->own / windows->gaps);
}

/* What is estimated of a call in the gaps of one recording, of which `traced` were traced. */
static bool estimate_set(const struct window_set *set, const struct call_sum *sum,
			 enum call_figure figure, double traced, struct tally *out)
{
	struct tally tally = {0};
	double doubt;

	if (set->gaps_ns <= 0 || set->gaps <= 0 || !sum)
		return false;
	tally.value = sum->more[figure];
	doubt = sum->doubt[figure];
	/* While calls wait the clock is the better scale. */
	if (figure == CALL_NS)
		doubt += fabs(traced * set->gaps_ns / set->traced_ns - tally.value);
	tally.variance = variance(set, sum, figure) + pow(doubt / ESTIMATE_Z, 2);
	tally_merge(out, &tally);
	return true;
}

bool call_windows_estimate(const struct call_windows *windows, uint64_t call,
			   enum call_figure figure, double traced, struct estimate *out)
{
	struct tally tally = {0};
	double all = 0;
	bool any = false;

	for (const struct window_set *set = windows->sets; set; set = set->next) {
		const struct call_sum *sum = item_get(windows, SUMS(set->recording), call, 0);

		all += sum ? sum->traced[figure] : 0;
	}
	for (const struct window_set *set = windows->sets; set; set = set->next) {
		const struct call_sum *sum = item_get(windows, SUMS(set->recording), call, 0);
		double share = sum && all > 0 ? sum->traced[figure] / all : 1;

		any |= estimate_set(set, sum, figure, traced * share, &tally);
	}
	if (!any)
		return false;
	*out = tally_estimate(&tally);
	*out = (struct estimate){traced + out->value, traced + out->low, traced + out->high};
	return true;
}

struct window_times call_windows_times(const struct call_windows *windows)
{
	struct window_times times = {0};

	for (const struct window_set *set = windows->sets; set; set = set->next) {
		times.windows += set->windows;
		times.traced_ns += set->traced_ns;
		times.gaps_ns += set->gaps_ns;
		times.estimated |= set->gaps > 0;
	}
	return times;
}
