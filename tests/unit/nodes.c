/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.c: tests of the table of stack nodes against a plain map. */
#include "test.h"

#include "profile/intern.h"
#include "util/map.h"

struct key {
	uint64_t parent, frame;
};

TEST(nodes_have_the_numbers_that_a_map_gives)
{
	struct map *truth = map_create(sizeof(struct key));
	uint64_t state = test_seed();
	struct nodes *nodes;

	CHECK_EQ(nodes_create(&nodes), 0);
	for (int step = 0; step < 200000; step++) {
		/* Parents far apart, as after many were forgotten, and near. */
		struct key key = {test_random(&state) % 1000 << test_random(&state) % 2 * 40,
				  test_random(&state) % 100};
		bool fresh, added;
		uint64_t *value = map_put(truth, &key, &fresh);

		if (fresh)
			*value = map_count(truth);
		CHECK_EQ(nodes_put(nodes, key.parent, key.frame, &added), *value);
		CHECK_EQ(added, fresh);
	}
	CHECK(map_count(truth) > 100000);
	nodes_free(nodes);
	map_free(truth);
}

TEST(nodes_beyond_the_limit_are_numbered_on)
{
	struct nodes *nodes;
	bool added;

	CHECK_EQ(nodes_create(&nodes), 0);
	for (uint64_t frame = 1; frame <= NODES_MAX; frame++)
		CHECK_EQ(nodes_put(nodes, 0, frame, &added), frame);
	CHECK_EQ(nodes_put(nodes, 0, 1, &added), 1);
	CHECK(!added);
	CHECK_EQ(nodes_put(nodes, 1, 1, &added), NODES_MAX + UINT64_C(1));
	CHECK(added);
	/* Forgotten: defined again, under a number that nobody had. */
	CHECK_EQ(nodes_put(nodes, 0, 1, &added), NODES_MAX + UINT64_C(2));
	CHECK(added);
	CHECK_EQ(nodes_put(nodes, 0, 1, &added), NODES_MAX + UINT64_C(2));
	CHECK(!added);
	nodes_free(nodes);
}
