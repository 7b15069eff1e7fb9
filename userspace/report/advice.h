/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h: what is wrong with a recording, each with evidence and a remedy. */
#ifndef GCPROF_ADVICE_H
#define GCPROF_ADVICE_H

#include <stddef.h>

#include "../model/model.h"

struct advice {
	const char *name; /* stable, for scripts: "lost_data" */
	char *evidence;   /* a sentence with the figures */
	char *remedy;     /* what to do about it; "": nothing that is known to help */
};

enum { ADVICE_MAX = 8 };

struct advice_list {
	struct advice items[ADVICE_MAX];
	size_t count;
};

/* Fills an empty list. 0 or -ENOMEM; call advice_free() in any case. */
int advice_find(const struct model *model, struct advice_list *list);
void advice_free(struct advice_list *list);

/* Why a stack is incomplete, as a clause: losses.c. */
const char *stack_reason_text(enum stack_reason reason);

#endif
