/* SPDX-License-Identifier: BSD-2-Clause */
/* http.h: asks a ClickHouse server, over HTTP or HTTPS. */
/*
 * libcurl is loaded when a server is asked first: the recorder, which is root, and the processes
 * that it starts by the hundred do without it and the thirty libraries that it brings.
 */
#ifndef GCPROF_FLEET_HTTP_H
#define GCPROF_FLEET_HTTP_H

#include <stddef.h>

#include "../util/buffer.h"

struct http;

struct http_server {
	const char *url;      /* http[s]://HOST[:PORT][/DATABASE] */
	const char *user;     /* NULL: default */
	const char *password; /* NULL: none */
	const char *ca_file;  /* certificates to trust; NULL: the system's */
};

enum { HTTP_MESSAGE = 600 };

/* Why something failed, for a person. */
struct http_problem {
	int code; /* ClickHouse's, of an answer of the server; 0: there was none */
	char text[HTTP_MESSAGE];
};

#define HTTP_DATABASE "gcprof" /* if the URL names none */

/* Does the URL make sense? 0 or -EINVAL, with a text. Loads nothing. */
int http_check(const char *url, struct http_problem *problem);

/* The database that a URL which makes sense names, or HTTP_DATABASE. */
const char *http_url_database(const char *url);

/*
 * Connects to nothing yet. -EINVAL: the URL makes no sense, -ENOSYS: no libcurl, -ENOMEM; with a
 * text.
 */
int http_create(const struct http_server *server, struct http **out, struct http_problem *problem);
void http_free(struct http *http); /* NULL is allowed */

const char *http_database(const struct http *http);
const char *http_name(const struct http *http); /* scheme, host and port, for messages */

/* From now on statements share temporary tables, which the server removes soon after the last one.
 */
void http_begin_session(struct http *http);

/*
 * Runs a statement; its answer replaces that in `answer`, with a zero behind it. While one with the
 * same `id` (letters, digits, "-"; NULL: none) runs it is refused. 0; -EREMOTEIO: the server
 * refused it; -ECONNABORTED: there is no answer, and what became of it is not known; -ENOMEM.
 */
int http_query(struct http *http, const char *sql, const char *id, struct buffer *answer,
	       struct http_problem *problem);

/* The same for "INSERT ... FORMAT Native" and its data, which are compressed. */
int http_insert(struct http *http, const char *sql, const char *id, const struct buffer *data,
		struct http_problem *problem);

/* What a statement failed of. */
enum { HTTP_ID_RUNS = 216, HTTP_NO_TABLE = 60, HTTP_NO_DATABASE = 81 };

#endif
