/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.h: one row per function, from the costs of stacks. */
#ifndef GCPROF_FUNCTIONS_H
#define GCPROF_FUNCTIONS_H

struct model;
struct world;

/* Fills world->functions. Rows with a cost go to the model, highest rank first. 0 or -ENOMEM. */
int functions_finish(struct world *world);

/* Names functions that the profile does not name, if it was recorded on this machine. */
int symbolize_missing(struct world *world);

/* Name for a stack of which no frame is shown. */
const char *functions_none(const struct model *model);

#endif
