/* SPDX-License-Identifier: BSD-2-Clause */
/* attacher.h: what the recorder asks of the process that attaches probes, and what that does. */
/*
 * To add or remove a probe the kernel locks the memory map of each program that has the file
 * mapped, and a program can keep that locked as long as it likes. So a process apart attaches
 * probes, keeps their links, and closes them, also when the recorder is gone.
 *
 * Both are the same program, so structures go as they are, in the messages of a worker.
 */
#ifndef GCPROF_ATTACHER_H
#define GCPROF_ATTACHER_H

#include <stdint.h>

#include "../../reader/site.h"

/* Newer than the headers that this is built with. */
enum { ATTACH_TYPE_UPROBE_MULTI = 48 };

enum attacher_request {
	ATTACHER_ATTACH = 1, /* attacher_file, with these descriptors: attacher_answer */
	ATTACHER_DETACH,     /* first places of files (uint32_t[]); without any: of all files */
};

enum attacher_fd {
	ATTACHER_PROGRAM, /* BPF */
	ATTACHER_FILE,
	ATTACHER_LOCKED, /* for locked_find() */
};

struct attacher_site {
	uint64_t offset, semaphore; /* as of struct probe_site */
	unsigned char code[PROBE_CODE_BYTES];
	uint64_t code_size; /* that must be there */
};

struct attacher_file {
	uint32_t first, count; /* places, which are the cookies */
	uint32_t together;     /* bool: one link for all of them (Linux 6.6) */
	uint32_t reserved;
	struct attacher_site sites[PROBE_SITES_MAX]; /* `count` of them are sent */
};

/* -EBADMSG: other code is there; -EBUSY: this program keeps its memory map locked. */
struct attacher_answer {
	uint32_t pid; /* 0: none */
};

/* What the process does when main() is called as WORKER_ATTACHER: its exit status. */
int attacher_main(void);

#endif
