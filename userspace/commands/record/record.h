/* SPDX-License-Identifier: BSD-2-Clause */
/* record.h: one recording, shared by the files of `gcprof record`. */
#ifndef GCPROF_COMMANDS_RECORD_RECORD_H
#define GCPROF_COMMANDS_RECORD_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../../bpf/config.h"
#include "../../profile/codes.h"
#include "../../record/target/control.h"
#include "../../record/store/store.h"
#include "../../record/target/agents.h"
#include "../../record/target/switches.h"
#include "../../record/throttle/throttle.h"
#include "../../record/machine/options.h"
#include "../../record/machine/user_task.h"
#include "../../util/problem.h"
#include "../../record/kernel/checks.h"
#include "../../record/world/running.h"
#include "../../record/target/libraries.h"
#include "../../record/target/target.h"

#define OUTPUT_DEFAULT "gcprof.data"

enum {
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128,
};

/* A thread loads the BPF object while files are opened and the program is started. */
struct loading {
	pthread_t thread;
	bool runs;
	int err;
	struct problem problem;
};

/* State of --rotate. */
struct rotation {
	unsigned number; /* of the current file, from 1 */
	uint64_t begin;  /* start of the current file; 0: that of the recording */
	uint64_t split;  /* start of the next file, while earlier data is still written; 0: none */
	struct buffer sizes; /* uint64_t[], of the complete files that still exist */
	uint64_t together;   /* sum of sizes */
};

enum { WHEN_TEXT = 128 }; /* a condition, its value and its process */

/* State of --keep. */
struct keeping {
	struct kept *kept;       /* NULL: without --keep */
	bool asked;              /* a snapshot is requested */
	uint64_t due;            /* earliest time for it */
	bool split;              /* its end is fixed; it will be written */
	uint64_t end;            /* its end */
	char written[WHEN_TEXT]; /* its reason */
	pid_t writer;            /* the process that writes a snapshot; 0: none */
	struct when *when;       /* conditions for snapshots; NULL: none */
	uint64_t quiet;          /* conditions are ignored until this time */
	char why[WHEN_TEXT];     /* condition that came true, for the next snapshot; empty: none */
	double seconds;          /* length of the snapshot */
};

/* The process that pushes complete profiles. */
struct pusher {
	pid_t pid;
	int socket;       /* -1: without --push */
	unsigned waiting; /* profiles sent to it, and not answered */
	bool failed;      /* one was neither pushed nor stored in the spool */
};

/* Everything that belongs to one recording, in order of creation. */
struct recording {
	struct record_options options;
	uint64_t longest_turn; /* ns, of the main loop, not waiting for a CPU; with -v */
	int schedule;          /* schedstat file of this thread: time without a CPU; with -v */
	uint64_t began;        /* when gcprof was started, for the timings of -v */
	uint64_t start;        /* when the program was released or attached to */
	double started_ns;     /* CPU time of the recorder until then */
	uint64_t paused;       /* when it was paused; 0: it is not */
	uint64_t paused_ns;    /* in all, up to the last resume */
	char *command;         /* the file to run; NULL: running programs are recorded */
	struct invoker user;
	struct opener *opener;
	struct profile_writer *writer;
	struct files *files;
	struct store *store;
	struct target *target;       /* the started program, or NULL */
	struct agent agent;          /* the agent that it loads; closed: none */
	struct store_agent expected; /* what the profile says of programs without it */
	struct running running;      /* the processes attached to */
	int cgroup;                  /* the directory of --cgroup */
	struct switches *switches;   /* switches of the runtimes' samplers */
	bool stops_at_exec;          /* the program has switches that are set before it runs */
	struct control *control;     /* control blocks of programs with probes */
	struct processes *processes; /* all known processes */
	struct loading loading; /* until the loading thread ends, only it may use the session */
	struct session *session;
	struct target_entry first; /* the started program as the kernel side knows it */
	struct perf_maps *maps;
	struct unwinder *unwinder; /* NULL: stacks are not walked by unwind rows */
	struct counters *counters;
	struct throttle throttle;
	struct drain *drain;
	struct watch *watch;
	enum end_reason reason;
	bool ended;     /* the program ended with `status`, or all attached programs ended */
	int status;     /* as in wait(2) */
	uint64_t typed; /* when Ctrl-C was pressed for the program and the recorder, ns; 0: never */
	bool piped;     /* the profile goes to standard output */
	char *path;     /* of the current file; NULL: piped */
	struct rotation rotation;
	struct keeping keeping;
	struct pusher pusher;
	uint32_t owner; /* of all recorded processes, as the profile says; USER_NONE: nothing yet */
	bool removed;   /* the file was removed, which was reported */
	uint64_t next_check;     /* of the file's existence */
	struct output_file file; /* the same file; unused: piped */
	bool begun;              /* the program runs: files get their names at once */
	bool failed;             /* the profile could not be written */
	uint64_t bytes;          /* size of the profile, or of its completed files */
	uint64_t cut; /* if it could not be written to its end: about where it ends; else 0 */
};

