/* SPDX-License-Identifier: BSD-2-Clause */
/* calls_gate.c: the programs that look at system calls: attached, detached, attached again. */
#include "calls_gate.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../machine/clock.h"

enum { ADD_TURNS = 3, ADD_NS_MAX = 500000 };
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

static void detach(struct calls_gate *gate)
{
	for (int i = 0; i < 2; i++) {
		bpf_link__destroy(gate->links[i]);
		gate->links[i] = NULL;
	}
}

static int attach(struct calls_gate *gate)
{
	for (int i = 0; i < 2; i++) {
		if (!gate->programs[i])
			continue;
		gate->links[i] = bpf_program__attach(gate->programs[i]);
		if (!gate->links[i]) {
			int err = -errno;

			detach(gate);
			return err;
		}
	}
	return 0;
}

/* Whoever lost the CPU over it does it again: what follows is to be the same moment. */
static void add_cpu(const struct calls_gate *gate)
{
	uint64_t begin;
	int turns = 0;

	do {
		begin = clock_now();
		if (gate->add_cpu)
			gate->add_cpu(gate->context);
	} while (clock_now() - begin > ADD_NS_MAX && ++turns < ADD_TURNS);
}

static double within(double ns)
{
	return ns < CALL_NS_MIN ? CALL_NS_MIN : ns > CALL_NS_MAX ? CALL_NS_MAX : ns;
}

int calls_gate_open(struct calls_gate *gate)
{
	bool first = !gate->call_ns;
	double before = first ? call_time() : 0;
	int err = attach(gate);

	if (err)
		return err;
	if (gate->closed)
		add_cpu(gate);
	gate->opened = clock_now();
	if (gate->closed) {
		*gate->since = gate->opened;
		++*gate->epoch;
	}
	gate->open = true;
	if (first)
		gate->call_ns = within(call_time() - before);
	return 0;
}

void calls_gate_close(struct calls_gate *gate)
{
	if (!gate->open)
		return;
	add_cpu(gate);
	++*gate->epoch;
	gate->closed = clock_now();
	gate->open = false;
	detach(gate);
}
