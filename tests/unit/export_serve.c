/* SPDX-License-Identifier: BSD-2-Clause */
/* export_serve.c: tests of what is answered to browsers. */
#include "export/serve.h"
#include "test.h"

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
