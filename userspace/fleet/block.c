/* SPDX-License-Identifier: BSD-2-Clause */
/* block.c: makes blocks in ClickHouse's Native format from the rows of the confined process. */
/*
 * A block has one column after the other, each with its name and type. Only the number of rows and
 * bytes decides where blocks end, so the blocks of a profile are the same in each push.
 */
#include "block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "tables.h"

struct column {
	struct buffer data, ends; /* ends: of arrays, uint64_t[] */
	uint64_t items;           /* in all arrays */
};

struct blocks {
	const struct fleet_given *given;
	struct blocks_visitor *visitor;
	struct buffer pending; /* an incomplete row */
	bool has_head;
	unsigned table; /* of the current block; FLEET_TABLES: none yet */
	uint32_t number;
	uint64_t rows, rows_max;
	struct column columns[FLEET_COLUMNS_MAX];
	struct buffer body;
};

/* Received data that is not yet read. */
struct cursor {
	const char *at;
	size_t left;
};

/* The stack of the marker of a block of samples: identifies the block in hourly. */
static uint64_t block_marker(uint64_t profile, uint32_t block)
{
	uint64_t hash = hash_bytes(HASH_START, &profile, sizeof(profile));

	return hash_end(hash_bytes(hash, &block, sizeof(block)));
}

int blocks_create(const struct fleet_given *given, struct blocks_visitor *visitor,
		  struct blocks **out)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));
	const char *test = getenv("GCPROF_TEST_BLOCK");

	if (!blocks)
		return -ENOMEM;
	blocks->given = given;
	blocks->visitor = visitor;
	blocks->table = FLEET_TABLES;
	blocks->rows_max = test ? strtoull(test, NULL, 10) : 0;
	if (!blocks->rows_max || blocks->rows_max > BLOCK_ROWS)
		blocks->rows_max = BLOCK_ROWS;
	*out = blocks;
	return 0;
}

void blocks_free(struct blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; i < FLEET_COLUMNS_MAX; i++) {
		buffer_free(&blocks->columns[i].data);
		buffer_free(&blocks->columns[i].ends);
	}
	buffer_free(&blocks->pending);
	buffer_free(&blocks->body);
	free(blocks);
}

/* --- Native ---------------------------------------------------------------------------------- */

static int put_varint(struct buffer *out, uint64_t value)
{
	unsigned char bytes[10];
	size_t n = 0;

	for (; value >= 128; value >>= 7)
		bytes[n++] = (unsigned char)(value | 128);
	bytes[n++] = (unsigned char)value;
	return buffer_append(out, bytes, n);
}

static int put_text(struct buffer *out, const char *text, size_t size)
{
	int err = put_varint(out, size);

	return err ? err : buffer_append(out, text, size);
}

static size_t width_of(enum fleet_type type)
{
	return type == FLEET_DATE ? 2 : type == FLEET_U32 || type == FLEET_TIME ? 4 : 8;
}

/* Puts a number with the width of its column; saturates. */
static int put_number(struct buffer *out, enum fleet_type type, uint64_t value)
{
	size_t width = width_of(type);

	if (width < 8 && value >> 8 * width)
		value = (UINT64_C(1) << 8 * width) - 1;
	return buffer_append(out, &value, width); /* little-endian, like this machine */
}

/* Puts an array of texts for one row; only labels have them. */
static int put_labels(const struct fleet_given *given, bool values, struct column *column)
{
	int err = 0;

	for (size_t i = 0; i < given->n_labels && !err; i++) {
		const char *text = values ? given->labels[i].value : given->labels[i].name;

		err = put_text(&column->data, text, strlen(text));
	}
	column->items += given->n_labels;
	return err ? err : buffer_append(&column->ends, &column->items, sizeof(column->items));
}

static int put_given(const struct blocks *blocks, const char *name, struct column *column)
{
	const struct fleet_given *given = blocks->given;
	const struct {
		const char *name, *text;
	} texts[] = {{"service", given->service},
		     {"version", given->version},
		     {"host", given->host},
		     {"container", given->container}};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!strcmp(name, texts[i].name))
			return put_text(&column->data, texts[i].text, strlen(texts[i].text));
	if (!strcmp(name, "profile"))
		return put_number(&column->data, FLEET_U64, given->profile);
	if (!strcmp(name, "block"))
		return put_number(&column->data, FLEET_U32, blocks->number);
	if (!strcmp(name, "day"))
		return put_number(&column->data, FLEET_DATE, given->day);
	return put_labels(given, !strcmp(name, "label_values"), column);
}

/* Puts the marker: all columns are empty or 0, except `stack`. */
static int put_marker(struct blocks *blocks)
{
	const struct fleet_column *columns = fleet_tables[blocks->table].columns;
	int err = 0;

	for (size_t i = 0; columns[i].name && !err; i++) {
		struct column *column = &blocks->columns[i];
		uint64_t value = strcmp(columns[i].name, "stack") != 0
					 ? 0
					 : block_marker(blocks->given->profile, blocks->number);

		if (!columns[i].given)
			err = columns[i].type == FLEET_TEXT
				      ? put_text(&column->data, "", 0)
				      : put_number(&column->data, columns[i].type, value);
	}
	blocks->rows++;
	return err;
}

static int put_column(struct blocks *blocks, const struct fleet_column *column, struct column *data)
{
	const char *type = fleet_type_name(column->type);
	int err = 0;

	for (uint64_t i = 0; i < blocks->rows && column->given && !err; i++)
		err = put_given(blocks, column->name, data);
	if (!err)
		err = put_text(&blocks->body, column->name, strlen(column->name));
	if (!err)
		err = put_text(&blocks->body, type, strlen(type));
	if (!err)
		err = buffer_append(&blocks->body, data->ends.data, data->ends.size);
	if (!err)
		err = buffer_append(&blocks->body, data->data.data, data->data.size);
	data->data.size = data->ends.size = 0;
	data->items = 0;
	return err;
}

