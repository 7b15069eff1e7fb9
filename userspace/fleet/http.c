/* SPDX-License-Identifier: BSD-2-Clause */
/* http.c: sends requests to a ClickHouse or Pyroscope server, over HTTP or HTTPS. */
#include "http.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "tables.h"

/* A Distributed table answers when the rows are stored. */
#define WRITING         "insert_distributed_sync=1"
#define WRITING_AT_ONCE WRITING "&async_insert=0"

enum { ANSWER_MAX = 64 << 20, MEMORY_MAX = 256 << 20, CONNECT_S = 10, GZIP = 15 + 16 };

/* With fewer bytes in as many seconds, a server counts as silent. Newer ClickHouse servers send a
 * header of some hundred bytes every five seconds while they work on a statement. */
enum { SILENCE_S = 30, SILENCE_BYTES = 256 };
#define PROGRESS "&send_progress_in_http_headers=1&http_headers_progress_interval_ms=5000"

/* The functions of libcurl in use. */
#define CALLS(call)                                                                                \
	call(curl_global_init) call(curl_easy_init) call(curl_easy_setopt) call(curl_easy_perform) \
		call(curl_easy_getinfo) call(curl_easy_escape) call(curl_easy_cleanup)             \
			call(curl_easy_strerror) call(curl_slist_append) call(curl_slist_free_all) \
				call(curl_free)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	CALLS(MEMBER)
} lib;

/* What limits an answer: its bytes, with headers, and the time without any in either direction. */
struct gate {
	uint64_t received, sent;
	uint64_t moved; /* received and sent at `since` */
	time_t since;
	const char *shut; /* why nothing more is taken; NULL: it is open */
};

struct http {
	CURL *curl;
	struct gate gate;
	struct buffer *into; /* takes the answer */
	char *name, *database;
	struct curl_slist *headers, *packed_headers;
	struct buffer answer; /* to inserts */
	struct buffer packed;
	const char *writing; /* settings of statements that write */
	bool pyroscope;
	char why[CURL_ERROR_SIZE];
	char settings[128]; /* a part of the URL; empty: none */
};

static int load_library(struct http_problem *problem)
{
	static void *handle;
	bool complete = true;

	if (handle)
		return 0;
	handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (handle) {
#define LOAD(call)                                  \
	*(void **)&lib.call = dlsym(handle, #call); \
	complete = complete && lib.call;
		CALLS(LOAD)
	}
	if (handle && complete && !lib.curl_global_init(CURL_GLOBAL_DEFAULT))
		return 0;
	handle = NULL;
	snprintf(problem->text, sizeof(problem->text),
		 "libcurl is missing: install it (Debian: apt-get install libcurl4)");
	return -ENOSYS;
}

/* --- opening --------------------------------------------------------------------------------- */

static int complain(struct http_problem *problem, const char *url, const char *why)
{
	snprintf(problem->text, sizeof(problem->text),
		 "%.300s: %s; expected http[s]://HOST[:PORT][/DATABASE]", url, why);
	return -EINVAL;
}

#define PYROSCOPE "pyroscope+"

bool http_is_pyroscope(const char *url)
{
	return !strncmp(url, PYROSCOPE, strlen(PYROSCOPE));
}

static const char *host_of(const char *url)
{
	url += http_is_pyroscope(url) ? strlen(PYROSCOPE) : 0;
	return !strncmp(url, "http://", 7)    ? url + 7
	       : !strncmp(url, "https://", 8) ? url + 8
					      : NULL;
}

/* The part after "/", or the default. */
static const char *database_of(const char *host)
{
	const char *slash = strchr(host, '/');

	return slash && slash[1] ? slash + 1 : HTTP_DATABASE;
}

const char *http_url_database(const char *url)
{
	return database_of(host_of(url));
}

int http_check(const char *url, struct http_problem *problem)
{
	const char *host = host_of(url), *end;

	*problem = (struct http_problem){0};
	if (!host)
		return complain(problem, url, "it does not begin with http:// or https://");
	end = host + strcspn(host, "/");
	/* The message does not repeat it, so that it does not get into logs. */
	if (memchr(host, '@', (size_t)(end - host))) {
		snprintf(problem->text, sizeof(problem->text),
			 "a user or password in a URL is visible to all users of this machine; "
			 "use the options for the user and for a password file");
		return -EINVAL;
	}
	for (const char *c = host; c < end; c++)
		if (!isalnum((unsigned char)*c) && !strchr(".:-_[]", *c))
			return complain(problem, url, "the host is invalid");
	if (end == host)
		return complain(problem, url, "the host is missing");
	return fleet_is_name(database_of(host))
		       ? 0
		       : complain(problem, url, "the database name is invalid");
}

static int take_url(struct http *http, const char *url, struct http_problem *problem)
{
	const char *host = host_of(url);
	int err = http_check(url, problem);

	if (err)
		return err;
	http->pyroscope = http_is_pyroscope(url);
	url += http->pyroscope ? strlen(PYROSCOPE) : 0;
	http->name = strndup(url, (size_t)(host - url) + strcspn(host, "/"));
	http->database = strdup(database_of(host));
	return http->name && http->database ? 0 : -ENOMEM;
}

static int add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct curl_slist *longer;
	char *line = NULL;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return -ENOMEM;
	longer = lib.curl_slist_append(*list, line);
	explicit_bzero(line, strlen(line));
	free(line);
	if (longer)
		*list = longer;
	return longer ? 0 : -ENOMEM;
}

