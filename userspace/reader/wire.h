/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.h: messages between the recorder and a worker, and the worker's end of them. */
#ifndef GCPROF_READER_WIRE_H
#define GCPROF_READER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "protocol.h"

/* Descriptors that came with a message: the caller's now. */
struct wire_fds {
	int fds[WORKER_FDS_MAX];
	size_t n;
	bool cut; /* there were more than this process may have */
};

/* One message with `n_fds` borrowed descriptors: 0 or a negative errno. */
int wire_send(int socket, struct iovec *parts, size_t n_parts, const int *fds, size_t n_fds,
	      int flags);

/* One message: how many bytes, 0: the other end is gone, or a negative errno. */
ssize_t wire_take(int socket, struct iovec *parts, size_t n_parts, int flags, struct wire_fds *out);

/* --- in the worker ----------------------------------------------------------------------- */

/* A request as it came. The receiver owns the descriptors. */
struct request {
	struct worker_request head;
	char data[WORKER_MESSAGE_MAX];
	struct wire_fds files;
};

/* What every worker does first: takes its name, and the niceness that the recorder had at first. */
void wire_begin(const char *role);

/* Waits for the next request: 1; 0: there will be none; -EBADMSG. */
int wire_receive(struct request *out);

/* Adds bytes to the answer; sends what fills a message. */
void wire_put(const void *data, size_t size);

/* Sends what was put so far, so that it arrives even if the worker hangs. */
void wire_flush(void);

/* Sends the rest and the end, 0 or a negative errno, with a borrowed descriptor, or -1. */
void wire_end(int err, int fd);

/*
 * Asks the recorder for a file in the middle of a request: its descriptor, or -1. What it
 * says about it goes into `out`, `out_size` bytes, not 0, that are zero where it says nothing.
 */
int wire_ask(const void *data, size_t size, void *out, size_t out_size);

#endif
