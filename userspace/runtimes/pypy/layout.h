/* SPDX-License-Identifier: BSD-2-Clause */
/* layout.h: finds in PyPy's code what the walker of its functions reads. */
#ifndef GCPROF_PYPY_LAYOUT_H
#define GCPROF_PYPY_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../bpf/pypy.h"

struct runtime_file;

/* False, and all 0: the code differs. *left: bytes of the file that may still be read. */
bool pypy_layout_of(struct runtime_file *file, uint64_t *left, struct pypy_layout *out);

#endif
