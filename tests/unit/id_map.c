/* SPDX-License-Identifier: BSD-2-Clause */
/* id_map.c: tests of the map of ids against a plain array. */
#include "test.h"

#include "util/id_map.h"

enum { SPACES = 3, IDS = 3000, STEPS = 300000 };

/* Ids that follow each other, and ids that are as far apart as can be. */
static uint64_t id_of(uint64_t number)
{
	return number < IDS / 2 ? number + 1 : number * UINT64_C(0x9e3779b97f4a7c15);
}

/* The place of an id, which now holds what it should. */
static uint32_t *put(struct id_map *map, uint64_t space, uint64_t id, uint32_t wanted)
{
	uint32_t *place = id_map_put(map, space, id);

	CHECK(place && *place == wanted);
	return place;
}

TEST(an_id_map_agrees_with_an_array)
{
	static uint32_t truth[SPACES][IDS]; /* 0: not there */
	struct id_map *map = id_map_create();
	uint64_t state = test_seed();

	CHECK(map);
	for (int step = 0; step < STEPS; step++) {
		uint64_t space = test_random(&state) % SPACES, number = test_random(&state) % IDS;
		uint32_t *place;

		CHECK_EQ(id_map_get(map, space, id_of(number)), truth[space][number]);
		if (test_random(&state) % 2) {
			place = put(map, space, id_of(number), truth[space][number]);
			*place = truth[space][number] = (uint32_t)test_random(&state) | 1;
		} else {
			id_map_remove(map, space, id_of(number));
			truth[space][number] = 0;
		}
	}
	for (uint64_t space = 0; space < SPACES; space++)
		for (uint64_t number = 0; number < IDS; number++)
			CHECK_EQ(id_map_get(map, space, id_of(number)), truth[space][number]);
	id_map_free(map);
}

/* As a program does that allocates and collects: all that is taken out leaves room for others. */
TEST(ids_that_come_and_go_in_order_are_told_apart)
{
	struct id_map *map = id_map_create();

	CHECK(map);
	for (uint32_t id = 1; id <= 100000; id++) {
		*put(map, 7, id, 0) = id;
		if (id <= 1000)
			continue;
		CHECK_EQ(id_map_get(map, 7, id - 1000), id - 1000);
		id_map_remove(map, 7, id - 1000);
		CHECK_EQ(id_map_get(map, 7, id - 1000), 0);
		CHECK_EQ(id_map_get(map, 8, id), 0);
	}
	id_map_free(map);
}

TEST(an_id_map_may_be_null)
{
	id_map_free(NULL);
}
