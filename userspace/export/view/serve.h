/* SPDX-License-Identifier: BSD-2-Clause */
/* serve.h: serves one file to a browser on this machine, and knows the front end to open. */
/*
 * Any page in the browser and any user of the machine may try to connect to this port. The
 * server answers only programs of this user or root, and sends the file only to those that know its
 * path, which is random. Only pages of one origin, or none, may read the answer.
 */
#ifndef GCPROF_SERVE_H
#define GCPROF_SERVE_H

#include <stdint.h>

struct served {
	int file;           /* open for reading, at its start */
	uint64_t size;      /* bytes */
	const char *path;   /* begins with a slash */
	const char *origin; /* may read it from its pages; NULL: none, the file is a page */
	uint16_t port;      /* as returned by serve_listen() */
};

/*
 * Listens on the loopback address; port 0: any free port. Returns the socket or a negative
 * errno.
 */
int serve_listen(uint16_t wanted, uint16_t *port);

/*
 * Answers requests, which do not wait for each other, until `stop` is readable. If there
 * are too many connections, the oldest idle one is closed. From then on the process ignores
 * SIGPIPE. 0 or a negative errno.
 */
int serve_run(int listener, const struct served *served, int stop);

/* The request, and the answer without the file; exposed for tests. */
enum { SERVE_REQUEST_MAX = 8192, SERVE_ANSWER_MAX = 1024 };

/* Writes the head of the answer to a request, zero-terminated. Returns whether the file follows. */
int serve_answer(const struct served *served, const char *request, char answer[SERVE_ANSWER_MAX]);

/* The address of the Firefox Profiler's front end, or of a copy of it. */

enum { PROFILER_URL_MAX = 160 }; /* bytes with the zero at the end */

struct profiler_url {
	char page[PROFILER_URL_MAX];   /* without a slash at the end */
	char origin[PROFILER_URL_MAX]; /* as browsers write it: no path, no default port */
};

/*
 * Accepts http and https URLs with a host, and optionally a port and a path. -EINVAL: anything
 * else, also a user, a query or a fragment; or too long.
 */
int profiler_url_parse(const char *text, struct profiler_url *out);

#endif
