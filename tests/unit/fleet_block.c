/* SPDX-License-Identifier: BSD-2-Clause */
/* fleet_block.c: tests of what the process that reads a profile may send to the one that pushes it.
 */
#include "test.h"

#include <errno.h>

#include "fleet/block.h"
#include "fleet/tables.h"

struct seen {
	struct blocks_visitor visitor; /* first */
	int heads, blocks;
	uint64_t rows;
	enum fleet_table table;
	struct buffer last;
};

static int take_head(struct blocks_visitor *visitor, const struct rows_head *head)
{
	(void)head;
	((struct seen *)visitor)->heads++;
	return 0;
}

static int take_block(struct blocks_visitor *visitor, enum fleet_table table, uint32_t number,
		      uint64_t rows, const struct buffer *data)
{
	struct seen *seen = (struct seen *)visitor;

	CHECK(table < FLEET_TABLES);
	CHECK(seen->table != table || number);
	seen->blocks++;
	seen->table = table;
	seen->rows += rows;
	seen->last.size = 0;
	return buffer_append(&seen->last, data->data, data->size);
}

static struct seen fresh(void)
{
	return (struct seen){.visitor = {take_head, take_block}, .table = FLEET_TABLES};
}

static const struct fleet_given given = {.profile = 0x1122334455667788,
					 .day = 20000,
					 .service = "s'\n",
					 .version = "1",
					 .host = "h",
					 .container = "",
					 .labels = {{"zone", "z"}},
					 .n_labels = 1};

static void add(struct buffer *out, const void *data, size_t size)
{
	CHECK(!buffer_append(out, data, size));
}

static void add_head(struct buffer *out)
{
	struct rows_head head = {.realtime = 1};
	unsigned char mark = ROWS_HEAD;

	add(out, &mark, 1);
	add(out, &head, sizeof(head));
}

static void add_text(struct buffer *out, const char *text, uint32_t size)
{
	add(out, &size, sizeof(size));
	add(out, text, size);
}

/* A row of calls: six numbers, of which the first is the time, and a name. */
static void add_call(struct buffer *out, uint64_t time, const char *name, uint32_t size)
{
	unsigned char table = FLEET_calls;
	uint64_t numbers[5] = {1, 2, UINT64_MAX, 4, 5};

	add(out, &table, 1);
	add(out, &time, sizeof(time));
	add_text(out, name, size);
	add(out, numbers, sizeof(numbers));
}

/* The result of sending these bytes, some at a time; what came of them in `seen`. */
static int send(const struct buffer *bytes, size_t step, struct seen *seen)
{
	struct blocks *blocks;
	int err = 0;

	CHECK(!blocks_create(&given, &seen->visitor, &blocks));
	for (size_t at = 0; at < bytes->size && !err; at += step)
		err = blocks_take(blocks, bytes->data + at,
				  bytes->size - at < step ? bytes->size - at : step);
	if (!err)
		err = blocks_end(blocks);
	blocks_free(blocks);
	return err;
}

TEST(row_is_the_same_however_it_is_cut)
{
	struct seen whole = fresh();
	struct buffer bytes = {0};

	add_head(&bytes);
	add_call(&bytes, 1000, "re\0ad'", 6);
	add_call(&bytes, UINT64_MAX, "", 0);
	CHECK_EQ(send(&bytes, bytes.size, &whole), 0);
	CHECK_EQ(whole.heads, 1);
	CHECK_EQ(whole.blocks, 1);
	CHECK_EQ(whole.rows, 2);
	/* 12 columns of 2 rows and a marker; the first is the profile. */
	CHECK_EQ(whole.last.data[0], 12);
	CHECK_EQ(whole.last.data[1], 3);
	CHECK(!memcmp(whole.last.data + 2, "\7profile\6UInt64\x88\x77\x66\x55\x44\x33\x22\x11",
		      23));
	CHECK(memmem(whole.last.data, whole.last.size,
		     "\4time\10DateTime\xe8\3\0\0\xff\xff\xff\xff\0\0\0\0", 26));
	CHECK(memmem(whole.last.data, whole.last.size, "\4name\6String\6re\0ad'\0\0", 21));
	CHECK(memmem(whole.last.data, whole.last.size, "\7service\6String\3s'\n\3s'\n\3s'\n", 27));
	for (size_t step = 1; step < bytes.size; step++) {
		struct seen cut = fresh();

		CHECK_EQ(send(&bytes, step, &cut), 0);
		CHECK_EQ(cut.last.size, whole.last.size);
		CHECK(!memcmp(cut.last.data, whole.last.data, whole.last.size));
		buffer_free(&cut.last);
	}
	buffer_free(&bytes);
	buffer_free(&whole.last);
}

