/* SPDX-License-Identifier: BSD-2-Clause */
/* text_copies.h: programs that copy or translate code, which must be without breakpoints. */
#ifndef GCPROF_TEXT_COPIES_H
#define GCPROF_TEXT_COPIES_H

#include "../kernel/session.h"
#include "../opener/opener.h"
#include "../world/files.h"
#include "../world/processes.h"
#include "../../util/problem.h"

enum text_copies {
	TEXT_UNKNOWN,
	TEXT_ASKED,      /* the opener reads about the program */
	TEXT_STAYS,      /* the program executes its code where it is mapped */
	TEXT_COPIED,     /* an option makes the runtime copy its own code */
	TEXT_TRANSLATED, /* another program executes this code */
	TEXT_UNREADABLE,
};

enum { TEXT_QUESTIONS = 64 };

struct text_question {
	struct text_copies_asker *asker; /* NULL: unused */
	uint32_t process;
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

#endif
