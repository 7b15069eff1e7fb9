/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h: findings that stand out in a profile, each with evidence and a remedy. */
#ifndef GCPROF_ADVICE_H
#define GCPROF_ADVICE_H

#include <stddef.h>

#include "../model/model.h"

struct advice {
	const char *name; /* stable, for scripts: "premature_promotion" */
	char *evidence;   /* a sentence with the figures */
	char *remedy;     /* what to do about it; "": nothing that is known to help */
};

enum { ADVICE_MAX = 16 };

struct advice_list {
	struct advice items[ADVICE_MAX];
	size_t count;
};

/* Fills an empty list. 0 or -ENOMEM; call advice_free() in any case. */
int advice_find(const struct model *model, struct advice_list *list);
void advice_free(struct advice_list *list);

#endif
