/* SPDX-License-Identifier: BSD-2-Clause */
/* server.c: gcprof query --from: runs an SQL statement on a ClickHouse server. */
/*
 * The rows go through a table of a temporary SQLite database, so that they are printed as those of
 * a profile are. They are untrusted: anyone who writes to the server may have chosen the texts.
 */
#include "query.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../fleet/http.h"
#include "../../profile/sink.h"
#include "../../util/escape.h"
#include "../../util/log.h"

enum { COLUMNS_MAX = 1000 };

/* A response in the format TabSeparatedWithNamesAndTypes. */
struct answer {
	char *at, *end;
	size_t columns;
	char kinds[COLUMNS_MAX]; /* 'i': integer, 'f': float, 'a': array or tuple; else text */
};

struct text {
	char *data;
	size_t size;
	bool null;
};

/* Unescapes the cell at the beginning in place, except inside arrays, and ends it with a zero byte.
 * Returns what ended it: a tab, a newline or zero. */
static char take_cell(struct answer *answer, char kind, struct text *out)
{
	static const char letters[] = "tnrbf0", values[] = "\t\n\r\b\f";
	char *from = answer->at, *to = from, end;

	*out = (struct text){from, 0, !strncmp(from, "\\N", 2)};
	while (*from && *from != '\t' && *from != '\n') {
		const char *letter =
			*from == '\\' && from[1] && kind != 'a' ? strchr(letters, *++from) : NULL;

		*to++ = letter ? values[letter - letters] : *from;
		from++;
	}
	out->size = (size_t)(to - out->data);
	end = *from;
	answer->at = from + (from < answer->end);
	*to = '\0';
	return end;
}

/* Takes a line of `answer->columns` cells (0: any number). 0 or -EBADMSG. */
static int take_line(struct answer *answer, struct text *cells)
{
	size_t n = 0;
	char end;

	do {
		if (n == COLUMNS_MAX || answer->at >= answer->end)
			return -EBADMSG;
		end = take_cell(answer, answer->kinds[n], &cells[n]);
		n++;
	} while (end == '\t');
	if (!answer->columns)
		answer->columns = n;
	return end == '\n' && n == answer->columns ? 0 : -EBADMSG;
}

static char kind_of(const char *type)
{
	type += strncmp(type, "Nullable(", 9) ? 0 : 9;
	return !strncmp(type, "Int", 3) || !strncmp(type, "UInt", 4)        ? 'i'
	       : !strncmp(type, "Float", 5) || !strncmp(type, "Decimal", 7) ? 'f'
	       : !strncmp(type, "Array", 5) || !strncmp(type, "Tuple", 5)   ? 'a'
									    : 't';
}

/* A printable copy; NULL: no memory. */
static char *printable(const struct text *text)
{
	char *copy = NULL;
	size_t size;
	FILE *out = open_memstream(&copy, &size);

	if (!out)
		return NULL;
	escape_print(out, text->data, text->size);
	return fclose(out) ? NULL : copy;
}

static int bind(sqlite3_stmt *insert, int column, char kind, const struct text *cell)
{
	char *end, *text;
	long long integer;

	if (cell->null)
		return sqlite3_bind_null(insert, column);
	errno = 0;
	integer = kind == 'i' ? strtoll(cell->data, &end, 10) : 0;
	/* Larger numbers, mostly hashes, stay text. */
	if (kind == 'i' && !errno && !*end)
		return sqlite3_bind_int64(insert, column, integer);
	if (kind == 'f')
		return sqlite3_bind_double(insert, column, strtod(cell->data, NULL));
	text = printable(cell);
	return text ? sqlite3_bind_text(insert, column, text, -1, free) : SQLITE_NOMEM;
}

