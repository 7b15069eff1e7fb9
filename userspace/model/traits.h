/* SPDX-License-Identifier: BSD-2-Clause */
/* traits.h: what is known of the runtimes of a profile by their names. */
#ifndef GCPROF_TRAITS_H
#define GCPROF_TRAITS_H

#include <stdbool.h>

#include "model.h"

/* runtimes/reports.def explains them. */
enum trait { MOVES_FIBERS = 1, COMPILES_FIRST = 2, EXITS_WHEN_FULL = 4 };

bool has_trait(const struct model *model, enum trait trait);

#endif
