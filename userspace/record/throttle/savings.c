/* SPDX-License-Identifier: BSD-2-Clause */
/* savings.c: what is recorded less of while a recording takes too much, in which order. */
#include "savings.h"

#include <math.h>

enum {
	PATIENCE_MIN = 10,  /* looks */
	PATIENCE_MAX = 160, /* after steps back that were too much */
	STEPS_MAX = 4,      /* at one look */
};

#define SHARE_LOW 0.4 /* a step back makes at most twice of it */
#define SHARE_FAR 0.4 /* above 1: one more step for each of these */

static void set(struct savings *savings, enum saving_kind kind, unsigned step)
{
	struct saving *saving = &savings->kinds[kind];

	if (saving->set(saving->context, step)) {
		saving->steps = savings->step[kind];
		return;
	}
	savings->step[kind] = step;
	if (savings->most[kind] < step)
		savings->most[kind] = step;
}

static bool helps(const struct savings *savings, enum saving_kind kind, double events)
{
	const struct saving *saving = &savings->kinds[kind];

	return savings->step[kind] < saving->steps && events > saving->events_min &&
	       savings->busy >= saving->lasting;
}

/* False if nothing is left that would help. */
static bool save(struct savings *savings, const double events[SAVINGS])
{
	for (enum saving_kind kind = 0; kind < SAVINGS; kind++) {
		if (helps(savings, kind, events[kind])) {
			set(savings, kind, savings->step[kind] + 1);
			savings->busy = 0;
			return true;
		}
	}
	return false;
}

static bool take_back(struct savings *savings)
{
	for (enum saving_kind kind = SAVINGS; kind-- > 0;) {
		if (savings->step[kind]) {
			set(savings, kind, savings->step[kind] - 1);
			return true;
		}
	}
	return false;
}

static void save_more(struct savings *savings, double share, const double events[SAVINGS])
{
	/* What was taken back was needed: the next time more is waited for. */
	if (savings->tried && savings->patience < PATIENCE_MAX)
		savings->patience *= 2;
	savings->tried = false;
	for (int step = 0; step < STEPS_MAX && share > 1 + SHARE_FAR * step; step++)
		if (!save(savings, events))
			return;
}

/* Did it take more than a short spell above what it may take, the one before this look included? */
static bool is_spent(struct savings *savings, double share)
{
	savings->above = fmin(fmax(savings->above + share - 1, 0), SAVINGS_BURST + 1);
	return savings->above > SAVINGS_BURST;
}

void savings_judge(struct savings *savings, double share, const double events[SAVINGS])
{
	if (!savings->patience)
		savings->patience = PATIENCE_MIN;
	if (!is_spent(savings, share) && share > 1)
		share = 1;
	savings->quiet = share < SHARE_LOW ? savings->quiet + 1 : 0;
	savings->busy = share > 1 ? savings->busy + 1 : 0;
	if (share > 1) {
		save_more(savings, share, events);
	} else if (savings->quiet >= savings->patience) {
		savings->tried = take_back(savings);
		savings->quiet = 0;
	}
}
