/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.c: the overhead controller: keeps what recording costs within a share of the machine.
 */
#include "controller.h"

#include <math.h>
#include <stdlib.h>

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

/* Of the bucket: seconds' worth of the rate. */
#define FULL_S 75.0 /* it holds so much at most */
#define HIGH_S 60.0 /* above, levels are taken back */
#define LOW_S  45.0 /* below, they are taken: the rest is for system calls */
#define AIM_S  10.0 /* what windows keep it at */
#define OWED_S 6.0  /* what is not system calls owes no more; calls that owe more are not traced */
#define HALF_S 4.5  /* so much less makes gaps twice as long */

/* Of the rate, what recording takes in a second. */
#define SHARE_QUIET 0.4 /* a level less makes it twice as much as a rule */
#define SHARE_CALLS 0.5 /* calls count for no more: beyond that windows hold them down */

/* Of what flows in, calls that owe more pay so much back whatever all else takes. */
#define LEAST 0.125

/* A window costs so much of the rate on average, and no less than some times what opening and
 * closing it takes. Where a flood begins in it, it costs at most so many times as much. */
#define WINDOW_S      0.5
#define WINDOW_NS_MIN 2e6
#define FLOOD_TIMES   8

#define SPEED_WINDOWS 32             /* that the cost of tracing is averaged over */
#define GAP_NS_MIN    (50.0 * MS_NS) /* the kernel makes windows wait that open sooner */
#define GAP_NS_MAX    (10.0 * SECOND_NS)
#define STEP_NS_MIN   (double)MS_NS
#define STEP_NS_MAX   (200.0 * MS_NS)

static double clamp(double value, double least, double most)
{
	return fmin(fmax(value, least), most);
}

void controller_begin(struct controller *controller, const struct controller_options *options,
		      uint64_t now)
{
	*controller = (struct controller){
		.options = *options,
		.tracing = true,
		.saved = options->rate * FULL_S * SECOND_NS,
		.time = now,
		.second = now,
		.until = now,
		.random = {(unsigned short)options->seed, (unsigned short)(options->seed >> 16),
			   (unsigned short)(options->seed >> 32)},
	};
}

static void account(struct controller *controller, double elapsed, double calls_ns, double rest_ns)
{
	double worth = controller->options.rate * SECOND_NS;
	double income = controller->options.rate * elapsed, saved = controller->saved;

	controller->saved = clamp(saved + income - rest_ns,
				  fmin(saved + LEAST * income, -OWED_S * worth), FULL_S * worth);
	controller->saved -= calls_ns;
	if (controller->tracing)
		controller->speed += (calls_ns / elapsed - controller->speed) /
				     fmin(++controller->windows, SPEED_WINDOWS);
	controller->calls_ns += calls_ns;
	controller->rest_ns += rest_ns;
}

/* Once a second: so soon what a level changes can be seen. */
static void judge(struct controller *controller, uint64_t now)
{
	double worth = controller->options.rate * SECOND_NS;
	double allowed = controller->options.rate * (double)(now - controller->second);
	double used = controller->rest_ns + fmin(controller->calls_ns, allowed * SHARE_CALLS);

	if (now - controller->second < SECOND_NS)
		return;
	if (used > allowed && controller->saved < LOW_S * worth)
		controller->level = (unsigned)fmin(controller->level + used / allowed,
						   controller->options.levels);
	else if (used < allowed * SHARE_QUIET && controller->saved > HIGH_S * worth)
		controller->level -= controller->level > 0;
	controller->second = now;
	controller->calls_ns = controller->rest_ns = 0;
}

/*
 * Windows begin and end when it is time, whatever calls just do: those that end when something is
 * spent end with bursts, and what they saw depends on how long they were. So many windows before,
 * and what is saved, say how long windows and gaps are. Gaps are half to one and a half of that:
 * windows of one distance would see the same part of what repeats itself.
 */
static void open_or_close(struct controller *controller, uint64_t now)
{
	double rate = controller->options.rate, worth = rate * SECOND_NS;
	double seconds = controller->saved / worth;
	double mean = fmax(worth * WINDOW_S, WINDOW_NS_MIN);
	double most = fmax(seconds * worth / 2, FLOOD_TIMES * mean) / controller->options.cpus;
	double length = fmin(mean / controller->speed, most);
	double gap = length * controller->speed / rate * (0.5 + erand48(controller->random)) *
		     exp2((AIM_S - seconds) / HALF_S);

	if (now < controller->until || (!controller->tracing && seconds < -OWED_S))
		return;
	if (controller->tracing && gap < GAP_NS_MIN)
		length = most;
	else
		controller->tracing = !controller->tracing;
	controller->until = now + (uint64_t)(controller->tracing
						     ? clamp(length, STEP_NS_MIN, STEP_NS_MAX)
						     : fmin(gap, GAP_NS_MAX));
}

uint64_t controller_step(struct controller *controller, uint64_t now, double calls_ns,
			 double rest_ns)
{
	double wait = STEP_NS_MAX;

	if (now > controller->time) {
		account(controller, (double)(now - controller->time), calls_ns, rest_ns);
		controller->time = now;
	}
	judge(controller, now);
	if (controller->options.windows) {
		open_or_close(controller, now);
		wait = (double)controller->until - (double)now;
		if (!controller->tracing)
			wait = fmax(wait, -OWED_S * SECOND_NS -
						  controller->saved / controller->options.rate);
	}
	return now + (uint64_t)clamp(wait, STEP_NS_MIN, STEP_NS_MAX);
}
