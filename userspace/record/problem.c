/* SPDX-License-Identifier: BSD-2-Clause */
/* problem.c: why something failed, as a sentence for the user. */
#include "problem.h"

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
