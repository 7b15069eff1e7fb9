/* SPDX-License-Identifier: BSD-2-Clause */
/* call_windows.c: estimates system calls made outside of tracing windows. */
#include "call_windows.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../util/map.h"
#include "../world/arena.h"
#include "../world/tasks.h"

/* Used in place of a process id, per recording. */
#define POOL(recording) \
	(UINT64_MAX - 2 * (recording)) /* processes with less than CPU_MIN in windows */
#define SUMS(recording) (UINT64_MAX - 2 * (recording)-1)            /* all processes */
#define LISTS           (UINT64_MAX - 2 * (uint64_t)RECORDINGS_MAX) /* all recordings */

#define CALL_NONE (CALL_ALL - 1) /* as a call number: the set itself */

#define SLOWER_MAX 16.0 /* maximum slowdown by tracing; beyond it the figures are wrong */
/* Relative uncertainty of the cost of tracing a call. */
#define COST_UNCERTAINTY 0.35
/*
 * Tracing evicts the program from the caches, which takes this share of its own time; less where so
 * little passes between two calls, ns, that it has little there, and at most a multiple of the cost
 * of tracing. It may be nothing or twice as much.
 */
#define CACHE_SHARE     0.1
#define CACHE_NS        2e3
#define CACHE_TIMES_MAX 2
/* How much of the share of tracing in earlier windows counts beside that in the latest: the ratio
 * of two noisy figures of one window is too high on average. */
#define REMEMBERED 0.75
#define DENSITIES  4 /* of windows, by the share of tracing: others say nothing about this one */
/* A call that takes as long on average, ns, waits: wall time is the better scale. */
#define WAITING_NS 1e5
/* ns of CPU time in windows. With less, a process is counted with its next window. */
#define CPU_MIN 1e6
/*
 * Share of a window that also counts in the next one, or in a gap that no window follows. A gap
 * waits for at most so many windows of other processes.
 */
#define KEPT      0.001
#define WAITS_MAX 64
/* With few samples, their variance is raised by this divided by their number. */
#define FEW 3

/* Estimates of one call over all processes of a recording. */
struct call_sum {
	const struct window_set *set; /* the recording */
	struct call_sum *next;        /* same call, another recording */
	double more[CALL_FIGURES];    /* in the gaps */
	/* Sums over the samples: squares, and products with the CPU time of their gaps. */
	double squares[CALL_FIGURES], products[CALL_FIGURES];
	double sample[CALL_FIGURES]; /* latest sample, and its number */
	uint64_t number;
	double uncertainty[CALL_FIGURES]; /* uncertainty of the cost of tracing */
	double traced[CALL_FIGURES];
};

/* One call in all recordings that have it. */
struct call_list {
	struct call_sum *first;
};

/* One call in one process. */
struct window_total {
	double fresh[CALL_FIGURES]; /* since the last window, plus what was kept */
	struct call_sum *sum;
	struct window_total *next; /* same process */
};

/* CPU time of a process in recent windows, and its part without tracing. */
struct recent {
	double cpu, own;
};

struct window_process {
	uint64_t traced; /* CPU time in windows so far, ns */
	double cpu, gap; /* since the last sample: CPU time in windows, and in gaps */
	struct recent recent[DENSITIES];
	double pooled; /* CPU time in gaps while it was in the pool */
	/* Wall time of the recording's windows and gaps up to the last sample, and of windows that
	 * count again. */
	double wall_traced, wall_gaps, wall_kept;
	bool met, alone;           /* it had CPU time; it is not in the pool any more */
	double more[CALL_FIGURES]; /* estimate for the other gaps */
	struct window_total *totals;
	struct window_process *next; /* in the list of processes with recent CPU time */
	unsigned waits;              /* windows since it joined that list; 0: not in it */
};

/*
 * A call in a process, a call over all, or a process (CALL_ALL). Created if `size` is not 0.
 * NULL: not found, or no memory.
 */
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

/* The sum of a call over all processes of a recording. NULL: no memory. */
static struct call_sum *sum_get(const struct call_windows *windows, const struct window_set *set,
				uint64_t call)
{
	struct call_sum *sum = item_get(windows, SUMS(set->recording), call, sizeof(*sum));
	struct call_list *list;

	if (!sum || sum->set)
		return sum;
	list = item_get(windows, LISTS, call, sizeof(*list));
	if (!list)
		return NULL;
	sum->set = set;
	sum->next = list->first;
	list->first = sum;
	return sum;
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
	set->all = sum_get(windows, set, CALL_ALL);
	set->pool = item_get(windows, POOL(set->recording), CALL_ALL, sizeof(*set->pool));
	if (!set->all || !set->pool)
		return NULL;
	set->pool->alone = true;
	set->next = windows->sets;
	windows->sets = set;
	return set;
}

