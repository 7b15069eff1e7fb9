/* SPDX-License-Identifier: BSD-2-Clause */
/* name_table.h: answers READ_TABLE: the name table of a program (gc/provider/frame.h). */
#ifndef GCPROF_READER_NAME_TABLE_H
#define GCPROF_READER_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "wire.h"

#define TABLE_ANSWER_MAX  ((size_t)16 << 20)
#define TABLE_ENTRIES_MAX (1u << 18)
#define TABLE_CHUNKS_MAX  (1u << 14)
#define TABLE_TEXT_MAX    504 /* bytes of a name; longer ones are truncated */

/* Sent with the socket of the process's memory (remote_memory.h): the address of its control block.
 */
struct table_request {
	uint64_t control;
};

/* A name on the wire, followed by its text and the text of its file. */
struct table_name {
	uint64_t id;
	uint32_t line;
	uint32_t kind; /* enum gcprof_name_kind; 0: the end, with `id` the errno if names are
			  missing */
	uint16_t text_size, file_size;
	uint32_t reserved;
};

/* The reader's side: 0 or a negative errno. Takes over the files. */
int table_answer(struct request *request);

/* Receives the names of an answer. Texts are not zero-terminated and are valid during the call. */
typedef void table_visit(void *context, const struct table_name *name, const char *text,
			 const char *file);

/* 0; -E2BIG: the table exceeds the limits; -EFAULT: part of it was unreadable; -ETIMEDOUT: the
 * memory did not answer, so nothing after that was read either; -EBADMSG: the answer is malformed
 * after the visited names. */
int table_take(const void *data, size_t size, table_visit *visit, void *context);

#endif
