/* SPDX-License-Identifier: BSD-2-Clause */
/* problem.h: why something failed, as a sentence for the user, handed up with the error. */
#ifndef GCPROF_PROBLEM_H
#define GCPROF_PROBLEM_H

/* Filled by whoever knows most; printed by the command. All zero: nothing to say. */
struct problem {
	char text[512];
};

/* Sets the sentence (cut if too long) and returns `error`. What the arguments bring in is escaped:
 * log_escaped() prints the text. */
int problem_set(struct problem *problem, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What can be done about an error, to be put behind its name; "" if nothing is known. */
const char *problem_advice(int err);

#endif
