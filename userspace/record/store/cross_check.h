/* SPDX-License-Identifier: BSD-2-Clause */
/* cross_check.h: compares stacks walked in the kernel with the same stacks walked from dumps. */
#ifndef GCPROF_CROSS_CHECK_H
#define GCPROF_CROSS_CHECK_H

#include "../world/files.h"
#include "../world/processes.h"
#include "../../symbols/stack_unwind.h"

struct cross_check;

/* How the two walks of one stack compare. */
enum cross_check_class {
	CROSS_SAME,  /* frame by frame, to the same end */
	CROSS_CUT,   /* as far as the dump reaches, or the greatest depth */
	CROSS_EARLY, /* they part, but rows were not there (yet): what is stored is from the dump */
	CROSS_FURTHER, /* the kernel's walk goes on where that of the dump ends */
	CROSS_SHORTER, /* the kernel's walk ends where that of the dump goes on */
	CROSS_GUESSED, /* they part, but frame pointers were followed for want of rows */
	CROSS_NO_FILE, /* behind code that lies in no file: neither can know */
	CROSS_DIFFERENT,
	CROSS_CLASSES
};

/* What the kernel side found. */
struct walked_stack {
	const struct event_native *frames; /* innermost first */
	size_t count;
	uint32_t quality; /* enum stack_quality */
	bool early;       /* no rows yet, or none that fit: the recorder walks a dump instead */
};

int cross_check_create(struct cross_check **out);
void cross_check_free(struct cross_check *cross_check); /* NULL is allowed */

void cross_check_add(struct cross_check *cross_check, struct files *files,
		     const struct process *process, const struct walked_stack *walked,
		     const struct stack_walk *copied);

/* How the two compare; *at becomes the number of leading frames that are the same. */
enum cross_check_class cross_check_compare(const struct walked_stack *walked,
					   const struct stack_walk *copied, size_t *at);

/* Logs the counts, and the places where walks parted. NULL: nothing was compared, nothing is said.
 */
void cross_check_report(const struct cross_check *cross_check, struct files *files);

#endif
