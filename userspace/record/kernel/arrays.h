/* SPDX-License-Identifier: BSD-2-Clause */
/* arrays.h: reads whole arrays of the kernel side. */
#ifndef GCPROF_ARRAYS_H
#define GCPROF_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

/* All values of an array by one system call: `count` of `size` bytes, including those of each CPU.
 * The caller frees the result. NULL: see *err. */
void *array_read(int map_fd, uint32_t count, size_t size, int *err);

#endif
