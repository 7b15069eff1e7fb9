/* SPDX-License-Identifier: BSD-2-Clause */
/* control.h: the sampling period of programs that run already, set through their control blocks. */
#ifndef GCPROF_CONTROL_H
#define GCPROF_CONTROL_H

#include <stddef.h>
#include <stdint.h>

struct control;

int control_create(struct control **out);

/*
 * Looks for the control block (gc/frame.h) in what a process has mapped and
 * asks for a period in bytes (0: the program's own) and a ceiling in samples a
 * second (0: none). Returns how many blocks there were, or a negative errno.
 */
int control_set(struct control *control, uint32_t proc_pid, uint64_t period, uint64_t ceiling);

/* Sets every block back to what it was, unless the program or somebody else changed it since. */
void control_restore(struct control *control);

/* Restores and frees. NULL is allowed. */
void control_free(struct control *control);

#endif
