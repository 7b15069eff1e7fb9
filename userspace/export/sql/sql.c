/* SPDX-License-Identifier: BSD-2-Clause */
/* sql.c: fills a database while a profile is read; the export to SQLite. */
#include "sql.h"

#include <errno.h>
#include <stdlib.h>

#include "../output.h"

struct pair_key {
	uint64_t a, b;
};

static int record(struct model_observer *observer, const struct world *world,
		  const struct event *event)
{
	return sql_event((struct sql *)observer, world, event);
}

int sql_fill(struct model_observer *observer, const struct world *world)
{
	struct sql *sql = (struct sql *)observer;
	int error = sql_gc_finish(sql, world);

	if (!error)
		error = sql_tables(sql, world);
	return error ? error : database_finish(sql->database);
}

static int prepare(struct sql *sql)
{
	struct database *database = sql->database;
	/* Without collections, it is unknown whether an object would have survived one. */
	int error =
		database_prepare(database,
				 "UPDATE samples SET fate = coalesce(fate, ?1),"
				 " survived = coalesce(survived,"
				 " iif(kind IN ('foreign', 'manual') AND ?1 = 'freed', NULL, ?2)),"
				 " fate_time = coalesce(fate_time, ?), age = ?, collections = ?"
				 " WHERE id = ?",
				 &sql->first_fate);

	if (!error)
		error = database_prepare(
			database,
			"UPDATE samples SET died = ?, age = ?, collections = ? WHERE id = ?",
			&sql->death);
	if (!error)
		error = database_prepare(database, "UPDATE ticks SET syscall = ? WHERE id = ?",
					 &sql->tick_in_syscall);
	if (!error)
		error = database_prepare(database, "UPDATE waits SET syscall = ? WHERE id = ?",
					 &sql->wait_in_syscall);
	return error;
}

int sql_create(struct database *database, struct sql **out)
{
	struct sql *sql = calloc(1, sizeof(*sql));
	int error;

	if (!sql)
		return -ENOMEM;
	sql->job.observer = (struct model_observer){record, sql_fill, NULL};
	sql->database = database;
	sql->living = map_create(sizeof(struct pair_key));
	sql->collections = map_create(sizeof(struct pair_key));
	sql->phase_index = map_create(sizeof(struct pair_key));
	error = sql->living && sql->collections && sql->phase_index ? prepare(sql) : -ENOMEM;
	if (error)
		sql_free(sql);
	else
		*out = sql;
	return error;
}

void sql_free(struct sql *sql)
{
	if (!sql)
		return;
	map_free(sql->living);
	map_free(sql->collections);
	map_free(sql->phase_index);
	free(sql->processes);
	free(sql->threads);
	free(sql->phases);
	free(sql);
}

/* --- the exporter ------------------------------------------------------------------------- */

static int write_block(void *output, const void *data, size_t size)
{
	output_bytes(output, data, size);
	return 0;
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct sql *sql = (struct sql *)observer;
	int error = sql_fill(observer, world);

	return error ? error : database_read(sql->database, write_block, sql->job.output);
}

static void free_job(struct export_job *job)
{
	struct sql *sql = (struct sql *)job;

	database_close(sql->database);
	sql_free(sql);
}

int sql_create_job(int (*last)(struct model_observer *, const struct world *),
		   struct export_job **out)
{
	struct database *database = NULL;
	struct sql *sql = NULL;
	int error = database_create(&database);

	if (!error)
		error = sql_create(database, &sql);
	if (error) {
		database_close(database);
		return error;
	}
	sql->job.observer.finish = last;
	sql->job.free = free_job;
	*out = &sql->job;
	return 0;
}

static int create(struct export_job **out)
{
	return sql_create_job(finish, out);
}

const struct exporter exporter_sqlite = {
	.name = "sqlite",
	.suffix = ".sqlite",
	.mark = {68, "gcpr"},
	.summary = "a database of every event and total; gcprof query --schema explains it",
	.create = create,
};
