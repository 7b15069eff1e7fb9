/* SPDX-License-Identifier: BSD-2-Clause */
/* throttle.c: measures the cost of recording, and applies the overhead controller's decisions. */
#include "throttle.h"

#include <errno.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "../../reader/worker.h"
#include "../kernel/session.h"
#include "../machine/clock.h"
#include "../target/control.h"

#define MS_NS    UINT64_C(1000000)
#define RETRY_NS (200 * MS_NS)

/* After so many timer or allocation samples, a share of 1 % is known within a fifth, with 95 %
 * confidence. Their rate is then halved, and again after each SAMPLES_MORE. Where samples cost
 * too much, this happens after SAMPLES_FIRST, when a share of 10 % is known as well. */
#define SAMPLES_FIRST  1000
#define SAMPLES_ENOUGH 10000
#define SAMPLES_MORE   5000
#define SLOWER_MAX     3
/* What each kind may take of one CPU, relative to what recording may take of the machine. */
#define SAMPLES_SHARE 0.5

static const struct throttle_level levels[] = {{0, 0, 0}, {2, 0, 0}, {4, 0, 0},
					       {6, 0, 0}, {6, 2, 0}, {6, 4, 0},
					       {6, 4, 1}, {6, 4, 2}, {6, 4, 3}};

/* Under throttling of call records, shorter calls are short in any case, also in collections:
 * threads that wait for each other's collections make thousands. */
#define SHORT_NS (10 * MS_NS)

/* The most that tracing waits may take of the programs' CPU time, as a multiple of what recording
 * may take of the machine's; at first this much more. */
#define WAITS_SHARE  3
#define UNNOTICED_NS (10 * (double)MS_NS)

/* Below this share of one CPU, tracing slows no program. */
#define NOTICEABLE 0.02

/* The kernel's cost to reach a program and return, ns per run: a tracepoint or an exception. That
 * of system calls and timer interrupts is measured (call_tracing.path_ns, session_tick_ns()). */
static const double way_ns[COST_PROGRAMS] = {
	[COST_SWITCH] = 30,
	[COST_FAULT] = 200,
	[COST_PROBE] = 1500,
};

/* More for each process that has the file: the kernel asks each link whether the thread is its
 * process's. 28 to 36 ns, or three times that where others use the CPU's caches: at least so much.
 */
#define LINK_NS 32

double recorder_cpu_ns(void)
{
	struct timespec time = {0};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec + (double)workers_cpu_ns();
}

/* The cost of a run, by the timed ones; of a tick, without the interrupt. */
static double run_ns(const struct cost costs[COST_PROGRAMS], int program)
{
	const struct cost *cost = &costs[program];

	return cost->timed ? way_ns[program] + ((double)cost->ns + LINK_NS * (double)cost->links) /
						       (double)cost->timed
			   : 0;
}

/* The cost of an allocation sample with all probes that it takes, which are those that report no
 * collection; 0: there was none. Counted as they arrive: what is stored is too late for the runs.
 */
static double sample_ns(const struct throttle *throttle, const struct cost costs[COST_PROGRAMS])
{
	const struct store_arrived arrived = store_arrived(throttle->store);
	double probes = (double)costs[COST_PROBE].runs - (double)arrived.gc;

	return arrived.samples
		       ? run_ns(costs, COST_PROBE) * fmax(probes, 0) / (double)arrived.samples
		       : 0;
}