/* Creates the table and the statements for it. Different columns may have the same name. */
static int prepare(sqlite3 *connection, const struct answer *answer, const struct text *names,
		   sqlite3_stmt **insert, sqlite3_stmt **select)
{
	sqlite3_stmt *create = NULL, **const statements[] = {&create, insert, select};
	static const char *const begin[] = {"CREATE TABLE rows(", "INSERT INTO rows VALUES(",
					    "SELECT "};
	static const char *const column[] = {"%sc%d", "%s?%d", "%sc%d AS \"%w\""};
	static const char *const end[] = {")", ")", " FROM rows ORDER BY rowid"};
	int status = SQLITE_OK;

	for (size_t i = 0; i < 3 && status == SQLITE_OK; i++) {
		sqlite3_str *sql = sqlite3_str_new(connection);
		char *text;

		sqlite3_str_appendall(sql, begin[i]);
		for (size_t j = 0; j < answer->columns; j++) {
			char *name = printable(&names[j]);

			sqlite3_str_appendf(sql, column[i], j ? "," : "", (int)j + 1, name);
			free(name);
		}
		sqlite3_str_appendall(sql, end[i]);
		text = sqlite3_str_finish(sql);
		status = sqlite3_prepare_v2(connection, text ? text : "", -1, statements[i], NULL);
		if (create && sqlite3_step(create) != SQLITE_DONE)
			status = SQLITE_ERROR;
		sqlite3_finalize(create);
		create = NULL;
		sqlite3_free(text);
	}
	return status == SQLITE_OK && *select ? 0 : -ENOMEM;
}

/* Fills the database; *select then reads its rows. 0, -EBADMSG or -ENOMEM. */
static int load(sqlite3 *connection, struct answer *answer, sqlite3_stmt **select)
{
	static struct text cells[COLUMNS_MAX], types[COLUMNS_MAX];
	sqlite3_stmt *insert = NULL;
	int err = take_line(answer, cells);

	if (!err)
		err = take_line(answer, types);
	for (size_t i = 0; i < answer->columns && !err; i++)
		answer->kinds[i] = kind_of(types[i].data);
	if (!err)
		err = prepare(connection, answer, cells, &insert, select);
	while (!err && answer->at < answer->end) {
		err = take_line(answer, cells);
		for (size_t i = 0; i < answer->columns && !err; i++)
			if (bind(insert, (int)i + 1, answer->kinds[i], &cells[i]) != SQLITE_OK)
				err = -ENOMEM;
		if (!err && sqlite3_step(insert) != SQLITE_DONE)
			err = -ENOMEM;
		sqlite3_reset(insert);
	}
	sqlite3_finalize(insert);
	return err;
}

static int print(struct buffer *response, enum query_format format)
{
	/* Without the zero byte that http_query() adds. */
	struct answer answer = {.at = response->data, .end = response->data + response->size - 1};
	sqlite3 *connection = NULL;
	sqlite3_stmt *select = NULL;
	struct output *output = NULL;
	struct sink *sink = NULL;
	int err = sqlite3_open("", &connection) == SQLITE_OK ? 0 : -ENOMEM;

	if (!err)
		err = load(connection, &answer, &select);
	if (!err)
		err = sink_fd_create(STDOUT_FILENO, &sink);
	if (!err)
		err = output_create(sink, false, &output);
	if (!err && query_print(select, format, output) != SQLITE_DONE)
		err = -ENOMEM;
	if (output && !err)
		err = output_close(output);
	sqlite3_finalize(select);
	sqlite3_close(connection);
	return err == -EPIPE ? 0 : err;
}

static void explain(const struct http *http, int err)
{
	if (err == -EBADMSG)
		log_error("%s: the answer is invalid or incomplete; the statement must be a SELECT "
			  "without FORMAT",
			  http_name(http));
	else if (err == -ENOMEM)
		log_error("not enough memory for the rows");
	else if (err)
		log_error("standard output: %s", strerror(-err));
}

int query_server(const struct server_arguments *server, const char *sql, enum query_format format)
{
	struct http_problem problem = {0};
	struct buffer response = {0};
	struct http *http = NULL;
	int err, status = server_open(server, true, &http);

	if (status)
		return status;
	http_only_read(http);
	err = http_query(http, sql, NULL, &response, &problem);
	if (err)
		log_error("%s: %s", http_name(http), problem.text);
	else
		explain(http, err = print(&response, format));
	buffer_free(&response);
	http_free(http);
	return err ? EXIT_FAILURE : 0;
}
