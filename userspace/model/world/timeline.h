/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline.h: sums over equal windows of time. */
/*
 * There are at most TIMELINE_WINDOWS windows. When time passes the last one, pairs of windows are
 * merged and the window length doubles. So a recording of any length takes the same memory and
 * has 512 to 1024 windows.
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
	uint64_t pause_ns;          /* part of all pauses that lies here */
	uint64_t pause_max_ns;      /* longest that ended here; not from summaries */
	uint64_t wait_ns;           /* part of the waits with a record that lies here */
	uint64_t promoted_bytes;
	uint64_t heap_bytes, live_bytes; /* at the end of the last collection; 0: none */
	uint64_t rss_bytes;              /* the same, of the process */
	uint64_t unfreed_bytes;          /* from malloc() and not freed, at the end */
	uint64_t syscalls;               /* records of calls that ended here */
	uint64_t syscall_ns;             /* part of the calls with a record that lies here */
	uint64_t traced_ns;              /* part of the windows in which calls were traced */
	uint64_t lost;                   /* events of any stream, by the time of detection */
};

struct timeline {
	uint64_t start, step_ns;
	size_t count; /* up to the last non-empty window */
	struct window windows[TIMELINE_WINDOWS];
};

/* Sets the start. All zero except the start is an empty timeline. */
void timeline_begin(struct timeline *timeline, uint64_t start);

/* The window of a time. Times before the start belong to the first. Valid until the next call. */
struct window *timeline_at(struct timeline *timeline, uint64_t time);

/* Adds a pause to every window that it overlaps. */
void timeline_pause(struct timeline *timeline, uint64_t begin, uint64_t end);

/* The same for time off the CPU, in a system call, and of tracing these. */
void timeline_wait(struct timeline *timeline, uint64_t begin, uint64_t end);
void timeline_call(struct timeline *timeline, uint64_t begin, uint64_t end);
void timeline_traced(struct timeline *timeline, uint64_t begin, uint64_t end);

/* Spreads CPU time evenly over this span, for time that is not known more precisely. */
void timeline_cpu(struct timeline *timeline, uint64_t begin, uint64_t end, uint64_t ns);

/* Takes CPU time back, from the windows up to `end`, the last ones first. */
void timeline_take_cpu_back(struct timeline *timeline, uint64_t end, uint64_t ns);

/* Adds `from`, the later window. Values at a point in time are taken from it. */
void window_merge(struct window *into, const struct window *from);

#endif
