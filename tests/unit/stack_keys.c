/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.c: keys of stacks and of pieces of them, of processes that come and go. */
#include "test.h"

#include "record/store/stack_keys.h"
#include "record/store/stack_pieces.h"

enum {
	KEYS = 1000,       /* of each process */
	ROUNDS = 1000,     /* many times what the tables hold */
	LIVING_KEYS = 500, /* of the process that stays */
	CHANGES = 1 << 20, /* of one piece: more than the tables hold */
};

static uint64_t newest; /* of the processes that come and go; 1 stays */

static bool lives(void *context, uint64_t process)
{
	(void)context;
	return process == 1 || process == newest;
}

static const struct stack_owners owners = {lives, NULL};

/* What a key may mean. */
enum meaning { FIRST, SECOND };

/* Keys of stacks, or of pieces. */
struct table {
	void *(*create)(void);
	void (*free)(void *table);
	void (*set)(void *table, uint64_t process, uint64_t key, enum meaning meaning);
	/* False: the key is not known. What it means must be that. */
	bool (*has)(void *table, uint64_t process, uint64_t key, enum meaning meaning);
	uint64_t keys;  /* many times what it holds */
	uint64_t asked; /* a key that is asked for once in so many new ones is in use */
};

static void *keys_create(void)
{
	struct stack_keys *keys;

	CHECK_EQ(stack_keys_create(&owners, &keys), 0);
	return keys;
}

static void keys_free(void *keys)
{
	stack_keys_free(keys);
}

static void keys_set(void *keys, uint64_t process, uint64_t key, enum meaning meaning)
{
	const struct stack_told told = {process + key + meaning, meaning};

	CHECK_EQ(stack_keys_set(keys, process, key, &told), 0);
}

static bool keys_has(void *keys, uint64_t process, uint64_t key, enum meaning meaning)
{
	struct stack_told told;

	if (!stack_keys_get(keys, process, key, &told))
		return false;
	CHECK_EQ(told.stack, process + key + meaning);
	CHECK_EQ(told.quality, meaning);
	return true;
}

static const struct table keys_table = {keys_create, keys_free, keys_set, keys_has, 1000000, 50000};

static void *pieces_create(void)
{
	struct stack_pieces *pieces;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	return pieces;
}

static void pieces_free(void *pieces)
{
	stack_pieces_free(pieces);
}

/* Some have no frames, and the same key may mean more of them, or fewer. */
static size_t frames_of(uint64_t key, enum meaning meaning)
{
	return (key + 40 * meaning) % 64;
}

static void pieces_set(void *pieces, uint64_t process, uint64_t key, enum meaning meaning)
{
	uint64_t frames[64];
	const struct stack_piece piece = {.frames = frames,
					  .n = frames_of(key, meaning),
					  .quality = meaning,
					  .open = (key + meaning) % 2};

	for (size_t i = 0; i < piece.n; i++)
		frames[i] = process + key + meaning + i;
	CHECK_EQ(stack_pieces_set(pieces, process, key, &piece), 0);
}

static bool pieces_has(void *pieces, uint64_t process, uint64_t key, enum meaning meaning)
{
	struct stack_piece piece;

	if (!stack_pieces_get(pieces, process, key, &piece))
		return false;
	CHECK_EQ(piece.n, frames_of(key, meaning));
	for (size_t i = 0; i < piece.n; i++)
		CHECK_EQ(piece.frames[i], process + key + meaning + i);
	CHECK_EQ(piece.quality, meaning);
	CHECK_EQ(piece.open, (key + meaning) % 2);
	return true;
}

static const struct table pieces_table = {pieces_create, pieces_free, pieces_set,
					  pieces_has,    400000,      8000};

static void check_living(const struct table *table)
{
	void *keys = table->create();

	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		table->set(keys, 1, key, FIRST);
	for (newest = 2; newest < ROUNDS; newest++)
		for (uint64_t key = 0; key < KEYS; key++)
			table->set(keys, newest, key, FIRST);
	/* Nobody asked for them meanwhile. */
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		CHECK(table->has(keys, 1, key, FIRST));
	CHECK(table->has(keys, ROUNDS - 1, 0, FIRST));
	CHECK(!table->has(keys, 2, 0, FIRST));
	table->free(keys);
}

TEST(keys_of_a_living_process_stay_while_others_come_and_go)
{
	check_living(&keys_table);
}

TEST(pieces_of_a_living_process_stay_while_others_come_and_go)
{
	check_living(&pieces_table);
}

static void check_told_last(const struct table *table)
{
	void *keys = table->create();

	CHECK(!table->has(keys, 1, 10, FIRST));
	for (int i = 0; i < 2; i++)
		table->set(keys, 1, 10, FIRST);
	CHECK(!table->has(keys, 2, 10, FIRST));
	CHECK(table->has(keys, 1, 10, FIRST));
	table->set(keys, 1, 10, SECOND);
	CHECK(table->has(keys, 1, 10, SECOND));
	table->set(keys, 1, 10, FIRST);
	CHECK(table->has(keys, 1, 10, FIRST));
	table->free(keys);
	table->free(NULL);
}

TEST(keys_mean_what_was_told_last)
{
	check_told_last(&keys_table);
}

TEST(pieces_mean_what_was_told_last)
{
	check_told_last(&pieces_table);
}

/* However many there are and however long, those in use stay, and memory does not grow. */
static void check_in_use(const struct table *table)
{
	const uint64_t kept = 2 * table->asked + 7;
	void *keys = table->create();

	for (uint64_t key = 1; key <= table->keys; key++) {
		table->set(keys, 1, key, FIRST);
		if (key % table->asked || key < kept)
			continue;
		CHECK(table->has(keys, 1, kept, FIRST));
		CHECK(table->has(keys, 1, key - table->asked, FIRST));
	}
	CHECK(!table->has(keys, 1, 1, FIRST));
	table->free(keys);
}

TEST(keys_in_use_stay)
{
	check_in_use(&keys_table);
}

TEST(pieces_in_use_stay)
{
	check_in_use(&pieces_table);
}

TEST(what_a_piece_was_before_takes_no_room_for_ever)
{
	struct stack_pieces *pieces;
	struct stack_piece piece;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	pieces_set(pieces, 1, 7, FIRST);
	for (uint64_t i = 0; i < CHANGES; i++)
		CHECK_EQ(
			stack_pieces_set(pieces, 1, 8,
					 &(struct stack_piece){.frames = &i, .n = 1, .quality = 1}),
			0);
	CHECK(pieces_has(pieces, 1, 7, FIRST));
	CHECK(stack_pieces_get(pieces, 1, 8, &piece));
	CHECK_EQ(piece.frames[0], CHANGES - 1);
	stack_pieces_free(pieces);
}
