/* SPDX-License-Identifier: BSD-2-Clause */
/* joins.c: since when the providers of existing programs know of this recorder. */
#include "joins.h"

/* NULL: beyond PROCESS_JOINS, nothing is left out. */
static struct process_join *joins_find(struct process *process, uint8_t provider)
{
	uint8_t i = 0;

	while (i < process->n_joins && process->joins[i].provider != provider)
		i++;
	if (i == PROCESS_JOINS)
		return NULL;
	if (i == process->n_joins)
		process->joins[process->n_joins++] = (struct process_join){.provider = provider};
	return &process->joins[i];
}

void joins_begin(struct process *process, uint8_t provider)
{
	struct process_join *join = joins_find(process, provider);

	if (join)
		*join = (struct process_join){provider, process->program, UINT64_MAX};
}

void joins_end(struct process *process, uint8_t provider, uint64_t since)
{
	struct process_join *join = joins_find(process, provider);

	if (join)
		join->until = since;
}

void joins_exec(struct process *process, uint64_t time)
{
	for (uint8_t i = 0; i < process->n_joins; i++)
		if (process->joins[i].until > time)
			process->joins[i].until = time;
}

bool joins_any(const struct process *process)
{
	for (uint8_t i = 0; i < process->n_joins; i++)
		if (process->joins[i].until)
			return true;
	return false;
}

bool joins_leave_out(const struct process *process, uint8_t provider, uint64_t time)
{
	for (uint8_t i = 0; i < process->n_joins; i++)
		if (process->joins[i].provider == provider)
			return time >= process->joins[i].from && time < process->joins[i].until;
	return false;
}
