/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor.h: gcprof doctor for one program. */
#ifndef GCPROF_COMMANDS_DOCTOR_DOCTOR_H
#define GCPROF_COMMANDS_DOCTOR_DOCTOR_H

#include <stdbool.h>

struct event_mmap;
struct file;
struct opener;

/*
 * Prints what would be recorded for a program and its libraries: a command (NULL: none), or
 * the running process `pid`, as the user typed it. Reports errors; returns gcprof's exit
 * status.
 */
int doctor_program(const char *command, const char *pid, bool json);

/*
 * Why samples of a running process could not be read, which maps a runtime's file; NULL: they
 * could, or it is unknown. Reads variables of the process.
 */
const char *doctor_unreadable(struct opener *opener, const struct file *file,
			      const struct event_mmap *mapping);

#endif
