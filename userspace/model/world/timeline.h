/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.h: what happened when: sums over equal windows of time. */
/*
 * There are at most TIMELINE_WINDOWS windows: when time goes beyond the last one,
 * two at a time are merged and windows are twice as long from then on. So a
 * recording of any length takes the same memory and has 512 to 1024 windows.
 */
#ifndef GCPROF_TIMELINE_H
#define GCPROF_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "estimate.h"

enum { TIMELINE_WINDOWS = 1024 };

struct window {
	uint64_t cpu_ns, gc_cpu_ns; /* gc: in a collection */
	struct tally alloc;         /* bytes */
	uint64_t minor, major;      /* pauses that ended here */
	uint64_t pause_ns;          /* the part of all pauses that lies here */
	uint64_t pause_max_ns;      /* the longest that ended here, of those known one by one */
	uint64_t wait_ns;           /* the part of the waits with a record that lies here */
	uint64_t promoted_bytes;
	uint64_t heap_bytes, live_bytes; /* at the end of the last collection; 0: none */
	uint64_t rss_bytes;              /* the same, of the process */
	uint64_t unfreed_bytes;          /* allocated by malloc() and not freed, at the end */
	uint64_t syscalls;               /* records of calls that ended here */
	uint64_t syscall_ns;             /* the part of calls with a record that lies here */
	uint64_t lost;                   /* events of any stream, by when it was noticed */
};

struct timeline {
	uint64_t start, step_ns;
	size_t count; /* windows up to the last with something in it */
	struct window windows[TIMELINE_WINDOWS];
};

/* Sets the beginning; all zero but for that is an empty timeline. */
void timeline_begin(struct timeline *timeline, uint64_t start);

/* The window of a time. Times before the start belong to the first. Valid until the next call. */
struct window *timeline_at(struct timeline *timeline, uint64_t time);

/* Adds a pause to every window that it touches. */
void timeline_pause(struct timeline *timeline, uint64_t begin, uint64_t end);

/* The same for time off the CPU, and in a system call. */
void timeline_wait(struct timeline *timeline, uint64_t begin, uint64_t end);
void timeline_call(struct timeline *timeline, uint64_t begin, uint64_t end);

/* Adds CPU time of which no more is known than between what times it was. */
void timeline_cpu(struct timeline *timeline, uint64_t begin, uint64_t end, uint64_t ns);

/* What `from` holds, added; figures of a moment are those of the later one, `from`. */
void window_merge(struct window *into, const struct window *from);

#endif
