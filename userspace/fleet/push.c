/* SPDX-License-Identifier: BSD-2-Clause */
/* push.c: stores a profile's rows in a ClickHouse server, each exactly once, and drops old ones. */
/*
 * A profile has an identity, a hash of the file. Its rows are cut into numbered blocks, which are
 * the same in each push. A block is one statement and becomes one part of its table, so it is
 * stored completely or not at all. Its last row, the marker, has the time 0, so the server quickly
 * finds which blocks of a profile it has. push queries the markers before the first block and
 * whenever a response is lost, once no statement for this profile is running. See README.md.
 */
#include "push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../profile/reader.h"
#include "hash.h"
#include "tables.h"
#include "where.h"

enum {
	TRIES = 5,       /* per statement, with 1, 2, 4 ... s in between */
	RUNS_MAX_S = 60, /* how long to wait for statements of an earlier push */
	BLOCKS_MAX = 1 << 20,
	ID_SIZE = 64,
	STILL_WRITTEN_S = 10, /* an unfinished file changed more recently may still grow */
};

#define OTHER_LABELS "it was already pushed with another service or version"

struct push {
	struct blocks_visitor visitor; /* first */
	struct http *http;
	struct http_problem *problem;
	struct push_result *result;
	struct fleet_given given;
	struct rows_head head;
	time_t changed;                      /* mtime of the file */
	struct buffer present[FLEET_TABLES]; /* a byte per block; 1: the server has it */
	struct buffer last; /* the row of profiles, sent when all others are stored */
	bool unsure;        /* some blocks of samples may be missing from hourly */
	struct buffer answer;
};

/* --- statements ------------------------------------------------------------------------------ */

/* A statement under construction; `out` remembers the first failure until fclose(). */
struct statement {
	char *text;
	size_t size;
	FILE *out;
};

static FILE *begin(struct statement *sql)
{
	*sql = (struct statement){NULL, 0, NULL};
	sql->out = open_memstream(&sql->text, &sql->size);
	return sql->out;
}

/* Completes the statement and runs it; `id`: see http_query(). */
static int run(struct push *push, struct statement *sql, const char *id)
{
	int err = fclose(sql->out) ? -ENOMEM : 0;

	if (!err)
		err = http_query(push->http, sql->text, id, &push->answer, push->problem);
	free(sql->text);
	return err;
}

static int complain(struct http_problem *problem, int err, const char *text)
{
	problem->code = 0;
	snprintf(problem->text, sizeof(problem->text), "%s", text);
	return err;
}

int push_check(struct http *http, struct http_problem *problem)
{
	struct buffer answer = {0};
	int err = http_query(http,
			     "SELECT version, (SELECT count() FROM system.settings WHERE name = "
			     "'async_insert') FROM gcprof_schema",
			     NULL, &answer, problem);
	char *end = answer.data;
	unsigned long version = !err ? strtoul(answer.data, &end, 10) : 0;

	/* Each block has to become one part, before the server responds. */
	if (!err && strtoul(end, NULL, 10))
		http_insert_at_once(http);
	buffer_free(&answer);
	if (err == -EREMOTEIO && problem->code == HTTP_NO_TABLE)
		snprintf(problem->text, sizeof(problem->text),
			 "database %s has no gcprof tables; create them with: "
			 "gcprof push --schema | clickhouse-client --multiquery",
			 http_database(http));
	if (!err && version != FLEET_VERSION) {
		snprintf(problem->text, sizeof(problem->text),
			 "the tables of database %s have version %lu, but this gcprof needs "
			 "version %d; name another database in the URL",
			 http_database(http), version, FLEET_VERSION);
		err = -EREMOTEIO;
	}
	return err;
}

/* --- what the server has --------------------------------------------------------------------- */

static bool is_present(const struct push *push, enum fleet_table table, uint32_t number)
{
	const struct buffer *present = &push->present[table];

	return number < present->size && present->data[number];
}

static int mark_present(struct push *push, enum fleet_table table, uint32_t number)
{
	static const char zeros[256];
	struct buffer *present = &push->present[table];

	if (number >= BLOCKS_MAX)
		return -EBADMSG;
	while (number >= present->size)
		if (buffer_append(present, zeros, sizeof(zeros)))
			return -ENOMEM;
	present->data[number] = 1;
	return 0;
}

