/* SPDX-License-Identifier: BSD-2-Clause */
/* library.h: functions of runtime libraries, and those that start threads, fibers and programs. */
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

/* Does this function call the entry functions of the program? Ignores the argument list in Java's
 * names. */
bool is_starter(const char *name);

#endif
