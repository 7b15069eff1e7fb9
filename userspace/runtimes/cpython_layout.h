/* SPDX-License-Identifier: BSD-2-Clause */
/* cpython_layout.h: where things are in the structures of a Python interpreter, by its version. */
#ifndef GCPROF_CPYTHON_LAYOUT_H
#define GCPROF_CPYTHON_LAYOUT_H

#include <stdbool.h>

#include "../../bpf/cpython.h"

struct runtime_file;

/* The version of the interpreter in a file as Py_Version has it: a byte each for 3, 11 and the
 * third number, from the top. False: there is none, or it is older than 3.11. */
bool cpython_version(struct runtime_file *file, uint32_t *version);

/* What the walker must know of the file. False, and all 0: it has no interpreter, or one of a
 * version, or built in a way, that is not known. */
bool cpython_layout_of(struct runtime_file *file, struct cpython_layout *out);

#endif
