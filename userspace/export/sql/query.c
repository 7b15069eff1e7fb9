/* SPDX-License-Identifier: BSD-2-Clause */
/* query.c: runs an SQL statement on a profile. */
/*
 * The statement is compiled before the profile is read. So errors show immediately, and the
 * authorizer sees which tables are read, so that only these are filled. The authorizer
 * allows only reading.
 */
#include "query.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "../../profile/sink.h"
#include "sql.h"

/* What the authorizer has seen. */
struct watch {
	uint64_t tables;
	bool denied;
};

/* Pragmas that describe the schema and change nothing. */
static bool is_harmless(const char *pragma)
{
	static const char *const harmless[] = {"table_info", "table_xinfo", "table_list"};

	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (pragma && strcasecmp(pragma, harmless[i]) == 0)
			return true;
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second,
		     const char *schema, const char *view)
{
	struct watch *watch = context;
	bool allowed;

	(void)schema;
	(void)view;
	switch (action) {
	case SQLITE_READ:
		watch->tables |= database_table_bit(first);
		return SQLITE_OK;
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		allowed = !second || strcasecmp(second, "load_extension") != 0;
		break;
	case SQLITE_PRAGMA:
		allowed = is_harmless(first);
		break;
	default:
		allowed = false;
	}
	watch->denied |= !allowed;
	return allowed ? SQLITE_OK : SQLITE_DENY;
}

static bool is_blank(const char *text)
{
	while (isspace((unsigned char)*text) || *text == ';')
		text++;
	return !*text;
}

static void complain(struct query_result *result, const char *message, int offset)
{
	snprintf(result->message, sizeof(result->message), "%s", message);
	result->offset = offset;
}

static int compile(sqlite3 *connection, struct watch *watch, const char *sql,
		   struct query_result *result, sqlite3_stmt **out)
{
	const char *rest = "";
	int status;

	sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_set_authorizer(connection, authorize, watch);
	status = sqlite3_prepare_v2(connection, sql, -1, out, &rest);
	sqlite3_set_authorizer(connection, NULL, NULL);
	if (status == SQLITE_NOMEM)
		return -ENOMEM;
	if (watch->denied || (*out && !sqlite3_stmt_readonly(*out)))
		return -EPERM;
	if (status != SQLITE_OK) {
		complain(result, sqlite3_errmsg(connection), sqlite3_error_offset(connection));
		return -EINVAL;
	}
	if (!*out) {
		complain(result, "there is no statement", -1);
		return -EINVAL;
	}
	if (!is_blank(rest)) {
		complain(result, "one statement at a time", (int)(rest - sql));
		return -EINVAL;
	}
	return 0;
}

/* Reads the profile into these tables. */
static int load(struct database *database, uint64_t tables, const struct query_request *request,
		struct source *source, struct query_result *result)
{
	struct model *model = NULL;
	struct sql *sql = NULL;
	int error = sql_create(database, &sql);

	if (error) {
		source->close(source);
		return error;
	}
	/* Whether an event is in a collection depends on collections whose end was lost. */
	if (tables &
	    (UINT64_C(1) << TABLE_ticks | UINT64_C(1) << TABLE_waits | UINT64_C(1) << TABLE_faults))
		tables |= UINT64_C(1) << TABLE_collections;
	database_want(database, tables);
	error = model_load_observed(source, request->file, &sql->job.observer, &model);
	if (!error) {
		result->state = model->state;
		result->status = model->status;
	}
	model_free(model);
	sql_free(sql);
	return error;
}

static int print(sqlite3 *connection, sqlite3_stmt *statement, enum query_format format,
		 struct output *output, struct query_result *result)
{
	int status = query_print(statement, format, output);

	if (status == SQLITE_DONE)
		return 0;
	complain(result, sqlite3_errmsg(connection), -1);
	return status == SQLITE_NOMEM ? -ENOMEM : -EDOM;
}

int query_run(const struct query_request *request, struct source *source, struct sink *sink,
	      struct query_result *result)
{
	struct database *database = NULL;
	sqlite3_stmt *statement = NULL;
	struct output *output = NULL;
	struct watch watch = {0};
	int error = output_create(sink, false, &output), closed;

	memset(result, 0, sizeof(*result));
	if (!error)
		error = database_create(&database);
	if (!error)
		error = query_functions(database_connection(database));
	if (!error)
		error = compile(database_connection(database), &watch, request->sql, result,
				&statement);
	if (error) {
		source->close(source);
		goto out;
	}
	error = load(database, watch.tables, request, source, result);
	if (!error)
		error = print(database_connection(database), statement, request->format, output,
			      result);
out:
	closed = output_close(output);
	sqlite3_finalize(statement);
	database_close(database);
	result->unwritten = !error && closed;
	return error ? error : closed;
}

static int print_statement(void *context, const char *sql)
{
	output_text(context, sql);
	output_text(context, ";\n\n");
	return 0;
}

int query_schema(struct sink *sink)
{
	struct output *output = NULL;
	int error = output_create(sink, false, &output), closed;

	if (error)
		return error;
	error = database_schema(print_statement, output);
	closed = output_close(output);
	return error ? error : closed;
}
