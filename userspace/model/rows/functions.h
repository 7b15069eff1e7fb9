/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.h: one row a function, out of the costs of stacks. */
#ifndef GCPROF_FUNCTIONS_H
#define GCPROF_FUNCTIONS_H

struct model;
struct world;

/* Fills world->functions; rows that cost something into the model, most costly first. */
int functions_finish(struct world *world);

/* Names what the profile does not name, if this is the machine it was recorded on. */
int symbolize_missing(struct world *world);

/* What stands for the functions of a stack of which nothing is shown. */
const char *functions_none(const struct model *model);

#endif
