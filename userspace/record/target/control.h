/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: says to programs that they are recorded, and what is asked of them. */
/*
 * A program that has a control block (gc/provider/frame.h) takes samples only while a row of it is
 * some recorder's. Programs are reached through the opener, asynchronously: a row is filled in a
 * moment later, and only in the program that was meant. Not thread-safe.
 */
#ifndef GCPROF_CONTROL_H
#define GCPROF_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/processes.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct control;

/* What all programs are asked for, as in struct gcprof_request. */
struct control_options {
	bool forbidden; /* nothing is written: programs that are not recorded yet will not be */
	uint64_t period, ceiling, flags;
};

/* Whether a program knows of this recorder. */
struct control_answer {
	int err;        /* it will not: as of opener_memory(), -EPERM: that is forbidden */
	uint32_t was;   /* its `recorded` before that */
	uint64_t since; /* ns */
};

/* The mapping is that of the file whose block it is, at `address`. */
typedef void control_joined(void *context, const struct event_mmap *mapping, uint64_t address,
			    const struct control_answer *answer);

/* `opener` is borrowed. -ENOMEM. */
int control_create(struct opener *opener, const struct control_options *options,
		   struct control **out);

/* Who is to be called; NULL: nobody any more. */
void control_set_visitor(struct control *control, control_joined *joined, void *context);

/*
 * A process has mapped a file, whose probes are attached by now, and has its control block at
 * `address`. 1: the visitor will be called, unless the process ends; 2: it has been, since nothing
 * may be written; 0: it was before. -ENOMEM.
 */
int control_mapped(struct control *control, const struct event_mmap *event, uint64_t address);

/* The child of a fork has the rows that its parent has. -ENOMEM. */
int control_forked(struct control *control, const struct process *child);

/* What a process had mapped before `time` (ns) is gone. */
void control_forget(struct control *control, uint64_t process, uint64_t time);

/* Since when the answer of a program is waited for (ns), but for those that take long; UINT64_MAX:
 * none is. */
uint64_t control_pending(const struct control *control, uint64_t now);

/* Asks all programs for another ceiling from now on, as in struct gcprof_request; how many there
 * are. */
size_t control_ceiling(struct control *control, uint64_t ceiling);

/* How many blocks of a process (as /proc calls it here) have our row; if there is none, why: a
 * negative errno, or 0: it has no block. */
int control_state(const struct control *control, uint32_t proc_pid);

/* Takes back all rows, waits for that, though not for ever, and frees. NULL is allowed. */
void control_free(struct control *control);

#endif
