/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_rows.h: thread names, and one row per active thread. */
#ifndef GCPROF_THREAD_ROWS_H
#define GCPROF_THREAD_ROWS_H

#include "../../profile/record.h"

struct world;

int thread_rows_comm(struct world *world, const struct record_comm *record);
int thread_rows_title(struct world *world, const struct record_title *record);
int thread_rows_exec(struct world *world, const struct record_exec *record);

/* Fills model->threads, most CPU time first. */
int thread_rows_finish(struct world *world);

#endif
