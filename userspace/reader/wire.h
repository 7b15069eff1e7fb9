/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.h: a worker's end of its socket: requests come, answers go. */
#ifndef GCPROF_READER_WIRE_H
#define GCPROF_READER_WIRE_H

#include <stddef.h>

#include "protocol.h"

/* A request as it came. The descriptors belong to who received it. */
struct request {
	struct worker_request head;
	char data[WORKER_MESSAGE_MAX];
	int fds[WORKER_FDS_MAX];
	size_t n_fds;
};

/* What every worker does first: takes its name, and the niceness that the recorder had at first. */
void wire_begin(const char *role);

/* Waits for the next request: 1; 0: there will be none; -EBADMSG. */
int wire_receive(struct request *out);

/* Adds bytes to the answer; sends what fills a message. */
void wire_put(const void *data, size_t size);

/* Sends the rest and the end: 0 or a negative errno. */
void wire_end(int err);

/*
 * Asks the recorder for a file in the middle of a request: its descriptor, or -1. What it
 * says about it goes into `out`, `out_size` bytes, not 0, that are zero where it says nothing.
 */
int wire_ask(const void *data, size_t size, void *out, size_t out_size);

#endif
