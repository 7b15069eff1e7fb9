/* SPDX-License-Identifier: BSD-2-Clause */
/* problem.c: the reason for a failure, as a sentence for the user. */
#include "problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "escape.h"

int problem_set(struct problem *problem, int error, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	text = escape_format(format, arguments);
	va_end(arguments);
	snprintf(problem->text, sizeof(problem->text), "%s", text ? text : "no memory");
	free(text);
	return error;
}

const char *problem_advice(int err)
{
	switch (err) {
	case -EMFILE:
		return ". Try 'ulimit -n 1024': each map, probe and CPU needs a descriptor.";
	case -ENFILE:
		return ". The machine has no descriptors left: see sysctl fs.file-max.";
	case -ENOMEM:
		return ". Rings and maps need some 60 MiB: see ulimit -v, and the limit of the "
		       "cgroup.";
	default:
		return "";
	}
}
