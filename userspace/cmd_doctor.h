/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_doctor.h: `gcprof doctor` of a program. */
#ifndef GCPROF_CMD_DOCTOR_H
#define GCPROF_CMD_DOCTOR_H

#include <stdbool.h>

/*
 * Prints what would be recorded of a program and its libraries: of a command (NULL: none), or of
 * the running process with this number, as given. The exit status of gcprof; what fails is
 * reported.
 */
int doctor_program(const char *command, const char *pid, bool json);

#endif
