/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.h: unwind rows of a file as an answer of the reader: READ_ROWS. */
#ifndef GCPROF_READER_ROWS_H
#define GCPROF_READER_ROWS_H

#include <stddef.h>

#include "../symbols/unwind.h"
#include "../../bpf/hotspot.h"

#define ROWS_ANSWER_MAX ((size_t)32 << 20)

/* Sends the parts of the file one after the other; with the layout of a Java virtual machine,
 * zeroes if it is none. */
void rows_put(const struct unwind_file *file, const struct hotspot_layout *hotspot);

/* Makes a file of an answer, if it makes sense. -EBADMSG, -ENOMEM. */
int rows_take(const void *data, size_t size, struct unwind_file **out,
	      struct hotspot_layout *hotspot);

#endif
