/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.h: the executable mappings of a running process, read from /proc. */
#ifndef GCPROF_SNAPSHOT_H
#define GCPROF_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "../opener/opener.h"
#include "../../../bpf/events.h"

/* Receives a mapping; both are valid during the call, and the event may be changed. */
typedef void snapshot_visit(void *context, struct event_mmap *event, const char *path);

/*
 * Reports each mapping as if made at `time` (CLOCK_MONOTONIC ns) by `proc_pid`. 0 or a negative
 * errno: -ENOENT if the process ended, -EACCES if it may not be read; mappings found before that
 * are reported. Blocks while the process keeps its memory map locked.
 */
int snapshot_mappings(uint32_t proc_pid, uint64_t time, snapshot_visit *visit, void *context);

/* The same without blocking, for the main loop: an opener reads the mappings. */
struct snapshots;

int snapshots_create(struct opener *opener, struct snapshots **out);
void snapshots_free(struct snapshots *snapshots); /* NULL is allowed */

/* What becomes of a process's mappings. `context` is that of the request. */
struct snapshot_reader {
	/* Called when they have been read. False: they are out of date, and not reported. */
	bool (*is_current)(void *context);
	snapshot_visit *visit;
	void (*done)(void *context); /* called once at the end */
};

#define SNAPSHOTS_MAX 16 /* pending at a time */

/* Starts a request of struct snapshots: snapshots_turn() will call the reader, which must stay
 * valid. A negative errno if it will not. */
int snapshots_begin(void *snapshots, uint32_t proc_pid, uint64_t time,
		    const struct snapshot_reader *reader, void *context);

/* Reports what has arrived, for some ms at most. False: more is waiting. */
bool snapshots_turn(struct snapshots *snapshots);

/*
 * A `task` record of the process in its present state, as for processes that existed before: its
 * innermost pid and the name of its first thread. `pid` is its pid here and in the initial
 * namespace. -ESRCH if it ended, or did not exist at `time`.
 */
int snapshot_task(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out);

#endif
