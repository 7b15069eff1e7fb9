/* SPDX-License-Identifier: BSD-2-Clause */
/* opener_requests.h: messages between the recorder and the opener. */
/*
 * Both run the same program, so messages are plain structures. A request is a struct opener_head,
 * the structure named here, and a path or other text with a zero. An answer ends with the structure
 * named here. Before that, the opener may report the device (uint64_t) that it is about to wait
 * for.
 */
#ifndef GCPROF_OPENER_REQUESTS_H
#define GCPROF_OPENER_REQUESTS_H

#include <stdint.h>

#include "code_owner.h"
#include "../../symbols/debug_open.h"
#include "../../util/invoker.h"
#include "../../../gc/provider/frame.h"

#define OPENER_HUNG_MAX 16 /* remembered devices */

enum opener_request {
	OPENER_MAPPED = 1, /* opener_mapped, path: opener_file and a descriptor */
	OPENER_DEBUG,      /* opener_debug, with the program's descriptor: likewise */
	OPENER_TEMPORARY,  /* opener_process: zeroed opener_file and a descriptor of its /tmp */
	OPENER_MAP,    /* code_owner, with a descriptor of its /tmp: opener_file, a descriptor */
	OPENER_USER,   /* opener_user, path: likewise */
	OPENER_MEMORY, /* opener_memory: opener_block */
	OPENER_SPACE,  /* opener_space: opener_file, zero except for the user, and a socket */
	OPENER_MAPS,   /* opener_process: zeroed opener_file and a descriptor of text */
	OPENER_WORDS,  /* opener_process: opener_file, zero except for the inode, and likewise */
	OPENER_HASH,   /* opener_hash, with a file's descriptor: opener_block */
	OPENER_UNDO, /* opener_memory, zeroed, with a list of such (undo.h): opener_block, zeroed */
};

struct opener_head {
	uint64_t hung[OPENER_HUNG_MAX]; /* devices whose files must not be opened; 0: none */
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

/* A possible debug file of a program that this process maps (0: unknown). */
struct opener_debug {
	uint32_t pid;
	struct debug_wanted wanted;
};

struct opener_process {
	uint32_t pid;
};

/* The hash of a file's content: `before` and `after` of the answer. */
struct opener_hash {
	uint64_t seed[2]; /* which others do not know */
};

/* A file to open as this user. */
struct opener_user {
	struct invoker user;
};

/* What to do in a program's memory. */
enum opener_change {
	/* In a control block (gc/provider/frame.h). Both free the rows of recorders that are
	 * gone. */
	OPENER_JOIN,  /* makes `request` a row, replacing one of the same recorder */
	OPENER_LEAVE, /* removes the recorder's row */
	/* In a variable of `size` bytes, up to 8. */
	OPENER_WRITE, /* changes it to `wanted` if it is `expected` */
	OPENER_CHECK, /* nothing */
};

struct opener_memory {
	uint32_t pid;
	uint32_t change;        /* enum opener_change */
	uint64_t started;       /* of the process, as in an answer; 0: any */
	struct opener_mapping { /* the file with the block, which must still be mapped there */
		uint64_t start, offset, inode;
		uint32_t major, minor;
	} mapping;
	uint64_t address;
	uint64_t size;
	uint64_t expected, wanted;     /* the first bytes are the variable's value */
	struct gcprof_request request; /* `recorder` is a pid, which the opener completes */
};

/* Memory to read while the process maps this file. It might otherwise have executed another
 * program, with other rights. */
struct opener_space {
	uint32_t pid, reserved;
	struct opener_mapping mapping;
};

struct opener_block {
	uint64_t started;  /* start of the process, ticks since boot */
	uint32_t changed;  /* bool */
	uint32_t recorded; /* of a control block, before the change */
	uint32_t freed;    /* rows freed because their recorders were gone */
	uint32_t reserved;
	uint64_t written;       /* when a control block's rows were written, CLOCK_MONOTONIC ns */
	uint64_t before, after; /* the first bytes are the variable's value */
};

#endif
