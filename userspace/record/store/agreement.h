/* SPDX-License-Identifier: BSD-2-Clause */
/* agreement.h: do stacks walked in the kernel agree with the same stacks walked from copies? */
#ifndef GCPROF_AGREEMENT_H
#define GCPROF_AGREEMENT_H

#include "../world/modules.h"
#include "../world/processes.h"
#include "../../symbols/stack_unwind.h"

struct agreement;

/* How the two walks of one stack compare. */
enum agreement_class {
	AGREE_SAME,  /* frame by frame, to the same end */
	AGREE_CUT,   /* as far as the copy reaches, or the greatest depth */
	AGREE_EARLY, /* they part, but rows were not there (yet): what is stored is from the copy */
	AGREE_FURTHER, /* the kernel's walk goes on where that of the copy ends */
	AGREE_SHORTER, /* the kernel's walk ends where that of the copy goes on */
	AGREE_GUESSED, /* they part, but frame pointers were followed for want of rows */
	AGREE_NO_FILE, /* behind code that lies in no file: neither can know */
	AGREE_DIFFERENT,
	AGREE_CLASSES
};

/* What the kernel side found. */
struct walked_stack {
	const struct event_native *frames; /* innermost first */
	size_t count;
	uint32_t quality; /* enum stack_quality */
	bool early;       /* no rows yet, or none that fit: the recorder walks a copy instead */
};

int agreement_create(struct agreement **out);
void agreement_free(struct agreement *agreement); /* NULL is allowed */

void agreement_add(struct agreement *agreement, struct modules *modules,
		   const struct process *process, const struct walked_stack *walked,
		   const struct stack_walk *copied);

/* How the two compare; *at becomes the number of leading frames that are the same. */
enum agreement_class agreement_compare(const struct walked_stack *walked,
				       const struct stack_walk *copied, size_t *at);

/* Logs the counts, and the places where walks parted. NULL: nothing was compared, nothing is said.
 */
void agreement_tell(const struct agreement *agreement, struct modules *modules);

#endif
