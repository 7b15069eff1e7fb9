/* SPDX-License-Identifier: BSD-2-Clause */
/* stopped.h: programs that are stopped because they replaced code with breakpoints by a copy. */
/*
 * In the attacher, which outlives the recorder, a thread writes the original instructions into the
 * copy and lets the program go on. It waits until the recorder has said which mappings there are
 * (struct probed_text), but not for long: the recorder may have been killed or stopped itself, or
 * ends. Nothing else is waited for. Thread-safe.
 */
#ifndef GCPROF_STOPPED_H
#define GCPROF_STOPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum stopped_fd {
	STOPPED_PROGRAM, /* the link of text_replaced, which works until stopped_end() */
	STOPPED_TEXTS,   /* maps of bpf/text.bpf.c */
	PROBED_TEXT,
	STOPPED_RING,
	STOPPED_FDS
};

/* Starts the thread, the first time. Keeps copies of the descriptors. */
void stopped_begin(const int *fds);

/* Where a file has a breakpoint, and what belongs there. */
struct stopped_site {
	uint64_t offset;
	unsigned char code;
};

/* The code of a file that is attached. NULL: no memory. */
struct stopped_code *stopped_know(uint64_t inode, const struct stopped_site *sites, size_t n);

/* It is attached once less. NULL is ignored. */
void stopped_forget(struct stopped_code *code);

/* Are any programs stopped, or about to fill memory with such a copy? stopped_end() waits for them.
 */
bool stopped_awaits(void);

/* All breakpoints are removed: the last programs go on. */
void stopped_end(void);

#endif
