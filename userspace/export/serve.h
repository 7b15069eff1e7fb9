/* SPDX-License-Identifier: BSD-2-Clause */
/* serve.h: hands one file to a browser on this machine. */
/*
 * Any page in the browser may try to connect to this port, and any user of the
 * machine: the file is given only to those who know its path, which is random,
 * and only pages of one origin, or none, may read the answer.
 */
#ifndef GCPROF_SERVE_H
#define GCPROF_SERVE_H

#include <stdint.h>

struct served {
	int file;           /* open for reading, from its start */
	uint64_t size;      /* bytes */
	const char *path;   /* begins with a slash */
	const char *origin; /* whose pages may read it; NULL: none, it is a page itself */
	uint16_t port;      /* that serve_listen() gave */
};

/* Listens on the loopback address; port 0: any free one. The socket or a negative errno. */
int serve_listen(uint16_t wanted, uint16_t *port);

/*
 * Answers requests, none of which waits for another, until `stop` is readable. The oldest
 * idle connection is closed when there are too many. The process ignores SIGPIPE from then on.
 * 0 or a negative errno.
 */
int serve_run(int listener, const struct served *served, int stop);

/* What a browser asks for, and the answer without the file; for tests. */
enum { SERVE_REQUEST_MAX = 8192, SERVE_ANSWER_MAX = 1024 };

/*
 * Writes the head of the answer to a request, which ends with a zero. Returns whether
 * the file follows it.
 */
int serve_answer(const struct served *served, const char *request, char answer[SERVE_ANSWER_MAX]);

#endif
