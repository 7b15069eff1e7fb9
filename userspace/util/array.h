/* SPDX-License-Identifier: BSD-2-Clause */
/* array.h: a growing array of a type. */
#ifndef GCPROF_ARRAY_H
#define GCPROF_ARRAY_H

#include "buffer.h"

/* `all` are the items, in a buffer; append to it and release it with buffer_...(&array.buffer). */
#define ARRAY(type)                   \
	union {                       \
		struct buffer buffer; \
		type *all;            \
	}

#define array_count(array) ((array)->buffer.size / sizeof(*(array)->all))

/* Appends a copy of an item of the array's type. 0 or -ENOMEM. */
#define array_append(array, item) \
	buffer_append(&(array)->buffer, 1 ? (item) : (array)->all, sizeof(*(item)))

#endif
