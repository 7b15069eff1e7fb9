/* SPDX-License-Identifier: BSD-2-Clause */
/* serve.c: serves one file to a browser on this machine, and knows the front end to open. */
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Finds the socket in one of the kernel's tables; -1: it is not there. */
static long long owner_in(const char *table, unsigned from, unsigned to)
{
	char *line = NULL, loopback[16];
	long long owner = -1;
	size_t capacity = 0;
	FILE *file = fopen(table, "re");

	if (!file)
		return -1;
	snprintf(loopback, sizeof(loopback), "%08X", (unsigned)htonl(INADDR_LOOPBACK));
	while (owner < 0 && getline(&line, &capacity, file) > 0) {
		char address[40];
		unsigned local, remote, user;

		/* An IPv6 socket has the IPv4 address at the end of its own. */
		if (sscanf(line, " %*u: %36[0-9A-F]:%x %*36[0-9A-F]:%x %*x %*s %*s %*s %u", address,
			   &local, &remote, &user) == 4 &&
		    local == from && remote == to && strlen(address) >= strlen(loopback) &&
		    strcmp(address + strlen(address) - strlen(loopback), loopback) == 0)
			owner = user;
	}
	free(line);
	fclose(file);
	return owner;
}

/*
 * Whether the other end of a TCP connection over the IPv4 loopback address belongs to this
 * process's user or to root. False also if that cannot be found out.
 */
static bool peer_is_ours(int fd)
{
	struct sockaddr_in here, there;
	socklen_t size = sizeof(here), same = sizeof(there);
	long long owner;

	if (getsockname(fd, (struct sockaddr *)&here, &size) < 0 ||
	    getpeername(fd, (struct sockaddr *)&there, &same) < 0)
		return false;
	owner = owner_in("/proc/self/net/tcp", ntohs(there.sin_port), ntohs(here.sin_port));
	if (owner < 0)
		owner = owner_in("/proc/self/net/tcp6", ntohs(there.sin_port),
				 ntohs(here.sin_port));
	return owner == 0 || owner == (long long)getuid();
}

enum { BACKLOG = 64 };