static int flush(struct blocks *blocks)
{
	const struct fleet_description *table = &fleet_tables[blocks->table];
	uint64_t rows = blocks->rows, n = 0;
	int err;

	if (!rows)
		return 0;
	err = table->once ? put_marker(blocks) : 0;
	while (table->columns[n].name)
		n++;
	blocks->body.size = 0;
	if (!err)
		err = put_varint(&blocks->body, n);
	if (!err)
		err = put_varint(&blocks->body, blocks->rows);
	for (size_t i = 0; i < n && !err; i++)
		err = put_column(blocks, &table->columns[i], &blocks->columns[i]);
	blocks->rows = 0;
	return err ? err
		   : blocks->visitor->block(blocks->visitor, blocks->table, blocks->number++, rows,
					    &blocks->body);
}

/* --- rows ------------------------------------------------------------------------------------ */

enum { MORE = 1 }; /* the row is not yet complete */

static int get(struct cursor *cursor, void *out, size_t size)
{
	if (cursor->left < size)
		return MORE;
	memcpy(out, cursor->at, size);
	cursor->at += size;
	cursor->left -= size;
	return 0;
}

static int take_sized(struct cursor *cursor, enum fleet_type type, struct column *column)
{
	size_t item = type == FLEET_TEXT ? 1 : sizeof(uint64_t), size;
	uint32_t count;
	int err = get(cursor, &count, sizeof(count));

	if (err)
		return err;
	if (count > ROWS_TEXT_MAX)
		return -EBADMSG;
	size = count * item;
	if (cursor->left < size)
		return MORE;
	if (type == FLEET_TEXT) {
		err = put_text(&column->data, cursor->at, size);
	} else {
		column->items += count;
		err = buffer_append(&column->data, cursor->at, size);
		if (!err)
			err = buffer_append(&column->ends, &column->items, sizeof(column->items));
	}
	cursor->at += size;
	cursor->left -= size;
	return err;
}

/* Checks that the row is complete, so that no part of a row is taken. */
static int measure(struct cursor cursor, const struct fleet_column *columns)
{
	for (; columns->name; columns++) {
		size_t size = sizeof(uint64_t);
		uint32_t count = 0;

		if (columns->given)
			continue;
		if (columns->type == FLEET_TEXT || columns->type == FLEET_U64S) {
			if (get(&cursor, &count, sizeof(count)))
				return MORE;
			size = columns->type == FLEET_TEXT ? count : count * sizeof(uint64_t);
		}
		if (count > ROWS_TEXT_MAX)
			return -EBADMSG;
		if (cursor.left < size)
			return MORE;
		cursor.at += size;
		cursor.left -= size;
	}
	return 0;
}

static int take_cells(struct blocks *blocks, struct cursor *cursor)
{
	const struct fleet_column *columns = fleet_tables[blocks->table].columns;
	int err = measure(*cursor, columns);

	for (size_t i = 0; columns[i].name && !err; i++) {
		uint64_t number = 0;

		if (columns[i].given)
			continue;
		if (columns[i].type == FLEET_TEXT || columns[i].type == FLEET_U64S) {
			err = take_sized(cursor, columns[i].type, &blocks->columns[i]);
			continue;
		}
		err = get(cursor, &number, sizeof(number));
		if (!err)
			err = put_number(&blocks->columns[i].data, columns[i].type, number);
	}
	return err;
}

static uint64_t bytes_of(const struct blocks *blocks)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < FLEET_COLUMNS_MAX; i++)
		bytes += blocks->columns[i].data.size;
	return bytes;
}

static int take_row(struct blocks *blocks, struct cursor *cursor)
{
	struct rows_head head;
	unsigned char table;
	int err = get(cursor, &table, sizeof(table));

	if (err)
		return err;
	if (table == ROWS_HEAD && !blocks->has_head) {
		err = get(cursor, &head, sizeof(head));
		blocks->has_head = !err;
		return err ? err : blocks->visitor->head(blocks->visitor, &head);
	}
	/* Each table comes once, in order. */
	if (!blocks->has_head || table >= FLEET_TABLES ||
	    (blocks->table < FLEET_TABLES && table < blocks->table))
		return -EBADMSG;
	if (table != blocks->table) {
		err = blocks->table < FLEET_TABLES ? flush(blocks) : 0;
		blocks->table = table;
		blocks->number = 0;
	}
	if (!err)
		err = take_cells(blocks, cursor);
	if (err)
		return err;
	blocks->rows++;
	return blocks->rows >= blocks->rows_max ||
			       (blocks->rows % 1024 == 0 && bytes_of(blocks) >= BLOCK_BYTES)
		       ? flush(blocks)
		       : 0;
}

int blocks_take(void *context, const char *data, size_t size)
{
	struct blocks *blocks = context;
	int err = buffer_append(&blocks->pending, data, size);
	struct cursor cursor = {blocks->pending.data, blocks->pending.size};

	while (!err && cursor.left) {
		struct cursor before = cursor;

		err = take_row(blocks, &cursor);
		if (err == MORE)
			cursor = before;
	}
	if (cursor.left)
		memmove(blocks->pending.data, cursor.at, cursor.left);
	blocks->pending.size = cursor.left;
	return err == MORE ? 0 : err;
}

int blocks_end(struct blocks *blocks)
{
	if (blocks->pending.size || !blocks->has_head)
		return -EBADMSG;
	return blocks->table < FLEET_TABLES ? flush(blocks) : 0;
}
