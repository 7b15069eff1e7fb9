/* SPDX-License-Identifier: BSD-2-Clause */
/* calls_gate.h: the programs that look at system calls: attached, detached, attached again. */
/*
 * As long as any program is attached to the begin or end of system calls, the kernel takes
 * a longer way for every call of every thread on the machine, whoever is recorded. So a
 * program that looks away is not enough: nothing of it may be attached.
 */
#ifndef GCPROF_CALLS_GATE_H
#define GCPROF_CALLS_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_program;
struct bpf_link;

struct calls_gate {
	struct bpf_program *programs[2]; /* end and begin of calls; NULL: not wanted */
	struct bpf_link *links[2];
	volatile uint32_t *epoch; /* the kernel side's calls_epoch and calls_opened */
	volatile uint64_t *since;
	bool open;
	uint64_t opened, closed; /* ns: when it last was; 0: never */
	double call_ns;          /* what a call of somebody who is not followed takes longer */
	double followed_ns;      /* of somebody who is: whoever knows may set it */
	/* Adds up CPU time so far where tracing begins or ends; NULL: nobody needs it. */
	void (*add_cpu)(void *context);
	void *context;
};

/*
 * Opens it. What happens to calls from `opened` on is looked at; the first time, what that
 * costs is measured with calls of our own (less than 2 ms). Takes 0.3 ms as a rule, and up to
 * 20 ms if it was closed within the last 50. A negative errno leaves it closed.
 */
int calls_gate_open(struct calls_gate *gate);

/* Closes it if it is open: calls are looked at until `closed`. */
void calls_gate_close(struct calls_gate *gate);

#endif
