/* SPDX-License-Identifier: BSD-2-Clause */
/* governor.c: keeps what a recording takes of the machine within what the user allows. */
#include "governor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "budget.h"
#include "../kernel/calls_gate.h"
#include "../machine/clock.h"
#include "../world/files.h"
#include "../unwind/unwinder.h"

enum { IDLE_CALLS = 4096 };

#define SECOND_NS   UINT64_C(1000000000)
#define IDLE_NS_MAX 100 /* of a run that has nothing to do */
#define MS_NS       UINT64_C(1000000)
#define JUDGE_NS    SECOND_NS /* between two looks at all of it */
#define CALLS_SHARE 0.5       /* of what is allowed: more than that calls take is for the budget */

/* Steps of savings (savings.h): a quarter of the short calls for each, half of the timer's ticks.
 * With the last step for calls all below SHORT_NS are short, also those in collections: threads
 * that wait for each other's collections make thousands. */
enum { CALLS_STEPS = 4, CALLS_SHIFT = 2, TICKS_STEPS = 3 };

#define SHORT_NS (10 * MS_NS)

/* What is worth a step, events a second; of looks they are calls that were looked at. */
enum { CALLS_MIN = 500, SAMPLES_MIN = 250, TICKS_MIN = 100, LOOKS_MIN = 1000 };

/* Totals become estimates: only if all else was not enough for so many looks. */
enum { LOOKS_LASTING = 10 };

/*
 * The kernel's way to a program and back, ns of a run: a tracepoint, an interrupt, an
 * exception. Of system calls it is measured (calls_gate.h), since they alone may be so many
 * that it matters.
 */
static const double way_ns[COST_PROGRAMS] = {
	[COST_SWITCH] = 30,
	[COST_TICK] = 1000,
	[COST_FAULT] = 200,
	[COST_PROBE] = 1500,
};

struct governor {
	struct ledger *ledger;
	struct session *session;
	const struct store *store;
	const struct files *files;
	struct unwinder *unwinder;
	struct calls_gate *gate;
	struct budget budget;
	double cpus, percent;
	uint64_t begin, next;
	double calls_ns, others_ns; /* so far */
	double begin_ns;            /* both, when the recording began */
	uint64_t unseen_ns;         /* calls were not looked at, in gaps that are over */
	double idle_ns[2];          /* what runs for calls of those who are not followed take */
	double edge_ns;             /* what closing took: the first half of an edge */
	int err;                    /* of the last attempt to open */
	uint64_t short_calls;       /* a second and CPU, that were asked for */
	struct savings savings;
	struct {
		uint64_t time; /* of the last look, ns */
		uint64_t next;
		double calls, others; /* ns of CPU time until then */
		uint64_t events[SAVING_LOOKS];
	} rate;
};