void call_windows_free(struct call_windows *windows)
{
	map_free(windows->items);
	arena_free(windows->arena);
}

/* --- input from the profile ------------------------------------------------------ */

static int add_calls(struct call_windows *windows, struct window_set *set, uint64_t id,
		     uint64_t call, const double more[CALL_FIGURES])
{
	struct window_process *process = item_get(windows, id, CALL_ALL, sizeof(*process));
	struct window_total *total = item_get(windows, id, call, sizeof(*total));
	struct call_sum *sum = sum_get(windows, set, call);

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

/* Wall time of the windows that ended before `since`, or a little less. */
static double traced_before(const struct window_set *windows, uint64_t since)
{
	double before_ns = windows->traced_ns;

	if (windows->end <= since)
		return before_ns;
	for (uint64_t i = 1; i <= WINDOWS_KEPT && i <= windows->count; i++) {
		uint64_t window = (windows->count - i) % WINDOWS_KEPT;

		before_ns = windows->last[window].before_ns;
		if (windows->last[window].begin <= since)
			break;
	}
	return before_ns;
}

/* The first figures of a process may arrive some windows late, for all of them. */
static void add_cpu(struct window_set *windows, struct window_process *process, uint64_t since,
		    double cpu, double gap)
{
	if (!process->met) {
		process->met = true;
		process->wall_traced = traced_before(windows, since);
	}
	process->cpu += cpu;
	process->gap += gap;
	if (process->waits)
		return;
	process->waits = 1;
	process->next = windows->open;
	windows->open = process;
}

int call_windows_cpu(struct call_windows *windows, uint64_t recording, uint64_t since,
		     const struct record_call_cpu *record)
{
	struct window_process *process =
		item_get(windows, record->process, CALL_ALL, sizeof(*process));
	struct window_set *set = set_get(windows, recording);
	double cpu = (double)record->traced_ns, gap = (double)record->untraced_ns;

	if (!process || !set)
		return -ENOMEM;
	if (process->traced < CPU_MIN) {
		add_cpu(set, set->pool, since, cpu, gap);
		set->pool->pooled += gap;
		process->pooled += gap;
		gap = 0;
	} else if (!process->alone) {
		process->alone = true;
		process->wall_gaps = set->gaps_ns;
	}
	add_cpu(set, process, since, cpu, gap);
	process->traced += record->traced_ns;
	return 0;
}

/* --- the end of a window --------------------------------------------------------- */

/* Adds a process's estimates. A call in several processes is one value of the sample. */
static void add_figures(const struct window_set *windows, struct call_sum *sum,
			const double more[CALL_FIGURES], double uncertainty)
{
	if (sum->number != windows->sample)
		memset(sum->sample, 0, sizeof(sum->sample));
	sum->number = windows->sample;
	for (int i = 0; i < CALL_FIGURES; i++) {
		sum->squares[i] += more[i] * (2 * sum->sample[i] + more[i]);
		sum->sample[i] += more[i];
		sum->more[i] += more[i];
		sum->products[i] += more[i] * windows->gap;
		sum->uncertainty[i] += more[i] * uncertainty;
	}
}

/* Wall time of the gaps since the last sample, relative to that of the windows. */
static double wall_scale(const struct window_set *windows, struct window_process *process,
			 double kept)
{
	double traced = process->wall_kept + windows->traced_ns - process->wall_traced;
	double gaps = process->alone ? windows->gaps_ns - process->wall_gaps : 0;

	process->wall_traced = windows->traced_ns;
	process->wall_gaps = windows->gaps_ns;
	process->wall_kept = kept * traced;
	return traced > 0 ? gaps / traced : 0;
}

/*
 * Estimates a process's gap from its windows, in proportion to CPU time, after subtracting the
 * cost of tracing. Calls that wait are in proportion to wall time.
 */
static void close_process(struct window_set *windows, struct window_process *process)
{
	double kept = process->cpu < CPU_MIN ? 1 : KEPT, calls = 0, own, tracing, caches, unsure;
	double wall = wall_scale(windows, process, kept);
	struct recent *recent;
	int dense;

	for (struct window_total *total = process->totals; total; total = total->next)
		calls += total->fresh[CALL_COUNT];
	tracing = calls * windows->call_ns;
	dense = process->cpu > 0 ? (int)fmin(tracing / process->cpu * DENSITIES, DENSITIES - 1) : 0;
	recent = &process->recent[dense];
	recent->cpu = REMEMBERED * recent->cpu + process->cpu;
	recent->own =
		REMEMBERED * recent->own + fmax(process->cpu - tracing, process->cpu / SLOWER_MAX);
	own = recent->cpu > 0 ? process->cpu * recent->own / recent->cpu : 0;
	caches = calls > 0 ? CACHE_SHARE * own * fmin(own / calls / CACHE_NS, 1) : 0;
	caches = fmin(caches, CACHE_TIMES_MAX * tracing);
	own = fmax(own - caches, 1);
	unsure = (COST_UNCERTAINTY * fmin(tracing, process->cpu) + caches) / own;
	for (struct window_total *total = process->totals; total; total = total->next) {
		bool waits = total->fresh[CALL_NS] > WAITING_NS * total->fresh[CALL_COUNT];
		double more[CALL_FIGURES], scale = waits ? wall : process->gap / own;
		double uncertainty = waits ? 0 : unsure;

		for (int i = 0; i < CALL_FIGURES; i++) {
			more[i] = total->fresh[i] * scale;
			total->fresh[i] *= kept;
			process->more[i] += more[i];
		}
		add_figures(windows, total->sum, more, uncertainty);
		add_figures(windows, windows->all, more, uncertainty);
	}
	windows->own += fmin(own, process->gap);
	process->cpu *= kept;
	process->gap = 0;
}

/*
 * Takes a sample of the processes that have at least `least` CPU time in windows, or have waited
 * for `waits` windows.
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
	/* The first window starts with the recording, so no gap precedes it. */
	set->gaps_ns += set->end ? (double)(record->begin - set->end) : 0;
	set->windows += record->begin > set->end;
	set->last[set->count % WINDOWS_KEPT].begin = record->begin;
	set->last[set->count++ % WINDOWS_KEPT].before_ns = set->traced_ns;
	set->traced_ns += (double)(record->end - record->begin);
	set->end = record->end;
	set->call_ns = (double)record->call_ns;
	take_sample(set, CPU_MIN, WAITS_MAX);
	return 0;
}

