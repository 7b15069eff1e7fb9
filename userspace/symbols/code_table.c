// SPDX-License-Identifier: BSD-2-Clause
/* code_table.c: functions that a process made at run time, by their addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code_table.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "../util/sorted.h"

#define TABLE_BYTES_MAX ((size_t)96 << 20) /* of texts, functions and lines */
#define LOOK_BACK       64 /* functions that may begin between an address and its function */

struct code {
	uint64_t start, end; /* end exclusive */
	uint64_t number;     /* the highest is the youngest */
	uint64_t since;      /* when it came */
	const char *name;
	struct code_line *lines; /* owned, or NULL */
	size_t n_lines;
};

struct code_table {
	struct buffer codes; /* struct code[]; up to `sorted` by start, the rest as they came */
	size_t sorted;
	uint64_t last_number;
	uint64_t time;     /* when what is added now came */
	struct map *texts; /* to char * */
	size_t bytes;
};

static struct code *codes(const struct code_table *table)
{
	return (struct code *)(void *)table->codes.data;
}

static size_t count(const struct code_table *table)
{
	return table->codes.size / sizeof(struct code);
}

struct code_table *code_table_create(void)
{
	struct code_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->texts = map_create(MAP_STRING_KEYS);
	if (!table->texts) {
		free(table);
		return NULL;
	}
	return table;
}

void code_table_free(struct code_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < count(table); i++)
		free(codes(table)[i].lines);
	map_free_all(table->texts, free);
	buffer_free(&table->codes);
	free(table);
}

void code_table_set_time(struct code_table *table, uint64_t since)
{
	table->time = since;
}

static bool has_room(struct code_table *table, size_t size)
{
	if (size > TABLE_BYTES_MAX - table->bytes)
		return false;
	table->bytes += size;
	return true;
}

const char *code_table_text(struct code_table *table, const char *text, size_t size)
{
	uint64_t *slot = map_get_string(table->texts, text, size);

	if (slot)
		return (const char *)(uintptr_t)*slot;
	if (!has_room(table, 2 * size + 64))
		return NULL;
	slot = map_put_string(table->texts, text, size, NULL);
	if (!slot)
		return NULL;
	*slot = (uintptr_t)strndup(text, size);
	return (const char *)(uintptr_t)*slot;
}

/* Takes over `lines`. */
static int add(struct code_table *table, struct code code)
{
	int err = -E2BIG;

	code.number = ++table->last_number;
	code.since = table->time;
	if (has_room(table, sizeof(code) + code.n_lines * sizeof(*code.lines)))
		err = buffer_append(&table->codes, &code, sizeof(code));
	if (err)
		free(code.lines);
	return err;
}

static int copy_lines(struct code *code, const struct code_line *lines, size_t n)
{
	if (!n)
		return 0;
	code->lines = calloc(n, sizeof(*lines));
	if (!code->lines)
		return -ENOMEM;
	memcpy(code->lines, lines, n * sizeof(*lines));
	code->n_lines = n;
	return 0;
}

int code_table_add(struct code_table *table, uint64_t address, uint64_t size, const char *name,
		   size_t name_size, const struct code_line *lines, size_t n_lines)
{
	struct code code = {.start = address, .end = address + size};
	int err;

	name_size = strnlen(name, name_size < CODE_NAME_MAX ? name_size : CODE_NAME_MAX);
	/* Nothing can be there: that it makes no sense is its author's problem. */
	if (!size || code.end < address || !name_size)
		return 0;
	if (n_lines > TABLE_BYTES_MAX / sizeof(*lines))
		return -E2BIG;
	code.name = code_table_text(table, name, name_size);
	if (!code.name)
		return -E2BIG;
	err = copy_lines(&code, lines, n_lines);
	return err ? err : add(table, code);
}

static int by_start(const void *left, const void *right)
{
	const struct code *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void sort(struct code_table *table)
{
	if (table->sorted == count(table))
		return;
	qsort(codes(table), count(table), sizeof(struct code), by_start);
	table->sorted = count(table);
}

/* How many functions begin at or before the address. */
static size_t count_up_to(struct code_table *table, uint64_t address)
{
	sort(table);
	return sorted_up_to(table->codes.data, count(table), sizeof(struct code), address);
}

int code_table_move(struct code_table *table, uint64_t from, uint64_t to, uint64_t size)
{
	size_t i = count_up_to(table, from);
	const struct code *old = i ? &codes(table)[i - 1] : NULL;
	struct code code = {.start = to, .end = to + size};
	int err;

	if (!old || old->start != from || !size || code.end < to)
		return 0;
	code.name = old->name;
	if (old->n_lines > (TABLE_BYTES_MAX - table->bytes) / sizeof(*old->lines))
		return -E2BIG;
	err = copy_lines(&code, old->lines, old->n_lines);
	for (size_t line = 0; line < code.n_lines; line++)
		code.lines[line].address += to - from;
	return err ? err : add(table, code);
}

/* The last line that begins at or before the address. */
static const struct code_line *find_line(const struct code *code, uint64_t address)
{
	size_t n = sorted_up_to(code->lines, code->n_lines, sizeof(*code->lines), address);

	return n ? &code->lines[n - 1] : NULL;
}

/* Was `code` there at that time, rather than `other`? */
static bool is_likelier(const struct code *code, const struct code *other, uint64_t time)
{
	if (!other)
		return true;
	if ((code->since <= time) != (other->since <= time))
		return code->since <= time;
	if (code->since > time)
		return code->since < other->since;
	return code->since == other->since ? code->number > other->number
					   : code->since > other->since;
}

bool code_table_find(struct code_table *table, uint64_t address, uint64_t time, struct symbol *out)
{
	size_t next = count_up_to(table, address);
	size_t first = next > LOOK_BACK ? next - LOOK_BACK : 0;
	const struct code *found = NULL;
	const struct code_line *line;

	for (size_t i = next; i > first; i--) {
		const struct code *code = &codes(table)[i - 1];

		if (address < code->end && is_likelier(code, found, time))
			found = code;
	}
	if (!found)
		return false;
	line = find_line(found, address);
	*out = (struct symbol){.name = found->name, .offset = address - found->start};
	if (line) {
		out->file = line->file;
		out->line = line->line;
		if (line->file == found->lines[0].file)
			out->begin = found->lines[0].line;
	}
	return true;
}
