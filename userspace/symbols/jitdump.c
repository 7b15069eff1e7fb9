// SPDX-License-Identifier: BSD-2-Clause
/* jitdump.c: reads the files in which JIT compilers describe code: jit-PID.dump, perf-PID.map. */
/*
 * A header, then records {kind, size, time, ...}, in the byte order of the writing machine;
 * described in the kernel's tools/perf/Documentation/jitdump-specification.txt. The lines of a
 * function precede it. Times are CLOCK_MONOTONIC, unless the header says that they are an
 * architecture-specific clock: then only the order of functions is known.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jitdump.h"
#include "../profile/cursor.h"
#include "../util/buffer.h"

#define MAGIC           0x4a695444u /* "JiTD" */
#define VERSION         1
#define HEADER_SIZE     40
#define FLAG_OTHER_TIME 1  /* in the header */
#define RECORD_SIZE     16 /* common start of all records */
#define RECORD_MAX      ((size_t)64 << 20)
#define LINES_MAX       (1u << 20) /* per function */

enum record_id { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO };

struct jitdump {
	struct code_table *table;
	bool begun;
	bool timed;          /* times are CLOCK_MONOTONIC */
	uint64_t lines_of;   /* address of the function that has these `lines` */
	struct buffer lines; /* struct code_line[] */
};

struct jitdump *jitdump_create(struct code_table *table)
{
	struct jitdump *dump = calloc(1, sizeof(*dump));

	if (dump)
		dump->table = table;
	return dump;
}

void jitdump_free(struct jitdump *dump)
{
	if (!dump)
		return;
	buffer_free(&dump->lines);
	free(dump);
}

static bool take32(struct cursor *cursor, uint32_t *out)
{
	const uint8_t *at;

	if (!cursor_take(cursor, sizeof(*out), &at))
		return false;
	memcpy(out, at, sizeof(*out));
	return true;
}

static bool take64(struct cursor *cursor, uint64_t *out)
{
	const uint8_t *at;

	if (!cursor_take(cursor, sizeof(*out), &at))
		return false;
	memcpy(out, at, sizeof(*out));
	return true;
}

/* Takes a zero-terminated text. */
static bool take_text(struct cursor *cursor, const char **out, size_t *size)
{
	const uint8_t *end = cursor_left(cursor) ? memchr(cursor->at, 0, cursor_left(cursor))
						 : NULL;

	if (!end)
		return false;
	*out = (const char *)cursor->at;
	*size = (size_t)(end - cursor->at);
	cursor->at = end + 1;
	return true;
}

