/* SPDX-License-Identifier: BSD-2-Clause */
/* export_serve.c: tests of what is answered to browsers. */
#include "export/view/serve.h"
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct served served = {.size = 1234,
				     .path = "/secret/x.json.gz",
				     .origin = "https://profiler.example",
				     .port = 8080};

/* That a request gets an answer with this status, and whether the file follows. */
static void check(const char *request, const char *status, int follows)
{
	char answer[SERVE_ANSWER_MAX], line[128];

	CHECK_EQ(serve_answer(&served, request, answer), follows);
	snprintf(line, sizeof(line), "HTTP/1.1 %s\r\n", status);
	if (strncmp(answer, line, strlen(line)) != 0)
		test_fail(__FILE__, __LINE__, "%.40s instead of %s", answer, status);
	CHECK(strstr(answer, "\r\nAccess-Control-Allow-Origin: https://profiler.example\r\n"));
	CHECK_STR(answer + strlen(answer) - 4, "\r\n\r\n");
	CHECK(strstr(answer, strncmp(status, "200", 3) ? "\r\nContent-Length: 0\r\n"
						       : "\r\nContent-Length: 1234\r\n"));
}

TEST(the_file_is_given_to_those_who_know_its_path)
{
	check("GET /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "200 OK", 1);
	check("GET /secret/x.json.gz HTTP/1.1\r\nA: b\r\nhOST:localhost:8080\r\n\r\n", "200 OK", 1);
	check("HEAD /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "200 OK", 0);
	check("OPTIONS /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
	      "204 No Content", 0);
}

TEST(a_page_may_be_read_by_itself_only)
{
	const struct served page = {.size = 1234, .path = "/secret/x.html", .port = 8080};
	char answer[SERVE_ANSWER_MAX];

	CHECK(serve_answer(&page, "GET /secret/x.html HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
			   answer));
	CHECK(strstr(answer, "HTTP/1.1 200 OK\r\n") == answer);
	CHECK(strstr(answer, "\r\nContent-Type: text/html; charset=utf-8\r\n"));
	CHECK(strstr(answer, "\r\nCross-Origin-Resource-Policy: same-origin\r\n"));
	CHECK(!strstr(answer, "Access-Control"));
}

TEST(nobody_else_gets_it)
{
	check("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "404 Not Found", 0);
	check("GET /secret/ HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "404 Not Found", 0);
	check("GET /secret/x.json.gz2 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "404 Not Found",
	      0);
	check("GET /secret/x.json.gz\r\nHost: 127.0.0.1:8080\r\n\r\n", "404 Not Found", 0);
	check("GET /secret/x.json.gz HTTP/1.1\r\nHost: evil.example:8080\r\n\r\n", "404 Not Found",
	      0);
	check("GET /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:80801\r\n\r\n", "404 Not Found",
	      0);
	check("GET /secret/x.json.gz HTTP/1.1\r\nX: y\r\n\r\n", "404 Not Found", 0);
	check("POST /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n",
	      "405 Method Not Allowed", 0);
	check("\r\n\r\n", "405 Method Not Allowed", 0);
}

/* --- connections ------------------------------------------------------------- */

enum {
	FILE_SIZE = 32 << 20, /* more than sockets hold */
	IDLE = 200,           /* more than are served at a time */
	SOON_MS = 5000,       /* less than silence is tolerated for */
};

static struct served running = {
	.size = FILE_SIZE, .path = "/secret/x.json.gz", .origin = "https://profiler.example"};

/* Serves zeros in a child until stop_server(). */
static pid_t start_server(void)
{
	int listener, forever[2];
	pid_t pid;

	running.file = memfd_create("served", MFD_CLOEXEC);
	CHECK(running.file >= 0 && !ftruncate(running.file, FILE_SIZE) && !pipe(forever));
	listener = serve_listen(0, &running.port);
	CHECK(listener >= 0);
	pid = fork();
	if (pid == 0)
		_exit(serve_run(listener, &running, forever[0]) != 0);
	close(listener);
	return pid;
}

static void stop_server(pid_t pid)
{
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int join(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(running.port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void ask(int fd)
{
	char text[128];
	int size = snprintf(text, sizeof(text),
			    "GET /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
			    (unsigned)running.port);

	CHECK_EQ(send(fd, text, (size_t)size, 0), size);
}

/* Reads up to `most` bytes or the end; how many. */
static size_t take(int fd, size_t most)
{
	static char block[64 << 10];
	size_t all = 0;

	while (all < most) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		size_t left = most - all;
		ssize_t n;

		CHECK_EQ(poll(&wait, 1, SOON_MS), 1);
		n = recv(fd, block, left < sizeof(block) ? left : sizeof(block), 0);
		CHECK(n >= 0);
		if (n == 0)
			break;
		all += (size_t)n;
	}
	return all;
}

TEST(idle_connections_delay_nobody)
{
	pid_t server = start_server();
	int fds[IDLE], slow = join(), fd;
	size_t first = 100000;

	/* One that asked and takes its time keeps its place. */
	ask(slow);
	CHECK_EQ(take(slow, first), first);
	for (int i = 0; i < IDLE; i++) {
		fds[i] = join();
		if (i % 2)
			CHECK_EQ(send(fds[i], "GET /", 5, 0), 5);
	}
	fd = join();
	ask(fd);
	CHECK(take(fd, SIZE_MAX) > FILE_SIZE);
	CHECK(take(slow, SIZE_MAX) + first > FILE_SIZE);
	/* The oldest have made room, the last are still there. */
	CHECK_EQ(take(fds[0], 1), 0);
	CHECK(recv(fds[IDLE - 1], &first, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	stop_server(server);
}

TEST(requests_come_in_pieces_or_are_too_long)
{
	static char filler[SERVE_REQUEST_MAX];
	pid_t server = start_server();
	const char *start = "GET /secret/x.json.gz HT";
	char rest[64], head[16] = "";
	int fd = join(), size, one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	CHECK_EQ(send(fd, start, strlen(start), 0), (ssize_t)strlen(start));
	usleep(50000);
	size = snprintf(rest, sizeof(rest), "TP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
			(unsigned)running.port);
	CHECK_EQ(send(fd, rest, (size_t)size, 0), size);
	CHECK_EQ(recv(fd, head, 15, MSG_WAITALL), 15);
	CHECK_STR(head, "HTTP/1.1 200 OK");
	close(fd);
	fd = join();
	memset(filler, 'x', sizeof(filler));
	CHECK(send(fd, filler, sizeof(filler), 0) > 0);
	CHECK(recv(fd, head, 1, 0) <= 0);
	close(fd);
	stop_server(server);
}

TEST(who_leaves_in_the_middle_of_the_file_does_no_harm)
{
	pid_t server = start_server();
	char request[128], head[16];
	int size = snprintf(request, sizeof(request),
			    "GET /secret/x.json.gz HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
			    (unsigned)running.port);

	for (int i = 0; i < 20; i++) {
		int fd = join();

		CHECK_EQ(send(fd, request, (size_t)size, 0), size);
		CHECK_EQ(recv(fd, head, 15, MSG_WAITALL), 15);
		shutdown(fd, SHUT_WR);
		usleep(2000);
		close(fd);
		CHECK_EQ(waitpid(server, NULL, WNOHANG), 0);
	}
	stop_server(server);
}

/* --- addresses of the profiler ----------------------------------------------------------- */

TEST(the_address_of_a_profiler_has_a_page_and_an_origin)
{
	static const char *const rows[][3] = {
		{"https://profiler.firefox.com", "https://profiler.firefox.com",
		 "https://profiler.firefox.com"},
		{"http://localhost:4242/", "http://localhost:4242", "http://localhost:4242"},
		{"HTTPS://Profiler.Example:443/a/b//", "HTTPS://Profiler.Example:443/a/b",
		 "https://profiler.example"},
		{"http://10.0.0.1:80/p", "http://10.0.0.1:80/p", "http://10.0.0.1"},
		{"http://10.0.0.1:443", "http://10.0.0.1:443", "http://10.0.0.1:443"},
		{"http://[FE80::1]:08080", "http://[FE80::1]:08080", "http://[fe80::1]:8080"},
	};
	struct profiler_url url;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CHECK_EQ(profiler_url_parse(rows[i][0], &url), 0);
		CHECK_STR(url.page, rows[i][1]);
		CHECK_STR(url.origin, rows[i][2]);
	}
}

TEST(other_texts_are_no_address_of_a_profiler)
{
	static const char *const texts[] = {
		"",
		"profiler.example",
		"ftp://x",
		"javascript:alert(1)",
		"file:///tmp/x",
		"https://",
		"https:///path",
		"https://a b",
		"https://user@host",
		"https://host?query",
		"https://host/#fragment",
		"https://host:",
		"https://host:0",
		"https://host:65536",
		"https://host:999999999999999999999",
		"https://host:80x",
		"https://host\r\nEvil: yes",
		"https://host/\r\nEvil: yes",
		"https://[]",
		"https://[::1",
		"https://host/\"quoted\"",
		"https://\xc3\xa9.example",
	};
	struct profiler_url url;
	char text[PROFILER_URL_MAX + 1];

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (profiler_url_parse(texts[i], &url) != -EINVAL)
			test_fail(__FILE__, __LINE__, "accepted: %s", texts[i]);
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://", 7);
	text[PROFILER_URL_MAX] = 0;
	CHECK_EQ(profiler_url_parse(text, &url), -EINVAL);
	text[PROFILER_URL_MAX - 1] = 0;
	CHECK_EQ(profiler_url_parse(text, &url), 0);
}
