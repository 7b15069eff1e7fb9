/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.c: keys of stacks and of pieces of them, of processes that come and go. */
#include "test.h"

#include "record/stack_keys.h"
#include "record/stack_pieces.h"

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

static void set_key(struct stack_keys *keys, uint64_t process, uint64_t key)
{
	CHECK_EQ(stack_keys_set(keys, process, key, &(struct stack_told){process + key, 3}), 0);
}

static bool has_key(struct stack_keys *keys, uint64_t process, uint64_t key)
{
	struct stack_told told;

	if (!stack_keys_get(keys, process, key, &told))
		return false;
	CHECK_EQ(told.stack, process + key);
	CHECK_EQ(told.quality, 3);
	return true;
}

TEST(keys_of_a_living_process_stay_while_others_come_and_go)
{
	struct stack_keys *keys;

	CHECK_EQ(stack_keys_create(&owners, &keys), 0);
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		set_key(keys, 1, key);
	for (newest = 2; newest < ROUNDS; newest++)
		for (uint64_t key = 0; key < KEYS; key++)
			set_key(keys, newest, key);
	/* Nobody asked for them meanwhile. */
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		CHECK(has_key(keys, 1, key));
	CHECK(has_key(keys, ROUNDS - 1, 0));
	CHECK(!has_key(keys, 2, 0));
	stack_keys_free(keys);
}

static void set_piece(struct stack_pieces *pieces, uint64_t process, uint64_t key)
{
	const uint64_t frames[] = {process, key, process ^ key};
	const struct stack_piece piece = {.frames = frames, .n = 3, .quality = 1, .open = key % 2};

	CHECK_EQ(stack_pieces_set(pieces, process, key, &piece), 0);
}

static bool has_piece(struct stack_pieces *pieces, uint64_t process, uint64_t key)
{
	struct stack_piece piece;

	if (!stack_pieces_get(pieces, process, key, &piece))
		return false;
	CHECK_EQ(piece.n, 3);
	CHECK_EQ(piece.frames[0], process);
	CHECK_EQ(piece.frames[1], key);
	CHECK_EQ(piece.frames[2], process ^ key);
	CHECK_EQ(piece.quality, 1);
	CHECK_EQ(piece.open, key % 2);
	return true;
}

TEST(pieces_of_a_living_process_stay_while_others_come_and_go)
{
	struct stack_pieces *pieces;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		set_piece(pieces, 1, key);
	for (newest = 2; newest < ROUNDS; newest++)
		for (uint64_t key = 0; key < KEYS; key++)
			set_piece(pieces, newest, key);
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		CHECK(has_piece(pieces, 1, key));
	CHECK(has_piece(pieces, ROUNDS - 1, 0));
	CHECK(!has_piece(pieces, 2, 0));
	stack_pieces_free(pieces);
}

TEST(what_a_piece_was_before_takes_no_room_for_ever)
{
	struct stack_pieces *pieces;
	struct stack_piece piece;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	set_piece(pieces, 1, 7);
	for (uint64_t i = 0; i < CHANGES; i++)
		CHECK_EQ(
			stack_pieces_set(pieces, 1, 8,
					 &(struct stack_piece){.frames = &i, .n = 1, .quality = 1}),
			0);
	CHECK(has_piece(pieces, 1, 7));
	CHECK(stack_pieces_get(pieces, 1, 8, &piece));
	CHECK_EQ(piece.frames[0], CHANGES - 1);
	stack_pieces_free(pieces);
}

TEST(keys_mean_what_was_told_last)
{
	const struct stack_told first = {5, 0}, second = {6, 2};
	struct stack_told told;
	struct stack_keys *keys;

	CHECK_EQ(stack_keys_create(&owners, &keys), 0);
	CHECK(!stack_keys_get(keys, 1, 10, &told));
	CHECK_EQ(stack_keys_set(keys, 1, 10, &first), 0);
	CHECK(!stack_keys_get(keys, 2, 10, &told));
	CHECK(stack_keys_get(keys, 1, 10, &told) && told.stack == 5 && told.quality == 0);
	CHECK_EQ(stack_keys_set(keys, 1, 10, &second), 0);
	CHECK(stack_keys_get(keys, 1, 10, &told) && told.stack == 6 && told.quality == 2);
	stack_keys_free(keys);
}

/* However many there are, those in use stay, and memory does not grow. */
TEST(keys_in_use_stay)
{
	struct stack_keys *keys;
	struct stack_told told;

	CHECK_EQ(stack_keys_create(&owners, &keys), 0);
	for (uint64_t key = 1; key <= 1000000; key++) {
		told = (struct stack_told){key, 0};
		CHECK_EQ(stack_keys_set(keys, 1, key, &told), 0);
		if (key % 50000 == 0)
			CHECK(stack_keys_get(keys, 1, 50000, &told) && told.stack == 50000);
		if (key % 50000 == 0 && key > 100000)
			CHECK(stack_keys_get(keys, 1, key - 100000, &told));
	}
	CHECK(!stack_keys_get(keys, 1, 1, &told));
	stack_keys_free(keys);
}

TEST(pieces_mean_what_was_told_last)
{
	const uint64_t one[] = {5, 6, 7}, two[] = {8};
	const struct stack_piece first = {.frames = one, .n = 3},
				 second = {.frames = two, .n = 1, .quality = 2, .open = true};
	struct stack_pieces *pieces;
	struct stack_piece piece;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	CHECK(!stack_pieces_get(pieces, 1, 10, &piece));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(stack_pieces_set(pieces, 1, 10, &first), 0);
	CHECK(!stack_pieces_get(pieces, 2, 10, &piece));
	CHECK(stack_pieces_get(pieces, 1, 10, &piece));
	CHECK(piece.n == 3 && !piece.open && !memcmp(piece.frames, one, sizeof(one)));
	CHECK_EQ(stack_pieces_set(pieces, 1, 10, &second), 0);
	CHECK(stack_pieces_get(pieces, 1, 10, &piece));
	CHECK(piece.n == 1 && piece.open && piece.quality == 2 && piece.frames[0] == 8);
	CHECK_EQ(stack_pieces_set(pieces, 1, 11, &(struct stack_piece){0}), 0);
	CHECK(stack_pieces_get(pieces, 1, 11, &piece) && piece.n == 0);
	stack_pieces_free(pieces);
	stack_pieces_free(NULL);
}

/* However many there are and however long, those in use stay, and memory does not grow. */
TEST(pieces_in_use_stay)
{
	uint64_t frames[64];
	struct stack_pieces *pieces;
	struct stack_piece piece;

	CHECK_EQ(stack_pieces_create(&owners, &pieces), 0);
	for (uint64_t key = 1; key <= 400000; key++) {
		piece = (struct stack_piece){.frames = frames, .n = key % 64};
		for (size_t i = 0; i < piece.n; i++)
			frames[i] = key + i;
		CHECK_EQ(stack_pieces_set(pieces, 1, key, &piece), 0);
		if (key % 8000 || key < 16007)
			continue;
		CHECK(stack_pieces_get(pieces, 1, 16007, &piece));
		CHECK(piece.n == 16007 % 64 && piece.frames[0] == 16007);
		CHECK(stack_pieces_get(pieces, 1, key - 8000, &piece));
	}
	CHECK(!stack_pieces_get(pieces, 1, 1, &piece));
	stack_pieces_free(pieces);
}
