/* SPDX-License-Identifier: BSD-2-Clause */
/* ruby_layout.h: layouts of Ruby interpreter structures, by version. */
#ifndef GCPROF_RUBY_LAYOUT_H
#define GCPROF_RUBY_LAYOUT_H

#include <stdbool.h>

#include "../../bpf/ruby.h"

struct runtime_file;

/* The layout for the walker; `version` is the interpreter's, such as "3.1.2". False, and all 0: an
 * unsupported version or build. */
bool ruby_layout_of(struct runtime_file *file, const char *version, struct ruby_layout *out);

#endif
