/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: validates the options of a heap. */
#ifndef GCPROF_OPTIONS_H
#define GCPROF_OPTIONS_H

#include "gc.h"

/* This much of the nursery stays in the caches and is filled faster than a larger one. */
enum { NURSERY_CACHED = 4 << 20 };

/* Replaces fields of 0 by defaults, checks the rest, and adapts sizes to each other. */
int options_check(const struct gc_options *given, struct gc_options *out);

#endif
