/* SPDX-License-Identifier: BSD-2-Clause */
/* nodes.c: tests of the table of stack nodes against a plain map, and of the tables of frames. */
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

TEST(nodes_are_known_until_they_are_forgotten)
{
	struct nodes *nodes;
	bool added;

	CHECK_EQ(nodes_create(&nodes), 0);
	CHECK_EQ(nodes_put(nodes, 0, UINT64_C(1) << 39, &added), 1);
	CHECK_EQ(nodes_put(nodes, 0, 1, &added), 2);
	CHECK(nodes_know(nodes, 1));
	for (uint64_t frame = 2; frame <= NODES_MAX; frame++)
		CHECK_EQ(nodes_put(nodes, 0, frame, &added), frame + 1);
	CHECK(!nodes_know(nodes, NODES_MAX));
	CHECK(nodes_know(nodes, NODES_MAX + UINT64_C(1)));
	nodes_free(nodes);
}

/* Programs may have new ones without end. */
TEST(frames_beyond_the_budget_are_numbered_on)
{
	const uint64_t n = intern_budget / 16;
	struct intern intern;
	bool added;

	CHECK_EQ(intern_init(&intern), 0);
	CHECK_EQ(intern_kernel(&intern, 1, &added), 1);
	for (uint64_t i = 1; i <= n; i++) {
		const uint64_t key[3] = {1, i, 0};

		CHECK_EQ(intern_native(&intern, 1, i, &added), 2 * i);
		CHECK_EQ(intern_managed(&intern, key, &added), 2 * i + 1);
		CHECK(map_count(intern.natives) + map_count(intern.manageds) < n);
	}
	CHECK_EQ(intern_kernel(&intern, 1, &added), 2 * n + 2);
	CHECK(added);
	CHECK_EQ(intern_kernel(&intern, 1, &added), 2 * n + 2);
	CHECK(!added);
	intern_finish(&intern);
}
