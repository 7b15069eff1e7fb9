/* SPDX-License-Identifier: BSD-2-Clause */
/* entries.h: costs by the function that a thread or fiber begins with. */
#ifndef GCPROF_ENTRIES_H
#define GCPROF_ENTRIES_H

struct fibers;
struct world;

/* Fills the model's rows from the sums of functions. 0 or -ENOMEM. */
int entries_finish(struct world *world, const struct fibers *fibers);

#endif
