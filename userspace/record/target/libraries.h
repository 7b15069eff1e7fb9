/* SPDX-License-Identifier: BSD-2-Clause */
/* libraries.h: finds the files that a program will load. */
#ifndef GCPROF_LIBRARIES_H
#define GCPROF_LIBRARIES_H

#include "../world/files.h"
#include "../opener/opener.h"
#include "target.h"

/* The program, a script's interpreter, or a library; `fd` is borrowed. */
typedef void libraries_visit(void *context, const char *path, int fd);

struct libraries;

/*
 * Runs the dynamic linker of the program at `path` (for a script: of its interpreter) in a child,
 * as `user`. The program's file says which linker that is. So the program must be about to run
 * (`runs`), or only root or the user may have written the file; otherwise only libraries beside the
 * program are found. The linker also preloads the library
 * `preload`, if not NULL; that one is not visited. `opener` opens regular files only, with
 * this user's rights; `files` reads the program. Both are borrowed.
 */
int libraries_start(const char *path, bool runs, const struct added_variable *preload,
		    const struct invoker *user, struct opener *opener, struct files *files,
		    struct libraries **out);

/*
 * To be called once. Waits briefly for the linker, and calls `visit` for the program and every
 * library that it will load; a static program has none. 0, or a negative errno after visiting what
 * was found.
 */
int libraries_visit_all(struct libraries *libraries, libraries_visit *visit, void *context);

/* After the visit: whether the linker refused `preload`, or the program with it. */
bool libraries_refused(const struct libraries *libraries);

/* Ends the linker if it still runs. NULL is allowed. */
void libraries_free(struct libraries *libraries);

#endif
