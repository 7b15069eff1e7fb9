/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.h: layouts of Python interpreter structures, by version. */
#ifndef GCPROF_CPYTHON_LAYOUT_H
#define GCPROF_CPYTHON_LAYOUT_H

#include <stdbool.h>

#include "../../../bpf/cpython.h"

struct runtime_file;

/* The interpreter's version in a file in the format of Py_Version: one byte each for 3, 11 and the
 * third number, from the top. False: none, or older than 3.11. */
bool cpython_version(struct runtime_file *file, uint32_t *version);

/*
 * Sets the offsets of `out` for a version. `table` is the start of its _PyRuntime, which holds the
 * offsets since 3.13 and is not trusted. False: an unsupported version or build, or offsets that
 * cannot be right.
 */
#define CPYTHON_TABLE 96 /* words */
bool cpython_offsets(uint32_t version, const uint64_t table[CPYTHON_TABLE],
		     struct cpython_layout *out);

/* Is it an interpreter without a global lock, of 3.13 or later? */
bool cpython_is_free_threaded(struct runtime_file *file);

/* The layout for the walker. False, and all 0: no interpreter, or an unsupported version or build.
 */
bool cpython_layout_of(struct runtime_file *file, struct cpython_layout *out);

#endif
