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
#define DEBT_S  -3.0 /* what is not system calls makes no greater debts */

/* Of the rate, what recording takes in a second. */
#define SHARE_QUIET 0.4 /* a level less makes it twice as much as a rule */
#define SHARE_FAR   2.0 /* above, several levels are taken at once */
#define SHARE_CALLS 0.5 /* calls count for no more: beyond that windows hold them down */
enum { LEVELS_FAR = 4 };

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
	controller->least = controller->saved;
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

static void account(struct controller *controller, double elapsed, double calls_ns, double rest_ns)
{
	double worth = controller->options.rate * SECOND_NS;
	double left = controller->saved + controller->options.rate * elapsed - rest_ns;

	left = fmax(left, fmin(controller->saved, DEBT_S * worth));
	controller->saved = fmin(left, BURST_S * worth) - calls_ns;
	controller->least += controller->options.rate * LEAST * elapsed - calls_ns;
	if (controller->tracing) {
		/* No more than a window's worth is saved of it. */
		controller->least =
			fmax(controller->saved, fmin(controller->least, controller->window));
		controller->speed = calls_ns / elapsed;
	}
	controller->calls_ns += calls_ns;
	controller->rest_ns += rest_ns;
}

static void change_level(struct controller *controller, double share)
{
	double worth = controller->options.rate * SECOND_NS;
	unsigned most = 0;

	for (enum throttle_kind kind = 0; kind < THROTTLE_KINDS; kind++)
		most += controller->options.levels[kind];
	if (share > 1 && controller->saved < LOW_S * worth)
		controller->level += share > SHARE_FAR ? LEVELS_FAR : 1;
	else if (share < SHARE_QUIET && controller->saved > HIGH_S * worth && controller->level)
		controller->level--;
	if (controller->level > most)
		controller->level = most;
}

/* Once a second: so soon what a level changes can be seen. */
static void judge(struct controller *controller, uint64_t now)
{
	double allowed = controller->options.rate * (double)(now - controller->second);

	if (now - controller->second < SECOND_NS)
		return;
	change_level(controller,
		     (controller->rest_ns + fmin(controller->calls_ns, allowed * SHARE_CALLS)) /
			     allowed);
	controller->second = now;
	controller->calls_ns = controller->rest_ns = 0;
}

static void open_or_close(struct controller *controller)
{
	double most = fmax(controller->saved, controller->least);

	if (controller->tracing && most < 0 && controller->options.windows) {
		controller->tracing = false;
		draw_window(controller);
	} else if (!controller->tracing && most >= controller->window) {
		controller->tracing = true;
		controller->least = most;
	}
}

/* Until calls have used what is left if they go on as they do; a flood may begin any time. */
static double time_open(const struct controller *controller)
{
	double left = fmax(controller->saved, controller->least);
	double soon = fmax(left / controller->options.cpus, STEP_NS_LOW);

	if (!controller->options.windows)
		return STEP_NS_MAX;
	return controller->speed > 0 ? fmin(soon, left / controller->speed) : soon;
}

/* Until there is enough for a window, at the soonest. */
static double time_closed(const struct controller *controller)
{
	return fmin(controller->window - controller->saved,
		    (controller->window - controller->least) / LEAST) /
	       controller->options.rate;
}

uint64_t controller_step(struct controller *controller, uint64_t now, double calls_ns,
			 double rest_ns)
{
	double ns;

	if (now > controller->time) {
		account(controller, (double)(now - controller->time), calls_ns, rest_ns);
		controller->time = now;
	}
	judge(controller, now);
	open_or_close(controller);
	ns = controller->tracing ? time_open(controller) : time_closed(controller);
	return now + (uint64_t)fmin(fmax(ns, STEP_NS_MIN), STEP_NS_MAX);
}
