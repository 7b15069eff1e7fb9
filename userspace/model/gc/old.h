/* SPDX-License-Identifier: BSD-2-Clause */
/* old.h: sampled objects that became old: live bytes, and their part in major collections. */
/* Not thread-safe. The objects belong to the caller. */
#ifndef GCPROF_OLD_H
#define GCPROF_OLD_H

#include <stdbool.h>
#include <stdint.h>

#include "../world/estimate.h"
#include "sample.h"

struct life;
struct pauses;
struct world;

struct old {
	struct world *world; /* borrowed, as is the next */
	struct pauses *pauses;
};

/* Lives are kept by stack and by type. A sample has had both since its allocation. */
uint32_t old_life_of_stack(const struct old *of, const struct sample *sample);
struct life *old_life_of_type(const struct old *of, const struct sample *sample);

/* The object is old from now on, if it was not before. -ENOMEM. */
int old_begin(struct old *of, struct sample *sample);

/* It has died, or was freed. */
void old_end(struct old *of, struct sample *sample);

/* Nothing more is known of it. If it was left out on purpose (`replaced`), the other old objects of
 * its process stand for it from now on. */
void old_lose(struct old *of, struct sample *sample, bool replaced);

/* It is alive at the end: adds it to `live`, and to its site and type. */
void old_finish(struct old *of, const struct sample *sample, struct tally *live);

#endif
