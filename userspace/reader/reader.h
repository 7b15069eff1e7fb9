/* SPDX-License-Identifier: BSD-2-Clause */
/* reader.h: the confined process that parses untrusted files, and what it answers. */
#ifndef GCPROF_READER_READER_H
#define GCPROF_READER_READER_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/hotspot.h"
#include "../symbols/stack_unwind.h"
#include "../symbols/unwind.h"
#include "wire.h"

/* Drops all rights, then answers requests on WORKER_SOCKET until it is closed. Returns an exit
 * status. */
int reader_main(void);

/* READ_ROWS: the unwind rows of a file. */

#define ROWS_ANSWER_MAX ((size_t)32 << 20)

/* Sends the parts of the file in order, with the layout of a Java virtual machine, or zeroes. */
void rows_put(const struct unwind_file *file, const struct hotspot_layout *hotspot);

/* Builds a file from an answer and checks it. -EBADMSG, -ENOMEM. */
int rows_take(const void *data, size_t size, struct unwind_file **out,
	      struct hotspot_layout *hotspot);

/*
 * READ_STACK: unwinds a stack dump. A request is a struct dump_request, a struct event_copy and the
 * bytes of the stack; the answer is a struct stack_walk. The reader asks for mappings as needed: it
 * sends an address, 8 bytes, and receives a struct dump_mapping and the file.
 */
struct dump_request {
	uint64_t process;
	uint64_t changes; /* generation of its mappings: a new number discards the cached ones */
};

struct dump_mapping {
	uint64_t start, end; /* 0, 0: unmapped */
	uint64_t offset;     /* in the file */
	uint64_t file;       /* a unique number */
	uint64_t is_vdso;    /* 1: the vDSO, which has no file */
};

/* Answers one request. A negative errno. */
int dumps_answer(const struct request *request);

/* READ_HEAP: a program's own heap profile. */

#define HEAP_ANSWER_MAX ((size_t)32 << 20)
#define HEAP_DEPTH_MAX  128

/* Sent with the socket of the process's memory (remote_memory.h); the fields are addresses there.
 */
struct heap_request {
	uint64_t list; /* of the list of sites */
	uint64_t rate; /* of the mean distance of samples, in bytes */
};

/* Sampled objects of a site: those not freed, and all. */
struct heap_place {
	uint64_t objects, bytes, all_objects, all_bytes;
	uint64_t rate;
	uint32_t depth, reserved;
	/* followed on the wire by `depth` words: return addresses, innermost first */
};

/* The reader's side: 0 or a negative errno. Takes over the files. */
int heap_answer(struct request *request);

/* Receives the sites of an answer; `stack` is valid during the call. */
typedef void heap_visit(void *context, const struct heap_place *place, const uint64_t *stack);

/* -EBADMSG: the answer is malformed after the visited sites. */
int heap_take(const void *data, size_t size, heap_visit *visit, void *context);

/* READ_TABLE: the name table of a program (gc/provider/frame.h). */

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
