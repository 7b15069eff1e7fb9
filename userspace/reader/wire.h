/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.h: messages between the recorder and a worker, and the worker's side. */
#ifndef GCPROF_READER_WIRE_H
#define GCPROF_READER_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "protocol.h"

/* Descriptors received with a message, owned by the caller. */
struct wire_fds {
	int fds[WORKER_FDS_MAX];
	size_t n;
	bool cut; /* some were lost to this process's descriptor limit */
};

/* Sends a message with `n_fds` borrowed descriptors: 0 or a negative errno. */
int wire_send(int socket, struct iovec *parts, size_t n_parts, const int *fds, size_t n_fds,
	      int flags);

/* Receives a message: its length, 0 if the other end is gone, or a negative errno. */
ssize_t wire_take(int socket, struct iovec *parts, size_t n_parts, int flags, struct wire_fds *out);

/* --- in the worker ----------------------------------------------------------------------- */

/* A received request. The receiver owns its descriptors. */
struct request {
	struct worker_request head;
	char data[WORKER_MESSAGE_MAX];
	struct wire_fds files;
};

/* Start of every worker: sets its name, and the nice value that the recorder had originally. */
void wire_begin(const char *role);

/* Waits for the next request: 1; 0: no more; -EBADMSG. The first call tells the recorder that the
 * worker has started. */
int wire_receive(struct request *out);

/* Appends to the answer; sends full messages. */
void wire_put(const void *data, size_t size);

/* Sends the pending data, so that it arrives even if the worker then hangs. */
void wire_flush(void);

/* Sends the rest and the end: 0 or a negative errno, and a borrowed descriptor or -1. */
void wire_end(int err, int fd);

/*
 * Asks the recorder for a file during a request: its descriptor, or -1. The answer's data goes to
 * `out` (`out_size` bytes, not 0), padded with zeroes.
 */
int wire_ask(const void *data, size_t size, void *out, size_t out_size);

#endif