int call_windows_skip(struct call_windows *windows, const struct paused_time *pause)
{
	struct window_set *set = set_get(windows, pause->recording);

	/* As if the last window had ended so much later. */
	if (set && set->end)
		set->end += pause->end - pause->begin;
	return set ? 0 : -ENOMEM;
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

/* The deviation of the samples from the overall rate, plus their own variance if they are few: if
 * few windows saw most of the calls, there are as few. */
static double variance(const struct window_set *windows, const struct call_sum *sum, int figure)
{
	double more = sum->more[figure], squares = sum->squares[figure];
	double rate = more / windows->gaps, few = more > 0 ? squares / (more * more) : 1;
	double differ = squares + rate * (rate * windows->gap_squares - 2 * sum->products[figure]);

	return (fmax(differ, 0) * (1 + FEW * few) + squares * few) *
	       (1 + windows->own / windows->gaps);
}

/* Adds the estimate for a call in the gaps of one recording, where `traced` were traced. */
static bool estimate_sum(const struct call_sum *sum, enum call_figure figure, double traced,
			 struct tally *out)
{
	const struct window_set *set = sum->set;
	struct tally tally = {0};
	double uncertainty;

	if (set->gaps_ns <= 0 || set->gaps <= 0)
		return false;
	tally.value = sum->more[figure];
	uncertainty = sum->uncertainty[figure];
	/* For waiting calls, wall time is the better scale. */
	if (figure == CALL_NS)
		uncertainty += fabs(traced * set->gaps_ns / set->traced_ns - tally.value);
	tally.variance = variance(set, sum, figure) + pow(uncertainty / ESTIMATE_Z, 2);
	tally_merge(out, &tally);
	return true;
}

bool call_windows_estimate(const struct call_windows *windows, uint64_t call,
			   enum call_figure figure, double traced, struct estimate *out)
{
	const struct call_list *list = item_get(windows, LISTS, call, 0);
	const struct call_sum *first = list ? list->first : NULL;
	struct tally tally = {0};
	double all = 0;
	bool any = false;

	for (const struct call_sum *sum = first; sum; sum = sum->next)
		all += sum->traced[figure];
	for (const struct call_sum *sum = first; sum; sum = sum->next) {
		double share = all > 0 ? sum->traced[figure] / all : 1;

		any |= estimate_sum(sum, figure, traced * share, &tally);
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