int throttle_measure(struct throttle *throttle)
{
	struct call_tracing *tracing = throttle->tracing;
	double path_ns, tick_ns = session_tick_ns(throttle->session);
	struct cost costs[COST_PROGRAMS];
	int err = throttle->percent > 0 ? table_costs(throttle->session, costs) : -ENODATA;

	if (err)
		return err;
	path_ns = fmax(tracing->path_ns, 0);
	tracing->call_ns = path_ns + run_ns(costs, COST_ENTER) + run_ns(costs, COST_EXIT);
	throttle->tick_ns = tick_ns + run_ns(costs, COST_TICK);
	throttle->sample_ns = sample_ns(throttle, costs);
	throttle->own_ns = tracing->call_ns * (double)costs[COST_EXIT].runs;
	throttle->calls_ns = throttle->own_ns + path_ns * (double)costs[COST_OTHERS].runs;
	throttle->others_ns = path_ns * (double)costs[COST_OTHERS].runs +
			      tick_ns * (double)costs[COST_OTHER_TICKS].runs;
	throttle->programs_ns = throttle->own_ns + tick_ns * (double)costs[COST_TICK].runs;
	throttle->waits_ns = run_ns(costs, COST_SWITCH) * (double)costs[COST_SWITCH].runs;
	for (int program = COST_SWITCH; program < COST_PROGRAMS; program++)
		throttle->programs_ns += run_ns(costs, program) * (double)costs[program].runs;
	throttle->all_ns = throttle->programs_ns + throttle->others_ns + recorder_cpu_ns();
	return 0;
}

struct throttle_level throttle_level(const struct throttle *throttle, unsigned number)
{
	return (struct throttle_level){
		.calls = throttle->short_calls ? levels[number].calls : 0,
		.samples = throttle->samples ? levels[number].samples : 0,
		.ticks = throttle->timer ? levels[number].ticks : 0,
	};
}

unsigned throttle_slower(uint64_t samples, double excess)
{
	double slower = samples >= SAMPLES_FIRST ? ceil(log2(fmax(excess, 1))) : 0;

	if (samples >= SAMPLES_ENOUGH)
		slower = fmax(slower, (double)(1 + (samples - SAMPLES_ENOUGH) / SAMPLES_MORE));
	return (unsigned)fmin(slower, SLOWER_MAX);
}

/* `level`, or what so many samples need if that is more, at `rate` a second and `ns` each. */
static uint8_t slower(const struct throttle *throttle, uint8_t level, uint64_t samples, double rate,
		      double ns)
{
	double allowed = SAMPLES_SHARE * throttle->percent / 100 * 1e9;

	return (uint8_t)fmax(level, throttle_slower(samples, rate * ns / allowed));
}

static void set_level(struct throttle *throttle)
{
	struct throttle_level from = throttle->applied;
	struct throttle_level to = throttle_level(throttle, throttle->controller.level);

	if (throttle->timer)
		to.ticks = slower(throttle, to.ticks, store_count(throttle->store, STREAM_CPU),
				  (double)throttle->timer, throttle->tick_ns);
	if (throttle->samples)
		to.samples = slower(throttle, to.samples, store_sampled(throttle->store),
				    CEILING_DEFAULT_RATE, throttle->sample_ns);
	throttle->applied = to;
	throttle->most = (unsigned)fmax(throttle->most, throttle->controller.level);
	if (to.ticks != from.ticks)
		session_slow_timer(throttle->session, 1u << to.ticks);
	if (to.calls != from.calls)
		session_short_calls(throttle->session,
				    (uint32_t)(throttle->short_calls >> to.calls),
				    to.calls ? SHORT_NS : 0);
	if (to.samples == from.samples)
		return;
	/* Dropping samples would bias estimates, so programs raise their periods instead. */
	switches_ceiling(throttle->switches, CEILING_DEFAULT_RATE >> to.samples);
	if (throttle->control)
		control_ceiling(throttle->control,
				to.samples ? CEILING_DEFAULT_RATE >> to.samples : 0);
}

/* If tracing cannot resume, the next step retries. */
static int set_tracing(struct throttle *throttle)
{
	if (throttle->controller.tracing == throttle->tracing->on)
		return 0;
	if (throttle->controller.tracing) {
		throttle->err = session_trace_calls(throttle->session);
		return 0;
	}
	session_leave_calls(throttle->session);
	/* The totals are those of this window, and must be written before the next begins. */
	return counters_put_calls(throttle->counters);
}

