/* SPDX-License-Identifier: BSD-2-Clause */
/* rights.h: may this process record, and can this kernel? */
#ifndef GCPROF_RIGHTS_H
#define GCPROF_RIGHTS_H

#include <stdbool.h>

#include "problem.h"

struct rights {
	bool probes; /* may attach to programs' probes */
};

/*
 * -EPERM: nothing can be recorded; -EOPNOTSUPP: not on this kernel. 0 with a
 * sentence in *problem: something cannot be recorded, the rest can.
 */
int rights_check(struct rights *out, struct problem *problem);

#endif
