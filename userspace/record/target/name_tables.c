// SPDX-License-Identifier: BSD-2-Clause
/* name_tables.c: reads the name tables of programs that ran before their probes were attached. */
#include "name_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../gc/provider/frame.h"
#include "../../reader/reader.h"
#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../../util/quota.h"
#include "../machine/clock.h"

#define OPEN_MAX 16 /* processes whose memory is open */
#define CPU_NS   UINT64_C(2000000000)
#define WALL_NS  UINT64_C(2000000000)
#define WAIT_MS  10

/* A table to read. */
struct table {
	struct table *next;
	struct name_tables *tables;
	struct event_header header;  /* of the mapping */
	struct opener_space process; /* the process, with that mapping */
	struct table_request wanted;
	uint32_t payer; /* the process's user */
	int memory;     /* socket, for the program that maps the file; -1: not open yet */
	uid_t user;     /* who started it */
	bool started;   /* a request to open it was sent */
	bool over;      /* the table was read, or cannot be */
};

struct name_tables {
	struct opener *opener;
	struct worker *worker;
	name_tables_emit *emit;
	void *context;
	struct table *first, **last; /* in order of mapping */
	struct table *asked;         /* waiting for its answer, or NULL */
	uint64_t asked_at;           /* ns */
	struct quota open;           /* whose processes' memory is open */
	struct quota served;         /* the time that reading took, us */
	uint64_t unread;
};

int name_tables_create(struct opener *opener, name_tables_emit *emit, void *context,
		       struct name_tables **out)
{
	struct name_tables *tables = calloc(1, sizeof(*tables));

	if (!tables || worker_create(WORKER_READER, true, &tables->worker)) {
		free(tables);
		return -ENOMEM;
	}
	tables->opener = opener;
	tables->emit = emit;
	tables->context = context;
	tables->last = &tables->first;
	tables->open.most = OPEN_MAX;
	*out = tables;
	return 0;
}

static void table_remove(struct name_tables *tables, struct table **at)
{
	struct table *table = *at;

	*at = table->next;
	if (!*at)
		tables->last = at;
	opener_cancel(tables->opener, table);
	if (table->started)
		quota_return(&tables->open, table->payer, 1);
	if (table->memory >= 0)
		close(table->memory);
	free(table);
}

void name_tables_free(struct name_tables *tables)
{
	if (!tables)
		return;
	while (tables->first)
		table_remove(tables, &tables->first);
	quota_free(&tables->open);
	quota_free(&tables->served);
	worker_free(tables->worker);
	free(tables);
}

int name_tables_add(struct name_tables *tables, const struct event_mmap *mapping, uint64_t address,
		    uint8_t provider, uint32_t user)
{
	struct table *table = malloc(sizeof(*table));

	if (!table)
		return -ENOMEM;
	*table = (struct table){
		.tables = tables,
		.header = mapping->header,
		.process = {.pid = mapping->header.tid, .mapping = opener_mapping_of(mapping)},
		.wanted = {address},
		.payer = user,
		.memory = -1,
	};
	table->header.provider = provider;
	*tables->last = table;
	tables->last = &table->next;
	return 0;
}

/* --- answers ------------------------------------------------------------------------------ */

static void name_tables_put_text(char **at, const char *text, size_t size)
{
	memcpy(*at, text, size);
	*at += (size + 7) & ~(size_t)7;
}

/* As the kernel side reports the probes `type`, `code`, `provider` and `gc_name`. */
static void emit_name(void *context, const struct table_name *name, const char *text,
		      const char *file)
{
	const struct table *table = context;
	bool has_file = name->kind == GCPROF_NAME_CODE || name->kind == GCPROF_NAME_PROVIDER;
	struct {
		struct event_name event;
		char texts[2 * (TABLE_TEXT_MAX + 8)];
	} named = {.event = {.header = table->header,
			     .number = name->id,
			     .kind = name->kind,
			     .line = name->line,
			     .name_size = name->text_size,
			     .file_size = has_file ? name->file_size : 0}};
	struct event_header *header = &named.event.header;
	char *at = named.texts;

	header->code = EVENT_name;
	header->tid = header->pid;
	header->fiber = 0;
	name_tables_put_text(&at, text, named.event.name_size);
	name_tables_put_text(&at, file, named.event.file_size);
	header->size = (uint32_t)(at - (char *)&named);
	table->tables->emit(table->tables->context, header, header->size);
}

