/* SPDX-License-Identifier: BSD-2-Clause */
/* problem.h: the reason for a failure, as a sentence for the user, passed up with the error. */
#ifndef GCPROF_PROBLEM_H
#define GCPROF_PROBLEM_H

/* Escaped text: filled by problem_set() alone, in the function that knows the cause; printed by the
 * command. All zero: no message. */
struct problem {
	char text[512];
};

/* Sets the sentence (truncated if too long) and returns `error`. Arguments are escaped: print the
 * text with log_problem(). */
int problem_set(struct problem *problem, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Advice on an error, to follow its name; "" if there is none. */
const char *problem_advice(int err);

#endif