static int read_header(struct jitdump *dump, const uint8_t *data, size_t *size)
{
	struct cursor cursor = cursor_make(data, HEADER_SIZE);
	uint32_t magic = 0, version = 0, total = 0, machine = 0, pad, pid;
	uint64_t written, flags = 0;

	take32(&cursor, &magic);
	take32(&cursor, &version);
	take32(&cursor, &total);
	take32(&cursor, &machine);
	take32(&cursor, &pad);
	take32(&cursor, &pid);
	take64(&cursor, &written);
	take64(&cursor, &flags);
	dump->timed = !(flags & FLAG_OTHER_TIME);
	if (magic != MAGIC || version != VERSION || total < HEADER_SIZE || total > 4096 ||
	    machine != EM_X86_64)
		return -EBADMSG;
	*size = total;
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct code_line *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* {address of the function, count, count × {address, line, discriminator, file}} */
static int read_lines(struct jitdump *dump, struct cursor cursor)
{
	uint64_t count, address;
	uint32_t number, discriminator;
	const char *file;
	size_t size;

	dump->lines.size = 0;
	if (!take64(&cursor, &dump->lines_of) || !take64(&cursor, &count))
		return 0;
	for (uint64_t i = 0; i < count && i < LINES_MAX; i++) {
		struct code_line line = {0};

		if (!take64(&cursor, &address) || !take32(&cursor, &number) ||
		    !take32(&cursor, &discriminator) || !take_text(&cursor, &file, &size))
			break;
		line.address = address;
		line.line = number;
		line.file = code_table_text(dump->table, file,
					    size < CODE_NAME_MAX ? size : CODE_NAME_MAX);
		if (buffer_append(&dump->lines, &line, sizeof(line)))
			return -ENOMEM;
	}
	if (dump->lines.size)
		qsort(dump->lines.data, dump->lines.size / sizeof(struct code_line),
		      sizeof(struct code_line), by_address);
	return 0;
}

/* {pid, tid, address, address, size, number, name, code} */
static int read_load(struct jitdump *dump, struct cursor cursor)
{
	const struct code_line *lines = (const void *)dump->lines.data;
	uint64_t vma, address, size, index;
	size_t n_lines = dump->lines.size / sizeof(*lines), name_size;
	uint32_t pid, tid;
	const char *name;
	int err;

	if (!take32(&cursor, &pid) || !take32(&cursor, &tid) || !take64(&cursor, &vma) ||
	    !take64(&cursor, &address) || !take64(&cursor, &size) || !take64(&cursor, &index) ||
	    !take_text(&cursor, &name, &name_size))
		return 0;
	if (dump->lines_of != address)
		n_lines = 0;
	err = code_table_add(dump->table, address, size, name, name_size, lines, n_lines);
	dump->lines.size = 0;
	return err;
}

/* {pid, tid, address, old address, new address, size, number} */
static int read_move(struct jitdump *dump, struct cursor cursor)
{
	uint64_t vma, from, to, size;
	uint32_t pid, tid;

	if (!take32(&cursor, &pid) || !take32(&cursor, &tid) || !take64(&cursor, &vma) ||
	    !take64(&cursor, &from) || !take64(&cursor, &to) || !take64(&cursor, &size))
		return 0;
	return code_table_move(dump->table, from, to, size);
}

static int read_record(struct jitdump *dump, uint32_t id, const uint8_t *data, size_t size)
{
	struct cursor cursor = cursor_make(data, size);

	switch (id) {
	case CODE_LOAD:
		return read_load(dump, cursor);
	case CODE_MOVE:
		return read_move(dump, cursor);
	case CODE_DEBUG_INFO:
		return read_lines(dump, cursor);
	default:
		return 0; /* the end, unwind tables, and newer kinds */
	}
}

/* The size of the record that begins here, or 0 if more bytes are needed. */
static int next_size(struct jitdump *dump, const uint8_t *data, size_t left, size_t *size)
{
	uint32_t id, total;

	*size = 0;
	if (left < (dump->begun ? RECORD_SIZE : HEADER_SIZE))
		return 0;
	if (!dump->begun)
		return read_header(dump, data, size);
	memcpy(&id, data, sizeof(id));
	memcpy(&total, data + sizeof(id), sizeof(total));
	if (total < RECORD_SIZE || total > RECORD_MAX)
		return -EBADMSG;
	*size = total;
	return 0;
}

int jitdump_parse(struct jitdump *dump, const void *data, size_t size, size_t *used, size_t *wanted)
{
	const uint8_t *at = data;
	size_t left = size, next;
	uint64_t time;
	uint32_t id;
	int err;

	while (!(err = next_size(dump, at, left, &next)) && next && next <= left) {
		if (dump->begun) {
			memcpy(&id, at, sizeof(id));
			memcpy(&time, at + 2 * sizeof(id), sizeof(time));
			code_table_set_time(dump->table, dump->timed ? time : 0);
			err = read_record(dump, id, at + RECORD_SIZE, next - RECORD_SIZE);
		}
		dump->begun = true;
		at += next;
		left -= next;
		if (err)
			break;
	}
	*wanted = dump->begun ? RECORD_SIZE : HEADER_SIZE;
	if (!err && next > *wanted)
		*wanted = next;
	*used = size - left;
	return err;
}

/* Takes a hexadecimal number, with or without "0x", and the following space. */
static bool take_number(const char **at, const char *end, uint64_t *out)
{
	const char *start;
	uint64_t value = 0;

	if (end - *at > 2 && (*at)[0] == '0' && ((*at)[1] | 0x20) == 'x')
		*at += 2;
	for (start = *at; *at < end; (*at)++) {
		char letter = (char)(**at | 0x20);

		if (letter >= '0' && letter <= '9')
			value = value << 4 | (uint64_t)(letter - '0');
		else if (letter >= 'a' && letter <= 'f')
			value = value << 4 | (uint64_t)(letter - 'a' + 10);
		else
			break;
	}
	if (*at == start || *at - start > 16 || *at == end || **at != ' ')
		return false;
	(*at)++;
	*out = value;
	return true;
}

static int add_line(struct code_table *table, const char *at, const char *end)
{
	uint64_t start, size;

	if (!take_number(&at, end, &start) || !take_number(&at, end, &size))
		return 0;
	return code_table_add(table, start, size, at, (size_t)(end - at), NULL, 0);
}

int perf_map_parse(struct code_table *table, const char *text, size_t size, size_t *used)
{
	const char *at = text, *end = text + size, *next;
	int err = 0;

	while (!err && at < end && (next = memchr(at, '\n', (size_t)(end - at)))) {
		err = add_line(table, at, next);
		at = next + 1;
	}
	*used = (size_t)(at - text);
	return err;
}
