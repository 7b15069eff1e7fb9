/* SPDX-License-Identifier: BSD-2-Clause */
/* rights.h: may this process record, and can this kernel? */
#ifndef GCPROF_RIGHTS_H
#define GCPROF_RIGHTS_H

#include "../../util/problem.h"

/*
 * Goes through the vital checks. -EPERM: nothing can be recorded; -EOPNOTSUPP:
 * not on this kernel; each with a sentence in *problem.
 */
int rights_check(struct problem *problem);

#endif