/* Prints the error and returns its exit code. */
int recording_fail(const struct problem *problem);
int recording_fail_errno(const char *what, int err);

/*
 * Makes a pipe without a reader and the file size limit write errors instead of fatal
 * signals. Must be called when no program can inherit this any more.
 */
void recording_outlive_writes(void);

/* With -v: reports a completed step and its time. */
void recording_step(const struct recording *recording, const char *what);

/*
 * Everything from the command line to the running program, whose path is `words[0]`.
 * Returns 0 or an exit code, with the error printed.
 */
int recording_open(struct recording *recording, char **words);

/* The same for running programs, selected by the options. */
int recording_attach(struct recording *recording);

/* Steps common to both; each returns 0 or an exit code, with the error printed. The first starts
 * loading the BPF object; from then on, the options must not change. */
int recording_may(struct recording *recording);
int recording_open_output(struct recording *recording);

/* The name of the output for messages. */
static inline const char *recording_output(const struct recording *recording)
{
	return recording->path ? recording->path : recording->options.output;
}

/* Opens the profile's file, or the next one; reports errors. */
int recording_open_file(struct recording *recording, struct sink **sink);
/* Gives the file its name, and an earlier one the name with ".old"; reports errors. */
int recording_publish(struct recording *recording);
/* The recording has begun: the same for its first file. An exit code. */
int recording_begin(struct recording *recording);
/* After an error: the program continues unrecorded until it ends. */
void recording_wait_unprofiled(struct recording *recording);

/* Checks --rotate, --keep, --push and related options: 0 or -EINVAL, with the error printed. */
int recording_check_spans(struct record_options *options);

/* Is it written in several files? recording_rotate() starts the next file when it is due: 0 or a
 * negative errno. */
bool recording_rotates(const struct recording *recording);
int recording_rotate(struct recording *recording);

/* With --keep: makes the writer. 0 or a negative errno. recording_keep() is called every round:
 * writes a requested snapshot. */
int recording_keep_open(struct recording *recording);
void recording_keep(struct recording *recording);
/* Requests a snapshot. */
void recording_ask(struct recording *recording);

/* --when. Parses the conditions: -EINVAL, with the error printed, or -ENOMEM. Pass each record to
 * when_record(). */
struct when;
int when_parse(struct record_options *options, struct when **out);
void when_free(struct when *when); /* NULL is allowed */
int when_record(void *context, const struct record *record);
/* Every round: requests a snapshot if a condition came true. */
void recording_when(struct recording *recording);

/* At the end: records the condition that would now cause a snapshot, if any. */
int recording_put_why(struct recording *recording);

/* Is a snapshot due, so that the recording must be split? recording_keep_split(): it was split at
 * `time`, and goes on in another file. 0 or a negative errno. */
