/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_record.h: one recording, shared by the files of `gcprof record`. */
#ifndef GCPROF_CMD_RECORD_H
#define GCPROF_CMD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/options.h"
#include "record/problem.h"
#include "record/rights.h"
#include "record/target.h"

#define OUTPUT_DEFAULT "gcprof.data"

enum {
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_BY_SIGNAL = 128,
};

enum end_reason { END_EXITED = 1, END_INTERRUPTED = 2, END_DURATION = 3, END_ERROR = 4 };

/* Everything that belongs to one recording, in the order in which it comes to be. */
struct recording {
	struct record_options options;
	uint64_t began; /* when gcprof was called, for the timings of -v */
	uint64_t start; /* when the program was released */
	char *command;  /* the file to run */
	struct target_user user;
	struct rights rights;
	struct profile_writer *writer;
	struct target *target;
	struct session *session;
	struct perf_maps *maps;
	struct unwinder *unwinder; /* NULL: stacks are not walked by rows */
	struct store *store;
	struct ledger *ledger;
	struct drain *drain;
	struct watch *watch;
	enum end_reason reason;
	bool ended;     /* the program, with `status` */
	int status;     /* as wait(2) shows it */
	bool failed;    /* the profile could not be written */
	uint64_t bytes; /* of the profile */
};

/* Print what failed and return the exit code for it. */
int recording_fail(const struct problem *problem);
int recording_fail_errno(const char *what, int err);

/* With -v: says that a step is done, and when. */
void recording_step(const struct recording *recording, const char *what);

/*
 * From the command line to the running program; the program's path is
 * `words[0]`. 0 or an exit code, with the error printed.
 */
int recording_open(struct recording *recording, char **words);

/* Detaches, completes the file, prints the summary. The kernel side is silent afterwards. */
void recording_complete(struct recording *recording);

#endif
