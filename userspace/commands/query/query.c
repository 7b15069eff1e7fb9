/* SPDX-License-Identifier: BSD-2-Clause */
/* query.c: gcprof query: runs an SQL statement on a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query.h"
#include "../commands.h"
#include "../../export/sql/query.h"
#include "../../profile/sink.h"
#include "../../profile/source.h"
#include "../../profile/status.h"
#include "../../util/buffer.h"
#include "../../report/progress.h"
#include "../../util/log.h"

enum { SQL_SIZE_MAX = 1 << 20, SHOWN_BEFORE = 60, SHOWN_BEHIND = 40 };

struct query_arguments {
	struct server_arguments server;
	const char *format;
	int schema;
	const char *words[2]; /* statement, file */
	int n_words;
};

static const struct option_row rows[] = {
	{"format", 'f', OPTION_TEXT, offsetof(struct query_arguments, format), 0, 0, "NAME",
	 "table, csv or json (default table)"},
	{"schema", 0, OPTION_FLAG, offsetof(struct query_arguments, schema), 0, 0, NULL,
	 "print all tables and columns with their meaning"},
	{"from", 0, OPTION_TEXT, offsetof(struct query_arguments, server.url), 0, 0, "URL",
	 "query the tables of gcprof push on this ClickHouse server, not a file"},
	SERVER_OPTIONS(struct query_arguments, server, ""),
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

static int parse_arguments(struct query_arguments *arguments, int argc, char **argv)
{
	int n = options_parse_words(&cmd_query, arguments, argc, argv, arguments->words, 2);

	if (n < 0)
		return n;
	arguments->n_words = n;
	if (!n && !arguments->schema) {
		log_error("query: no statement; try 'gcprof query \"SELECT * FROM types\"', or "
			  "--schema for all tables");
		return -EINVAL;
	}
	if (arguments->server.url && (arguments->schema || n == 2)) {
		log_error("--from: without a file and --schema; 'gcprof push --schema' prints the "
			  "server's tables");
		return -EINVAL;
	}
	return 0;
}

static int find_format(const char *name, enum query_format *out)
{
	static const char *const names[] = {"table", "csv", "json"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*out = (enum query_format)i;
			return 0;
		}
	}
	log_error("--format %s: table, csv or json", name);
	return -EINVAL;
}

/* Reads the statement from standard input. */
static int read_statement(struct buffer *sql)
{
	char block[4096];
	size_t n;
	int error = 0;

	while (!error && (n = fread(block, 1, sizeof(block), stdin)) > 0) {
		error = buffer_append(sql, block, n);
		if (sql->size > SQL_SIZE_MAX)
			error = -E2BIG;
	}
	return error ? error : buffer_append(sql, "", 1);
}

/* Prints the line of the statement that contains the error, with a mark below. */
static void point_at(const char *sql, int offset)
{
	const char *at = sql + offset, *start = at, *end = at;

	while (start > sql && start[-1] != '\n' && at - start < SHOWN_BEFORE)
		start--;
	while (*end && *end != '\n' && end - at < SHOWN_BEHIND)
		end++;
	log_error("    %.*s", (int)(end - start), start);
	log_error("    %*s^", (int)(at - start), "");
}

static void explain(const struct query_request *request, const struct query_result *result,
		    int error)
{
	if (error == -EPIPE) {
		return;
	} else if (result->unwritten) {
		log_error("standard output: %s", strerror(-error));
	} else if (error == -EINVAL) {
		log_error("invalid statement: %s", result->message);
		if (result->offset >= 0 && (size_t)result->offset <= strlen(request->sql))
			point_at(request->sql, result->offset);
	} else if (error == -EPERM) {
		log_error(
			"profiles are read-only: the statement must be a SELECT; for anything else "
			"use 'gcprof export -f sqlite' to make your own database");
	} else if (error == -EDOM) {
		log_error("the statement failed: %s", result->message);
	} else if (error == -ENOSPC) {
		log_error("no space for a temporary file; TMPDIR says where it goes");
	} else {
		log_error("%s: %s", request->file, profile_error_text(error));
	}
}

static int status_of(int error)
{
	return !error || error == -EPIPE             ? EXIT_SUCCESS
	       : error == -EINVAL || error == -EPERM ? EXIT_USAGE
						     : EXIT_FAILURE;
}

static int answer(const struct query_request *request)
{
	struct query_result result = {.offset = -1};
	struct source *source = NULL;
	struct sink *sink = NULL;
	int error = progress_open(request->file, false, &source);

	if (!error) {
		error = sink_fd_create(STDOUT_FILENO, &sink);
		if (error)
			source->close(source);
		else
			error = query_run(request, source, sink, &result);
	}
	if (error) {
		explain(request, &result, error);
		return status_of(error);
	}
	return profile_judge(request->file, result.state, result.status.bytes);
}

static int print_schema(void)
{
	struct sink *sink = NULL;
	int error = sink_fd_create(STDOUT_FILENO, &sink);

	if (!error)
		error = query_schema(sink);
	if (error && error != -EPIPE)
		log_error("standard output: %s", strerror(-error));
	return status_of(error);
}

static int run(int argc, char **argv)
{
	struct query_arguments arguments = {0};
	struct query_request request = {0};
	struct buffer sql = {0};
	int error, status;

	if (parse_arguments(&arguments, argc, argv) < 0 ||
	    (arguments.format && find_format(arguments.format, &request.format) < 0))
		return EXIT_USAGE;
	if (arguments.schema)
		return print_schema();
	request.sql = arguments.words[0];
	request.file = arguments.n_words == 2 ? arguments.words[1] : "gcprof.data";
	if (strcmp(request.sql, "-") == 0) {
		error = read_statement(&sql);
		if (error) {
			log_error("standard input: %s", strerror(-error));
			buffer_free(&sql);
			return EXIT_FAILURE;
		}
		request.sql = sql.data;
	}
	status = arguments.server.url ? query_server(&arguments.server, request.sql, request.format)
				      : answer(&request);
	buffer_free(&sql);
	return status;
}

const struct command cmd_query = {
	.name = "query",
	.usage = "[OPTIONS] 'SELECT ...' [FILE]",
	.summary = "run an SQL query on a profile",
	.options = rows,
	.run = run,
};
