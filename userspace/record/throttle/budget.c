/* SPDX-License-Identifier: BSD-2-Clause */
/* budget.c: how much CPU time a recorder may take, and when it must not look at system calls. */
#include "budget.h"

#include <math.h>

#define NEXT_MIN_NS UINT64_C(1000000)
/* When little is saved up, and when it is not plenty: a flood may begin any time. */
#define NEXT_LOW_NS  UINT64_C(20000000)
#define NEXT_SOME_NS UINT64_C(100000000)
#define LOW_NS       1e9 /* of the rate */
#define SOME_NS      30e9
#define CYCLE_MIN_NS UINT64_C(200000000)
#define CYCLE_MAX_NS UINT64_C(5000000000)
#define EDGES        0.1 /* of the rate: what opening and closing windows may take */
#define BURST_LOW_NS UINT64_C(10000000000) /* more than any window is saved up for */

/* From 0 to 1: xorshift64*. */
static double draw(struct budget *budget)
{
	uint64_t x = budget->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	budget->random = x;
	return (double)(x * UINT64_C(2685821657736338717) >> 11) / 9007199254740992.0;
}

/* What the next window may use: half of the usual to one and a half. */
static void draw_window(struct budget *budget)
{
	budget->wanted = budget->rate * (double)budget->cycle_ns * (0.5 + draw(budget));
}

void budget_begin(struct budget *budget, double rate, uint64_t now, uint64_t seed)
{
	*budget = (struct budget){
		.rate = rate,
		.saved = rate * (double)BUDGET_BURST_NS,
		.burst = rate * (double)BUDGET_BURST_NS,
		.least = BUDGET_CALLS_MIN,
		.open = true,
		.time = now,
		.cycle_ns = CYCLE_MIN_NS,
		.random = seed ? seed : 1,
	};
	draw_window(budget);
}

/* ns of CPU time that are saved up in a ns while calls are not looked at. */
static double fill_rate(const struct budget *budget)
{
	double left = budget->rate - budget->others, least = budget->rate * budget->least;

	return left > least ? left : least;
}

/* In how many ns what is saved up will have changed by this much; at most BUDGET_LOOK_NS. */
static uint64_t time_for(double change, double speed)
{
	double ns = speed > 0 ? change / speed : (double)BUDGET_LOOK_NS;

	if (ns >= (double)BUDGET_LOOK_NS)
		return BUDGET_LOOK_NS;
	return ns > (double)NEXT_MIN_NS ? (uint64_t)ns : NEXT_MIN_NS;
}

/* Until what is saved up is spent, if calls go on as they do. */
static uint64_t time_left(const struct budget *budget)
{
	uint64_t ns = time_for(budget->saved, budget->calls - fill_rate(budget));
	uint64_t most = budget->saved < budget->rate * LOW_NS    ? NEXT_LOW_NS
			: budget->saved < budget->rate * SOME_NS ? NEXT_SOME_NS
								 : BUDGET_LOOK_NS;

	return ns < most ? ns : most;
}

static void account(struct budget *budget, double elapsed, const struct budget_use *use)
{
	double weight;

	if (elapsed <= 0)
		return;
	/* As long as there was no minute yet: the average of all that there was. */
	budget->told += elapsed;
	weight = fmax(-expm1(-elapsed / (double)BUDGET_BURST_NS), elapsed / budget->told);
	budget->others += weight * (use->others / elapsed - budget->others);
	budget->saved += fill_rate(budget) * elapsed - use->calls;
	if (budget->saved > budget->burst)
		budget->saved = budget->burst;
	if (budget->open)
		budget->calls = use->calls / elapsed;
}

bool budget_look(struct budget *budget, uint64_t now, const struct budget_use *use, uint64_t *next)
{
	account(budget, now > budget->time ? (double)(now - budget->time) : 0, use);
	budget->time = now;
	if (budget->open && budget->saved < 0) {
		budget->open = false;
		draw_window(budget);
	} else if (!budget->open && budget->saved >= budget->wanted) {
		budget->open = true;
	}
	*next = now + (budget->open ? time_left(budget)
				    : time_for(budget->wanted - budget->saved, fill_rate(budget)));
	return budget->open;
}

void budget_save(struct budget *budget, bool on)
{
	budget->burst = budget->rate * (double)(on ? BURST_LOW_NS : BUDGET_BURST_NS);
	budget->least = on ? BUDGET_CALLS_MIN / 2 : BUDGET_CALLS_MIN;
	if (on && budget->saved > budget->wanted)
		budget->saved = budget->wanted;
}

void budget_edge(struct budget *budget, double ns)
{
	double cycle = ns / (budget->rate * EDGES);

	budget->cycle_ns = cycle < (double)CYCLE_MIN_NS   ? CYCLE_MIN_NS
			   : cycle > (double)CYCLE_MAX_NS ? CYCLE_MAX_NS
							  : (uint64_t)cycle;
}
