/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h: finds the type of the Python object in a block. */
#ifndef GCPROF_CPYTHON_TYPES_H
#define GCPROF_CPYTHON_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The type name of blocks without an object. */
#define TYPES_BUFFER "buffer"

/* `type_of_types` is PyType_Type. Returns 0 or a negative errno. */
int types_start(const void *type_of_types);

/* find_type() of struct sampling_next; called with the interpreter's lock held. */
uint64_t types_find(const void *block, size_t size, bool last);

#endif
