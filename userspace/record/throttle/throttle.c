/* SPDX-License-Identifier: BSD-2-Clause */
/* throttle.c: measures what a recording costs, and does what the overhead controller decides. */
#include "throttle.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "controller.h"
#include "../kernel/call_tracing.h"
#include "../machine/clock.h"
#include "../target/control.h"
#include "../unwind/unwinder.h"
#include "../world/files.h"
#include "../world/processes.h"

#define MS_NS    UINT64_C(1000000)
#define RETRY_NS (200 * MS_NS)

/* Powers of two by which there are fewer: records of short calls, allocation samples, ticks. */
static const struct level {
	uint8_t calls, samples, ticks;
} levels[] = {{0, 0, 0}, {2, 0, 0}, {4, 0, 0}, {6, 0, 0}, {6, 2, 0},
	      {6, 4, 0}, {6, 4, 1}, {6, 4, 2}, {6, 4, 3}};

/* With so few of them all calls below this are short, also those in collections: threads that wait
 * for each other's collections make thousands. */
enum { CALLS_FEWEST = 6 };
#define SHORT_NS (10 * MS_NS)

/* The kernel's way to a program and back, ns of a run: a tracepoint (system calls then go a slower
 * way), an interrupt, an exception. README.md says how far that may be off. */
static const double way_ns[COST_PROGRAMS] = {
	[COST_ENTER] = 12,  [COST_EXIT] = 12,   [COST_SWITCH] = 30,
	[COST_TICK] = 1000, [COST_FAULT] = 200, [COST_PROBE] = 1500,
};

struct throttle {
	struct throttle_parts parts;
	struct controller controller;
	struct call_tracing *tracing;
	struct control *control; /* of allocation samples; NULL: they are not throttled */
	bool asked;              /* some program was asked for fewer */
	uint64_t begin, next;    /* ns */
	double calls_ns, all_ns; /* cost so far: of tracing system calls, and all of it */
	double begin_ns;         /* all of it when the recording began */
	unsigned level, most;    /* in force; the most so far */
	int err;                 /* of the last attempt to trace again */
};

/* --- what it costs ----------------------------------------------------------------- */

double recorder_cpu_ns(const struct store *store, const struct files *files,
		       struct unwinder *unwinder)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec +
	       (double)(store_names_cpu_ns(store) + files_cpu_ns(files) +
			unwinder_cpu_ns(unwinder));
}

/* Of a run, by those that were timed. */
static double run_ns(const struct cost costs[COST_PROGRAMS], int program)
{
	const struct cost *cost = &costs[program];

	return cost->timed ? way_ns[program] + (double)cost->ns / (double)cost->timed : 0;
}

static int measure(struct throttle *throttle)
{
	const struct throttle_parts *parts = &throttle->parts;
	struct cost costs[COST_PROGRAMS];
	int err = session_costs(parts->session, costs);

	if (err)
		return err;
	throttle->tracing->call_ns = run_ns(costs, COST_ENTER) + run_ns(costs, COST_EXIT);
	throttle->calls_ns = throttle->tracing->call_ns * (double)costs[COST_EXIT].runs;
	throttle->all_ns =
		throttle->calls_ns + recorder_cpu_ns(parts->store, parts->files, parts->unwinder);
	for (int program = COST_SWITCH; program < COST_PROGRAMS; program++)
		throttle->all_ns += run_ns(costs, program) * (double)costs[program].runs;
	return 0;
}

/* --- what is decided ------------------------------------------------------------------ */

static uint64_t ceiling(unsigned level)
{
	return CEILING_DEFAULT_RATE >> levels[level].samples;
}

/* Samples are not dropped, which would bias estimates: programs raise their periods. */
void throttle_meet(void *context, const struct process *process)
{
	struct throttle *throttle = context;

	if (!throttle || !throttle->control || !levels[throttle->level].samples)
		return;
	throttle->asked = true;
	control_keep(throttle->control, process->proc_pid, ceiling(throttle->level));
}

