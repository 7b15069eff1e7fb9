/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h: what stands out in a profile, with the figures that say so and what to do. */
#ifndef GCPROF_ADVICE_H
#define GCPROF_ADVICE_H

#include <stddef.h>

#include "../model/model.h"

struct advice {
	const char *name; /* stable, for programs: "premature_promotion" */
	char *evidence;   /* a sentence with the figures */
	char *remedy;     /* what to do about it */
};

enum { ADVICE_MAX = 16 };

struct advice_list {
	struct advice items[ADVICE_MAX];
	size_t count;
};

/* Fills an empty list; advice_free() in any case. 0 or -ENOMEM. */
int advice_find(const struct model *model, struct advice_list *list);
void advice_free(struct advice_list *list);

/* Where objects are allocated, as text: "grow < add < main". Returned in out. */
void site_text(const struct model_site *site, char *out, size_t size);

#endif
