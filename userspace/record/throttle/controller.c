/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.c: the overhead controller: keeps the cost of recording within a share of the
 * machine. */
#include "throttle.h"

#include <math.h>
#include <stdlib.h>

#define MS_NS     1e6
#define SECOND_NS 1e9

/* The bucket, in time at the allowed rate. */
#define FULL_NS (75 * SECOND_NS) /* its capacity */
#define HIGH_NS (60 * SECOND_NS) /* above, throttle levels are reverted */
#define LOW_NS  (45 * SECOND_NS) /* below, they are taken: the rest is for system calls */
#define AIM_NS  (10 * SECOND_NS) /* the target of windows */
#define OWED_NS \
	(6 * SECOND_NS) /* debt beyond which calls are not traced; other costs owe no more */
#define HALF_NS (4.5 * SECOND_NS) /* each such deficit doubles the gaps */

/* Shares of the allowance per second. */
#define SHARE_QUIET 0.4 /* below, a level is reverted, which usually doubles the cost */
#define SHARE_CALLS 0.5 /* the most that calls count for: beyond it windows limit them */

/* The part of the inflow that pays back the debt of calls, whatever other costs are. */
#define LEAST 0.125

/* The average cost of a window, and its minimum, a multiple of the cost of opening and closing it.
 * A flood that begins in a window costs at most FLOOD_TIMES as much. */
#define WINDOW_NS     (0.5 * SECOND_NS)
#define WINDOW_CPU_NS (2 * MS_NS)
#define FLOOD_TIMES   8

/* The most that tracing may take of the programs' CPU time: a multiple of what recording may take
 * of the machine's. Before, it may take UNNOTICED_NS of that share of one CPU. */
#define SLOWDOWN     5
#define UNNOTICED_NS (2.5 * SECOND_NS)

#define SPEED_WINDOWS 32 /* over which the cost of tracing is averaged */
#define FEW_WINDOWS   8
#define GAP_NS_MIN    (50 * MS_NS) /* the kernel delays windows that open sooner */
#define GAP_NS_MAX    (10 * SECOND_NS)
#define STEP_NS_MIN   MS_NS
#define STEP_NS_FIRST (20 * MS_NS) /* the first steps are short: nothing is known yet */
#define STEP_NS_MAX   (200 * MS_NS)

static double clamp(double value, double least, double most)
{
	return fmin(fmax(value, least), most);
}

void controller_begin(struct controller *controller, uint64_t now)
{
	controller->tracing = true;
	controller->saved = FULL_NS;
	controller->credit = UNNOTICED_NS * controller->rate / controller->cpus;
	controller->busy = 1;
	controller->time = controller->second = now;
	controller->until = controller->windows ? now : UINT64_MAX;
	for (int i = 0; i < 3; i++)
		controller->random[i] = (unsigned short)(now >> 16 * i);
}

/*
 * Has tracing slowed the programs down noticeably? From then on their own CPU time limits it. This
 * is decided once: if it depended on the latest calls, gaps would follow bursts.
 */
static void account_slowdown(struct controller *controller, double elapsed,
			     const struct recording_cost *cost)
{
	double share = controller->rate / controller->cpus; /* of the machine */

	if (cost->cpu_ns > 0)
		controller->busy += (fmax(cost->cpu_ns / elapsed, 1) - controller->busy) /
				    fmin(controller->opened, SPEED_WINDOWS);
	if (controller->slowing)
		return;
	controller->credit += SLOWDOWN * share * controller->busy * elapsed - cost->own_ns;
	controller->credit = fmin(controller->credit, UNNOTICED_NS * share);
	if (controller->credit > 0)
		return;
	controller->slowing = true;
	controller->opened = fmin(controller->opened, FEW_WINDOWS); /* older costs count less */
}

static void account(struct controller *controller, double elapsed,
		    const struct recording_cost *cost)
{
	double calls = cost->calls_ns / controller->rate, own = cost->own_ns / controller->rate;
	double rest = cost->rest_ns / controller->rate, saved = controller->saved;
	double least = fmin(saved + LEAST * elapsed, -OWED_NS);

	controller->saved = clamp(saved + elapsed - rest, least, FULL_NS) - calls;
	if (controller->tracing) {
		controller->opened++;
		controller->speed += (calls / elapsed - controller->speed) /
				     fmin(controller->opened, SPEED_WINDOWS);
		controller->own_speed += (own / elapsed - controller->own_speed) /
					 fmin(controller->opened, SPEED_WINDOWS);
	}
	controller->calls += calls;
	controller->rest += rest;
}

