/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record.h: one recording, shared by the files of `gcprof record`. */
#ifndef GCPROF_CMD_RECORD_H
#define GCPROF_CMD_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../bpf/config.h"
#include "profile/codes.h"
#include "record/target/control.h"
#include "record/target/agents.h"
#include "record/target/switches.h"
#include "record/throttle/throttle.h"
#include "record/machine/options.h"
#include "util/problem.h"
#include "record/kernel/checks.h"
#include "record/world/running.h"
#include "record/target/target.h"

#define OUTPUT_DEFAULT "gcprof.data"

enum {
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128,
};

/* The BPF object is loaded by a thread, while files are opened and the program is started. */
struct loading {
	pthread_t thread;
	bool runs;
	int err;
	struct problem problem;
};

/* Of a recording that is written to one file after the other. */
struct rotation {
	unsigned number; /* of the file that is being written, from 1 */
	uint64_t begin;  /* of that; 0: that of the recording */
	uint64_t split;  /* where the next one begins, while what came before is written; 0: not yet
			  */
};

/* Of a recording of which the last span is kept. */
struct keeping {
	struct kept *kept; /* NULL: all is written */
	bool asked;        /* a snapshot is wanted, */
	uint64_t due;      /* not before this time */
	bool split;        /* it was split off, and will be written, */
	uint64_t end;      /* until this time, */
	char written[96];  /* for this reason */
	pid_t writer;      /* the process that writes one; 0: none */
	struct when *when; /* conditions under which one is taken; NULL: there are none */
	uint64_t quiet;    /* until when no other snapshot is taken for them */
	char why[96];      /* the one that came true, for the next one; empty: none did */
	double seconds;    /* that it has */
};

/* The process that pushes what is complete. */
struct pusher {
	pid_t pid;
	int socket; /* -1: nothing is pushed */
};

/* Everything that belongs to one recording, in the order in which it comes to be. */
struct recording {
	struct record_options options;
	uint64_t longest_turn; /* of the main loop, ns, while it had a CPU; with -v */
	int schedule;          /* how long this thread has waited for a CPU; with -v */
	uint64_t began;        /* when gcprof was called, for the timings of -v */
	uint64_t start;        /* when the program was released, or attached to */
	char *command;         /* the file to run; NULL: what runs already is recorded */
	struct invoker user;
	struct opener *opener;
	struct profile_writer *writer;
	struct files *files;
	struct store *store;
	struct target *target;       /* the program that was started, or NULL */
	struct libraries *libraries; /* of it; NULL: not known */
	struct agent agent;          /* that it loads; closed: none */
	struct running running;      /* those that were attached to */
	int cgroup;                  /* its folder, if the options name one */
	struct switches *switches;   /* of runtimes' samplers */
	bool stops_at_exec;          /* the program: it has some that are set before it runs */
	struct control *control;     /* of programs that have probes */
	struct processes *processes; /* what exists */
	struct loading loading;      /* of the session: until it ends, only its thread has that */
	struct session *session;
	struct target_entry first; /* the program that was started, as the kernel side sees it */
	struct perf_maps *maps;
	struct unwinder *unwinder; /* NULL: stacks are not walked by rows */
	struct counters *counters;
	struct throttle throttle;
	struct drain *drain;
	struct watch *watch;
	enum end_reason reason;
	bool ended;     /* the program, with `status`, or all that were attached to */
	int status;     /* as wait(2) shows it */
	uint64_t typed; /* when Ctrl-C was for the program and us, ns; 0: never */
	bool piped;     /* the profile goes to our standard output */
	char *path;     /* of the file that is being written; NULL: piped */
	struct rotation rotation;
	struct keeping keeping;
	struct pusher pusher;
	bool removed;        /* its file is gone, which was reported */
	uint64_t next_check; /* of that */
	int file;            /* that file, to see it removed; 0: piped */
	bool failed;         /* the profile could not be written */
	uint64_t bytes;      /* of the profile, or of those that are complete */
};

/* Print what failed and return the exit code for it. */
int recording_fail(const struct problem *problem);
int recording_fail_errno(const char *what, int err);

