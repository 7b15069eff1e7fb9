/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tracing.c: turns tracing of system calls on and off. */
#include "call_tracing.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../machine/clock.h"

enum { TRIALS = 8, TRIAL_CALLS = 200, CALL_NS_MIN = 20, CALL_NS_MAX = 20000 };

/* What a call takes that does next to nothing: the best of some, because others want the CPU. */
static double call_time(void)
{
	double best = INFINITY;

	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t begin = clock_now();

		for (int call = 0; call < TRIAL_CALLS; call++)
			syscall(SYS_getppid);
		best = fmin(best, (double)(clock_now() - begin) / TRIAL_CALLS);
	}
	return best;
}

static void detach(struct call_tracing *tracing)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(tracing->links[i]);
		tracing->links[i] = NULL;
	}
}

static int attach(struct call_tracing *tracing)
{
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		if (!tracing->programs[i])
			continue;
		tracing->links[i] = bpf_program__attach(tracing->programs[i]);
		err = tracing->links[i] ? 0 : -errno;
	}
	if (err)
		detach(tracing);
	return err;
}

int call_tracing_begin(struct call_tracing *tracing)
{
	double before = tracing->ended ? 0 : call_time();
	int err = attach(tracing);

	if (err)
		return err;
	if (tracing->ended && tracing->add_cpu)
		tracing->add_cpu(tracing->context);
	tracing->begun = clock_now();
	tracing->on = true;
	if (!tracing->ended) {
		tracing->call_ns = fmin(fmax(call_time() - before, CALL_NS_MIN), CALL_NS_MAX);
		return 0;
	}
	tracing->gaps_ns += tracing->begun - tracing->ended;
	*tracing->since = tracing->begun;
	++*tracing->epoch;
	return 0;
}

void call_tracing_end(struct call_tracing *tracing)
{
	if (!tracing->on)
		return;
	if (tracing->add_cpu)
		tracing->add_cpu(tracing->context);
	++*tracing->epoch;
	tracing->ended = clock_now();
	tracing->on = false;
	detach(tracing);
}

uint64_t call_tracing_gaps(const struct call_tracing *tracing)
{
	bool gap = !tracing->on && tracing->ended;

	return tracing->gaps_ns + (gap ? clock_now() - tracing->ended : 0);
}
