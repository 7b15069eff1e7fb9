/* SPDX-License-Identifier: BSD-2-Clause */
/* remote_memory.h: memory of a program, as the reader gets it from a process that may read it. */
/*
 * The reader has no rights to the memory of a program, and a program can make a process that reads
 * its memory wait for ever. So the opener starts a process for each program, and the reader gets a
 * socket (SOCK_SEQPACKET): a request is a struct remote_request, an answer a struct remote_answer
 * and the bytes. Pages that were read are kept until remote_close().
 *
 * Not thread-safe.
 */
#ifndef GCPROF_READER_REMOTE_MEMORY_H
#define GCPROF_READER_REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define REMOTE_ANSWER_MAX (56u << 10) /* bytes of memory in one answer */
#define REMOTE_WAIT_MS    1000        /* for one answer: then the process ends if it can */

struct remote_request {
	uint64_t number; /* that no other request through this socket has */
	uint64_t address;
	uint32_t size; /* bytes, up to REMOTE_ANSWER_MAX */
	uint32_t reserved;
};

struct remote_answer {
	uint64_t number; /* of the request */
	int32_t err;     /* 0: bytes follow, fewer than asked for where memory ends; or a negative
			    errno */
	uint32_t reserved;
};

struct remote;

/* `socket` is borrowed as long as this exists. -ENOMEM. */
int remote_open(int socket, struct remote **out);
void remote_close(struct remote *memory); /* NULL is allowed */

/* Reads up to `size` bytes: how many, fewer where memory ends, 0 where there is none. After an
 * answer that does not come, nothing is read any more. */
size_t remote_read(struct remote *memory, uint64_t address, void *out, size_t size);

/* Were these bytes all read? */
static inline int remote_read_all(struct remote *memory, uint64_t address, void *out, size_t size)
{
	return remote_read(memory, address, out, size) == size;
}

/* -ETIMEDOUT: an answer did not come, and nothing is read any more; or 0. */
int remote_error(const struct remote *memory);

#endif
