/* SPDX-License-Identifier: BSD-2-Clause */
/* v8_layout.h: where things are in the objects of a V8 engine, as its file says for debuggers. */
#ifndef GCPROF_V8_LAYOUT_H
#define GCPROF_V8_LAYOUT_H

#include <stdbool.h>

#include "../../bpf/v8.h"

struct runtime_file;

/* What the walker must know of the file. False, and all 0: it has no engine, or one that does not
 * say enough, or whose objects have another form. */
bool v8_layout_of(struct runtime_file *file, struct v8_layout *out);

#endif
