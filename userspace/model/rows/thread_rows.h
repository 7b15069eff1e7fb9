/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_rows.h: rows of threads, of alike threads, of their entry functions, and of programs. */
#ifndef GCPROF_THREAD_ROWS_H
#define GCPROF_THREAD_ROWS_H

#include "../../profile/record.h"

struct world;

int thread_rows_comm(struct world *world, const struct record_comm *record);
int thread_rows_title(struct world *world, const struct record_title *record);
int thread_rows_exec(struct world *world, const struct record_exec *record);

/* Fills model->threads, most CPU time first. */
int thread_rows_finish(struct world *world);

struct fibers;

/* Fills the model's rows from the sums of functions. 0 or -ENOMEM. */
int entries_finish(struct world *world, const struct fibers *fibers);

/* Fills model->programs. Needs the rows of system calls and threads. 0 or -ENOMEM. */
int program_rows_finish(struct world *world);

/* Fills the model's rows from those of threads. 0 or -ENOMEM. */
int time_groups_finish(struct world *world);

#endif
