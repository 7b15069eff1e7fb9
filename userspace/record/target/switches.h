/* SPDX-License-Identifier: BSD-2-Clause */
/* switches.h: switches on the samplers of runtimes, by writing to variables of their programs. */
/*
 * What a runtime's table says is written (runtimes/runtime.h: struct runtime_write) only where the
 * variable has the value that it names, through the opener, and put back at the end. A value that
 * a killed recorder left is taken over, and put back as well. Not thread-safe.
 */
#ifndef GCPROF_SWITCHES_H
#define GCPROF_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/files.h"
#include "../opener/opener.h"
#include "../../../bpf/events.h"

struct switches;

/* `opener` is borrowed. `forbidden`: nothing is written, and a warning says what is missing for
 * that; it names the option that forbids it. NULL: it is allowed. -ENOMEM. */
int switches_create(struct opener *opener, const char *forbidden, struct switches **out);

/* A process has mapped a file, whose places are attached. Does not wait. */
void switches_mapped(struct switches *switches, const struct file *file,
		     const struct event_mmap *event);

/* Does a program of this file have variables that it reads as it starts? */
bool switches_at_start(const struct file *file);

/* Writes those of a process that is stopped before its first instruction. Waits. */
void switches_start(struct switches *switches, struct files *files, uint32_t proc_pid);

/* Looks again at programs that had not set their variables yet, and at what another recorder may
 * have put back. */
void switches_turn(struct switches *switches);

/* Puts everything back, waits for that, though not for ever, and frees. NULL is allowed. */
void switches_free(struct switches *switches);

#endif
