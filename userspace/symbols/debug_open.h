/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_open.h: opens candidates for the separate debug file of a program. */
#ifndef GCPROF_DEBUG_OPEN_H
#define GCPROF_DEBUG_OPEN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEBUG_FOLDER "/usr/lib/debug"
#define BUILD_ID_MAX 64 /* bytes */

/* Which file, and where. */
enum debug_kind {
	DEBUG_BY_BUILD_ID, /* DEBUG_FOLDER/.build-id/ab/cdef.debug */
	DEBUG_IN_ROOT, /* the same, in the root directory of the process that has mapped the program
			*/
	DEBUG_BESIDE,  /* by the name in .gnu_debuglink: in the program's folder */
	DEBUG_BELOW,   /* the same, in .debug there */
	DEBUG_ELSEWHERE, /* the same, in DEBUG_FOLDER/the program's folder */
	DEBUG_SHARED,    /* by the name in .gnu_debugaltlink: made by dwz for several programs */
	DEBUG_KINDS,
};

struct debug_wanted {
	uint32_t kind;    /* enum debug_kind */
	uint32_t id_size; /* of the build-id; 0: by name */
	unsigned char id[BUILD_ID_MAX];
	char name[PATH_MAX]; /* "" if not by name */
};

/*
 * Opens the file wanted for the program behind `file`: a descriptor, or -1. The content is not
 * checked. Opens only regular files that everybody may read or the program's owner owns, because
 * the program's file chose the name or the build-id. DEBUG_IN_ROOT finds nothing here.
 */
int debug_open(int file, const struct debug_wanted *wanted);

/* Its two steps: a descriptor (O_PATH) of the candidate, or -1; may it be opened for the program?
 */
int debug_find(int file, const struct debug_wanted *wanted);
bool debug_is_allowed(int file, const struct debug_wanted *wanted, int handle);

/* The path for DEBUG_BY_BUILD_ID; false if the build-id has none. */
bool debug_path(const struct debug_wanted *wanted, char path[PATH_MAX]);

/* How symbols get debug files: debug_open(), or another process with the necessary rights. */
typedef int debug_opener(void *context, int file, const struct debug_wanted *wanted);

struct debug_access {
	debug_opener *open;
	void *context;
};

#endif
