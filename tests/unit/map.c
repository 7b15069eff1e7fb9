/* SPDX-License-Identifier: BSD-2-Clause */
/* map.c: tests of the hash map against a plain array. */
#include "test.h"

#include "util/map.h"

enum { KEYS = 512, STEPS = 200000 };

TEST(map_agrees_with_an_array)
{
	uint64_t state = test_seed();
	uint64_t truth[KEYS] = {0}; /* 0: not there */
	struct map *map = map_create(sizeof(uint32_t));
	size_t count = 0;

	for (int step = 0; step < STEPS; step++) {
		uint32_t key = (uint32_t)(test_random(&state) % KEYS);
		uint64_t *value = map_get(map, &key);
		bool added;

		CHECK_EQ(value ? *value : 0, truth[key]);
		if (test_random(&state) % 2) {
			value = map_put(map, &key, &added);
			CHECK(value);
			CHECK_EQ(added, truth[key] == 0);
			count += added;
			*value = truth[key] = test_random(&state) | 1;
		} else {
			CHECK_EQ(map_remove(map, &key), truth[key] != 0);
			count -= truth[key] != 0;
			truth[key] = 0;
		}
		CHECK_EQ(map_count(map), count);
	}
	map_free(map);
}

TEST(map_walks_every_entry_once)
{
	struct map *map = map_create(sizeof(uint64_t));
	uint64_t sum = 0, *value;
	size_t cursor = 0, seen = 0;
	const void *key;

	for (uint64_t i = 1; i <= 10000; i++)
		*map_put(map, &i, NULL) = i;
	while (map_next(map, &cursor, &key, &value)) {
		CHECK_EQ(*(const uint64_t *)key, *value);
		sum += *value;
		seen++;
	}
	CHECK_EQ(seen, 10000);
	CHECK_EQ(sum, 10000 * 10001 / 2);
	map_free(map);
}

TEST(map_keeps_strings_of_any_bytes)
{
	struct map *map = map_create(MAP_STRING_KEYS);
	char text[32];

	for (int i = 0; i < 5000; i++) {
		int size = snprintf(text, sizeof(text), "name%d", i);

		*map_put_string(map, text, (size_t)size, NULL) = (uint64_t)i;
	}
	*map_put_string(map, "a\0b", 3, NULL) = 77;
	*map_put_string(map, "", 0, NULL) = 78;
	memset(text, 0, sizeof(text));
	for (int i = 0; i < 5000; i++) {
		int size = snprintf(text, sizeof(text), "name%d", i);

		CHECK_EQ(*map_get_string(map, text, (size_t)size), i);
	}
	CHECK_EQ(*map_get_string(map, "a\0b", 3), 77);
	CHECK_EQ(*map_get_string(map, "", 0), 78);
	CHECK(!map_get_string(map, "a\0c", 3));
	map_free(map);
}

static bool is_even(void *context, const void *key, uint64_t *value)
{
	++*(size_t *)context;
	++*value;
	return *(const uint64_t *)key % 2 == 0;
}

TEST(map_notes_each_key_once_and_forgets_all_when_full)
{
	struct map *map = map_create(sizeof(uint64_t));

	for (uint64_t round = 0; round < 2; round++)
		for (uint64_t key = 0; key < 8; key++)
			CHECK(map_note(map, &key, 8) == (round == 0));
	for (uint64_t key = 100; key < 200; key++) {
		CHECK(map_note(map, &key, 8));
		CHECK(!map_note(map, &key, 8));
		CHECK(map_count(map) <= 8);
	}
	map_free(map);
}

TEST(map_filters_asking_about_each_once)
{
	struct map *map = map_create(sizeof(uint64_t));
	size_t asked = 0;

	for (uint64_t key = 0; key < 1000; key++)
		*map_put(map, &key, NULL) = key;
	map_filter(map, is_even, &asked);
	CHECK_EQ(asked, 1000);
	CHECK_EQ(map_count(map), 500);
	for (uint64_t key = 0; key < 1000; key++) {
		const uint64_t *value = map_get(map, &key);

		CHECK_EQ(value ? *value : 0, key % 2 ? 0 : key + 1);
	}
	map_free(map);
}
