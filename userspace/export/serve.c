/* SPDX-License-Identifier: BSD-2-Clause */
/* serve.c: hands one file to a browser on this machine. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BACKLOG = 16,
	PATIENCE_S = 10, /* a browser that is silent for so long has gone */
	PIECE = 64 << 10,
};

int serve_listen(uint16_t wanted, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(wanted),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, error;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0) {
		error = -errno;
		close(fd);
		return error;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

/* Whether `text` begins with `word` and goes on behind it: *rest. */
static bool begins(const char *text, const char *word, const char **rest)
{
	size_t size = strlen(word);

	if (strncmp(text, word, size) != 0)
		return false;
	*rest = text + size;
	return true;
}

/* A page of another site whose name was pointed at this machine asks for another host. */
static bool is_for_us(const struct served *served, const char *request)
{
	static const char *const names[] = {"127.0.0.1", "localhost"};
	const char *line = strstr(request, "\r\n");

	for (; line && strncasecmp(line, "\r\nhost:", 7) != 0;)
		line = strstr(line + 2, "\r\n");
	if (!line)
		return false;
	line += 7 + strspn(line + 7, " ");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char host[64];
		int size =
			snprintf(host, sizeof(host), "%s:%u\r\n", names[i], (unsigned)served->port);

		if (strncmp(line, host, (size_t)size) == 0)
			return true;
	}
	return false;
}

static void put_answer(char *answer, const struct served *served, const char *status,
		       uint64_t length)
{
	snprintf(answer, SERVE_ANSWER_MAX,
		 "HTTP/1.1 %s\r\n"
		 "Access-Control-Allow-Origin: %s\r\n"
		 "Access-Control-Allow-Methods: GET, HEAD\r\n"
		 "Access-Control-Allow-Private-Network: true\r\n"
		 "Cross-Origin-Resource-Policy: cross-origin\r\n"
		 "Vary: Origin\r\n"
		 "Content-Type: application/gzip\r\n"
		 "X-Content-Type-Options: nosniff\r\n"
		 "Cache-Control: no-store\r\n"
		 "Content-Length: %" PRIu64 "\r\n"
		 "Connection: close\r\n\r\n",
		 status, served->origin, length);
}

int serve_answer(const struct served *served, const char *request, char answer[SERVE_ANSWER_MAX])
{
	const char *path = NULL, *rest = NULL;
	bool get = begins(request, "GET ", &path), head = begins(request, "HEAD ", &path);
	bool asks = begins(request, "OPTIONS ", &path);

	if (!get && !head && !asks) {
		put_answer(answer, served, "405 Method Not Allowed", 0);
		return 0;
	}
	if (!is_for_us(served, request) || !begins(path, served->path, &rest) || *rest != ' ') {
		put_answer(answer, served, "404 Not Found", 0);
		return 0;
	}
	if (asks)
		put_answer(answer, served, "204 No Content", 0);
	else
		put_answer(answer, served, "200 OK", served->size);
	return get;
}

static int send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

static int send_file(int fd, const struct served *served)
{
	static char piece[PIECE];
	uint64_t at = 0;
	int error = 0;

	while (at < served->size && !error) {
		ssize_t n = pread(served->file, piece, sizeof(piece), (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		error = send_all(fd, piece, (size_t)n);
		at += (uint64_t)n;
	}
	return error;
}

/* Reads up to the empty line behind the headers; false if there is none. */
static bool read_request(int fd, char request[SERVE_REQUEST_MAX])
{
	size_t used = 0;

	while (used < SERVE_REQUEST_MAX - 1) {
		ssize_t n = recv(fd, request + used, SERVE_REQUEST_MAX - 1 - used, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		used += (size_t)n;
		request[used] = 0;
		if (strstr(request, "\r\n\r\n"))
			return true;
	}
	return false;
}

/* What goes wrong with one browser is of no interest to the next. */
static void serve_one(int fd, const struct served *served)
{
	struct timeval patience = {.tv_sec = PATIENCE_S};
	char request[SERVE_REQUEST_MAX], answer[SERVE_ANSWER_MAX];
	int follows;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (!read_request(fd, request))
		return;
	follows = serve_answer(served, request, answer);
	if (send_all(fd, answer, strlen(answer)) == 0 && follows)
		send_file(fd, served);
}

int serve_run(int listener, const struct served *served, int stop)
{
	struct pollfd waits[] = {{.fd = listener, .events = POLLIN},
				 {.fd = stop, .events = POLLIN}};
	int fd;

	for (;;) {
		if (poll(waits, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (waits[1].revents)
			return 0;
		if (!waits[0].revents)
			continue;
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		serve_one(fd, served);
		close(fd);
	}
}
