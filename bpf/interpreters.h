/* SPDX-License-Identifier: BSD-2-Clause */
/* interpreters.h: what the walkers need to know of a process's interpreters. */
#ifndef GCPROF_INTERPRETERS_H
#define GCPROF_INTERPRETERS_H

#include "cpython.h"
#include "pypy.h"
#include "ruby.h"
#include "v8.h"

/* In the map `interpreters`, by process; a forked child gets its parent's. */
struct interpreters {
	uint64_t since;        /* ns: not valid for a program executed later */
	uint64_t cpython_bias; /* load bias of the file that contains Python */
	uint64_t ruby_bias;
	uint64_t pypy_bias;
	struct cpython_layout cpython;
	struct v8_layout v8;
	struct ruby_layout ruby;
	struct pypy_layout pypy;
};

#endif
