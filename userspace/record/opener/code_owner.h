/* SPDX-License-Identifier: BSD-2-Clause */
/* code_owner.h: a process that makes code at run time, and the file in which it may describe it. */
#ifndef GCPROF_CODE_OWNER_H
#define GCPROF_CODE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CODE_OWNER_PATH 64

struct code_owner {
	uint32_t pid;    /* as /proc calls it here */
	uint32_t number; /* its pid as it knows it itself */
	uid_t user;
	int64_t started; /* s since 1970; files older than it are not its own */
	int temporary;   /* its /tmp, if that is known not to be ours; else -1 */
};

/* Reads what /proc knows of a running process, all but `temporary`; a negative errno if it is gone.
 */
int code_owner_find(uint32_t pid, struct code_owner *out);

/* A descriptor (O_PATH) of its /tmp, -ENOENT if that is ours, or a negative errno. Its file system
 * may not answer: for the opener. */
int code_owner_temporary(uint32_t pid);

/* What is at its /tmp/perf-PID.map, which need not be its own: a descriptor (O_PATH), or a negative
 * errno. */
int code_owner_find_map(const struct code_owner *owner, char path[CODE_OWNER_PATH]);

/* Does the file behind `fd`, or one of this user that was last written then, belong to it? */
bool code_owner_has(const struct code_owner *owner, int fd);
bool code_owner_made(const struct code_owner *owner, uid_t user, int64_t mtime_s);

/* Is this the name of a jitdump file: "jit-NUMBER.dump"? */
bool code_owner_is_dump(const char *path);

#endif
