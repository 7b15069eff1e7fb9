/* SPDX-License-Identifier: BSD-2-Clause */
/* starters.h: functions that start threads, fibers and programs. */
#ifndef GCPROF_STARTERS_H
#define GCPROF_STARTERS_H

#include <stdbool.h>

/* Does this function call the entry functions of the program? Ignores the argument list in Java's
 * names. */
bool is_starter(const char *name);

#endif