/* Prints the condition that selects this profile's markers. */
static void print_markers(const struct push *push, FILE *out)
{
	fprintf(out, " WHERE day = toDate(%u) AND time = toDateTime(0) AND profile = %" PRIu64,
		push->given.day, push->given.profile);
}

static int query_table_markers(struct push *push, enum fleet_table table)
{
	struct statement sql;
	FILE *out = begin(&sql);
	int err;

	if (!out)
		return -ENOMEM;
	fputs("SELECT block, service = ", out);
	quote_print(out, push->given.service);
	fputs(" AND version = ", out);
	quote_print(out, push->given.version);
	fprintf(out, " FROM %s", fleet_tables[table].name);
	print_markers(push, out);
	err = run(push, &sql, NULL);
	for (char *at = err ? NULL : push->answer.data, *end; at && *at && !err; at = end) {
		unsigned long number = strtoul(at, &end, 10);

		if (strtoul(end, &end, 10) != 1)
			return complain(push->problem, -EEXIST, OTHER_LABELS);
		err = mark_present(push, table,
				   number < BLOCKS_MAX ? (uint32_t)number : BLOCKS_MAX);
		end += strspn(end, "\n");
	}
	return err;
}

/* Waits until no statement of an earlier push or of this one is running; then the markers are
 * final. */
static int wait_for_others(struct push *push)
{
	for (int i = 0; i < RUNS_MAX_S; i++) {
		struct statement sql;
		FILE *out = begin(&sql);
		int err;

		if (!out)
			return -ENOMEM;
		fprintf(out,
			"SELECT count() FROM system.processes WHERE query_id LIKE "
			"'gcprof-%016" PRIx64 "-%%'",
			push->given.profile);
		err = run(push, &sql, NULL);
		if (err || !strtoul(push->answer.data, NULL, 10))
			return err;
		sleep(1);
	}
	return complain(push->problem, -EBUSY,
			"a statement of an earlier push is still running on the server");
}

static int query_markers(struct push *push)
{
	int err = wait_for_others(push);

	for (enum fleet_table table = 0; table < FLEET_TABLES && !err; table++)
		if (fleet_tables[table].once) {
			err = query_table_markers(push, table);
			push->unsure |= table == FLEET_samples && push->present[table].size;
		}
	return err;
}

/* Makes the query id of a statement for a block; wait_for_others() finds it by its prefix. */
static void name_statement(const struct push *push, const char *what, unsigned long block,
			   char id[ID_SIZE])
{
	snprintf(id, ID_SIZE, "gcprof-%016" PRIx64 "-%s-%lu", push->given.profile, what, block);
}

/* Adds a block of samples to hourly, including its marker. */
static int add_hourly(struct push *push, unsigned long block)
{
	struct statement sql;
	FILE *out = begin(&sql);
	char id[ID_SIZE];

	if (!out)
		return -ENOMEM;
	name_statement(push, "hourly", block, id);
	fputs("INSERT INTO hourly SELECT ", out);
	fleet_hourly_select(out);
	fprintf(out,
		" FROM samples WHERE day = toDate(%u) AND profile = %" PRIu64 " AND block = %lu"
		" GROUP BY day, service, version, hour, type, stack",
		push->given.day, push->given.profile, block);
	return run(push, &sql, id);
}

/* Adds all blocks that are missing from hourly, because the server died between the two tables. */
static int complete_hourly(struct push *push)
{
	struct statement sql;
	FILE *out = begin(&sql);
	char *blocks;
	int err;

	if (!out)
		return -ENOMEM;
	fputs("SELECT block FROM samples", out);
	print_markers(push, out);
	fputs(" AND stack GLOBAL NOT IN (SELECT stack FROM hourly WHERE hour = toDateTime(0) AND "
	      "service "
	      "= ",
	      out);
	quote_print(out, push->given.service);
	fputs(" AND version = ", out);
	quote_print(out, push->given.version);
	fputs(" AND stack GLOBAL IN (SELECT stack FROM samples", out);
	print_markers(push, out);
	fputs("))", out);
	err = run(push, &sql, NULL);
	blocks = err ? NULL : strdup(push->answer.data);
	for (char *at = blocks, *end; at && *at && !err; at = end + strspn(end, "\n"))
		err = add_hourly(push, strtoul(at, &end, 10));
	free(blocks);
	return err ? err : blocks ? 0 : -ENOMEM;
}

