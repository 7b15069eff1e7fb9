/* SPDX-License-Identifier: BSD-2-Clause */
/* long_name.h: shortens names of C++ and Rust functions. */
#ifndef GCPROF_LONG_NAME_H
#define GCPROF_LONG_NAME_H

#define LONG_NAME_MAX 512 /* characters kept */

/*
 * Shortens a readable name in place to LONG_NAME_MAX characters, so that it keeps the function's
 * own name and differs from other names: parameters become "(...)", then template arguments
 * "<...>", the most deeply nested first. A hash of the whole name is its end. Thread-safe.
 */
void long_name_shorten(char *name);

#endif