static double cpu_time(clockid_t clock)
{
	struct timespec time = {0};

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double average(const struct cost *cost)
{
	return cost->timed ? (double)cost->ns / (double)cost->timed : 0;
}

/* What a program took so far, from the runs that were timed. */
static double program_time(const struct cost *cost)
{
	return average(cost) * (double)cost->runs;
}

/*
 * What a call took longer on average so far: the way to our programs, which was measured
 * with calls that they had nothing to do with, and what they took beyond that.
 */
static double call_cost(const struct governor *governor, const struct cost costs[COST_PROGRAMS])
{
	double ns = governor->gate->call_ns;

	for (int i = 0; i < 2; i++) {
		double more = average(&costs[i ? COST_EXIT : COST_ENTER]) - governor->idle_ns[i];

		ns += more > 0 ? more : 0;
	}
	return ns;
}

double recorder_cpu_ns(const struct store *store, const struct files *files,
		       struct unwinder *unwinder)
{
	return cpu_time(CLOCK_PROCESS_CPUTIME_ID) +
	       (double)(store_names_cpu_ns(store) + files_cpu_ns(files) +
			unwinder_cpu_ns(unwinder));
}

/* CPU time so far: of looking at calls, and of all else. */
static int measure(const struct governor *governor, double *calls, double *others)
{
	struct cost costs[COST_PROGRAMS];
	int err = session_costs(governor->session, costs);

	if (err)
		return err;
	governor->gate->followed_ns = call_cost(governor, costs);
	*calls = governor->gate->followed_ns * (double)costs[COST_EXIT].runs;
	*others = recorder_cpu_ns(governor->store, governor->files, governor->unwinder);
	for (int program = COST_SWITCH; program < COST_PROGRAMS; program++)
		*others += program_time(&costs[program]) +
			   way_ns[program] * (double)costs[program].runs;
	return 0;
}

static void make_calls(void)
{
	for (int call = 0; call < IDLE_CALLS; call++)
		syscall(SYS_getppid);
}

/* What they take for calls that they have nothing to do with: ours, since we are not followed. So
 * many that they are in the cache, as they are where it matters. */
static int measure_idle(struct governor *governor)
{
	struct cost before[COST_PROGRAMS], after[COST_PROGRAMS];
	int err = session_costs(governor->session, before);

	make_calls();
	err = err ? err : session_costs(governor->session, after);
	for (int i = 0; !err && i < 2; i++) {
		int program = i ? COST_EXIT : COST_ENTER;
		struct cost ours = {
			.timed = after[program].timed - before[program].timed,
			.ns = after[program].ns - before[program].ns,
		};
		double ns = average(&ours);

		governor->idle_ns[i] = ns < IDLE_NS_MAX ? ns : IDLE_NS_MAX;
	}
	return err;
}

static uint32_t short_calls(const struct governor *governor, unsigned step)
{
	unsigned shift = CALLS_SHIFT * (step < CALLS_STEPS ? step : CALLS_STEPS - 1);

	return (uint32_t)(governor->short_calls >> shift);
}

static int save_calls(void *context, unsigned step)
{
	const struct governor *governor = context;

	return session_short_calls(governor->session, short_calls(governor, step),
				   step == CALLS_STEPS ? SHORT_NS : 0);
}

static int save_ticks(void *context, unsigned step)
{
	const struct governor *governor = context;

	return session_slow_timer(governor->session, UINT32_C(1) << step);
}

/* Are there calls that are looked at now and need not be? */
static bool may_close(const struct governor *governor)
{
	return governor->gate->open && governor->gate->programs[1];
}

static int save_looks(void *context, unsigned step)
{
	struct governor *governor = context;

	budget_save(&governor->budget, step != 0);
	return 0;
}

static void set_means(struct governor *governor, const struct governor_means *means)
{
	struct saving *kinds = governor->savings.kinds;

	governor->short_calls = means->short_calls;
	kinds[SAVING_CALLS] = (struct saving){means->short_calls ? CALLS_STEPS : 0, CALLS_MIN, 0,
					      save_calls, governor};
	kinds[SAVING_SAMPLES] = (struct saving){means->samples ? SAMPLE_GATE_STEPS : 0, SAMPLES_MIN,
						0, sample_gate_set, means->samples};
	kinds[SAVING_TICKS] =
		(struct saving){means->timer ? TICKS_STEPS : 0, TICKS_MIN, 0, save_ticks, governor};
	kinds[SAVING_LOOKS] = (struct saving){may_close(governor) ? 1 : 0, LOOKS_MIN, LOOKS_LASTING,
					      save_looks, governor};
}

int governor_create(struct session *session, struct ledger *ledger,
		    const struct governor_means *means, double percent, struct governor **out)
{
	struct governor *governor = calloc(1, sizeof(*governor));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err;

	if (!governor)
		return -ENOMEM;
	governor->session = session;
	governor->ledger = ledger;
	governor->store = means->store;
	governor->files = means->files;
	governor->unwinder = means->unwinder;
	governor->gate = session_calls(session);
	set_means(governor, means);
	governor->cpus = cpus > 0 ? (double)cpus : 1;
	governor->percent = percent;
	governor->begin = governor->next = clock_now();
	err = measure_idle(governor);
	err = err ? err : measure(governor, &governor->calls_ns, &governor->others_ns);
	if (err) {
		free(governor);
		return err;
	}
	governor->begin_ns = governor->calls_ns + governor->others_ns;
	/* Much of what there is to be done in the beginning, such as naming, is over by then. */
	governor->rate.next = governor->begin + JUDGE_NS;
	if (!may_close(governor))
		governor->next = UINT64_MAX;
	budget_begin(&governor->budget, percent / 100 * governor->cpus, governor->begin,
		     governor->begin ^ (uint64_t)getpid() << 32);
	ledger_watch_calls(ledger, governor->gate);
	*out = governor;
	return 0;
}

int governor_timeout(const struct governor *governor, int ms)
{
	uint64_t now = clock_now(), left;

	if (!governor)
		return ms;
	left = governor->next > now ? (governor->next - now + MS_NS - 1) / MS_NS : 0;
	return left < (uint64_t)ms ? (int)left : ms;
}

static uint64_t unseen(const struct governor *governor, uint64_t now)
{
	const struct calls_gate *gate = governor->gate;

	return governor->unseen_ns + (gate->open || !gate->closed ? 0 : now - gate->closed);
}

static void tell_unseen(struct governor *governor, uint64_t now)
{
	ledger_set_loss(governor->ledger, LOSS_SYSCALLS_UNSEEN,
			(unseen(governor, now) + MS_NS - 1) / MS_NS);
}

/* The totals are what was counted in this window: they are written before the next begins. */
static int close_window(struct governor *governor)
{
	calls_gate_close(governor->gate);
	return ledger_put_calls(governor->ledger);
}

static void open_window(struct governor *governor)
{
	uint64_t closed = governor->gate->closed;

	governor->err = calls_gate_open(governor->gate);
	if (governor->err)
		governor->next = clock_now() + SECOND_NS;
	else
		governor->unseen_ns += governor->gate->opened - closed;
}

static int move(struct governor *governor, bool open)
{
	double before = cpu_time(CLOCK_THREAD_CPUTIME_ID), took;
	int err = 0;

	if (open)
		open_window(governor);
	else
		err = close_window(governor);
	took = cpu_time(CLOCK_THREAD_CPUTIME_ID) - before;
	if (open)
		budget_edge(&governor->budget, governor->edge_ns + took);
	governor->edge_ns = took;
	return err;
}

/* Above their share calls are the budget's: to record less of all else would not help. */
static double share_of(const struct governor *governor, double calls, double others, double elapsed)
{
	double allowed = elapsed * governor->cpus * governor->percent / 100;

	return (others + (calls < allowed * CALLS_SHARE ? calls : allowed * CALLS_SHARE)) / allowed;
}

/* Events a second of what can be saved; of looks the calls, of which so much is paid for. */
static void event_rates(struct governor *governor, double calls_ns, double elapsed,
			double rates[SAVINGS])
{
	static const enum stream streams[SAVING_LOOKS] = {STREAM_SYSCALL, STREAM_ALLOC, STREAM_CPU};
	double seconds = elapsed / (double)SECOND_NS;

	for (int kind = 0; kind < SAVING_LOOKS; kind++) {
		uint64_t events = ledger_events(governor->ledger, streams[kind]);

		rates[kind] = (double)(events - governor->rate.events[kind]) / seconds;
		governor->rate.events[kind] = events;
	}
	rates[SAVING_LOOKS] = calls_ns > 0 ? calls_ns / governor->gate->followed_ns / seconds : 0;
}

/*
 * There may be less of some things at once where all together take too much: that makes
 * estimates less precise, but none wrong. The budget of calls has a burst of a minute instead,
 * because what it leaves out is not known; the burst ends where nothing else helps.
 */
static void judge(struct governor *governor, uint64_t now)
{
	double calls, others, elapsed = (double)(now - governor->rate.time), rates[SAVINGS];

	if (now < governor->rate.next)
		return;
	governor->rate.next = now + JUDGE_NS;
	if (measure(governor, &calls, &others))
		return;
	event_rates(governor, calls - governor->rate.calls, elapsed, rates);
	if (governor->rate.time)
		savings_judge(&governor->savings,
			      share_of(governor, calls - governor->rate.calls,
				       others - governor->rate.others, elapsed),
			      rates);
	governor->rate.time = now;
	governor->rate.calls = calls;
	governor->rate.others = others;
}

int governor_look(struct governor *governor)
{
	uint64_t now = clock_now();
	double calls, others;
	struct budget_use use;
	bool open;

	if (!governor)
		return 0;
	judge(governor, now);
	if (now < governor->next)
		return 0;
	/* Without figures nothing is decided: they are back soon, or the recording is over. */
	if (measure(governor, &calls, &others)) {
		governor->next = now + BUDGET_LOOK_NS;
		return 0;
	}
	use.calls = calls - governor->calls_ns;
	use.others = others - governor->others_ns;
	governor->calls_ns = calls;
	governor->others_ns = others;
	open = budget_look(&governor->budget, now, &use, &governor->next);
	if (!governor->gate->open)
		tell_unseen(governor, now);
	return open == governor->gate->open ? 0 : move(governor, open);
}

static uint64_t least_calls(const struct governor *governor)
{
	unsigned step = governor->savings.most[SAVING_CALLS];

	return step ? short_calls(governor, step) : 0;
}

bool governor_finish(struct governor *governor, struct governor_summary *out)
{
	uint64_t now = clock_now();
	double calls, others, all;

	if (!governor)
		return false;
	tell_unseen(governor, now);
	all = (double)(now - governor->begin);
	*out = (struct governor_summary){
		.begin = governor->begin,
		.all_ns = now - governor->begin,
		.seen_ns = now - governor->begin - unseen(governor, now),
		.allowed = governor->percent,
		.stands = 1u << governor->savings.most[SAVING_TICKS],
		.short_calls = least_calls(governor),
		.err = governor->err,
	};
	if (!measure(governor, &calls, &others) && all > 0)
		out->percent = (calls + others - governor->begin_ns) / (all * governor->cpus) * 100;
	return true;
}

void governor_free(struct governor *governor)
{
	free(governor);
}
