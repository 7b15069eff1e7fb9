/* SPDX-License-Identifier: BSD-2-Clause */
/* demangle.h: names of C++ and Rust functions as their authors wrote them. */
#ifndef GCPROF_DEMANGLE_H
#define GCPROF_DEMANGLE_H

/* The readable name, to be freed; NULL if it is no mangled name or one better left alone. */
char *demangle(const char *name);

#endif
