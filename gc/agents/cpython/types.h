/* SPDX-License-Identifier: BSD-2-Clause */
/* types.h: which Python object is in a block? */
#ifndef GCPROF_CPYTHON_TYPES_H
#define GCPROF_CPYTHON_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What blocks without an object are called. */
#define TYPES_BUFFER "buffer"

/* `type_of_types`: PyType_Type. 0, or a negative errno. */
int types_start(const void *type_of_types);

/* As in struct sampling_next: called with the interpreter's lock held. */
uint64_t types_find(const void *block, size_t size, bool last);

#endif
