/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: registers the recorder and its settings in programs' control blocks. */
/*
 * A program with a control block (gc/provider/frame.h) takes samples only while a recorder has a
 * row in it. Rows are written through the opener, asynchronously, and only in the intended program.
 * Not thread-safe.
 */
#ifndef GCPROF_CONTROL_H
#define GCPROF_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/processes.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct control;

/* Settings for all programs, as in struct gcprof_request. */
struct control_options {
	bool forbidden; /* nothing is written: programs not yet recorded stay so */
	uint64_t period, ceiling, flags;
};

/* Does a program know of this recorder? */
struct control_answer {
	int err;        /* it will not: as opener_memory(); -EPERM: forbidden */
	uint32_t was;   /* its previous `recorded` */
	uint64_t since; /* ns */
};

/* The mapping is of the file with the control block, at `address`. */
typedef void control_joined(void *context, const struct event_mmap *mapping, uint64_t address,
			    const struct control_answer *answer);

/* `opener` is borrowed. -ENOMEM. */
int control_create(struct opener *opener, const struct control_options *options,
		   struct control **out);

/* Sets the function to call; NULL: none. */
void control_set_visitor(struct control *control, control_joined *joined, void *context);

/*
 * A process of `user` mapped a file, which is attached, with a control block at `address`. 1: the
 * visitor will be called, unless the process ends; 2: it was called, since nothing may be written;
 * 0: it was called before. -ENOMEM.
 */
int control_mapped(struct control *control, const struct event_mmap *event, uint64_t address,
		   uint32_t user);

/* The child of a fork has its parent's rows. -ENOMEM. */
int control_forked(struct control *control, const struct process *child);

/* The mappings of a process from before `time` (ns) are gone. */
void control_forget(struct control *control, uint64_t process, uint64_t time);

/* Begin of the oldest wait for a program's answer (ns), except those that take long; UINT64_MAX:
 * none. */
uint64_t control_pending(const struct control *control, uint64_t now);

/* Sets another ceiling in all programs, as in struct gcprof_request. Returns their number. */
size_t control_ceiling(struct control *control, uint64_t ceiling);

/* Stops sampling in all programs, or resumes it. Names and outcomes are still reported. */
void control_pause(struct control *control, bool on);

/* How many control blocks of a process (pid in /proc here) have our row. If none, the reason: a
 * negative errno, or 0: it has no control block. */
int control_state(const struct control *control, uint32_t proc_pid);

/* Removes all rows, waits for that for a limited time, and frees. NULL is allowed. */
void control_free(struct control *control);

#endif
