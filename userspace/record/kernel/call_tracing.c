/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tracing.c: turns tracing of system calls on and off. */
#include "call_tracing.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../machine/clock.h"

enum { TRIALS = 8, TRIAL_CALLS = 200, CALL_NS_MIN = 20, CALL_NS_MAX = 20000 };

/* What a call takes that does next to nothing: the best of some, because others want the CPU. */
static double call_time(void)
{
	double best = 0;

	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t begin = clock_now();
		double ns;

		for (int call = 0; call < TRIAL_CALLS; call++)
			syscall(SYS_getppid);
		ns = (double)(clock_now() - begin) / TRIAL_CALLS;
		best = trial && best < ns ? best : ns;
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
	for (int i = 0; i < 2; i++) {
		if (!tracing->programs[i])
			continue;
		tracing->links[i] = bpf_program__attach(tracing->programs[i]);
		if (!tracing->links[i]) {
			int err = -errno;

			detach(tracing);
			return err;
		}
	}
	return 0;
}

static double within(double ns)
{
	return ns < CALL_NS_MIN ? CALL_NS_MIN : ns > CALL_NS_MAX ? CALL_NS_MAX : ns;
}

int call_tracing_begin(struct call_tracing *tracing)
{
	bool first = !tracing->call_ns;
	double before = first ? call_time() : 0;
	int err = attach(tracing);

	if (err)
		return err;
	if (tracing->ended && tracing->add_cpu)
		tracing->add_cpu(tracing->context);
	tracing->begun = clock_now();
	if (tracing->ended) {
		tracing->untraced_ns += tracing->begun - tracing->ended;
		*tracing->since = tracing->begun;
		++*tracing->epoch;
	}
	tracing->on = true;
	if (first)
		tracing->call_ns = within(call_time() - before);
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
