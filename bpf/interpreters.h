/* SPDX-License-Identifier: BSD-2-Clause */
/* interpreters.h: what walkers must know of the interpreters of a process. */
#ifndef GCPROF_INTERPRETERS_H
#define GCPROF_INTERPRETERS_H

#include "cpython.h"
#include "v8.h"

/* In the map `interpreters`, by process; a forked child has its parent's. */
struct interpreters {
	uint64_t since;        /* ns: it says nothing about a program that was executed later */
	uint64_t cpython_bias; /* of the file that has it */
	struct cpython_layout cpython;
	struct v8_layout v8;
};

#endif
