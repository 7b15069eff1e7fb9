/* SPDX-License-Identifier: BSD-2-Clause */
/* opener_requests.h: what the recorder asks of the opener, in the messages of a worker. */
/*
 * Both are the same program, so structures go as they are. A request is a struct
 * opener_head, the structure named here and a path or other text, with a zero. An answer
 * ends with the structure named here; before that, the opener may report a device
 * (uint64_t) that it is about to wait for.
 */
#ifndef GCPROF_OPENER_REQUESTS_H
#define GCPROF_OPENER_REQUESTS_H

#include <stdint.h>

#include "code_owner.h"
#include "../../symbols/debug_open.h"
#include "../../util/invoker.h"
#include "../../../gc/provider/frame.h"

#define OPENER_HUNG_MAX 16 /* devices that are remembered */

enum opener_request {
	OPENER_MAPPED = 1, /* opener_mapped, path: opener_file and a descriptor */
	OPENER_DEBUG,      /* opener_debug, with the program's descriptor: likewise */
	OPENER_TEMPORARY,  /* opener_process: opener_file, all zero, and a descriptor of its /tmp */
	OPENER_MAP,    /* code_owner, with a descriptor of its /tmp: opener_file, a descriptor */
	OPENER_USER,   /* opener_user, path: likewise */
	OPENER_MEMORY, /* opener_memory: opener_block */
	OPENER_SPACE,  /* opener_space: opener_file, zero but for the user, and a socket */
	OPENER_MAPS,   /* opener_process: opener_file, all zero, and a descriptor of text */
};

struct opener_head {
	uint64_t hung[OPENER_HUNG_MAX]; /* devices whose files are not opened; 0: none */
};

/* A regular file. */
struct opener_file {
	uint64_t device, inode, size; /* dev_t; bytes */
	int64_t ctime_s, mtime_s;     /* since 1970 */
	uint32_t ctime_ns, mtime_ns;
	uint32_t uid, mode, links;
	uint32_t filesystem; /* statfs.f_type */
};

/* The file of a mapping. */
struct opener_mapped {
	uint64_t inode, start, end;
	uint32_t major, minor, pid;
	uint32_t reserved;
};

/* What may be a separate debug file of a program, which this process has mapped (0: unknown). */
struct opener_debug {
	uint32_t pid;
	struct debug_wanted wanted;
};

struct opener_process {
	uint32_t pid;
};

/* A file that this user may open. */
struct opener_user {
	struct invoker user;
};

/* What is done in a program's memory. */
enum opener_change {
	/* Of a control block (gc/provider/frame.h). Both free rows of recorders that are gone. */
	OPENER_JOIN, /* `request` is a row of it from now on, instead of one of the same recorder */
	OPENER_LEAVE, /* the recorder has no row any more */
	/* Of a variable of `size` bytes, up to 8. */
	OPENER_WRITE, /* makes it `wanted` if it is `expected` */
	OPENER_LOOK,  /* nothing */
};

struct opener_memory {
	uint32_t pid;
	uint32_t change;        /* enum opener_change */
	uint64_t started;       /* of the process, as an answer said; 0: whichever it is */
	struct opener_mapping { /* of the file whose block it is, that must still be there */
		uint64_t start, offset, inode;
		uint32_t major, minor;
	} mapping;
	uint64_t address;
	uint64_t size;
	uint64_t expected, wanted;     /* they begin with the value of a variable */
	struct gcprof_request request; /* of `recorder`, a pid: the opener adds who that is */
};

/* The memory of a process, to be read while it has this file mapped: it may have executed another
 * program, with other rights. */
struct opener_space {
	uint32_t pid, reserved;
	struct opener_mapping mapping;
};

struct opener_block {
	uint64_t started;  /* the process, ticks since boot */
	uint32_t changed;  /* bool */
	uint32_t recorded; /* of a control block, as it was */
	uint32_t freed;    /* rows of recorders that were gone */
	uint32_t reserved;
	uint64_t written;       /* when the rows of a control block were, CLOCK_MONOTONIC ns */
	uint64_t before, after; /* they begin with the value of a variable */
};

#endif
