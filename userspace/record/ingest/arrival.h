/* SPDX-License-Identifier: BSD-2-Clause */
/* arrival.h: attaches to the probes of mapped files, and notifies their programs of the
 * recorder. */
#ifndef GCPROF_ARRIVAL_H
#define GCPROF_ARRIVAL_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../store/counters.h"
#include "../kernel/session.h"
#include "../target/control.h"
#include "../unwind/unwinder.h"
#include "../../util/problem.h"
#include "../../util/quota.h"
#include "flow.h"
#include "text_copies.h"

/* All borrowed except `waiting`. */
struct arrival {
	struct session *session;
	struct files *files;
	struct counters *counters;
	struct processes *processes;
	struct unwinder *unwinder;
	struct switches *switches;
	struct control *control; /* NULL: nothing is written to programs */
	struct heap_profiles *heaps;
	struct name_tables *names;
	struct flow *flow; /* NULL: not created yet */
	struct text_copies_asker asker;
	struct buffer waiting;  /* mappings of files that are not attached yet; to be freed */
	struct quota waiters;   /* of these; to be freed */
	struct quota following; /* processes whose objects are followed; to be freed */
	uint64_t next_try;      /* ns */
	bool crowded;           /* some wait for free probe locations */
	uint64_t unprobed_ns; /* that programs ran before the probes of their files were attached */
	char none[2 * RUNTIME_TEXT_MAX]; /* why there is nothing of the first runtime; "": no
					    runtime yet */
	bool attached;                   /* a file was attached; to be reset */
	bool trouble; /* a file could not be attached, see `problem`; to be reset */
	struct problem problem;
};

/* A process mapped a file: a files_mapped, with a struct arrival as context. */
void arrival_mapped(void *context, struct file *file, const struct event_mmap *event);

/* A thread changed its name: world_subscriber.renames. */
void arrival_renamed(void *context, struct process *process, const struct event_comm *event);

/* A process executes a copy of a file's code, which is in no file. */
void arrival_copied(struct arrival *arrival, struct process *process, const char *file);

/* A process was forked, or has ended; or one of its threads has and it has not. */
void arrival_forked(struct arrival *arrival, const struct process *child);
void arrival_left(struct arrival *arrival, const struct process *process);
void arrival_thread_ended(struct arrival *arrival, const struct process *process, uint32_t thread);

/* Continues with mappings whose file was or may be attached. `last`: they wait no longer. */
void arrival_turn(struct arrival *arrival, bool last);

/* The same until all files that can be are attached, at most `ns`. */
void arrival_settle(struct arrival *arrival, uint64_t ns);

/* Begin of the oldest wait for a file to be attached, or for a program to know of the recorder,
 * CLOCK_MONOTONIC ns; UINT64_MAX: none. */
uint64_t arrival_pending(const struct arrival *arrival);

/* A program knows of the recorder: a control_joined, with a struct arrival as context. */
void arrival_joined(void *context, const struct event_mmap *event, uint64_t address,
		    const struct control_answer *answer);

#endif
