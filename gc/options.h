/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: checks the options of a heap. */
#ifndef GCPROF_OPTIONS_H
#define GCPROF_OPTIONS_H

#include "gc.h"

/* As much of the nursery stays in caches, where it is filled faster than more would be. */
enum { NURSERY_CACHED = 4 << 20 };

/* Replaces zero fields by defaults, checks the rest, and makes sizes fit each other. */
int options_check(const struct gc_options *given, struct gc_options *out);

#endif
