/* SPDX-License-Identifier: BSD-2-Clause */
/* findings.h: the causes of lost time, ranked by what a change could give back. */
#ifndef GCPROF_FINDINGS_H
#define GCPROF_FINDINGS_H

#include <stddef.h>

struct arena;
struct evidence;
struct model_finding;
struct own_places;
struct world;

enum { FINDINGS_SHOWN = 5 };

/* Fills the model's findings, unless it has a filter. Needs all its other rows. 0 or -ENOMEM. */
int findings_finish(struct own_places *places, struct world *world);

/* The same from evidence: at most FINDINGS_SHOWN rows. Texts belong to the arena. 0 or -ENOMEM. */
int findings_make(const struct evidence *evidence, struct arena *arena, struct model_finding *out,
		  size_t *n);

#endif
