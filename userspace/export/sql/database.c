/* SPDX-License-Identifier: BSD-2-Clause */
/* database.c: an SQLite database with the tables of schema.def, in a temporary file. */
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "../../util/buffer.h"

_Static_assert(SQL_TABLES <= 64, "one bit a table");

enum { STATEMENTS_MAX = 16, READ_SIZE = 64 << 10 };

struct column {
	const char *name, *type, *doc;
};

/* The columns of all tables; after each table's columns, an entry without a name. */
static const struct column columns[] = {
#define KEY(table, column, doc)     {#column, "INTEGER PRIMARY KEY", doc},
#define INTEGER(table, column, doc) {#column, "INTEGER", doc},
#define REAL(table, column, doc)    {#column, "REAL", doc},
#define TEXT(table, column, doc)    {#column, "TEXT", doc},
#define END_TABLE(name)             {NULL, NULL, NULL},
#include "schema.def"
};

static const struct {
	const char *name, *doc;
} tables[] = {
#define TABLE(name, doc) {#name, doc},
#include "schema.def"
};

static const struct {
	const char *name, *doc, *select;
} views[] = {
#define VIEW(name, doc, select) {#name, doc, select},
#include "schema.def"
};

enum { N_VIEWS = sizeof(views) / sizeof(*views) };

struct database {
	sqlite3 *connection;
	sqlite3_stmt *inserts[SQL_TABLES];
	int n_columns[SQL_TABLES];
	sqlite3_stmt *statements[STATEMENTS_MAX];
	size_t n_statements;
	uint64_t wanted;
	int fd; /* the file, which is already unlinked */
};

static int error_of(int status)
{
	switch (status & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_TOOBIG:
		return -EFBIG;
	default:
		return -EIO;
	}
}

/* --- schema --------------------------------------------------------------------------- */

static const struct column *columns_of(size_t table)
{
	const struct column *column = columns;

	for (; table; column++)
		table -= !column->name;
	return column;
}

/* Appends to a growing text; the first error is kept. */
static void add(struct buffer *sql, int *error, const char *text)
{
	if (!*error)
		*error = buffer_append(sql, text, strlen(text));
}

static int table_sql(size_t table, struct buffer *sql)
{
	const struct column *column = columns_of(table);
	char line[512];
	int error = 0;

	sql->size = 0;
	snprintf(line, sizeof(line), "CREATE TABLE %s ( -- %s\n", tables[table].name,
		 tables[table].doc);
	add(sql, &error, line);
	for (; column->name; column++) {
		snprintf(line, sizeof(line), "\t%s %s%s%s%s\n", column->name, column->type,
			 column[1].name ? "," : "", *column->doc ? " -- " : "", column->doc);
		add(sql, &error, line);
	}
	add(sql, &error, ")");
	return error ? error : buffer_append(sql, "", 1);
}

static int view_sql(size_t view, struct buffer *sql)
{
	int error = 0;

	sql->size = 0;
	add(sql, &error, "CREATE VIEW ");
	add(sql, &error, views[view].name);
	add(sql, &error, " AS -- ");
	add(sql, &error, views[view].doc);
	add(sql, &error, "\n");
	add(sql, &error, views[view].select);
	return error ? error : buffer_append(sql, "", 1);
}

int database_schema(schema_visitor *visit, void *context)
{
	struct buffer sql = {0};
	int error = 0;

	for (size_t i = 0; i < SQL_TABLES && !error; i++) {
		error = table_sql(i, &sql);
		if (!error)
			error = visit(context, sql.data);
	}
	for (size_t i = 0; i < N_VIEWS && !error; i++) {
		error = view_sql(i, &sql);
		if (!error)
			error = visit(context, sql.data);
	}
	buffer_free(&sql);
	return error;
}

uint64_t database_table_bit(const char *name)
{
	for (size_t i = 0; i < SQL_TABLES; i++)
		if (strcasecmp(tables[i].name, name) == 0)
			return UINT64_C(1) << i;
	return 0;
}

/* --- opening and closing --------------------------------------------------------------- */

static int execute(void *context, const char *sql)
{
	return error_of(sqlite3_exec(context, sql, NULL, NULL, NULL));
}

/* In its own directory, so that no other user can put a journal beside the file. */
static int open_in(struct database *database, const char *place)
{
	char folder[4096], path[sizeof(folder) + 16];
	int size = snprintf(folder, sizeof(folder), "%s/gcprof-XXXXXX", place), status;

	if (size < 0 || (size_t)size >= sizeof(folder))
		return -ENAMETOOLONG;
	if (!mkdtemp(folder))
		return -errno;
	snprintf(path, sizeof(path), "%s/profile", folder);
	status = sqlite3_open_v2(path, &database->connection,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
					 SQLITE_OPEN_NOFOLLOW,
				 NULL);
	/* The first table creates the file. It is then unlinked, whatever happens later. */
	if (status == SQLITE_OK)
		status = sqlite3_exec(
			database->connection,
			"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
			"PRAGMA locking_mode = EXCLUSIVE; PRAGMA page_size = 8192;"
			"PRAGMA cache_size = -65536; PRAGMA application_id = 1734570098;"
			"PRAGMA user_version = 1;",
			NULL, NULL, NULL);
	database->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unlink(path);
	rmdir(folder);
	return status != SQLITE_OK ? error_of(status) : database->fd < 0 ? -EIO : 0;
}