static int make_headers(const struct http *http, const struct http_server *server,
			struct curl_slist **list)
{
	int err = 0;

	if (!http->pyroscope)
		err = add_header(list, "X-ClickHouse-User",
				 server->user ? server->user : "default");
	if (!err && !http->pyroscope && server->password)
		err = add_header(list, "X-ClickHouse-Key", server->password);
	if (!err)
		err = add_header(list, "Content-Type", "application/octet-stream");
	/* Otherwise curl would wait for "100 Continue" before it sends the body. */
	return err ? err : (*list = lib.curl_slist_append(*list, "Expect:")) ? 0 : -ENOMEM;
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static bool gate_take(struct gate *gate, size_t size)
{
	gate->received += size;
	if (gate->received > ANSWER_MAX)
		gate->shut = "the answer is larger than 64 MiB; select less";
	return !gate->shut;
}

static size_t take_header(char *data, size_t size, size_t count, void *context)
{
	struct http *http = context;

	(void)data;
	return gate_take(&http->gate, size * count) ? size * count : 0;
}

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
	struct http *http = context;

	size *= count;
	if (!gate_take(&http->gate, size))
		return 0;
	if (buffer_append(http->into, data, size))
		http->gate.shut = "not enough memory for the answer";
	return http->gate.shut ? 0 : size;
}

/* libcurl calls this at least once a second; 1 ends the transfer. */
static int watch(void *context, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
		 curl_off_t up)
{
	struct gate *gate = &((struct http *)context)->gate;

	(void)down_all, (void)down, (void)up_all;
	gate->sent = (uint64_t)up;
	if (gate->received + gate->sent >= gate->moved + SILENCE_BYTES) {
		gate->moved = gate->received + gate->sent;
		gate->since = now();
	} else if (now() - gate->since >= SILENCE_S) {
		gate->shut = "the server was silent for 30 s";
	}
	return gate->shut != NULL;
}

void http_limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* need more */
	struct rlimit limit;

	/* Not that of processes that are started, which may set their own. */
	if (!getrlimit(RLIMIT_DATA, &limit) && limit.rlim_cur > MEMORY_MAX) {
		limit.rlim_cur = MEMORY_MAX;
		setrlimit(RLIMIT_DATA, &limit);
	}
#endif
}

