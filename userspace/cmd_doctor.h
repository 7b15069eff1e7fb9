/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_doctor.h: gcprof doctor for one program. */
#ifndef GCPROF_CMD_DOCTOR_H
#define GCPROF_CMD_DOCTOR_H

#include <stdbool.h>

/*
 * Prints what would be recorded for a program and its libraries: a command (NULL: none), or
 * the running process `pid`, as the user typed it. Reports errors; returns gcprof's exit
 * status.
 */
int doctor_program(const char *command, const char *pid, bool json);

#endif
