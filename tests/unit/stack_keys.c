/* SPDX-License-Identifier: BSD-2-Clause */
/* stack_keys.c: keys of stacks and of segments of them, of processes that come and go. */
#include "test.h"

#include "record/store/stacks.h"

enum {
	KEYS = 1000,       /* of each process */
	ROUNDS = 1000,     /* many times what the tables hold */
	LIVING_KEYS = 500, /* of the process that stays */
	CHANGES = 1 << 20, /* of one key: more than the tables hold */
	MANY = 400000,     /* many times what they hold */
	EVERY = 8000,      /* a key that is asked for once in so many new ones is in use */
	KEPT = 2 * EVERY + 7,
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

static struct stack_keys *create(void)
{
	struct stack_keys *keys;

	CHECK_EQ(stack_keys_create(&owners, 1 << 16, 1 << 19, &keys), 0);
	return keys;
}

/* Some have no frames, and the same key may mean more of them, or fewer. */
static size_t frames_of(uint64_t key, enum meaning meaning)
{
	return (key + 40 * meaning) % 64;
}

static void set(struct stack_keys *keys, uint64_t process, uint64_t key, enum meaning meaning)
{
	uint64_t frames[64];
	const struct stack_segment segment = {.frames = frames,
					      .n = frames_of(key, meaning),
					      .quality = meaning,
					      .open = (key + meaning) % 2};

	for (size_t i = 0; i < segment.n; i++)
		frames[i] = process + key + meaning + i;
	CHECK_EQ(stack_keys_set_segment(keys, process, key, &segment), 0);
}

/* False: the key is not known. What it means must be that. */
static bool has(struct stack_keys *keys, uint64_t process, uint64_t key, enum meaning meaning)
{
	struct stack_segment segment;

	if (!stack_keys_get_segment(keys, process, key, &segment))
		return false;
	CHECK_EQ(segment.n, frames_of(key, meaning));
	for (size_t i = 0; i < segment.n; i++)
		CHECK_EQ(segment.frames[i], process + key + meaning + i);
	CHECK_EQ(segment.quality, meaning);
	CHECK_EQ(segment.open, (key + meaning) % 2);
	return true;
}

TEST(keys_of_a_living_process_stay_while_others_come_and_go)
{
	struct stack_keys *keys = create();

	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		set(keys, 1, key, FIRST);
	for (newest = 2; newest < ROUNDS; newest++)
		for (uint64_t key = 0; key < KEYS; key++)
			set(keys, newest, key, FIRST);
	/* They were not used since. */
	for (uint64_t key = 0; key < LIVING_KEYS; key++)
		CHECK(has(keys, 1, key, FIRST));
	CHECK(has(keys, ROUNDS - 1, 0, FIRST));
	CHECK(!has(keys, 2, 0, FIRST));
	stack_keys_free(keys);
}

TEST(keys_mean_what_was_set_last)
{
	struct stack_keys *keys = create();

	CHECK(!has(keys, 1, 10, FIRST));
	for (int i = 0; i < 2; i++)
		set(keys, 1, 10, FIRST);
	CHECK(!has(keys, 2, 10, FIRST));
	CHECK(has(keys, 1, 10, FIRST));
	set(keys, 1, 10, SECOND);
	CHECK(has(keys, 1, 10, SECOND));
	set(keys, 1, 10, FIRST);
	CHECK(has(keys, 1, 10, FIRST));
	stack_keys_free(keys);
	stack_keys_free(NULL);
}

/* However many there are and however long, those in use stay, and memory does not grow. */
TEST(keys_in_use_stay)
{
	struct stack_keys *keys = create();

	for (uint64_t key = 1; key <= MANY; key++) {
		set(keys, 1, key, FIRST);
		if (key % EVERY || key < KEPT)
			continue;
		CHECK(has(keys, 1, KEPT, FIRST));
		CHECK(has(keys, 1, key - EVERY, FIRST));
	}
	CHECK(!has(keys, 1, 1, FIRST));
	stack_keys_free(keys);
}

TEST(as_many_stacks_have_keys_as_were_asked_for)
{
	const struct keyed_stack first = {7, 1}, second = {8, 2};
	struct stack_keys *keys;
	struct keyed_stack told;

	CHECK_EQ(stack_keys_create(&owners, 1 << 10, 1 << 11, &keys), 0);
	for (uint64_t key = 0; key < 1 << 10; key++)
		CHECK_EQ(stack_keys_set(keys, 1, key, &first), 0);
	for (uint64_t key = 0; key < 1 << 10; key++)
		CHECK_EQ(stack_keys_set(keys, 1, key, &second), 0);
	for (uint64_t key = 0; key < 1 << 10; key++) {
		CHECK(stack_keys_get(keys, 1, key, &told));
		CHECK(told.stack == 8 && told.quality == 2);
	}
	CHECK(!stack_keys_get(keys, 1, 1 << 10, &told));
	stack_keys_free(keys);
}

TEST(what_a_key_was_before_takes_no_room_for_ever)
{
	struct stack_keys *keys = create();
	struct stack_segment segment;

	set(keys, 1, 7, FIRST);
	for (uint64_t i = 0; i < CHANGES; i++) {
		segment = (struct stack_segment){.frames = &i, .n = 1, .quality = 1};
		CHECK_EQ(stack_keys_set_segment(keys, 1, 8, &segment), 0);
	}
	CHECK(has(keys, 1, 7, FIRST));
	CHECK(stack_keys_get_segment(keys, 1, 8, &segment));
	CHECK_EQ(segment.frames[0], CHANGES - 1);
	stack_keys_free(keys);
}
