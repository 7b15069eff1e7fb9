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
#include "../opener/opener.h"

/* Programs that copy or translate code, which must be without breakpoints. */

enum text_copies {
	TEXT_UNKNOWN,
	TEXT_ASKED,      /* the opener reads about the program */
	TEXT_STAYS,      /* the program executes its code where it is mapped */
	TEXT_COPIED,     /* an option makes the runtime copy its own code */
	TEXT_TRANSLATED, /* another program executes this code */
	TEXT_UNREADABLE,
};

enum { TEXT_QUESTIONS = 64, TEXT_QUESTIONS_USER = 16 /* of one user */ };

struct text_question {
	struct text_copies_asker *asker; /* NULL: unused */
	uint32_t process, user;
	uint64_t program;
	struct file_key file;
};

/* Asks about programs. The first three are borrowed; the rest is zero at first. */
struct text_copies_asker {
	struct files *files;
	struct processes *processes;
	const struct session *session;
	bool answered;               /* since this was reset */
	struct text_question judged; /* the last program that must have no probes; to be reset */
	struct text_question questions[TEXT_QUESTIONS];
};

/*
 * May the file, which the process has mapped, have breakpoints there? 1: yes; 0: not known yet; a
 * negative errno: no, with a sentence in *problem.
 */
int text_copies_check(struct text_copies_asker *asker, struct process *process,
		      const struct file *file, struct problem *problem);

/* Why not: a clause about "it". */
const char *text_copies_reason(const struct process *process);

/* Is any question without an answer? */
bool text_copies_asks(const struct text_copies_asker *asker);

/* Drops questions that have no answer yet. */
void text_copies_leave(struct text_copies_asker *asker);

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
	uint64_t missed;      /* children forked before this may lack their parent's probes, ns */
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

/* A process has replaced its code by a copy: world_subscriber.replaces. */
void arrival_replaced(struct arrival *arrival, const struct event_replaced *event);

/* A process was forked, or has ended; or one of its threads has and it has not. */
void arrival_forked(struct arrival *arrival, const struct process *child);
void arrival_left(struct arrival *arrival, const struct process *process);
void arrival_thread_ended(struct arrival *arrival, const struct process *process, uint32_t thread);

/* Continues with mappings whose file was or may be attached. `last`: they wait no longer. */
void arrival_turn(struct arrival *arrival, bool last);

/* The same until all files that can be are attached, at most `ns`. */
void arrival_settle(struct arrival *arrival, uint64_t ns);

/* Children forked before this (ns) may map a file that is attached since, or that no process had
 * whose links they have. */
uint64_t arrival_latest(const struct arrival *arrival);

/* Begin of the oldest wait for a file to be attached, or for a program to know of the recorder,
 * CLOCK_MONOTONIC ns; UINT64_MAX: none. */
uint64_t arrival_pending(const struct arrival *arrival);

/* A program knows of the recorder: a control_joined, with a struct arrival as context. */
void arrival_joined(void *context, const struct event_mmap *event, uint64_t address,
		    const struct control_answer *answer);

#endif
