/* SPDX-License-Identifier: BSD-2-Clause */
/* attacher.h: the attacher process and its messages. */
/*
 * To add or remove a probe, the kernel locks the memory map of each program that maps the file, and
 * a program can keep that locked as long as it likes. A separate process therefore attaches probes,
 * holds their links, and closes them, even after the recorder is gone.
 *
 * Both processes run the same program, so messages are plain structures.
 */
#ifndef GCPROF_ATTACHER_H
#define GCPROF_ATTACHER_H

#include <stdint.h>

#include "../../reader/site.h"

enum attacher_request {
	ATTACHER_ATTACH = 1, /* attacher_file, with these descriptors; answer: attacher_answer */
	ATTACHER_DETACH, /* numbers of links (uint32_t[]), which are removed in the background */
	ATTACHER_SETTLE, /* the answer comes when that has ended */
};

enum attacher_fd {
	ATTACHER_PROGRAM, /* the BPF program */
	ATTACHER_FILE,
	ATTACHER_LOCKED,  /* for locked_find() */
	ATTACHER_STOPPED, /* enum stopped_fd, if programs are stopped */
};

struct attacher_site {
	uint64_t offset, semaphore; /* as in struct probe_site */
	unsigned char code[PROBE_CODE_BYTES];
	uint64_t code_size; /* bytes that must be there */
};

/* A file to be attached to a process. */
struct attacher_file {
	uint32_t link;         /* number, chosen by the sender (probe_links.h) */
	uint32_t first, count; /* places; these are the cookies */
	uint32_t pid;          /* of the process, as in /proc here; 0: every process */
	uint32_t together;     /* bool: one link for all (Linux 6.10) */
	uint32_t ahead;        /* bool: the process will map it */
	uint64_t since;        /* the process exists, CLOCK_MONOTONIC ns */
	struct attacher_site sites[PROBE_SITES_MAX]; /* `count` of them are sent */
};

/* -EBADMSG: the code differs; -EBUSY: this program keeps its memory map locked; -ESRCH: the process
 * has ended; -ENOENT: it has not mapped the file any more; -EUSERS: it could not be stopped when it
 * copies its code; -ECHILD: its main thread has ended, and the kernel needs that. */
struct attacher_answer {
	uint32_t pid;    /* 0: none */
	uint32_t thread; /* to which it was attached; when that ends it must be attached again */
};

/* The process itself, when main() is called as WORKER_ATTACHER. Returns its exit status. */
int attacher_main(void);

#endif
