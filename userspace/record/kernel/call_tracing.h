/* SPDX-License-Identifier: BSD-2-Clause */
/* call_tracing.h: turns tracing of system calls on and off. */
/*
 * As long as any program is attached to the begin or end of system calls, the kernel takes a
 * longer way for every call of every thread on the machine, whether it is recorded or not. So a
 * program that does nothing is not enough: none may be attached.
 */
#ifndef GCPROF_CALL_TRACING_H
#define GCPROF_CALL_TRACING_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct bpf_link;

struct call_tracing {
	struct bpf_program *programs[2]; /* end and begin of calls; NULL: not wanted */
	struct bpf_link *links[2];
	volatile uint32_t *epoch; /* the kernel side's calls_epoch and calls_opened */
	volatile uint64_t *since;
	bool on;
	uint64_t begun, ended; /* ns: when it last did; 0: never */
	uint64_t gaps_ns;      /* in which tracing was off, those that are over */
	double call_ns;        /* what a call takes longer while it is traced; set by others */
	/* Adds up CPU time so far where a tracing window begins or ends; NULL: not needed. */
	void (*add_cpu)(void *context);
	void *context;
};

/* Calls are traced from `begun` on. Takes 0.3 ms as a rule, and up to 20 ms if tracing ended within
 * the last 50. A negative errno leaves it off. */
int call_tracing_begin(struct call_tracing *tracing);

/* If it is on: calls are traced until `ended`. */
void call_tracing_end(struct call_tracing *tracing);

/* For how long tracing was off so far since it first began, ns. */
uint64_t call_tracing_gaps(const struct call_tracing *tracing);

#endif