static int set_up(struct http *http, const struct http_server *server)
{
	CURL *curl = http->curl;

	lib.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	lib.curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	lib.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	lib.curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	lib.curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
	lib.curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http);
	lib.curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
	lib.curl_easy_setopt(curl, CURLOPT_HEADERDATA, http);
	lib.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, http->why);
	lib.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	lib.curl_easy_setopt(curl, CURLOPT_WRITEDATA, http);
	lib.curl_easy_setopt(curl, CURLOPT_POST, 1L);
	if (server->ca_file)
		lib.curl_easy_setopt(curl, CURLOPT_CAINFO, server->ca_file);
	if (http->pyroscope && server->user)
		lib.curl_easy_setopt(curl, CURLOPT_USERNAME, server->user);
	if (http->pyroscope && server->password)
		lib.curl_easy_setopt(curl, CURLOPT_PASSWORD, server->password);
	if (make_headers(http, server, &http->headers) ||
	    make_headers(http, server, &http->packed_headers))
		return -ENOMEM;
	return add_header(&http->packed_headers, "Content-Encoding", "gzip");
}

int http_create(const struct http_server *server, struct http **out, struct http_problem *problem)
{
	struct http *http = calloc(1, sizeof(*http));
	int err = http ? 0 : -ENOMEM;

	*problem = (struct http_problem){0, "no memory"};
	if (!err) {
		http->writing = WRITING;
		err = take_url(http, server->url, problem);
	}
	if (!err)
		err = load_library(problem);
	if (!err && !(http->curl = lib.curl_easy_init()))
		err = -ENOMEM;
	if (!err)
		err = set_up(http, server);
	if (err)
		http_free(http);
	else
		*out = http;
	return err;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	if (http->curl) {
		lib.curl_easy_cleanup(http->curl);
		lib.curl_slist_free_all(http->headers);
		lib.curl_slist_free_all(http->packed_headers);
	}
	buffer_free(&http->answer);
	buffer_free(&http->packed);
	free(http->name);
	free(http->database);
	free(http);
}

const char *http_database(const struct http *http)
{
	return http->database;
}

const char *http_name(const struct http *http)
{
	return http->name;
}

/* --- statements ------------------------------------------------------------------------------ */

/* Makes a message of the server's response, usually the text before "e.what()". */
static void explain(struct http *http, long status, const struct buffer *answer,
		    struct http_problem *problem)
{
	const char *text = answer->size > 1 ? answer->data : "", *end;
	size_t size;

	/* Of Pyroscope's response only the status is read. */
	if (!http->pyroscope)
		sscanf(text, "Code: %d", &problem->code);
	if (problem->code == HTTP_NO_DATABASE) {
		snprintf(problem->text, sizeof(problem->text),
			 "there is no database %s; create it with: gcprof push --schema | "
			 "clickhouse-client --multiquery",
			 http->database);
		return;
	}
	if (status == 401 || (problem->code >= 192 && problem->code <= 194) ||
	    problem->code == HTTP_NOT_AUTHENTICATED) {
		snprintf(problem->text, sizeof(problem->text),
			 "the server refuses this user or password; see --user and "
			 "--password-file");
		return;
	}
	end = strstr(text, ", e.what()");
	size = end ? (size_t)(end - text) : strcspn(text, "\n");
	if (problem->code)
		snprintf(problem->text, sizeof(problem->text),
			 "the server refused the request: %.*s", (int)(size < 400 ? size : 400),
			 text);
	else
		snprintf(problem->text, sizeof(problem->text), "%s HTTP status %ld",
			 http->pyroscope ? "the server refused the profile:"
					 : "not a ClickHouse server: it answered with",
			 status);
}

static int perform(struct http *http, const char *url, struct curl_slist *headers, const void *body,
		   size_t size, struct buffer *answer, struct http_problem *problem)
{
	long status = 0;
	CURLcode code;

	*problem = (struct http_problem){0, "no memory"};
	answer->size = 0;
	http->into = answer;
	http->gate = (struct gate){.since = now()};
	*http->why = '\0';
	lib.curl_easy_setopt(http->curl, CURLOPT_URL, url);
	lib.curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
	lib.curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, body);
	lib.curl_easy_setopt(http->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	code = lib.curl_easy_perform(http->curl);
	/* Not retried, as a lost connection is. */
	if (code != CURLE_OK && http->gate.shut) {
		snprintf(problem->text, sizeof(problem->text), "%s", http->gate.shut);
		return -EREMOTEIO;
	}
	if (code != CURLE_OK) {
		snprintf(problem->text, sizeof(problem->text), "%s",
			 *http->why ? http->why : lib.curl_easy_strerror(code));
		return -ECONNABORTED;
	}
	if (buffer_append(answer, "", 1))
		return -ENOMEM;
	lib.curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	/* ClickHouse's status is 200 if a statement fails after it has sent its header. */
	if (status == 200 && (http->pyroscope || strncmp(answer->data, "Code: ", 6) != 0)) {
		*problem->text = '\0';
		return 0;
	}
	explain(http, status, answer, problem);
	return -EREMOTEIO;
}