/* --- blocks ---------------------------------------------------------------------------------- */

static int make_insert(enum fleet_table table, struct statement *sql)
{
	FILE *out = begin(sql);

	if (!out)
		return -ENOMEM;
	fprintf(out, "INSERT INTO %s (", fleet_tables[table].name);
	for (const struct fleet_column *c = fleet_tables[table].columns; c->name; c++)
		fprintf(out, "%s%s", c == fleet_tables[table].columns ? "" : ", ", c->name);
	fputs(") FORMAT Native", out);
	return fclose(out) ? -ENOMEM : 0;
}

/* Whether to try again. */
static bool may_retry(int err, const struct http_problem *problem)
{
	return err == -ECONNABORTED || (err == -EREMOTEIO && problem->code == HTTP_ID_RUNS);
}

/* Sends a block, again after lost responses, until the server is known to have it. */
static int send_block(struct push *push, enum fleet_table table, uint32_t number,
		      const char *insert, const struct buffer *data)
{
	bool once = fleet_tables[table].once;
	char id[ID_SIZE];
	int err = 0;

	name_statement(push, fleet_tables[table].name, number, id);
	for (int i = 0; i < TRIES && (!i || may_retry(err, push->problem)); i++) {
		if (i) {
			sleep(1U << (i - 1));
			push->unsure = true;
			err = once ? query_markers(push) : 0;
			if (err)
				continue;
			if (once && is_present(push, table, number))
				return 0;
		}
		err = http_insert(push->http, insert, id, data, push->problem);
	}
	return err;
}

static int take_block(struct blocks_visitor *visitor, enum fleet_table table, uint32_t number,
		      uint64_t rows, const struct buffer *data)
{
	struct push *push = (struct push *)visitor;
	struct statement insert = {NULL, 0, NULL};
	int err;

	if (is_present(push, table, number)) {
		push->result->rows_were += rows;
		return 0;
	}
	if (table == FLEET_profiles && !push->last.size)
		return buffer_append(&push->last, data->data, data->size);
	err = make_insert(table, &insert);
	if (!err)
		err = send_block(push, table, number, insert.text, data);
	free(insert.text);
	if (!err && fleet_tables[table].once)
		push->result->rows += rows;
	return err;
}

static int take_head(struct blocks_visitor *visitor, const struct rows_head *head)
{
	struct push *push = (struct push *)visitor;
	struct fleet_given *given = &push->given;

	push->head = *head;
	push->head.host[sizeof(head->host) - 1] = '\0';
	push->head.program[sizeof(head->program) - 1] = '\0';
	if (!given->host)
		given->host = push->head.host;
	if (!given->service)
		given->service = *push->head.program ? push->head.program : "unknown";
	given->day = head->realtime > 0 && head->realtime < INT64_C(65535) * 86400
			     ? (uint32_t)(head->realtime / 86400)
			     : 0;
	push->result->state = (enum profile_state)head->state;
	push->result->bytes = head->bytes;
	if (head->state != PROFILE_COMPLETE && time(NULL) - push->changed < STILL_WRITTEN_S)
		return complain(
			push->problem, -EBUSY,
			"it is still being written, or its recorder was killed seconds ago; try "
			"again later");
	return query_markers(push);
}

/* --- profiles -------------------------------------------------------------------------------- */

/*
 * Locks the file through a new descriptor; closing it unlocks. `fd` itself would not do: if this
 * process is killed, the process that reads the profile holds `fd` a moment longer.
 */
