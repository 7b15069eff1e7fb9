/* SPDX-License-Identifier: BSD-2-Clause */
/* library.h: functions of the runtime libraries of C, C++ and Rust. */
#ifndef GCPROF_LIBRARY_H
#define GCPROF_LIBRARY_H

#include <stdbool.h>

struct model_function;

/*
 * Does a native function belong to the runtime library of C, C++ or Rust, to a header of the
 * system, or to what calls main()? Its source file decides; if that is unknown, the file that its
 * code is in and its name.
 */
bool is_library_function(const struct model_function *function);

#endif
