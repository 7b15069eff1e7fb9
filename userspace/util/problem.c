/* SPDX-License-Identifier: BSD-2-Clause */
/* problem.c: why something failed, as a sentence for the user. */
#include "problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int problem_set(struct problem *problem, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem->text, sizeof(problem->text), format, arguments);
	va_end(arguments);
	return error;
}

const char *problem_advice(int err)
{
	switch (err) {
	case -EMFILE:
		return "\nTry 'ulimit -n 1024': each map, probe and CPU takes a descriptor.";
	case -ENFILE:
		return "\nThe whole machine has no descriptors left: see sysctl fs.file-max.";
	case -ENOMEM:
		return "\nRings and maps take some 60 MiB: see ulimit -v, and the limit of the "
		       "cgroup.";
	default:
		return "";
	}
}