int serve_listen(uint16_t wanted, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(wanted),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, error;

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

/* Whether `text` begins with `word`; *rest is the text after it. */
static bool begins(const char *text, const char *word, const char **rest)
{
	size_t size = strlen(word);

	if (strncmp(text, word, size) != 0)
		return false;
	*rest = text + size;
	return true;
}

/*
 * A page of another site whose name resolves to this machine (DNS rebinding) asks for
 * another host.
 */
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
	char access[512] = "Cross-Origin-Resource-Policy: same-origin\r\n"
			   "Referrer-Policy: no-referrer\r\n"
			   "Content-Type: text/html; charset=utf-8\r\n";

	if (served->origin)
		snprintf(access, sizeof(access),
			 "Access-Control-Allow-Origin: %s\r\n"
			 "Access-Control-Allow-Methods: GET, HEAD\r\n"
			 "Access-Control-Allow-Private-Network: true\r\n"
			 "Cross-Origin-Resource-Policy: cross-origin\r\n"
			 "Vary: Origin\r\n"
			 "Content-Type: application/gzip\r\n",
			 served->origin);
	snprintf(answer, SERVE_ANSWER_MAX,
		 "HTTP/1.1 %s\r\n"
		 "%s"
		 "X-Content-Type-Options: nosniff\r\n"
		 "Cache-Control: no-store\r\n"
		 "Content-Length: %" PRIu64 "\r\n"
		 "Connection: close\r\n\r\n",
		 status, access, length);
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

/* --- connections ------------------------------------------------------------- */

/*
 * Any program on this machine may connect and then stay silent, so connections do not wait
 * for each other. If there are too many, a new one replaces the one that has been waiting
 * longest; connections that have asked for the right path are replaced last.
 */
enum {
	CONNECTIONS_MAX = 64,
	PATIENCE_MS = 10000, /* a connection without progress for this long is closed */
	PIECE = 1 << 20,     /* sent before other connections get their turn */
};

struct connection {
	int fd;
	uint64_t since; /* time of the connection, its request or its last progress, ms */
	size_t used;    /* bytes of the request */
	size_t size;    /* bytes of the answer's head; 0: the request is incomplete */
	size_t sent;    /* bytes of the head */
	off_t at;       /* bytes of the file sent */
	bool follows;   /* the file follows the head */
	char request[SERVE_REQUEST_MAX];
	char answer[SERVE_ANSWER_MAX];
};

struct server {
	const struct served *served;
	size_t count;
	struct connection *connections[CONNECTIONS_MAX];
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void hang_up(struct server *server, size_t index)
{
	close(server->connections[index]->fd);
	free(server->connections[index]);
	server->connections[index] = server->connections[--server->count];
}

/* Whether the other side must act first. */
static bool must_wait(ssize_t n)
{
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Reads up to the empty line after the headers and makes the answer; false: close. */
static bool read_request(struct connection *connection, const struct served *served)
{
	size_t room = SERVE_REQUEST_MAX - 1 - connection->used;
	ssize_t n = recv(connection->fd, connection->request + connection->used, room, 0);

	if (n <= 0)
		return must_wait(n);
	connection->used += (size_t)n;
	connection->request[connection->used] = '\0';
	if (!strstr(connection->request, "\r\n\r\n"))
		return connection->used < SERVE_REQUEST_MAX - 1;
	connection->follows = serve_answer(served, connection->request, connection->answer);
	connection->size = strlen(connection->answer);
	connection->since = now_ms();
	return true;
}

/* Sends as much as the other side accepts; false: close, also when everything was sent. */
static bool send_answer(struct connection *connection, const struct served *served)
{
	bool head = connection->sent < connection->size;
	ssize_t n = head ? send(connection->fd, connection->answer + connection->sent,
				connection->size - connection->sent, MSG_NOSIGNAL)
			 : sendfile(connection->fd, served->file, &connection->at, PIECE);

	if (n <= 0)
		return must_wait(n);
	connection->since = now_ms();
	if (head)
		connection->sent += (size_t)n;
	return connection->sent < connection->size ||
	       (connection->follows && (uint64_t)connection->at < served->size);
}

/* Makes progress without waiting; false: close. */
static bool proceed(struct connection *connection, const struct served *served)
{
	if (!connection->size && !read_request(connection, served))
		return false;
	return !connection->size || send_answer(connection, served);
}

/* The connection to close for a new one, if there is one. */
static size_t longest_waiting(const struct server *server)
{
	size_t found = 0;

	for (size_t i = 1; i < server->count; i++) {
		const struct connection *a = server->connections[i];
		const struct connection *b = server->connections[found];

		if (a->follows != b->follows ? b->follows : a->since < b->since)
			found = i;
	}
	return found;
}

static void take(struct server *server, int listener)
{
	struct connection *connection;
	int fd;

	if (server->count == CONNECTIONS_MAX)
		hang_up(server, longest_waiting(server));
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	/* No descriptor is left: closes a connection to free one. */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE) && server->count)
		hang_up(server, longest_waiting(server));
	if (fd < 0)
		return;
	/* Others may have seen the path, on a browser's command line for instance. */
	if (!peer_is_ours(fd)) {
		close(fd);
		return;
	}
	connection = calloc(1, sizeof(*connection));
	if (!connection) {
		close(fd);
		return;
	}
	connection->fd = fd;
	connection->since = now_ms();
	server->connections[server->count++] = connection;
	if (!proceed(connection, server->served))
		hang_up(server, server->count - 1);
}

/* Closes silent connections; returns the ms until the next timeout, or -1 if there is none. */
static int close_silent(struct server *server)
{
	uint64_t now = now_ms(), first = UINT64_MAX;

	for (size_t i = server->count; i-- > 0;) {
		uint64_t end = server->connections[i]->since + PATIENCE_MS;

		if (end <= now)
			hang_up(server, i);
		else if (end < first)
			first = end;
	}
	return first == UINT64_MAX ? -1 : (int)(first - now);
}

int serve_run(int listener, const struct served *served, int stop)
{
	struct pollfd waits[2 + CONNECTIONS_MAX] = {{.fd = listener, .events = POLLIN},
						    {.fd = stop, .events = POLLIN}};
	struct server server = {.served = served};
	int err = 0;

	/* sendfile() has no flag to suppress the signal if the other side closes the connection. */
	signal(SIGPIPE, SIG_IGN);
	for (;;) {
		int patience = close_silent(&server);

		for (size_t i = 0; i < server.count; i++)
			waits[2 + i] = (struct pollfd){
				.fd = server.connections[i]->fd,
				.events = server.connections[i]->size ? POLLOUT : POLLIN};
		if (poll(waits, 2 + server.count, patience) < 0) {
			err = errno == EINTR ? 0 : -errno;
			if (err)
				break;
			continue;
		}
		if (waits[1].revents)
			break;
		/* In reverse order, because the last connection replaces a closed one. */
		for (size_t i = server.count; i-- > 0;)
			if (waits[2 + i].revents && !proceed(server.connections[i], served))
				hang_up(&server, i);
		if (waits[0].revents)
			take(&server, listener);
	}
	while (server.count)
		hang_up(&server, 0);
	return err;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

enum { PORT_MAX = 65535 };

static const struct scheme {
	const char *begin;
	unsigned long port; /* which browsers leave out */
} schemes[] = {{"https://", 443}, {"http://", 80}};

/* Bytes of the host at `text`: a name, an IPv4 address or an IPv6 address in brackets. 0: none. */
static size_t host_size(const char *text)
{
	size_t size;

	if (*text != '[')
		return strspn(text, LETTERS DIGITS ".-");
	size = 1 + strspn(text + 1, DIGITS "abcdefABCDEF:.");
	return size > 1 && text[size] == ']' ? size + 1 : 0;
}

/* The port at `text`, which is `otherwise` if there is none; *end is the text after it. 0: invalid.
 */
static unsigned long port_at(const char *text, unsigned long otherwise, const char **end)
{
	size_t digits = *text == ':' ? strspn(text + 1, DIGITS) : 0;
	unsigned long port;

	*end = text;
	if (*text != ':')
		return otherwise;
	*end = text + 1 + digits;
	port = digits && digits <= 5 ? strtoul(text + 1, NULL, 10) : 0;
	return port <= PORT_MAX ? port : 0;
}

static void lower(char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text - 'A' + 'a');
}

int profiler_url_parse(const char *text, struct profiler_url *out)
{
	const struct scheme *scheme = schemes;
	size_t begin, host, size = strlen(text);
	unsigned long port;
	const char *path;

	while (strncasecmp(text, scheme->begin, strlen(scheme->begin)) != 0)
		if (++scheme == schemes + sizeof(schemes) / sizeof(*schemes))
			return -EINVAL;
	begin = strlen(scheme->begin);
	host = host_size(text + begin);
	port = port_at(text + begin + host, scheme->port, &path);
	if (!host || !port || size >= sizeof(out->page) || (*path && *path != '/') ||
	    path[strspn(path, LETTERS DIGITS "/.-_~%+")])
		return -EINVAL;
	while (size && text[size - 1] == '/')
		size--;
	snprintf(out->page, sizeof(out->page), "%.*s", (int)size, text);
	snprintf(out->origin, sizeof(out->origin), "%.*s", (int)(begin + host), text);
	lower(out->origin);
	if (port != scheme->port)
		snprintf(out->origin + begin + host, sizeof(out->origin) - begin - host, ":%lu",
			 port);
	return 0;
}