void http_begin_session(struct http *http)
{
	uint64_t random[2] = {(uint64_t)getpid(), (uint64_t)time(NULL)};

	(void)!getrandom(random, sizeof(random), 0);
	snprintf(http->settings, sizeof(http->settings), "&session_id=%016" PRIx64 "%016" PRIx64,
		 random[0], random[1]);
}

void http_insert_at_once(struct http *http)
{
	http->writing = WRITING_AT_ONCE;
}

void http_only_read(struct http *http)
{
	/* Waits for the end: otherwise an error could look like a row. readonly=2: settings may
	 * still come with the statement. */
	snprintf(http->settings, sizeof(http->settings),
		 "&readonly=2&wait_end_of_query=1&default_format=TabSeparatedWithNamesAndTypes");
}

int http_query(struct http *http, const char *sql, const char *id, struct buffer *answer,
	       struct http_problem *problem)
{
	char *url = NULL;
	int err;

	if (asprintf(&url,
		     "%s/?database=%s&output_format_json_quote_64bit_integers=0"
		     "&output_format_json_quote_denormals=0" PROGRESS "%s%s%s%s%s",
		     http->name, http->database, http->settings, id ? "&" : "",
		     id ? http->writing : "", id ? "&query_id=" : "", id ? id : "") < 0)
		return -ENOMEM;
	err = perform(http, url, http->headers, sql, strlen(sql), answer, problem);
	free(url);
	return err;
}

/* At the fastest level: most columns of a block are zeros. */
static int pack(struct buffer *out, const struct buffer *data)
{
	z_stream stream = {.next_in = (unsigned char *)data->data, .avail_in = (uInt)data->size};
	int status;

	if (deflateInit2(&stream, 1, Z_DEFLATED, GZIP, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	out->size = 0;
	if (buffer_reserve(out, deflateBound(&stream, data->size))) {
		deflateEnd(&stream);
		return -ENOMEM;
	}
	stream.next_out = (unsigned char *)out->data;
	stream.avail_out = (uInt)out->capacity;
	status = deflate(&stream, Z_FINISH);
	out->size = stream.total_out;
	deflateEnd(&stream);
	return status == Z_STREAM_END ? 0 : -ENOMEM;
}

int http_insert(struct http *http, const char *sql, const char *id, const struct buffer *data,
		struct http_problem *problem)
{
	char *url = NULL, *query = lib.curl_easy_escape(http->curl, sql, 0);
	int err = query ? pack(&http->packed, data) : -ENOMEM;

	*problem = (struct http_problem){0, "no memory"};
	if (!err && asprintf(&url, "%s/?database=%s" PROGRESS "&%s&query_id=%s&query=%s",
			     http->name, http->database, http->writing, id, query) < 0)
		err = -ENOMEM;
	if (!err)
		err = perform(http, url, http->packed_headers, http->packed.data, http->packed.size,
			      &http->answer, problem);
	lib.curl_free(query);
	free(url);
	return err;
}

int http_ingest(struct http *http, const char *name, uint64_t from, uint64_t until,
		const struct buffer *data, struct http_problem *problem)
{
	char *url = NULL, *escaped = lib.curl_easy_escape(http->curl, name, 0);
	int err = escaped ? 0 : -ENOMEM;

	*problem = (struct http_problem){0, "no memory"};
	if (!err &&
	    asprintf(&url, "%s/ingest?name=%s&from=%" PRIu64 "&until=%" PRIu64 "&format=pprof",
		     http->name, escaped, from, until) < 0)
		err = -ENOMEM;
	if (!err)
		err = perform(http, url, http->headers, data->data, data->size, &http->answer,
			      problem);
	lib.curl_free(escaped);
	free(url);
	return err;
}