static int open_somewhere(struct database *database)
{
	const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int error = -ENOENT;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && error; i++) {
		if (!places[i] || !*places[i])
			continue;
		error = open_in(database, places[i]);
		if (error) {
			sqlite3_close(database->connection);
			database->connection = NULL;
		}
	}
	return error;
}

static int prepare_insert(struct database *database, size_t table)
{
	const struct column *column = columns_of(table);
	struct buffer sql = {0};
	int error = 0;

	add(&sql, &error, "INSERT OR REPLACE INTO ");
	add(&sql, &error, tables[table].name);
	for (; column->name; column++) {
		add(&sql, &error, database->n_columns[table]++ ? ",?" : " VALUES (?");
	}
	add(&sql, &error, ")");
	if (!error)
		error = error_of(sqlite3_prepare_v2(database->connection, sql.data, (int)sql.size,
						    &database->inserts[table], NULL));
	buffer_free(&sql);
	return error;
}

int database_create(struct database **out)
{
	struct database *database = calloc(1, sizeof(*database));
	int error;

	if (!database)
		return -ENOMEM;
	database->wanted = UINT64_MAX;
	database->fd = -1;
	error = open_somewhere(database);
	if (!error)
		error = database_schema(execute, database->connection);
	for (size_t i = 0; i < SQL_TABLES && !error; i++)
		error = prepare_insert(database, i);
	if (!error)
		error = execute(database->connection, "BEGIN");
	if (error) {
		database_close(database);
		return error;
	}
	*out = database;
	return 0;
}

static void finalize(struct database *database)
{
	for (size_t i = 0; i < SQL_TABLES; i++) {
		sqlite3_finalize(database->inserts[i]);
		database->inserts[i] = NULL;
	}
	for (size_t i = 0; i < database->n_statements; i++)
		sqlite3_finalize(database->statements[i]);
	database->n_statements = 0;
}

void database_close(struct database *database)
{
	if (!database)
		return;
	finalize(database);
	sqlite3_close(database->connection);
	if (database->fd >= 0)
		close(database->fd);
	free(database);
}

sqlite3 *database_connection(const struct database *database)
{
	return database->connection;
}

/* --- rows ------------------------------------------------------------------------------- */

void database_want(struct database *database, uint64_t wanted)
{
	database->wanted = wanted;
}

bool database_wants(const struct database *database, enum sql_table table)
{
	return database->wanted >> table & 1;
}

static int bind_cell(sqlite3_stmt *statement, int index, const struct cell *cell)
{
	switch (cell->kind) {
	case CELL_INTEGER:
		return sqlite3_bind_int64(statement, index, cell->integer);
	case CELL_REAL:
		return sqlite3_bind_double(statement, index, cell->real);
	case CELL_TEXT:
		return sqlite3_bind_text(statement, index, cell->text, -1, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(statement, index);
	}
}

int database_run(sqlite3_stmt *statement, const struct cell *cells, size_t count)
{
	int status = SQLITE_OK;

	for (size_t i = 0; i < count && status == SQLITE_OK; i++)
		status = bind_cell(statement, (int)i + 1, &cells[i]);
	if (status == SQLITE_OK)
		status = sqlite3_step(statement);
	sqlite3_reset(statement);
	return error_of(status);
}

int database_put(struct database *database, enum sql_table table, const void *row)
{
	if (!database_wants(database, table))
		return 0;
	return database_run(database->inserts[table], row, (size_t)database->n_columns[table]);
}

int database_prepare(struct database *database, const char *sql, sqlite3_stmt **out)
{
	int error;

	if (database->n_statements == STATEMENTS_MAX)
		return -ENOMEM;
	error = error_of(sqlite3_prepare_v2(database->connection, sql, -1, out, NULL));
	if (!error)
		database->statements[database->n_statements++] = *out;
	return error;
}

int database_finish(struct database *database)
{
	finalize(database);
	return execute(database->connection, "COMMIT");
}

int database_read(struct database *database, database_reader *write, void *context)
{
	char block[READ_SIZE];
	int error = 0;

	for (off_t at = 0; !error;) {
		ssize_t n = pread(database->fd, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		error = write(context, block, (size_t)n);
		at += n;
	}
	return error;
}