static int lock(int fd, struct http_problem *problem)
{
	char path[32];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (own < 0)
		return -errno;
	if (!flock(own, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
		return own;
	close(own);
	return complain(problem, -EBUSY, "another gcprof push is sending it");
}

/* Hashes the file's content and FLEET_VERSION. */
int push_identify(int fd, uint64_t *out)
{
	static char block[1 << 18];
	uint64_t hash = HASH_START + FLEET_VERSION;

	for (off_t at = 0;;) {
		ssize_t n = pread(fd, block, sizeof(block), at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		hash = hash_bytes(hash, block, (size_t)n);
		at += n;
	}
	*out = hash_end(hash);
	return 0;
}

/* Whether the server has the whole profile, so that it need not be read. */
static int query_whole(struct push *push, bool *out)
{
	struct statement sql;
	FILE *out_sql = begin(&sql);
	int err;

	if (!out_sql)
		return -ENOMEM;
	fputs("SELECT version = ", out_sql);
	quote_print(out_sql, push->given.version);
	if (push->given.service) {
		fputs(" AND service = ", out_sql);
		quote_print(out_sql, push->given.service);
	}
	fprintf(out_sql, " FROM profiles WHERE profile = %" PRIu64, push->given.profile);
	err = run(push, &sql, NULL);
	*out = !err && push->answer.size > 1;
	return *out && push->answer.data[0] != '1' ? complain(push->problem, -EEXIST, OTHER_LABELS)
						   : err;
}

static int push_rows(struct push *push, int fd)
{
	struct blocks *blocks = NULL;
	int err = blocks_create(&push->given, &push->visitor, &blocks);

	if (!err)
		err = rows_read(fd, blocks_take, blocks);
	if (!err)
		err = blocks_end(blocks);
	if (!err && push->unsure)
		err = complete_hourly(push);
	if (!err && push->last.size)
		err = take_block(&push->visitor, FLEET_profiles, 0, 1, &push->last);
	blocks_free(blocks);
	return err;
}

int push_profile(struct http *http, int fd, const struct fleet_given *labels,
		 struct push_result *result, struct http_problem *problem)
{
	struct push *push = calloc(1, sizeof(*push));
	struct stat st;
	int err = push && !fstat(fd, &st) ? 0 : -ENOMEM, locked = -1;

	*result = (struct push_result){0};
	*problem = (struct http_problem){0};
	if (!err)
		locked = err = lock(fd, problem);
	if (err >= 0)
		err = push_identify(fd, &result->profile);
	if (!err) {
		push->visitor = (struct blocks_visitor){take_head, take_block};
		push->http = http;
		push->problem = problem;
		push->result = result;
		push->given = *labels;
		push->given.profile = result->profile;
		push->changed = st.st_mtime;
		err = query_whole(push, &result->whole);
	}
	if (!err && !result->whole)
		err = push_rows(push, fd);
	for (size_t i = 0; i < FLEET_TABLES && push; i++)
		buffer_free(&push->present[i]);
	if (push) {
		buffer_free(&push->answer);
		buffer_free(&push->last);
	}
	free(push);
	if (locked >= 0)
		close(locked);
	return err;
}

/*
 * Each day is a partition; dropping one takes no time and works with every version. TTL needs 19.6.
 */

static int drop(struct http *http, const char *table, const char *day, struct http_problem *problem)
{
	struct buffer answer = {0};
	char sql[128];
	int err;

	snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP PARTITION '%s'", table, day);
	err = http_query(http, sql, NULL, &answer, problem);
	buffer_free(&answer);
	return err;
}

static int expire_table(struct http *http, const char *table, uint64_t days, uint64_t *dropped,
			struct http_problem *problem)
{
	struct buffer answer = {0};
	uint64_t count = 0;
	char sql[320];
	int err;

	snprintf(
		sql, sizeof(sql),
		"SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() AND"
		" table = '%s' AND active AND partition < toString(toDate(now()) - %" PRIu64
		") FORMAT TSV",
		table, days);
	err = http_query(http, sql, NULL, &answer, problem);
	for (char *day = err ? NULL : strtok(answer.data, "\n"); day && !err;
	     day = strtok(NULL, "\n")) {
		/* 2026-11-26 */
		if (strlen(day) != 10 || day[strspn(day, "0123456789-")])
			continue;
		err = drop(http, table, day, problem);
		count += !err;
	}
	buffer_free(&answer);
	*dropped = count > *dropped ? count : *dropped;
	return err;
}

int push_expire(struct http *http, uint64_t days, uint64_t *dropped, struct http_problem *problem)
{
	char name[64];
	int err = 0;

	/* On a cluster, those of the server that responds. */
	for (size_t i = 0; i < 2 * FLEET_TABLES && !err; i++) {
		const struct fleet_description *table = &fleet_tables[i / 2];

		snprintf(name, sizeof(name), "%s%s", table->name, i % 2 ? FLEET_LOCAL : "");
		if (table->once)
			err = expire_table(http, name, days, dropped, problem);
	}
	return err;
}
