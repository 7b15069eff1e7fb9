/* SPDX-License-Identifier: BSD-2-Clause */
/* cross_check.h: compares stacks walked in the kernel with the same stacks unwound from dumps. */
#ifndef GCPROF_CROSS_CHECK_H
#define GCPROF_CROSS_CHECK_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../../symbols/stack_unwind.h"

struct cross_check;

/* The outcome for a stack. */
enum cross_check_class {
	CROSS_SAME,    /* equal, to the same end */
	CROSS_CUT,     /* equal as far as the dump or the depth limit reaches */
	CROSS_EARLY,   /* different, but rows were missing: the stack from the dump is stored */
	CROSS_FURTHER, /* the kernel's walk continues where the dump's ends */
	CROSS_SHORTER, /* the kernel's walk ends where the dump's continues */
	CROSS_GUESSED, /* different, but by frame pointers, for lack of rows */
	CROSS_NO_FILE, /* beyond code in no file: neither can know */
	CROSS_DIFFERENT,
	CROSS_CLASSES
};

/* The stack from the kernel side. */
struct walked_stack {
	const struct event_native *frames; /* innermost first */
	size_t count;
	uint32_t quality; /* enum stack_quality */
	bool early;       /* rows were missing or did not fit: unwound from the dump */
};

int cross_check_create(struct cross_check **out);
void cross_check_free(struct cross_check *cross_check); /* NULL is allowed */

void cross_check_add(struct cross_check *cross_check, struct files *files,
		     const struct process *process, const struct walked_stack *walked,
		     const struct stack_walk *copied);

/* Compares both; *at becomes the number of equal innermost frames. */
enum cross_check_class cross_check_compare(const struct walked_stack *walked,
					   const struct stack_walk *copied, size_t *at);

/* Logs the counts and the places where stacks differ. NULL: nothing was compared; logs nothing. */
void cross_check_report(const struct cross_check *cross_check, struct files *files);

#endif
