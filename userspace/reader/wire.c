/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.c: a worker's end of its socket: requests come, answers go. */
/* A process has one socket, so what waits to be sent is kept here. When the socket fails, the
 * recorder is gone, and so is the worker. */
#include "wire.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct {
	struct worker_reply head;
	char data[WORKER_MESSAGE_MAX];
} message;
static size_t filled; /* of message.data */

void wire_begin(const char *role)
{
	const char *nice = getenv(WORKER_NICE);

	prctl(PR_SET_NAME, role, 0, 0, 0);
	/* The recorder is in a hurry now and then; this can wait. */
	if (nice)
		(void)setpriority(PRIO_PROCESS, 0, atoi(nice));
}

static void send_message(uint32_t flags, int err)
{
	ssize_t n;

	message.head = (struct worker_reply){flags, err};
	do
		n = send(WORKER_SOCKET, &message, sizeof(message.head) + filled, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		_exit(EXIT_FAILURE);
	filled = 0;
}

void wire_put(const void *data, size_t size)
{
	const char *from = data;

	while (size) {
		size_t room = sizeof(message.data) - filled, part = size < room ? size : room;

		memcpy(message.data + filled, from, part);
		filled += part;
		from += part;
		size -= part;
		if (filled == sizeof(message.data))
			send_message(0, 0);
	}
}

void wire_end(int err)
{
	send_message(WORKER_LAST, err);
}

/* Bytes of one message and the descriptors that came with it. */
static ssize_t receive(struct iovec *parts, size_t n_parts, int fds[WORKER_FDS_MAX], size_t *n_fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(WORKER_FDS_MAX * sizeof(int))];
	} control;
	struct msghdr head = {.msg_iov = parts,
			      .msg_iovlen = n_parts,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control)};
	struct cmsghdr *extra;
	ssize_t n;

	do
		n = recvmsg(WORKER_SOCKET, &head, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	/* Files of other requests use up all descriptors: a fresh process has none of them. */
	if (n > 0 && head.msg_flags & MSG_CTRUNC)
		_exit(EXIT_FAILURE);
	*n_fds = 0;
	extra = n > 0 ? CMSG_FIRSTHDR(&head) : NULL;
	if (extra && extra->cmsg_type == SCM_RIGHTS) {
		*n_fds = (extra->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(extra), *n_fds * sizeof(int));
	}
	return n;
}

int wire_receive(struct request *out)
{
	struct iovec parts[] = {{&out->head, sizeof(out->head)}, {out->data, sizeof(out->data)}};
	ssize_t n = receive(parts, 2, out->fds, &out->n_fds);

	if (n <= 0)
		return n < 0 ? -errno : 0;
	return (size_t)n == sizeof(out->head) + out->head.size ? 1 : -EBADMSG;
}

int wire_ask(const void *data, size_t size, void *out, size_t out_size)
{
	int fds[WORKER_FDS_MAX];
	struct iovec part = {out, out_size};
	size_t n_fds;

	memset(out, 0, out_size);
	if (filled)
		send_message(0, 0);
	wire_put(data, size);
	send_message(WORKER_ASKS, 0);
	if (receive(&part, 1, fds, &n_fds) <= 0)
		_exit(EXIT_FAILURE);
	return n_fds ? fds[0] : -1;
}
