/* SPDX-License-Identifier: BSD-2-Clause */
/* control_rows.h: rows of the control block, as recorders write them. */
#ifndef GCPROF_CONTROL_ROWS_H
#define GCPROF_CONTROL_ROWS_H

#include "provider/data.h"

/* A recorder asks for a period, as the opener does. */
static inline void row_ask(int row, uint64_t period)
{
	gcprof_control.requests[row] =
		(struct gcprof_request){.recorder = (uint32_t)row + 1,
					.generation = gcprof_control.generation + 1,
					.period = period};
	gcprof_control.generation++;
	gcprof_control.recorded = 1;
}

static inline void row_leave(int row)
{
	gcprof_control.requests[row] = (struct gcprof_request){.recorder = 0};
	gcprof_control.generation++;
}

#endif
