/* SPDX-License-Identifier: BSD-2-Clause */
/* opener_requests.h: what the recorder asks of the opener, in the messages of a worker. */
/*
 * Both are the same program, so structures go as they are. A path follows its
 * structure, with a zero. An answer ends with the structure named here; before
 * that, the opener may report a device (uint64_t) that it is about to wait for.
 */
#ifndef GCPROF_OPENER_REQUESTS_H
#define GCPROF_OPENER_REQUESTS_H

#include <stdint.h>

#include "target.h"

#define OPENER_HUNG_MAX 16 /* devices that are remembered */

enum opener_request {
	OPENER_MAPPED = 1, /* opener_mapped, path: opener_file and a descriptor */
	OPENER_USER,       /* opener_user, path: opener_file and a descriptor */
};

/* A regular file. */
struct opener_file {
	uint64_t device, inode, size; /* dev_t; bytes */
	int64_t ctime_s, mtime_s;     /* since 1970 */
	uint32_t ctime_ns, mtime_ns;
	uint32_t uid, mode, links;
	uint32_t filesystem; /* statfs.f_type */
};

enum opener_flags {
	/*
	 * If no file has the numbers that the kernel named: the one which the process has
	 * mapped or sees there now. Some file systems show others to stat().
	 */
	OPENER_ANY_NUMBERS = 1,
};

/* The file of a mapping. */
struct opener_mapped {
	uint64_t hung[OPENER_HUNG_MAX]; /* devices whose files are not opened; 0: none */
	uint64_t inode, start, end;
	uint32_t major, minor, pid;
	uint32_t flags;
};

/* A file that this user may open. */
struct opener_user {
	uint64_t hung[OPENER_HUNG_MAX];
	struct target_user user;
};

#endif
