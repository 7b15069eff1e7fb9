/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.h: one row a function, out of the costs of stacks. */
#ifndef GCPROF_FUNCTIONS_H
#define GCPROF_FUNCTIONS_H

struct pass;

/* Rows into model->functions, most costly first. 0 or -ENOMEM. */
int functions_finish(struct pass *pass);

/* Names what the profile does not name, if this is the machine it was recorded on. */
int symbolize_missing(struct pass *pass);

#endif
