/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.c: the confined process that reads a profile and sends its rows for the tables of fleet.def.
 */
/*
 * It fills the database of gcprof query and sends the results of the SELECTs in fleet.def, so rows
 * are computed in only one way. It creates the database's file before it gives up the right to
 * create files.
 */
#include "rows.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../export/sql/sql.h"
#include "../profile/source.h"
#include "../reader/confine.h"
#include "../reader/wire.h"
#include "../util/path_base.h"
#include "names.h"

/* The SELECTs, in the order of their tables. */
static const struct {
	enum fleet_table table;
	const char *select;
} selects[] = {
#define ROWS(table, select) {FLEET_##table, select},
#include "fleet.def"
};

enum { N_SELECTS = sizeof(selects) / sizeof(*selects), WINDOW_IDS = 1 << 18 };

/* Wire encoding of cells, a string per table: number, real, text, array. */
static const char *const cells[] = {
#define FLEET_TABLE(name, kind, partition, order, doc) [FLEET_##name] = ""
#define U32_CELL                                       "n"
#define U64_CELL                                       "n"
#define F64_CELL                                       "r"
#define TIME_CELL                                      "n"
#define TEXT_CELL                                      "t"
#define U64S_CELL                                      "a"
#define COLUMN(table, column, type, doc)               type##_CELL
#define END_FLEET_TABLE(name)                          ,
#include "fleet.def"
};

struct fleet_job {
	struct model_observer observer; /* first */
	struct sql *sql;
	struct database *database;
};

static void put_sized(const void *data, size_t count, size_t item)
{
	uint32_t length = (uint32_t)count;

	wire_put(&length, sizeof(length));
	wire_put(data, count * item);
}

static void put_cell(sqlite3_stmt *statement, int column, char kind)
{
	const void *data = NULL;
	int64_t number;
	double real;
	size_t size;

	switch (kind) {
	case 'n':
		number = sqlite3_column_int64(statement, column);
		wire_put(&number, sizeof(number));
		break;
	case 'r':
		real = sqlite3_column_double(statement, column);
		wire_put(&real, sizeof(real));
		break;
	default:
		data = kind == 't' ? (const void *)sqlite3_column_text(statement, column)
				   : sqlite3_column_blob(statement, column);
		size = data ? (size_t)sqlite3_column_bytes(statement, column) : 0;
		if (kind == 't')
			put_sized(data, size < ROWS_TEXT_MAX ? size : ROWS_TEXT_MAX, 1);
		else
			put_sized(data, size / sizeof(uint64_t), sizeof(uint64_t));
	}
}

static int put_window(sqlite3_stmt *statement, size_t select)
{
	const unsigned char table = (unsigned char)selects[select].table;
	int status;

	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		wire_put(&table, sizeof(table));
		for (int i = 0; cells[table][i]; i++)
			put_cell(statement, i, cells[table][i]);
	}
	sqlite3_reset(statement);
	return status == SQLITE_DONE ? 0 : status == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

static int put_rows(sqlite3 *connection, size_t select, uint64_t last)
{
	sqlite3_stmt *statement = NULL;
	int err = 0,
	    status = sqlite3_prepare_v2(connection, selects[select].select, -1, &statement, NULL);

	if (status != SQLITE_OK ||
	    sqlite3_column_count(statement) != (int)strlen(cells[selects[select].table]))
		err = status == SQLITE_NOMEM ? -ENOMEM : -EIO;
	else if (!sqlite3_bind_parameter_count(statement))
		err = put_window(statement, select);
	else
		for (uint64_t id = 1; id <= last && !err; id += WINDOW_IDS) {
			sqlite3_bind_int64(statement, 1, (int64_t)id);
			sqlite3_bind_int64(statement, 2, (int64_t)id + WINDOW_IDS - 1);
			err = put_window(statement, select);
		}
	sqlite3_finalize(statement);
	return err;
}

static void put_head(const struct model *model)
{
	const struct model_run *run = &model->run;
	const unsigned char mark = ROWS_HEAD;
	struct rows_head head;

	memset(&head, 0, sizeof(head));
	head.realtime = (int64_t)(run->realtime / UINT64_C(1000000000));
	head.state = (uint32_t)model->state;
	head.bytes = model->status.bytes;
	snprintf(head.host, sizeof(head.host), "%s", run->host ? run->host : "");
	if (run->n_command)
		snprintf(head.program, sizeof(head.program), "%s", path_base(run->command[0]));

	wire_put(&mark, sizeof(mark));
	wire_put(&head, sizeof(head));
}

static int record(struct model_observer *observer, const struct world *world,
		  const struct event *event)
{
	struct fleet_job *job = (struct fleet_job *)observer;

	return job->sql->job.observer.record(&job->sql->job.observer, world, event);
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct fleet_job *job = (struct fleet_job *)observer;
	sqlite3 *connection = database_connection(job->database);
	struct fleet_names *names = NULL;
	uint64_t last = 0;
	int err = sql_fill(&job->sql->job.observer, world);

	if (!err)
		err = fleet_names_create(world, connection, &names);
	if (!err)
		put_head(world->model);
	for (size_t i = 0; i < SQL_TABLES; i++)
		last = job->sql->n_rows[i] > last ? job->sql->n_rows[i] : last;
	for (size_t i = 0; i < N_SELECTS && !err; i++)
		err = put_rows(connection, i, last);
	fleet_names_free(names);
	return err;
}

/* Tables to fill: those that a SELECT reads. */
static uint64_t wanted(void)
{
	static const enum sql_table unread[] = {TABLE_faults, TABLE_markers, TABLE_heap_sites,
						TABLE_phases, TABLE_clock};
	uint64_t tables = UINT64_MAX;

	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++)
		tables &= ~(UINT64_C(1) << unread[i]);
	return tables;
}

/* Takes ownership of `fd`. */
static int send_rows(struct database *database, int fd)
{
	struct fleet_job job = {{record, finish, NULL}, NULL, database};
	struct source *source = NULL;
	struct model *model = NULL;
	int err = source_fd_open(fd, &source);

	if (err)
		return err;
	err = sql_create(database, &job.sql);
	if (err) {
		source->close(source);
		return err;
	}
	database_want(database, wanted());
	err = model_load_observed(source, "", &job.observer, &model);
	model_free(model);
	sql_free(job.sql);
	return err;
}

int rows_main(void)
{
	static struct request request;
	struct database *database = NULL;
	int err;

	wire_begin(WORKER_ROWS);
	if (wire_receive(&request) <= 0 || request.head.kind != READ_PROFILE ||
	    request.files.n != 1)
		return EXIT_FAILURE;
	request.data[sizeof(request.data) - 1] = '\0';
	if (request.head.size && setenv("TMPDIR", request.data, 1))
		return EXIT_FAILURE;
	err = database_create(&database);
	/* Sorting would otherwise create files. */
	if (!err && sqlite3_exec(database_connection(database), "PRAGMA temp_store = MEMORY", NULL,
				 NULL, NULL) != SQLITE_OK)
		err = -ENOMEM;
	if (!err && confine_writing())
		return EXIT_FAILURE;
	if (!err)
		err = send_rows(database, request.files.fds[0]);
	wire_end(err, -1);
	return EXIT_SUCCESS;
}
