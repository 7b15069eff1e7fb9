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

#include "../../util/buffer.h"
#include "../target/control.h"
#include "../machine/options.h"

enum { PROCESSES_MAX = 1024 };

struct sample_gate {
	struct control *control;
	struct buffer processes; /* uint32_t[]: that take samples */
	uint64_t ceiling, least; /* 0: none */
};

int sample_gate_create(struct files *files, struct sample_gate **out)
{
	struct sample_gate *gate = calloc(1, sizeof(*gate));
	int err = gate ? control_create(files, &gate->control) : -ENOMEM;

	if (err) {
		free(gate);
		return err;
	}
	*out = gate;
	return 0;
}

static const uint32_t *processes(const struct sample_gate *gate, size_t *n)
{
	*n = gate->processes.size / sizeof(uint32_t);
	return (const void *)gate->processes.data;
}

static bool is_known(const struct sample_gate *gate, uint32_t proc_pid)
{
	size_t n;
	const uint32_t *all = processes(gate, &n);

	for (size_t i = 0; i < n; i++)
		if (all[i] == proc_pid)
			return true;
	return false;
}

void sample_gate_meet(struct sample_gate *gate, uint32_t proc_pid)
{
	size_t n;

	processes(gate, &n);
	if (!is_known(gate, proc_pid) &&
	    (n == PROCESSES_MAX || buffer_append(&gate->processes, &proc_pid, sizeof(proc_pid))))
		return;
	if (gate->ceiling)
		control_keep(gate->control, proc_pid, gate->ceiling);
}

int sample_gate_set(void *context, unsigned step)
{
	struct sample_gate *gate = context;
	size_t n;
	const uint32_t *all = processes(gate, &n);

	gate->ceiling = step ? CEILING_DEFAULT_RATE >> step : 0;
	if (!step) {
		control_restore(gate->control);
		return 0;
	}
	control_change(gate->control, gate->ceiling);
	for (size_t i = 0; i < n; i++)
		control_keep(gate->control, all[i], gate->ceiling);
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
	buffer_free(&gate->processes);
	free(gate);
}