TEST(blocks_are_cut_by_rows_and_by_bytes)
{
	static char text[ROWS_TEXT_MAX];
	struct seen seen = fresh();
	struct buffer bytes = {0};

	add_head(&bytes);
	for (int i = 0; i < 2 * BLOCK_ROWS + 1; i++)
		add_call(&bytes, 1, "x", 1);
	CHECK_EQ(send(&bytes, 60000, &seen), 0);
	CHECK_EQ(seen.blocks, 3);
	CHECK_EQ(seen.rows, 2 * BLOCK_ROWS + 1);
	seen.blocks = 0;
	bytes.size = 0;
	seen.table = FLEET_TABLES;
	add_head(&bytes);
	for (int i = 0; i < 3 * 1024; i++)
		add_call(&bytes, 1, text, sizeof(text));
	CHECK_EQ(send(&bytes, 60000, &seen), 0);
	CHECK_EQ(seen.blocks, 3);
	buffer_free(&bytes);
	buffer_free(&seen.last);
}

TEST(what_makes_no_sense_is_refused)
{
	const struct {
		const char *data;
		size_t size;
	} bad[] = {
		{"\xfe", 1},                                /* no table */
		{"\5\1\0\0\0\0\0\0\0\xff\xff\xff\xff", 13}, /* a text of 4 GiB */
		{"\5\1\0\0\0\0\0\0\0\1\0\1\0", 13},         /* one byte more than a text may have */
		{"\2\1\0\0\0\0\0\0\0\1\0\1\0", 13},         /* the same of an array */
		{"\xff", 1},                                /* another head */
		{"\5\1\0", 3},                              /* half a row */
	};
	struct buffer bytes = {0};
	struct seen seen = fresh();

	CHECK_EQ(send(&bytes, 1, &seen), -EBADMSG);
	add_call(&bytes, 1, "", 0);
	CHECK_EQ(send(&bytes, 100, &seen), -EBADMSG);
	CHECK_EQ(seen.heads, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		bytes.size = 0;
		add_head(&bytes);
		add(&bytes, bad[i].data, bad[i].size);
		seen = fresh();
		CHECK_EQ(send(&bytes, 100, &seen), -EBADMSG);
		CHECK_EQ(seen.blocks, 0);
	}
	/* Tables come in their order. */
	bytes.size = 0;
	add_head(&bytes);
	add_call(&bytes, 1, "", 0);
	add(&bytes, "\2\1\0\0\0\0\0\0\0\0\0\0\0", 13);
	CHECK_EQ(send(&bytes, 100, &seen), -EBADMSG);
	buffer_free(&bytes);
	buffer_free(&seen.last);
}

TEST(random_bytes_are_refused_or_rows)
{
	uint64_t state = test_seed();

	for (int round = 0; round < 2000; round++) {
		struct buffer bytes = {0};
		struct seen seen = fresh();
		int err;

		add_head(&bytes);
		for (int i = 0; i < 40; i++) {
			uint64_t value;

			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			value = state >> 33;
			/* Small numbers are tables and lengths. */
			value = value & 1 ? value : value % 8;
			add(&bytes, &value, value % 3 ? 1 : 4);
		}
		err = send(&bytes, 1 + state % 50, &seen);
		CHECK(err == 0 || err == -EBADMSG);
		buffer_free(&bytes);
		buffer_free(&seen.last);
	}
}
