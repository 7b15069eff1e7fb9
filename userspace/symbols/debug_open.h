/* SPDX-License-Identifier: BSD-2-Clause */
/* debug_open.h: opens what may be the separate debug file of a program. */
#ifndef GCPROF_DEBUG_OPEN_H
#define GCPROF_DEBUG_OPEN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define DEBUG_FOLDER "/usr/lib/debug"

/* Where to look, and for what. */
enum debug_kind {
	DEBUG_BY_BUILD_ID, /* DEBUG_FOLDER/.build-id/ab/cdef.debug */
	DEBUG_IN_ROOT,     /* the same, as the process sees it that has mapped the program */
	DEBUG_BESIDE,      /* by the name in .gnu_debuglink: in the program's folder */
	DEBUG_BELOW,       /* likewise, in .debug there */
	DEBUG_ELSEWHERE,   /* likewise, in DEBUG_FOLDER/the program's folder */
	DEBUG_SHARED,      /* by the name in .gnu_debugaltlink: made by dwz for several programs */
	DEBUG_KINDS,
};

struct debug_wanted {
	uint32_t kind;    /* enum debug_kind */
	uint32_t id_size; /* of the build-id; by name: 0 */
	unsigned char id[64];
	char name[PATH_MAX]; /* "" where it is not asked for by name */
};

/*
 * Opens the file that is wanted for the program behind `file`: a descriptor, or -1. What
 * it is was not checked. Only regular files are opened, and by name only those that
 * everybody may read: the name comes from a file that is not trusted.
 * DEBUG_IN_ROOT leads nowhere here.
 */
int debug_open(int file, const struct debug_wanted *wanted);

/* The two steps of it: a descriptor (O_PATH) of what is there, or -1; may a file of this mode be
 * opened? */
int debug_find(int file, const struct debug_wanted *wanted);
bool debug_is_allowed(const struct debug_wanted *wanted, mode_t mode);

/* The path of DEBUG_BY_BUILD_ID; false if there is none for this build-id. */
bool debug_path(const struct debug_wanted *wanted, char path[PATH_MAX]);

/* How symbols get at debug files: debug_open(), or another process that has the right to. */
typedef int debug_opener(void *context, int file, const struct debug_wanted *wanted);

struct debug_access {
	debug_opener *open;
	void *context;
};

#endif
