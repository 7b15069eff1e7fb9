/* SPDX-License-Identifier: BSD-2-Clause */
/* code_owner.h: a process that generates code, and the file in which it may describe it. */
#ifndef GCPROF_CODE_OWNER_H
#define GCPROF_CODE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CODE_OWNER_PATH 64

struct code_owner {
	uint32_t pid;    /* as in /proc here */
	uint32_t number; /* innermost pid */
	uid_t user;
	int64_t started; /* s since 1970; older files are not its own */
	int temporary;   /* its /tmp, if known to differ from ours; else -1 */
};

/* Reads what /proc says about a running process, except `temporary`; a negative errno if it
 * ended. */
int code_owner_find(uint32_t pid, struct code_owner *out);

/* A descriptor (O_PATH) of its /tmp; -ENOENT if that is ours; or a negative errno. Its file system
 * may not answer: for the opener. */
int code_owner_temporary(uint32_t pid);

/* Opens its /tmp/perf-PID.map, which may not be its own: a descriptor (O_PATH), or a negative
 * errno. */
int code_owner_find_map(const struct code_owner *owner, char path[CODE_OWNER_PATH]);

/* Does the open file `fd`, or one of this user last written at this time, belong to the process? */
bool code_owner_has(const struct code_owner *owner, int fd);
bool code_owner_made(const struct code_owner *owner, uid_t user, int64_t mtime_s);

/* Is this the path of a jitdump file: "jit-NUMBER.dump"? */
bool code_owner_is_dump(const char *path);

#endif
