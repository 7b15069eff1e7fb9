/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.h: attaches to the probes of mapped files, and has their programs know of the recorder.
 */
#ifndef GCPROF_ARRIVAL_H
#define GCPROF_ARRIVAL_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../store/counters.h"
#include "../kernel/session.h"
#include "../target/control.h"
#include "../unwind/unwinder.h"
#include "../../util/problem.h"
#include "flow.h"

/* Everything is borrowed but `waiting`. */
struct arrival {
	struct session *session;
	struct files *files;
	struct counters *counters;
	struct processes *processes;
	struct unwinder *unwinder;
	struct switches *switches;
	struct control *control; /* NULL: programs are left alone */
	struct heap_profiles *heaps;
	struct name_tables *names;
	struct flow *flow;     /* NULL: not there yet */
	struct buffer waiting; /* mappings of files whose probes are not attached yet; free it */
	uint64_t next_try;     /* ns */
	bool crowded;          /* some wait for room */
	char runtime[RUNTIME_TEXT_MAX]; /* the first that was met, with its version; "": none */
	bool attached;                  /* a file was attached; reset it */
	bool trouble;                   /* one could not be: `problem` says why; reset it */
	struct problem problem;
};

/* A file was mapped by a process: a files_mapped, with a struct arrival as context. */
void arrival_mapped(void *context, struct file *file, const struct event_mmap *event);

/* Goes on with what waits until its file is attached, or may be. `last`: it does not wait any
 * longer. */
void arrival_turn(struct arrival *arrival, bool last);

/* The same until all files are attached that can be, for so long at most. */
void arrival_settle(struct arrival *arrival, uint64_t ns);

/* Since when something waits for its file to be attached, or for a program to know of the recorder,
 * CLOCK_MONOTONIC ns; UINT64_MAX: nothing does. */
uint64_t arrival_pending(const struct arrival *arrival);

/* A program knows of the recorder: a control_joined, with a struct arrival as context. */
void arrival_joined(void *context, const struct event_mmap *event, uint64_t address,
		    const struct control_answer *answer);

#endif
