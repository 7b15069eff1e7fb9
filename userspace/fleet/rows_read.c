/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_read.c: starts the confined process of rows.c and receives the rows that it sends. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../reader/spawn.h"
#include "../reader/wire.h"
#include "rows.h"

static int ask(int socket, int fd)
{
	const char *place = getenv("TMPDIR");
	struct worker_request request = {.kind = READ_PROFILE};
	struct iovec parts[2] = {{&request, sizeof(request)}, {NULL, 0}};

	if (place && *place && strlen(place) + 1 < WORKER_MESSAGE_MAX) {
		request.size = (uint32_t)strlen(place) + 1;
		parts[1] = (struct iovec){(void *)(uintptr_t)place, request.size};
	}
	return wire_send(socket, parts, 2, &fd, 1, 0);
}

/* Receives until the last message. Returns 0, the sender's error, or what the visitor returned. */
static int take_all(int socket, rows_visitor *visit, void *context)
{
	static char data[WORKER_MESSAGE_MAX];
	struct worker_reply head = {0};
	struct iovec parts[] = {{&head, sizeof(head)}, {data, sizeof(data)}};
	struct wire_fds fds;

	for (;;) {
		ssize_t n = wire_take(socket, parts, 2, 0, &fds);
		int err;

		for (size_t i = 0; i < fds.n; i++)
			close(fds.fds[i]);
		if (n == -EINTR)
			continue;
		if (n < (ssize_t)sizeof(head))
			return n < 0 && n != -ECONNRESET ? (int)n : -EPIPE;
		err = n > (ssize_t)sizeof(head) ? visit(context, data, (size_t)n - sizeof(head))
						: 0;
		if (err || head.flags & WORKER_LAST)
			return err ? err : head.err > 0 ? -EBADMSG : head.err;
	}
}

int rows_read(int fd, rows_visitor *visit, void *context)
{
	static struct spawn spawn;
	int sockets[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = spawn_start(&spawn, WORKER_ROWS, sockets[1], false);
	spawn_wait(&spawn);
	close(sockets[1]);
	err = pid < 0 ? pid : ask(sockets[0], fd);
	if (!err)
		err = take_all(sockets[0], visit, context);
	close(sockets[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return err;
}
