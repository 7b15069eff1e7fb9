/* SPDX-License-Identifier: BSD-2-Clause */
/* libraries.h: which files will a program load? */
#ifndef GCPROF_LIBRARIES_H
#define GCPROF_LIBRARIES_H

#include "../world/files.h"
#include "../opener/opener.h"
#include "target.h"

/* One file: the program, a script's interpreter, or a library; `fd` is borrowed. */
typedef void libraries_visit(void *context, const char *path, int fd);

struct libraries;

/*
 * Asks the dynamic linker of the program at `path` (for a script: of its interpreter),
 * which works in a child, as `user`, from now on. Only regular files that this user may read are
 * opened, by `opener`; `files` reads the program. Both are borrowed.
 */
int libraries_start(const char *path, const struct invoker *user, struct opener *opener,
		    struct files *files, struct libraries **out);

/*
 * Once: waits for the linker, but not for long, and calls `visit` for the program and for
 * every library that it said it will load: of a static program none. 0, or a negative
 * errno with what was found so far handed out.
 */
int libraries_visit_all(struct libraries *libraries, libraries_visit *visit, void *context);

/* Ends the linker, if it is still at work. NULL is allowed. */
void libraries_free(struct libraries *libraries);

#endif
