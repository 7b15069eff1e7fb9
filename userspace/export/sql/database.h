/* SPDX-License-Identifier: BSD-2-Clause */
/* database.h: an SQLite database with the tables of schema.def, in a temporary file. */
#ifndef GCPROF_DATABASE_H
#define GCPROF_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sql_table {
#define TABLE(name, doc) TABLE_##name,
#include "schema.def"
	SQL_TABLES
};

enum cell_kind { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT };

/* A value; all zero is NULL. */
struct cell {
	enum cell_kind kind;
	union {
		int64_t integer;
		double real;
		const char *text; /* borrowed */
	};
};

/* struct row_samples and so on: one cell per column and nothing else. */
#define TABLE(name, doc)            struct row_##name {
#define KEY(table, column, doc)     struct cell column;
#define INTEGER(table, column, doc) struct cell column;
#define REAL(table, column, doc)    struct cell column;
#define TEXT(table, column, doc)    struct cell column;
#define END_TABLE(name) \
	}               \
	;
#include "schema.def"

static inline struct cell nothing(void)
{
	return (struct cell){0};
}

static inline struct cell integer(uint64_t value)
{
	return (struct cell){.kind = CELL_INTEGER, .integer = (int64_t)value};
}

/* For ids: 0 becomes NULL. */
static inline struct cell reference(uint64_t id)
{
	return id ? integer(id) : nothing();
}

static inline struct cell real(double value)
{
	return (struct cell){.kind = CELL_REAL, .real = value};
}

/* NULL becomes an SQL NULL. */
static inline struct cell text(const char *value)
{
	if (!value)
		return nothing();
	return (struct cell){.kind = CELL_TEXT, .text = value};
}

struct database;
struct sqlite3;
struct sqlite3_stmt;

/*
 * Creates the file with all tables and views, without rows. Not thread-safe. Errors:
 * -ENOMEM, and those of creating a file in $TMPDIR or /var/tmp.
 */
int database_create(struct database **out);
void database_close(struct database *database); /* NULL is allowed; deletes the file */

/* The connection, for the caller's statements; owned by the database. */
struct sqlite3 *database_connection(const struct database *database);

/* From now on, stores only rows of these tables, one bit per table. Initially all are stored. */
void database_want(struct database *database, uint64_t tables);
bool database_wants(const struct database *database, enum sql_table table);

/* Stores a row (struct row_...), replacing a row with the same key. 0, -ENOMEM, -ENOSPC or -EIO. */
int database_put(struct database *database, enum sql_table table, const void *row);

/* Prepares a statement that changes rows, for database_run(); the database owns it. */
int database_prepare(struct database *database, const char *sql, struct sqlite3_stmt **out);
int database_run(struct sqlite3_stmt *statement, const struct cell *cells, size_t count);

/* Finishes storing: the database can now be read, also with database_read(). */
int database_finish(struct database *database);

/* Passes the file's bytes to `write`, which returns 0 or a negative errno. */
typedef int database_reader(void *context, const void *data, size_t size);
int database_read(struct database *database, database_reader *write, void *context);

/* The bit of a table or view, ignoring case; 0: not a table of the schema. */
uint64_t database_table_bit(const char *name);

/*
 * Passes the schema to `visit`, one SQL statement with comments at a time. Valid only
 * during the call.
 */
typedef int schema_visitor(void *context, const char *sql);
int database_schema(schema_visitor *visit, void *context);

#endif