/* CPU time of the programs since the last call, while calls were traced. The kernel visits every
 * thread for this, so it is read only if tracing costs something. 0: it does not. */
static double programs_cpu_ns(struct throttle *throttle, double own_ns, double elapsed_ns)
{
	uint64_t before = throttle->cpu_ns;

	if (!throttle->controller.windows || own_ns < NOTICEABLE * elapsed_ns)
		return 0;
	throttle->cpu_ns = session_traced_cpu(throttle->session);
	return (double)(throttle->cpu_ns - before);
}

/* Traces waits, or stops it; if that cannot resume, the next step retries. */
static void step_waits(struct throttle *throttle, uint64_t now, double cost_ns)
{
	struct duty *duty = &throttle->waits;

	duty->allowed = WAITS_SHARE * throttle->controller.rate / throttle->controller.cpus *
			fmax(throttle->controller.busy, 1);
	duty_step(duty, now, cost_ns);
	counters_set_loss(throttle->counters, LOSS_WAITS_UNTRACED,
			  (duty->off_ns + 999999) / 1000000);
	if (duty->on == throttle->traces_waits)
		return;
	if (!duty->on)
		session_leave_waits(throttle->session);
	throttle->traces_waits = duty->on && !session_trace_waits(throttle->session);
}

int throttle_step(struct throttle *throttle)
{
	double waits = throttle->waits_ns;
	double own = throttle->own_ns, calls = throttle->calls_ns, all = throttle->all_ns;
	uint64_t now = clock_now();
	struct recording_cost cost;

	if (throttle->percent <= 0 || now < throttle->next)
		return 0;
	throttle->next = now + RETRY_NS;
	/* Without figures there is no decision: they will be back, or the recording is over. */
	if (throttle_measure(throttle))
		return 0;
	cost.own_ns = throttle->own_ns - own;
	cost.calls_ns = throttle->calls_ns - calls;
	cost.rest_ns = throttle->all_ns - all - cost.calls_ns;
	cost.cpu_ns =
		programs_cpu_ns(throttle, cost.own_ns, (double)(now - throttle->controller.time));
	throttle->next = controller_step(&throttle->controller, now, &cost);
	if (throttle->trace_waits) {
		step_waits(throttle, now, throttle->waits_ns - waits);
		throttle->next = duty_next(&throttle->waits, throttle->next);
	}
	set_level(throttle);
	return throttle->controller.windows ? set_tracing(throttle) : 0;
}

int throttle_timeout(const struct throttle *throttle, int ms)
{
	uint64_t now = clock_now();

	if (throttle->percent <= 0 || throttle->next >= now + (uint64_t)ms * MS_NS)
		return ms;
	return throttle->next > now ? (int)((throttle->next - now + MS_NS - 1) / MS_NS) : 0;
}

void throttle_skip(struct throttle *throttle, uint64_t ns)
{
	struct controller *controller = &throttle->controller;

	throttle->next += ns;
	controller->time += ns;
	controller->second += ns;
	throttle->waits.time += ns;
	throttle->waits.until += ns;
	if (controller->windows)
		controller->until += ns;
}

int throttle_begin(struct throttle *throttle)
{
	double cpus = fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1);
	int err;

	if (throttle->percent <= 0)
		return 0;
	throttle->tracing = session_calls(throttle->session);
	err = throttle_measure(throttle);
	if (err)
		return err;
	throttle->next = clock_now();
	throttle->controller = (struct controller){
		.rate = throttle->percent / 100 * cpus,
		.cpus = cpus,
		.levels = sizeof(levels) / sizeof(*levels) - 1,
		.windows = throttle->tracing->on && throttle->tracing->counted,
	};
	controller_begin(&throttle->controller, throttle->next);
	throttle->waits.free = UNNOTICED_NS;
	throttle->traces_waits = throttle->trace_waits;
	duty_begin(&throttle->waits, throttle->next);
	counters_watch_calls(throttle->counters, throttle->tracing);
	return 0;
}
