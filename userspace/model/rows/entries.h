/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.h: what each function costs that threads, or what a runtime has for them, begin with. */
#ifndef GCPROF_ENTRIES_H
#define GCPROF_ENTRIES_H

struct fibers;
struct world;

/* Rows into the model, once functions have names. 0 or -ENOMEM. */
int entries_finish(struct world *world, const struct fibers *fibers);

#endif