/* Once a second: by then the effect of a level shows. */
static void controller_judge(struct controller *controller, uint64_t now)
{
	double elapsed = (double)(now - controller->second);
	double used = controller->rest + fmin(controller->calls, elapsed * SHARE_CALLS);

	if (elapsed < SECOND_NS)
		return;
	if (used > elapsed && controller->saved < LOW_NS)
		controller->level =
			(unsigned)fmin(controller->level + used / elapsed, controller->levels);
	else if (used < elapsed * SHARE_QUIET && controller->saved > HIGH_NS)
		controller->level -= controller->level > 0;
	controller->second = now;
	controller->calls = controller->rest = 0;
}

/* Windows begin and end by time alone, whatever calls do, and at random; estimates would otherwise
 * be biased (../README.md). */
static void open_or_close(struct controller *controller, uint64_t now)
{
	double cost = fmax(WINDOW_NS, WINDOW_CPU_NS / controller->rate);
	double most = fmax(controller->saved / 2, FLOOD_TIMES * cost) * controller->rate /
		      controller->cpus;
	/* What the gaps must be relative to the windows, for the machine and for the programs. */
	double machine = controller->speed * exp2((AIM_NS - controller->saved) / HALF_NS);
	double programs =
		controller->slowing
			? controller->own_speed * controller->cpus / controller->busy / SLOWDOWN - 1
			: 0;
	double length = machine >= programs
				? fmin(cost / controller->speed, most)
				: fmax(WINDOW_CPU_NS / controller->rate / controller->speed,
				       2 * GAP_NS_MIN / programs);
	double gap = length * fmax(machine, programs) * (0.5 + erand48(controller->random));

	if (now < controller->until)
		return;
	if (!controller->tracing && controller->saved < -OWED_NS) {
		controller->until = now + (uint64_t)(-OWED_NS - controller->saved);
		return;
	}
	if (controller->tracing && gap < GAP_NS_MIN)
		length = most;
	else
		controller->tracing = !controller->tracing;
	length = clamp(length, STEP_NS_MIN,
		       fmin((controller->opened + 1) * STEP_NS_FIRST, STEP_NS_MAX));
	controller->until = now + (uint64_t)(controller->tracing ? length : fmin(gap, GAP_NS_MAX));
}

bool controller_is_short(const struct controller *controller)
{
	return controller->saved < LOW_NS;
}

uint64_t controller_step(struct controller *controller, uint64_t now,
			 const struct recording_cost *cost)
{
	double elapsed = (double)(now - controller->time);

	if (now > controller->time) {
		account(controller, elapsed, cost);
		account_slowdown(controller, elapsed, cost);
	}
	controller->time = now;
	controller_judge(controller, now);
	open_or_close(controller, now);
	return now +
	       (uint64_t)clamp((double)controller->until - (double)now, STEP_NS_MIN, STEP_NS_MAX);
}

#define MS_NS           1e6
#define DUTY_WINDOW_NS  (100 * MS_NS)
#define DUTY_GAP_NS_MIN (100 * MS_NS) /* shorter ones cost more than they save */
#define DUTY_GAP_NS_MAX (10000 * MS_NS)
#define SPEED_STEP      0.25 /* weight of the last step in the cost while on */

void duty_begin(struct duty *duty, uint64_t now)
{
	duty->on = true;
	duty->credit = duty->free;
	duty->time = duty->until = now;
	for (int i = 0; i < 3; i++)
		duty->random[i] = (unsigned short)(now >> 16 * i);
}

void duty_step(struct duty *duty, uint64_t now, double cost_ns)
{
	double elapsed = (double)(now - duty->time), gap;

	if (now <= duty->time)
		return;
	duty->time = now;
	duty->credit = fmin(duty->credit + duty->allowed * elapsed - cost_ns, duty->free);
	if (duty->on)
		duty->speed += (cost_ns / elapsed - duty->speed) * SPEED_STEP;
	else
		duty->off_ns += (uint64_t)elapsed;
	if (now < duty->until || (duty->on && duty->credit > 0))
		return;
	gap = (duty->speed * DUTY_WINDOW_NS - duty->credit) / duty->allowed - DUTY_WINDOW_NS;
	gap = fmin(fmax(gap, DUTY_GAP_NS_MIN) * (0.5 + erand48(duty->random)), DUTY_GAP_NS_MAX);
	duty->on = !duty->on;
	duty->until = now + (uint64_t)(duty->on ? DUTY_WINDOW_NS : gap);
}
