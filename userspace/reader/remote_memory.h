/* SPDX-License-Identifier: BSD-2-Clause */
/* remote_memory.h: reads the memory of a program through a privileged helper process. */
/*
 * The reader has no right to read a program's memory, and a program can block a process that reads
 * its memory forever. The opener therefore starts one process per program, and the reader gets a
 * socket (SOCK_SEQPACKET). A request is a struct remote_request, an answer a struct remote_answer
 * and the bytes. Pages are cached until remote_close().
 *
 * Not thread-safe.
 */
#ifndef GCPROF_READER_REMOTE_MEMORY_H
#define GCPROF_READER_REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define REMOTE_ANSWER_MAX (56u << 10) /* bytes of memory per answer */
#define REMOTE_WAIT_MS    1000        /* per answer: after that the process ends, if it can */

struct remote_request {
	uint64_t number; /* unique among the requests through this socket */
	uint64_t address;
	uint32_t size; /* bytes, up to REMOTE_ANSWER_MAX */
	uint32_t reserved;
};

struct remote_answer {
	uint64_t number; /* of the request */
	int32_t err; /* 0: bytes follow, fewer than requested at the end of readable memory; or a
			negative errno */
	uint32_t reserved;
};

struct remote;

/* `socket` is borrowed until remote_close(). -ENOMEM. */
int remote_open(int socket, struct remote **out);
void remote_close(struct remote *memory); /* NULL is allowed */

/* Reads up to `size` bytes. Returns their number: fewer at the end of readable memory, 0 without
 * any. After a missing answer it reads nothing any more. */
size_t remote_read(struct remote *memory, uint64_t address, void *out, size_t size);

/* Forgets cached pages: what is read next is newer than this call. */
void remote_forget(struct remote *memory);

/* Did this read all bytes? */
static inline int remote_read_all(struct remote *memory, uint64_t address, void *out, size_t size)
{
	return remote_read(memory, address, out, size) == size;
}

/* -ETIMEDOUT: an answer was missing, and nothing is read any more; or 0. */
int remote_error(const struct remote *memory);

#endif
