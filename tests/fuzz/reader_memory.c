// SPDX-License-Identifier: BSD-2-Clause
/* reader_memory.c: an input in place of the process that reads a program's memory for a reader. */
#include "reader_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "reader/remote_memory.h"

/* What is wrong with an answer. */
enum { ERROR = 0xf1, SHORT, OLD, LONG, NO_HEAD, BROKEN };

static struct {
	const uint8_t *data;
	size_t size, answers;
	int own, reader; /* the ends of the socket */
	pthread_t thread;
} memory;

/* False: the socket is broken from now on. */
static bool answer(const struct remote_request *request)
{
	static struct {
		struct remote_answer head;
		uint8_t bytes[REMOTE_ANSWER_MAX];
	} message;
	uint32_t size = request->size < REMOTE_ANSWER_MAX ? request->size : REMOTE_ANSWER_MAX;
	uint8_t what = memory.data[memory.answers++ % memory.size];
	size_t bytes = sizeof(message.head);

	for (uint32_t i = 0; i < REMOTE_ANSWER_MAX; i++)
		message.bytes[i] = memory.data[(request->address + i) % memory.size];
	message.head = (struct remote_answer){.number = request->number};
	if (what == ERROR)
		message.head.err = -EFAULT;
	else
		bytes += what == LONG ? REMOTE_ANSWER_MAX : what == SHORT ? size / 3 : size;
	if (what == OLD) {
		message.head.number--;
		send(memory.own, &message, bytes, MSG_NOSIGNAL);
		message.head.number++;
	}
	if (what == NO_HEAD)
		bytes = sizeof(message.head) / 2;
	return what != BROKEN && send(memory.own, &message, bytes, MSG_NOSIGNAL) > 0;
}

static void *serve(void *unused)
{
	struct remote_request request;

	while (recv(memory.own, &request, sizeof(request), 0) == sizeof(request) &&
	       answer(&request)) {
	}
	shutdown(memory.own, SHUT_RDWR);
	return unused;
}

int reader_memory_begin(const uint8_t *data, size_t size)
{
	const struct timeval limit = {.tv_sec = 5};
	int pair[2];

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -1;
	memory.data = data;
	memory.size = size;
	memory.answers = 0;
	memory.own = pair[0];
	memory.reader = pair[1];
	if (!setsockopt(memory.reader, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) &&
	    !pthread_create(&memory.thread, NULL, serve, NULL))
		return memory.reader;
	close(memory.own);
	close(memory.reader);
	return -1;
}

void reader_memory_end(void)
{
	shutdown(memory.own, SHUT_RDWR);
	pthread_join(memory.thread, NULL);
	close(memory.own);
	close(memory.reader);
}