bool recording_snapshot_is_due(const struct recording *recording);
int recording_keep_split(struct recording *recording, uint64_t time);
/* At the end, when the last segment is written: writes the kept part. */
int recording_keep_finish(struct recording *recording, uint64_t end);

/* Every round, except during a split: pauses or resumes the recording if that was requested. 0 or a
 * negative errno. */
int recording_pause(struct recording *recording);
/* How long was recorded until `time`, without pauses, ns. */
uint64_t recording_recorded(const struct recording *recording, uint64_t time);

/* With --push. Starts the pushing process, before anything else: 0 or an exit code. Passes it a
 * complete profile. Waits until it has pushed all; an exit code, with the error printed. */
int recording_push_open(struct recording *recording);
void recording_push(struct recording *recording, const char *path);
int recording_push_close(struct recording *recording);

/* Formats a size, such as "12.5 MiB". */
void recording_describe_size(uint64_t bytes, char *out, size_t size);

/* Waits until the BPF object is loaded or loading has failed: the result is in `loading`. */
void recording_await_session(struct recording *recording);

/* Stores whose the recorded processes are if that has changed: 0 or a negative errno. */
int recording_put_user(struct recording *recording);

/* Reports once if the profile's file was removed or replaced during recording. */
void recording_check_output(struct recording *recording);

/* While the BPF programs are loaded, makes unwind rows of the files that the program will load;
 * then activates them. Needs the records of mappings, because these have the addresses. */
void recording_start_unwinder(struct recording *recording);
void recording_connect_unwinder(struct recording *recording);

/* Opens the requested agent, if any. An exit code. */
int recording_open_agent(struct recording *recording);
/* Closes it if the program would not run with it; warns if it will sample nothing there. */
void recording_choose_agent(struct recording *recording, char *const *words,
			    struct agent_verdict *verdict);
/* The profile will name the programs without it. */
void recording_expect_agent(struct recording *recording, const struct agent_verdict *verdict);

int recording_open_session(struct recording *recording, pid_t maps_of);
int recording_open_profile(struct recording *recording, char *const *words);
int recording_open_watch(struct recording *recording, const int *pidfds, size_t count);
int recording_put_start(struct recording *recording);
/* Which runtimes were looked for in vain, as the beginning of a sentence. */
const char *recording_no_runtime(const struct recording *recording);
/* At the end: if no program had a runtime, stores which programs these were. */
int recording_put_none(struct recording *recording);
void recording_warn_streams(const struct recording *recording);

/* What the program and those that its arguments name will load. */
struct library_search {
	struct files *files;
	struct unwinder *unwinder;
	const struct agent_kind *agent; /* the requested agent, or NULL */
	struct buffer found;            /* private to commands/record/libraries.c */
	struct agent_verdict verdict;   /* for the program and all its libraries */
	bool generates;                 /* a library has a runtime that generates code */
	bool probed;                    /* a file has probes */
	bool copies;                    /* arguments or environment make a runtime copy its code */
	bool emulated;                  /* the command executes a translation of a program */
};

/* Reads the files that will be loaded; `words`: the command. They are released by
 * recording_leave_libraries(), which passes each to the visitor, if any. */
void recording_find_libraries(struct recording *recording, char **words,
			      struct library_search *search);
void recording_leave_libraries(struct library_search *search, libraries_visit *visit,
			       void *context);

/* The requested ceiling in samples per second; 0: no samples, UINT64_MAX: the program's own. */
uint64_t recording_ceiling(const struct record_options *options);

/* Whether each collection must be reported with page faults and RSS, whatever the cost. */
bool recording_each_collection(const struct record_options *options);

/* Detaches, completes the file and prints the summary. Afterwards the kernel side emits nothing. */
void recording_complete(struct recording *recording);

/* The options of gcprof record: rows for options_parse(), and defaults. */
extern const struct option_row record_rows[];
extern const struct record_options record_defaults;

/* Completes and checks the options; `words`: the command. 0 or a negative errno, with the error
 * printed. */
int record_check_options(struct record_options *options, char **words);

#endif