/* What cannot be done is tried again by the next step. */
static void set_level(struct throttle *throttle, unsigned level)
{
	const struct throttle_parts *parts = &throttle->parts;
	const struct level *to = &levels[level], *from = &levels[throttle->level];

	if (level == throttle->level ||
	    (parts->timer && session_slow_timer(parts->session, 1u << to->ticks)))
		return;
	if (parts->short_calls)
		session_short_calls(parts->session, (uint32_t)(parts->short_calls >> to->calls),
				    to->calls == CALLS_FEWEST ? SHORT_NS : 0);
	throttle->level = level;
	throttle->most = level > throttle->most ? level : throttle->most;
	if (parts->samples && to->samples != from->samples)
		switches_ceiling(parts->switches, ceiling(level));
	if (to->samples && to->samples != from->samples)
		processes_sampling(parts->processes, throttle_meet, throttle);
	else if (from->samples && !to->samples)
		control_restore(throttle->control);
}

static uint64_t count_untraced(const struct throttle *throttle)
{
	uint64_t ns = call_tracing_gaps(throttle->tracing);

	counters_set_loss(throttle->parts.counters, LOSS_SYSCALLS_UNTRACED,
			  (ns + MS_NS - 1) / MS_NS);
	return ns;
}

/* Where tracing cannot begin again the next step tries. */
static int set_tracing(struct throttle *throttle)
{
	struct call_tracing *tracing = throttle->tracing;

	count_untraced(throttle);
	if (throttle->controller.tracing && !tracing->on)
		throttle->err = call_tracing_begin(tracing);
	if (throttle->controller.tracing || !tracing->on)
		return 0;
	call_tracing_end(tracing);
	/* The totals are of this window: they are written before the next begins. */
	return counters_put_calls(throttle->parts.counters);
}

/* --- steps ---------------------------------------------------------------------------- */

int throttle_step(struct throttle *throttle)
{
	uint64_t now = clock_now();
	double calls, all;

	if (!throttle || now < throttle->next)
		return 0;
	throttle->next = now + RETRY_NS;
	calls = throttle->calls_ns;
	all = throttle->all_ns;
	/* Without figures nothing is decided: they are back soon, or the recording is over. */
	if (measure(throttle))
		return 0;
	calls = throttle->calls_ns - calls;
	throttle->next =
		controller_step(&throttle->controller, now, calls, throttle->all_ns - all - calls);
	set_level(throttle, throttle->controller.level);
	return throttle->controller.options.windows ? set_tracing(throttle) : 0;
}

int throttle_timeout(const struct throttle *throttle, int ms)
{
	uint64_t now = clock_now(), left;

	if (!throttle)
		return ms;
	left = throttle->next > now ? (throttle->next - now + MS_NS - 1) / MS_NS : 0;
	return left < (uint64_t)ms ? (int)left : ms;
}

int throttle_create(const struct throttle_parts *parts, struct throttle **out)
{
	struct throttle *throttle = calloc(1, sizeof(*throttle));
	struct controller_options options = {
		.cpus = fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1),
		.levels = sizeof(levels) / sizeof(*levels) - 1,
		.seed = clock_now() ^ (uint64_t)getpid() << 24,
	};
	int err;

	if (!throttle)
		return -ENOMEM;
	throttle->parts = *parts;
	throttle->tracing = session_calls(parts->session);
	err = measure(throttle);
	if (!err && parts->samples)
		err = control_create(parts->files, &throttle->control);
	if (err) {
		throttle_free(throttle);
		return err;
	}
	options.rate = parts->percent / 100 * options.cpus;
	options.windows = throttle->tracing->on && throttle->tracing->programs[1];
	throttle->begin_ns = throttle->all_ns;
	throttle->begin = throttle->next = clock_now();
	controller_begin(&throttle->controller, &options, throttle->begin);
	counters_watch_calls(parts->counters, throttle->tracing);
	*out = throttle;
	return 0;
}

struct throttle_summary throttle_finish(struct throttle *throttle)
{
	struct throttle_summary out = {0};

	if (!throttle || measure(throttle))
		return out;
	out.all_ns = clock_now() - throttle->begin;
	out.traced_ns = out.all_ns - count_untraced(throttle);
	out.allowed = throttle->parts.percent;
	out.short_calls =
		throttle->most ? throttle->parts.short_calls >> levels[throttle->most].calls : 0;
	out.samples = throttle->asked ? ceiling(throttle->most) : 0;
	out.ticks = throttle->parts.timer ? 1u << levels[throttle->most].ticks : 1;
	out.err = throttle->err;
	out.percent = (throttle->all_ns - throttle->begin_ns) / (double)out.all_ns /
		      throttle->controller.options.cpus * 100;
	return out;
}

void throttle_free(struct throttle *throttle)
{
	if (!throttle)
		return;
	control_free(throttle->control);
	free(throttle);
}
