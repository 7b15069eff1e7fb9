/* SPDX-License-Identifier: BSD-2-Clause */
/* snapshot.h: what a running process has mapped executable already, read from /proc. */
#ifndef GCPROF_SNAPSHOT_H
#define GCPROF_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "../opener/opener.h"
#include "../../../bpf/events.h"

/* One mapping; both are valid during the call, and the event may be changed. */
typedef void snapshot_visit(void *context, struct event_mmap *event, const char *path);

/*
 * Reports each as if it were mapped at `time` (CLOCK_MONOTONIC ns) by process
 * `proc_pid`, as /proc calls it. 0, or a negative errno: -ENOENT if the process
 * is gone, -EACCES if it may not be read. What was found so far is reported.
 * Waits as long as the process keeps its memory map locked.
 */
int snapshot_mappings(uint32_t proc_pid, uint64_t time, snapshot_visit *visit, void *context);

/* The same for the main loop: an opener reads them. */
struct snapshots;

int snapshots_create(struct opener *opener, struct snapshots **out);
void snapshots_free(struct snapshots *snapshots); /* NULL is allowed */

/* How one ends: called once. */
typedef void snapshot_done(void *context);

#define SNAPSHOTS_MAX 16 /* that are begun and have not ended */

/* Begins one of struct snapshots: snapshots_turn() calls `visit` and `done`. A negative errno if
 * they are not.
 */
int snapshots_begin(void *snapshots, uint32_t proc_pid, uint64_t time, snapshot_visit *visit,
		    snapshot_done *done, void *visit_context);

/* Reports what has come, for some ms at most. False: there is more now. */
bool snapshots_turn(struct snapshots *snapshots);

/*
 * A record of the process as it is now, as the kernel side reports one that was there before:
 * its number in its own namespace, the name of its first thread. `pid` is its number here and
 * in the initial namespace. -ESRCH if it is gone, or was not there at `time`.
 */
int snapshot_task(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out);

#endif
