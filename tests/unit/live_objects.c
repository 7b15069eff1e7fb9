/* SPDX-License-Identifier: BSD-2-Clause */
/* live_objects.c: sampled objects whose runtime reports their end by address. */
#include <errno.h>

#include "test.h"
#include "record/store/live_objects.h"

static struct live_objects *objects;

static void begin(void)
{
	objects = live_objects_create();
	CHECK(objects);
}

static uint32_t user;

static int add(uint64_t process, uint64_t address, uint64_t heap, uint64_t time)
{
	const struct live_object object = {.sample = address, .heap = heap, .time = time};

	return live_objects_add(objects, process, user, address, &object);
}

/* Adds up the visited samples. */
static void sum(void *context, const struct live_object *object)
{
	*(uint64_t *)context += object->sample;
}

static uint64_t cycle(uint64_t process, uint64_t heap, uint64_t began)
{
	uint64_t outlasted = 0;

	live_objects_cycle(objects, process, heap, began, sum, &outlasted);
	return outlasted;
}

TEST(a_cycle_counts_for_the_objects_that_its_heap_had_when_it_began)
{
	struct live_object object;

	begin();
	CHECK_EQ(cycle(1, 8, 5), 0);
	CHECK_EQ(add(1, 100, 8, 10), 0);
	CHECK_EQ(add(1, 200, 8, 30), 0);
	CHECK_EQ(add(1, 400, 9, 10), 0);
	CHECK_EQ(add(2, 100, 8, 10), 0);
	/* Objects that die in a cycle are freed after it, so the next one shows who survived. */
	CHECK_EQ(cycle(1, 8, 20), 0);
	CHECK_EQ(cycle(1, 8, 40), 100);
	CHECK_EQ(cycle(1, 8, 50), 200);
	CHECK(live_objects_take(objects, 1, 100, &object));
	CHECK_EQ(object.cycles, 3);
	CHECK(live_objects_take(objects, 1, 400, &object));
	CHECK_EQ(object.cycles, 0);
	CHECK(live_objects_take(objects, 2, 100, &object));
	CHECK_EQ(object.cycles, 0);
	CHECK(!live_objects_take(objects, 1, 100, &object));
	live_objects_free(objects);
}

TEST(objects_end_with_their_heap)
{
	struct live_object object;
	uint64_t ended = 0;

	begin();
	CHECK_EQ(add(1, 100, 8, 10), 0);
	CHECK_EQ(add(1, 200, 8, 10), 0);
	CHECK_EQ(add(1, 400, 9, 10), 0);
	live_objects_heap_end(objects, 1, 8, sum, &ended);
	CHECK_EQ(ended, 300);
	CHECK(!live_objects_take(objects, 1, 100, &object));
	CHECK(live_objects_take(objects, 1, 400, &object));
	live_objects_free(objects);
}

/* Both are addresses that the program reports. */
TEST(a_program_may_have_many_objects_and_heaps_but_not_any_number)
{
	struct live_object object;
	uint64_t i = 0;
	int err = 0;

	begin();
	while (i <= LIVE_OBJECTS_MAX && !err) {
		err = add(1, ++i, 0, 10);
		cycle(1, i, 10); /* of a heap without objects: takes no memory */
	}
	CHECK_EQ(err, -ENOSPC);
	CHECK(i > LIVE_OBJECTS_MAX / 2);
	/* Its user's others have no room, either, but those of other users have. */
	CHECK_EQ(add(2, 100, 0, 10), -ENOSPC);
	user = 1000;
	CHECK_EQ(add(3, 100, 0, 10), 0);
	user = 0;
	for (uint64_t freed = 1; freed < 20; freed++)
		CHECK(live_objects_take(objects, 1, freed, &object));
	CHECK_EQ(add(1, i, 0, 10), 0);
	live_objects_forget(objects, 1);
	for (i = 1, err = 0; i <= LIVE_OBJECTS_MAX && !err; i++)
		err = add(1, 100, i, 10);
	CHECK_EQ(err, -ENOSPC);
	CHECK(i > LIVE_OBJECTS_MAX / 2);
	CHECK_EQ(add(1, 100, 1, 10), 0);
	live_objects_free(objects);
}
