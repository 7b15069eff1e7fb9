/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: answers READ_ROWS: the unwind rows of a file. */
#ifndef GCPROF_READER_ROWS_H
#define GCPROF_READER_ROWS_H

#include <stddef.h>

#include "../symbols/unwind.h"
#include "../../bpf/hotspot.h"

#define ROWS_ANSWER_MAX ((size_t)32 << 20)

/* Sends the parts of the file in order, with the layout of a Java virtual machine, or zeroes. */
void rows_put(const struct unwind_file *file, const struct hotspot_layout *hotspot);

/* Builds a file from an answer and checks it. -EBADMSG, -ENOMEM. */
int rows_take(const void *data, size_t size, struct unwind_file **out,
	      struct hotspot_layout *hotspot);

#endif
