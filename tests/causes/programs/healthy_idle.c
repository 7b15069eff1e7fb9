/* SPDX-License-Identifier: BSD-2-Clause */
/* healthy_idle.c: waits for clients that do not come, beside a pool that waits for work. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;

static void *pool(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&work, &lock);
}

int main(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	pthread_t thread;

	for (int i = 0; i < 8; i++)
		pthread_create(&thread, NULL, pool, NULL);
	listen(fd, 5);
	for (int i = 0; i < 25; i++)
		poll(&poll_fd, 1, 100);
	return 0;
}
