/* SPDX-License-Identifier: BSD-2-Clause */
/* http.h: sends requests to a ClickHouse or Pyroscope server, over HTTP or HTTPS. */
/*
 * libcurl is loaded by the first http_create(). The recorder, which runs as root, and the many
 * processes that it starts run without it and the thirty libraries that it depends on.
 */
#ifndef GCPROF_FLEET_HTTP_H
#define GCPROF_FLEET_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "../util/buffer.h"

struct http;

struct http_server {
	const char *url;      /* http[s]://HOST[:PORT][/DATABASE] */
	const char *user;     /* NULL: default */
	const char *password; /* NULL: none */
	const char *ca_file;  /* certificates to trust (PEM); NULL: the system's */
};

enum { HTTP_MESSAGE = 600 };

/* Why a request failed. */
struct http_problem {
	int code; /* ClickHouse's error code; 0: none */
	char text[HTTP_MESSAGE];
};

#define HTTP_DATABASE "gcprof" /* default */

/* Checks the URL: 0, or -EINVAL with a text. Does not load libcurl. */
int http_check(const char *url, struct http_problem *problem);

/* Does it name a Pyroscope server: pyroscope+http[s]://HOST[:PORT]? */
bool http_is_pyroscope(const char *url);

/* The database in a valid URL, or HTTP_DATABASE. */
const char *http_url_database(const char *url);

/*
 * Does not connect yet. -EINVAL: invalid URL; -ENOSYS: libcurl is missing; -ENOMEM; each with a
 * text.
 */
int http_create(const struct http_server *server, struct http **out, struct http_problem *problem);
void http_free(struct http *http); /* NULL is allowed */

/* This process, which takes rows of a server, may use 256 MiB; others that it starts may not
 * notice.
 */
void http_limit_memory(void);

const char *http_database(const struct http *http);
const char *http_name(const struct http *http); /* scheme, host and port, for messages */

/* From now on, statements run in one session and share temporary tables. The server removes these
 * soon after the last statement. */
void http_begin_session(struct http *http);

/* From now on, the server is told not to collect rows of several inserts in memory before it stores
 * them. Only for servers that have the setting async_insert. */
void http_insert_at_once(struct http *http);

/* From now on, statements can only read, and responses are TabSeparatedWithNamesAndTypes unless a
 * statement says otherwise. */
void http_only_read(struct http *http);

/*
 * Runs a statement and replaces `answer` with the response, followed by a zero byte. The server
 * rejects it while a statement with the same `id` (letters, digits, "-"; NULL: none) is running. 0;
 * -EREMOTEIO: the server rejected it, it failed, or the response is too large or stopped for 30 s;
 * -ECONNABORTED: no response, so it is unknown whether it ran; -ENOMEM.
 */
int http_query(struct http *http, const char *sql, const char *id, struct buffer *answer,
	       struct http_problem *problem);

/* The same for "INSERT ... FORMAT Native", whose data it compresses. */
int http_insert(struct http *http, const char *sql, const char *id, const struct buffer *data,
		struct http_problem *problem);

/* Sends a file in pprof's format to Pyroscope, with times in seconds since 1970. */
int http_ingest(struct http *http, const char *name, uint64_t from, uint64_t until,
		const struct buffer *data, struct http_problem *problem);

/* Error codes of ClickHouse. */
enum {
	HTTP_NO_TABLE = 60,
	HTTP_NO_DATABASE = 81,
	HTTP_ID_RUNS = 216,
	HTTP_NOT_AUTHENTICATED = 516 /* newer servers; older ones have 192 to 194 */
};

#endif