static const char *reason(int err)
{
	switch (err) {
	case -E2BIG:
		return "it is too large";
	case -EFAULT:
		return "part of it is not in its memory";
	case -ETIMEDOUT:
		return "its memory does not answer";
	case -ETIME:
	case -EBADMSG:
	case -EPIPE:
		return "the reader failed";
	default:
		return strerror(-err);
	}
}

static void end(struct table *table, int err)
{
	table->over = true;
	/* A file with that symbol, but with something else there. */
	if (!err || err == -ENOENT)
		return;
	table->tables->unread++;
	log_print(err == -ETIMEDOUT ? LOG_WARNING : LOG_VERBOSE,
		  "process %u: its names of types and functions were not all read: %s",
		  table->header.pid, reason(err));
}

static void memory_opened(void *context, const struct opener_result *result)
{
	struct table *table = context;

	table->memory = result->fd;
	table->user = result->file.uid;
	if (result->err)
		end(table, result->err);
}

static void open_memory(struct name_tables *tables, struct table *table)
{
	int err;

	if (table->started || !quota_allow(&tables->open, table->payer, 1) ||
	    quota_add(&tables->open, table->payer, 1))
		return;
	err = opener_space(tables->opener, &table->process, memory_opened, table);
	table->started = true;
	if (err)
		end(table, err);
}

static void name_tables_ask(struct name_tables *tables, struct table *table)
{
	const struct worker_order order = {
		.kind = READ_TABLE,
		.data = &table->wanted,
		.size = sizeof(table->wanted),
		.fds = &table->memory,
		.n_fds = 1,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = TABLE_ANSWER_MAX,
	};
	int err;

	worker_serve(tables->worker, table->user);
	err = worker_start(tables->worker, &order);
	if (err)
		end(table, err);
	else
		tables->asked = table;
	tables->asked_at = clock_now();
}

static void take_answer(struct name_tables *tables)
{
	struct worker_answer answer;
	int err;

	if (!tables->asked || worker_poll(tables->worker, &answer) != WORKER_ANSWERED)
		return;
	err = answer.err;
	if (!err)
		err = table_take(answer.data, answer.size, emit_name, tables->asked);
	end(tables->asked, err);
	quota_add(&tables->served, tables->asked->payer, (clock_now() - tables->asked_at) / 1000);
	tables->asked = NULL;
}

/* The next to read: of the user for whom reading took least so far. NULL: none is open. */
static struct table *next_table(const struct name_tables *tables)
{
	struct table *next = NULL;

	for (struct table *table = tables->first; table; table = table->next)
		if (!table->over && table->memory >= 0 &&
		    (!next || quota_used(&tables->served, table->payer) <
				      quota_used(&tables->served, next->payer)))
			next = table;
	return next;
}

void name_tables_turn(struct name_tables *tables)
{
	struct table **at = &tables->first, *next;

	take_answer(tables);
	while (*at) {
		if ((*at)->over) {
			table_remove(tables, at);
			continue;
		}
		open_memory(tables, *at);
		at = &(*at)->next;
	}
	next = tables->asked ? NULL : next_table(tables);
	if (next)
		name_tables_ask(tables, next);
}

uint64_t name_tables_pending(const struct name_tables *tables)
{
	return tables->first ? tables->first->header.time : UINT64_MAX;
}

void name_tables_settle(struct name_tables *tables, uint64_t ns)
{
	uint64_t until = clock_now() + ns;

	for (name_tables_turn(tables); tables->first && clock_now() < until;
	     name_tables_turn(tables)) {
		opener_turn(tables->opener);
		worker_wait_any(WAIT_MS);
	}
}

uint64_t name_tables_unread(const struct name_tables *tables)
{
	return tables->unread;
}
