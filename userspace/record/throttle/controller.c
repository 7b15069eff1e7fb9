/* SPDX-License-Identifier: BSD-2-Clause */
/* controller.c: the overhead controller: keeps what recording costs within a share of the machine.
 */
#include "controller.h"

#include <math.h>
#include <stdlib.h>

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

/* Of the bucket: seconds' worth of the rate. */
#define BURST_S 60.0 /* it holds so much at most */
#define HIGH_S  45.0 /* above, levels are taken back */
#define LOW_S   30.0 /* below, they are taken: the rest is for bursts of system calls */
#define OWED_S  3.0  /* what is not system calls owes no more */

/* Of the rate, what recording takes in a second. */
#define SHARE_QUIET 0.4 /* a level less makes it twice as much as a rule */
#define SHARE_CALLS 0.5 /* calls count for no more: beyond that windows hold them down */

/* Of the rate, what system calls have in any case. */
#define LEAST 0.125

/* A window costs so much of the rate on average, and no less than some times what opening and
 * closing it takes. */
#define WINDOW_S      0.5
#define WINDOW_NS_MIN 2e6

#define STEP_NS_MIN (double)MS_NS
#define STEP_NS_LOW (20.0 * MS_NS) /* unless calls are known to be many */
#define STEP_NS_MAX (200.0 * MS_NS)

/* Half to one and a half of the mean: windows of one distance would see the same part of what
 * repeats itself. */
static void draw_window(struct controller *controller)
{
	double mean = fmax(controller->options.rate * WINDOW_S * SECOND_NS, WINDOW_NS_MIN);

	controller->window = mean * (0.5 + erand48(controller->random));
}

void controller_begin(struct controller *controller, const struct controller_options *options,
		      uint64_t now)
{
	*controller = (struct controller){
		.options = *options,
		.tracing = true,
		.saved = options->rate * BURST_S * SECOND_NS,
		.time = now,
		.second = now,
		.random = {(unsigned short)options->seed, (unsigned short)(options->seed >> 16),
			   (unsigned short)(options->seed >> 32)},
	};
	draw_window(controller);
}

unsigned controller_level(const struct controller *controller, enum throttle_kind kind)
{
	const unsigned *levels = controller->options.levels;
	unsigned level = controller->level;

	for (enum throttle_kind i = 0; i < kind; i++)
		level -= level < levels[i] ? level : levels[i];
	return level < levels[kind] ? level : levels[kind];
}

/* System calls pay at once, all else from what they leave: it never takes the last window's worth,
 * nor all that flows in. */
static void account(struct controller *controller, double elapsed, double calls_ns, double rest_ns)
{
	double worth = controller->options.rate * SECOND_NS;
	double income = controller->options.rate * elapsed, owed = controller->owed + rest_ns;
	double paid =
		fmin(owed, fmax(controller->saved - controller->window, 0) + income * (1 - LEAST));

	controller->owed = fmin(owed - paid, OWED_S * worth);
	controller->saved = fmin(controller->saved + income - paid, BURST_S * worth) - calls_ns;
	if (controller->tracing)
		controller->speed = calls_ns / elapsed;
	controller->calls_ns += calls_ns;
	controller->rest_ns += rest_ns;
}

/* Once a second: so soon what a level changes can be seen. */
static void judge(struct controller *controller, uint64_t now)
{
	double worth = controller->options.rate * SECOND_NS;
	double allowed = controller->options.rate * (double)(now - controller->second);
	double used = controller->rest_ns + fmin(controller->calls_ns, allowed * SHARE_CALLS);
	unsigned most = 0;

	if (now - controller->second < SECOND_NS)
		return;
	for (enum throttle_kind kind = 0; kind < THROTTLE_KINDS; kind++)
		most += controller->options.levels[kind];
	if (used > allowed && controller->saved < LOW_S * worth)
		controller->level = (unsigned)fmin(controller->level + used / allowed, most);
	else if (used < allowed * SHARE_QUIET && controller->saved > HIGH_S * worth)
		controller->level -= controller->level > 0;
	controller->second = now;
	controller->calls_ns = controller->rest_ns = 0;
}

static void open_or_close(struct controller *controller)
{
	if (controller->tracing && controller->saved < 0 && controller->options.windows) {
		controller->tracing = false;
		draw_window(controller);
	} else if (controller->saved >= controller->window) {
		controller->tracing = true;
	}
}

/* Until calls may have used what is left, or there may be enough for a window. While calls are few
 * they are not expected to use all CPUs the next moment. */
static double time_left(const struct controller *controller)
{
	double left = controller->saved;

	if (!controller->tracing)
		return (controller->window - left) / controller->options.rate;
	if (!controller->options.windows)
		return STEP_NS_MAX;
	return fmin(fmax(left / controller->options.cpus, STEP_NS_LOW), left / controller->speed);
}

uint64_t controller_step(struct controller *controller, uint64_t now, double calls_ns,
			 double rest_ns)
{
	if (now > controller->time) {
		account(controller, (double)(now - controller->time), calls_ns, rest_ns);
		controller->time = now;
	}
	judge(controller, now);
	open_or_close(controller);
	return now + (uint64_t)fmin(fmax(time_left(controller), STEP_NS_MIN), STEP_NS_MAX);
}
