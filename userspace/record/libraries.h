/* SPDX-License-Identifier: BSD-2-Clause */
/* libraries.h: which files will a program load? */
#ifndef GCPROF_LIBRARIES_H
#define GCPROF_LIBRARIES_H

#include "target.h"

/* One file: the program, a script's interpreter, or a library. */
typedef void libraries_visit(void *context, const char *path);

/*
 * Calls `visit` for the program at `path` (for a script: its interpreter) and
 * for every library that its dynamic linker says it will load. The linker runs
 * as `user` in a child with a time limit. A static program has no libraries.
 * 0, or a negative errno with what was found so far handed out.
 */
int libraries_each(const char *path, const struct target_user *user, libraries_visit *visit,
		   void *context);

#endif
