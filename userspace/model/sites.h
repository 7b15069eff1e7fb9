/* SPDX-License-Identifier: BSD-2-Clause */
/* sites.h: where objects are allocated: one row for a function and its nearest callers. */
#ifndef GCPROF_SITES_H
#define GCPROF_SITES_H

struct pass;

/* Rows into model->sites, most collection time first. After functions and types are named. */
int sites_finish(struct pass *pass);

#endif
