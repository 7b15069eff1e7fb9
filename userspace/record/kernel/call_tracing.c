/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tracing.c: turns tracing of system calls on and off. */
#include "call_tracing.h"

#include <bpf/libbpf.h>
#include <errno.h>

#include "../machine/clock.h"

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
	int err = attach(tracing);

	if (err)
		return err;
	if (tracing->ended && tracing->add_cpu)
		tracing->add_cpu(tracing->context);
	tracing->begun = clock_now();
	tracing->on = true;
	if (!tracing->ended)
		return 0;
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
