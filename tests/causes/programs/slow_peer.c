/* SPDX-License-Identifier: BSD-2-Clause */
/* slow_peer.c: a client waits for a server on the loopback, which takes 30 ms for an answer. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void answer(int listening)
{
	int fd = accept(listening, NULL, NULL);
	char byte;

	while (recv(fd, &byte, 1, 0) == 1) {
		nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
		send(fd, &byte, 1, 0);
	}
	_exit(0);
}

static __attribute__((noinline)) void query_stock(int fd)
{
	char byte = 1;

	send(fd, &byte, 1, 0);
	recv(fd, &byte, 1, 0);
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM, 0), fd;

	bind(listening, (struct sockaddr *)&address, sizeof(address));
	listen(listening, 1);
	getsockname(listening, (struct sockaddr *)&address, &size);
	if (!fork())
		answer(listening);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	connect(fd, (struct sockaddr *)&address, sizeof(address));
	for (int i = 0; i < 80; i++)
		query_stock(fd);
	close(fd);
	wait(NULL);
	return 0;
}