/*
 * A pipe without a reader and a limit of file sizes are errors of a write, not the end of the
 * recorder. To be called when no program inherits it any more.
 */
void recording_outlive_writes(void);

/* With -v: says that a step is done, and when. */
void recording_step(const struct recording *recording, const char *what);

/*
 * From the command line to the running program; the program's path is
 * `words[0]`. 0 or an exit code, with the error printed.
 */
int recording_open(struct recording *recording, char **words);

/* The same for programs that run already, as the options name them. */
int recording_attach(struct recording *recording);

/* Steps that both take; 0 or an exit code, with the error printed. From the first on the BPF object
 * is being loaded: the options stay as they are. */
int recording_may(struct recording *recording);
int recording_open_output(struct recording *recording);

/* Its name for messages. */
static inline const char *recording_output(const struct recording *recording)
{
	return recording->path ? recording->path : recording->options.output;
}

/* Opens the profile's file, or the next one: says what is wrong with it. */
int recording_open_file(struct recording *recording, struct sink **sink);

/* What --rotate and --keep must not say: -EINVAL, with the error printed. */
int recording_check_spans(struct record_options *options);

/* Is there one file after the other? Goes on in the next when it is time: 0 or a negative errno. */
bool recording_rotates(const struct recording *recording);
int recording_rotate(struct recording *recording);

/* The same of one of which the last span is kept: drops what is too old, writes what was asked for.
 */
int recording_keep_open(struct recording *recording, struct sink **sink);
int recording_keep(struct recording *recording);
/* A snapshot is wanted. */
void recording_ask(struct recording *recording);

/* Conditions: -EINVAL, with the error printed. when_record() is to see each record. */
struct when;
int when_parse(const struct record_options *options, struct when **out);
void when_free(struct when *when); /* NULL is allowed */
int when_record(void *context, const struct record *record);
/* Each round: asks for a snapshot if one came true. */
void recording_when(struct recording *recording);

/* At the end: puts the fact why a snapshot would be taken now, if there is a reason. */
int recording_put_why(struct recording *recording);

/* Is it to be split now for a snapshot? It was. */
bool recording_snapshot_is_due(const struct recording *recording);
void recording_keep_split(struct recording *recording, uint64_t time);
/* What is kept, as the last segment ended. */
int recording_keep_finish(struct recording *recording, uint64_t end);

/* With --push: starts the process that does it, before all else; gives it a complete profile; waits
 * until it has sent all. 0 or an exit code. */
int recording_push_open(struct recording *recording);
void recording_push(const struct recording *recording, const char *path);
void recording_push_close(struct recording *recording);

/* "12.5 MiB" */
void recording_describe_size(uint64_t bytes, char *out, size_t size);

/* Waits until it is loaded, or cannot be: the result is in `loading`. */
void recording_await_session(struct recording *recording);

/* Says so, once, if the profile's file was removed or replaced while it is written. */
void recording_check_output(struct recording *recording);

/* Makes unwind rows of files that the program will load, while the BPF programs are loaded; then
 * has them used. Without mappings it is not known where. */
void recording_start_unwinder(struct recording *recording);
void recording_connect_unwinder(struct recording *recording);

int recording_open_session(struct recording *recording, pid_t maps_of);
int recording_open_profile(struct recording *recording, char *const *words);
int recording_open_watch(struct recording *recording, const int *pidfds, size_t count);
int recording_put_start(struct recording *recording);
/* Says that there are neither samples nor collections, if no place that reports them is attached.
 */
void recording_warn_none(const struct recording *recording, const char *why, const char *unless);
void recording_warn_streams(const struct recording *recording);

/* Samples a second that were asked for; 0: none, UINT64_MAX: the program's own. */
uint64_t recording_ceiling(const struct record_options *options);

/* Is each collection to be reported by itself, with page faults and resident set, whatever it
 * costs? */
bool recording_each_collection(const struct record_options *options);

/* Detaches, completes the file, prints the summary. The kernel side is silent afterwards. */
void recording_complete(struct recording *recording);

#endif
