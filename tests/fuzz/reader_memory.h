/* SPDX-License-Identifier: BSD-2-Clause */
/* reader_memory.h: an input in place of the process that reads a program's memory for a reader. */
#ifndef GCPROF_READER_MEMORY_H
#define GCPROF_READER_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Memory has the input at each multiple of its size; the input also says which answers are wrong.
 * The socket for the reader, until reader_memory_end(); -1: none. One at a time. */
int reader_memory_begin(const uint8_t *data, size_t size);
void reader_memory_end(void);

#endif
