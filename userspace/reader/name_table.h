/* SPDX-License-Identifier: BSD-2-Clause */
/* name_table.h: the name table of a program (gc/provider/frame.h) as an answer of the reader:
 * READ_TABLE. */
#ifndef GCPROF_READER_NAME_TABLE_H
#define GCPROF_READER_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define TABLE_ANSWER_MAX  ((size_t)16 << 20)
#define TABLE_ENTRIES_MAX (1u << 18)
#define TABLE_CHUNKS_MAX  (1u << 14)
#define TABLE_TEXT_MAX    504 /* bytes of a name; longer ones are cut */

/* With the socket of the process's memory (remote_memory.h): where the control block is in there.
 */
struct table_request {
	uint64_t control;
};

/* A name on the wire, followed by its text and its file's. */
struct table_name {
	uint64_t id;
	uint32_t line;
	uint32_t kind; /* enum gcprof_name_kind; 0: the end, `id` is the errno why no more follow */
	uint16_t text_size, file_size;
	uint32_t reserved;
};

/* The reader's part: 0 or a negative errno. Takes the files over. */
int table_answer(struct request *request);

/* Receives the names of an answer. Texts are not ended by a zero, and valid during the call. */
typedef void table_visit(void *context, const struct table_name *name, const char *text,
			 const char *file);

/* 0; -E2BIG: the table is larger than what was read; -EFAULT: part of it could not be read;
 * -ETIMEDOUT: nor anything behind that, as the memory did not answer; -EBADMSG: the answer makes no
 * sense after what was visited. */
int table_take(const void *data, size_t size, table_visit *visit, void *context);

#endif
