/* SPDX-License-Identifier: BSD-2-Clause */
/* sample_gate.c: lets programs take fewer allocation samples while a recording takes too much. */
/*
 * Samples are not dropped, which would bias estimates: a program is asked for a lower
 * ceiling (gc/frame.h), and raises its period.
 */
#include "sample_gate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../target/control.h"
#include "../machine/options.h"
#include "../world/processes.h"

struct sample_gate {
	struct control *control;
	const struct processes *processes;
	uint64_t ceiling, least; /* 0: none */
};

int sample_gate_create(struct files *files, const struct processes *processes,
		       struct sample_gate **out)
{
	struct sample_gate *gate = calloc(1, sizeof(*gate));
	int err = gate ? control_create(files, &gate->control) : -ENOMEM;

	if (err) {
		free(gate);
		return err;
	}
	gate->processes = processes;
	*out = gate;
	return 0;
}

void sample_gate_meet(struct sample_gate *gate, uint32_t proc_pid)
{
	if (gate->ceiling)
		control_keep(gate->control, proc_pid, gate->ceiling);
}

static void ask(void *context, const struct process *process)
{
	sample_gate_meet(context, process->proc_pid);
}

int sample_gate_set(void *context, unsigned step)
{
	struct sample_gate *gate = context;

	gate->ceiling = step ? CEILING_DEFAULT_RATE >> step : 0;
	if (!step) {
		control_restore(gate->control);
		return 0;
	}
	control_change(gate->control, gate->ceiling);
	processes_sampling(gate->processes, ask, gate);
	if (!gate->least || gate->ceiling < gate->least)
		gate->least = gate->ceiling;
	return 0;
}

uint64_t sample_gate_ceiling(const struct sample_gate *gate)
{
	return gate->ceiling;
}

uint64_t sample_gate_least(const struct sample_gate *gate)
{
	return gate->least;
}

void sample_gate_free(struct sample_gate *gate)
{
	if (!gate)
		return;
	control_free(gate->control);
	free(gate);
}
