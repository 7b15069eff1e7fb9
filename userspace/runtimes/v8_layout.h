/* SPDX-License-Identifier: BSD-2-Clause */
/* v8_layout.h: layouts of V8 objects, from the constants that its file exports for debuggers. */
#ifndef GCPROF_V8_LAYOUT_H
#define GCPROF_V8_LAYOUT_H

#include <stdbool.h>

#include "../../bpf/v8.h"

struct runtime_file;

/* The layout for the walker. False, and all 0: no engine, missing constants, or objects of another
 * form. */
bool v8_layout_of(struct runtime_file *file, struct v8_layout *out);

#endif
