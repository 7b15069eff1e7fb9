/* SPDX-License-Identifier: BSD-2-Clause */
/* wire.c: messages between the recorder and a worker, and the worker's side. */
/* A worker has a single socket, so the send buffer is static. If the socket fails, the recorder is
 * gone, and the worker exits. */
#include "wire.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WORKER_FDS_MAX * sizeof(int))];
};

int wire_send(int socket, struct iovec *parts, size_t n_parts, const int *fds, size_t n_fds,
	      int flags)
{
	union control control = {.header = {.cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS,
					    .cmsg_len = CMSG_LEN(n_fds * sizeof(int))}};
	struct msghdr head = {.msg_iov = parts, .msg_iovlen = n_parts};

	if (n_fds) {
		memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
		head.msg_control = &control;
		head.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
	}
	return sendmsg(socket, &head, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t wire_take(int socket, struct iovec *parts, size_t n_parts, int flags, struct wire_fds *out)
{
	union control control;
	struct msghdr head = {.msg_iov = parts,
			      .msg_iovlen = n_parts,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control)};
	struct cmsghdr *extra;
	ssize_t n = recvmsg(socket, &head, flags | MSG_CMSG_CLOEXEC);

	*out = (struct wire_fds){.cut = n > 0 && head.msg_flags & MSG_CTRUNC};
	/* Even an empty message may carry descriptors. */
	extra = n >= 0 ? CMSG_FIRSTHDR(&head) : NULL;
	if (extra && extra->cmsg_type == SCM_RIGHTS) {
		out->n = (extra->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(out->fds, CMSG_DATA(extra), out->n * sizeof(int));
	}
	return n < 0 ? -errno : n;
}

/* --- in the worker ----------------------------------------------------------------------- */

static struct {
	struct worker_reply head;
	char data[WORKER_MESSAGE_MAX];
} message;
static size_t filled; /* of message.data */

void wire_begin(const char *role)
{
	const char *nice = getenv(WORKER_NICE);

	prctl(PR_SET_NAME, role, 0, 0, 0);
	/* A recorder may run with raised priority; a worker does not need it. */
	if (nice)
		(void)setpriority(PRIO_PROCESS, 0, atoi(nice));
}

static void send_message(uint32_t flags, int err, int fd)
{
	size_t size = sizeof(message.head) + filled;
	struct iovec part = {&message, size};
	bool sent;

	message.head = (struct worker_reply){flags, err};
	/* Readers send no descriptors, and may not call sendmsg(). */
	do
		sent = fd < 0 ? send(WORKER_SOCKET, &message, size, MSG_NOSIGNAL) >= 0
			      : !wire_send(WORKER_SOCKET, &part, 1, &fd, 1, 0);
	while (!sent && errno == EINTR);
	if (!sent)
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
			send_message(0, 0, -1);
	}
}

void wire_flush(void)
{
	if (filled)
		send_message(0, 0, -1);
}

void wire_end(int err, int fd)
{
	send_message(WORKER_LAST, err, fd);
}

static ssize_t receive(struct iovec *parts, size_t n_parts, struct wire_fds *files)
{
	ssize_t n;

	do
		n = wire_take(WORKER_SOCKET, parts, n_parts, 0, files);
	while (n == -EINTR);
	/* Files of other requests occupy all descriptors: a fresh process has none of them. */
	if (files->cut)
		_exit(EXIT_FAILURE);
	return n;
}

int wire_receive(struct request *out)
{
	struct iovec parts[] = {{&out->head, sizeof(out->head)}, {out->data, sizeof(out->data)}};
	static bool started;
	ssize_t n;

	if (!started)
		send_message(0, 0, -1);
	started = true;
	n = receive(parts, 2, &out->files);
	if (n <= 0)
		return (int)n;
	return (size_t)n == sizeof(out->head) + out->head.size ? 1 : -EBADMSG;
}

int wire_ask(const void *data, size_t size, void *out, size_t out_size)
{
	struct iovec part = {out, out_size};
	struct wire_fds files;

	memset(out, 0, out_size);
	wire_flush();
	wire_put(data, size);
	send_message(WORKER_ASKS, 0, -1);
	if (receive(&part, 1, &files) <= 0)
		_exit(EXIT_FAILURE);
	return files.n ? files.fds[0] : -1;
}
