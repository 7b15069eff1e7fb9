/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: what programs that run already are asked for: a sampling period, their names. */
#ifndef GCPROF_CONTROL_H
#define GCPROF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../bpf/events.h"

struct control;

int control_create(struct control **out);

/*
 * Looks for the control block (gc/frame.h) in what a process has mapped and
 * asks for a period in bytes (0: the program's own) and a ceiling in samples a
 * second (0: none). Returns how many blocks there were, or a negative errno.
 */
int control_set(struct control *control, uint32_t proc_pid, uint64_t period, uint64_t ceiling);

/* Does a block of this process still say what it was asked for? */
bool control_has(const struct control *control, uint32_t proc_pid);

/* Asks for another ceiling where one was asked for. */
void control_change(struct control *control, uint64_t ceiling);

/*
 * Nobody records: what a program is still asked for was left by a recorder that was killed, and is
 * taken back. Returns how many blocks that were, or a negative errno.
 */
int control_reclaim(uint32_t proc_pid);

/*
 * Asks a program to tell each of its collections by itself, until control_restore().
 * Returns how many collectors were asked, or a negative errno.
 */
int control_singly(struct control *control, uint32_t proc_pid);

/* To be called once the probes are attached: asks again where a program thought that whoever
 * asked is gone. NULL is allowed. */
void control_repeat(struct control *control);

/*
 * Tells a program that one more listens, which it cannot see by itself while
 * another one does: so it names its types, functions and threads again. To be
 * called once the probes of the file are attached, which is open and was mapped like this.
 * 1 if it was told, 0 if there is no collector that can be, or a negative errno.
 */
int control_arrive(const struct event_mmap *mapping, int fd);

/* Takes back what was asked for: sets every block back to what it was, unless the program or
 * somebody else changed it since. */
void control_restore(struct control *control);

/* Restores and frees. NULL is allowed. */
void control_free(struct control *control);

#endif
