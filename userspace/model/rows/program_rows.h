/* SPDX-License-Identifier: BSD-2-Clause */
/* program_rows.h: one row for all processes of the same name. */
#ifndef GCPROF_PROGRAM_ROWS_H
#define GCPROF_PROGRAM_ROWS_H

struct world;

/* Fills model->programs. Needs the rows of system calls and threads. 0 or -ENOMEM. */
int program_rows_finish(struct world *world);

#endif
