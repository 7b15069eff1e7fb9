/* SPDX-License-Identifier: BSD-2-Clause */
/* untyped.c: samples that get their type while they wait. */
#include <errno.h>

#include "record/ingest/flow_parts.h"
#include "test.h"

static struct untyped *untyped;

static struct event_header header(uint16_t code, size_t size, uint32_t process)
{
	return (struct event_header){.size = (uint32_t)size, .code = code, .process = process};
}

static struct event_typed make_typed(uint32_t process, uint64_t sample, uint64_t type)
{
	return (struct event_typed){header(EVENT_typed, sizeof(struct event_typed), process),
				    sample, type, 0};
}

static int meet(const struct event_typed *event)
{
	return untyped_meet(untyped, &event->header, sizeof(*event));
}

/* The type that a sample is stored with. */
static uint64_t stored(uint32_t process, uint64_t sample, uint64_t type)
{
	struct event_alloc event = {.header = header(EVENT_alloc, sizeof(event), process),
				    .sample = sample,
				    .type = type};

	untyped_resolve(untyped, &event.header);
	return event.type;
}

TEST(a_sample_takes_the_type_that_came_later)
{
	struct event_typed typed = make_typed(1, 7, 3);

	CHECK_EQ(untyped_create(&untyped), 0);
	CHECK_EQ(stored(1, 7, 0), 0);
	CHECK_EQ(meet(&typed), 0);
	CHECK_EQ(stored(1, 6, 0), 0);
	CHECK_EQ(stored(2, 7, 0), 0);
	CHECK_EQ(stored(1, 7, 0), 3);
	CHECK(!untyped_is_left(untyped, &typed.header));
	untyped_free(untyped);
}

TEST(an_executed_program_numbers_its_samples_anew)
{
	struct event_typed before = make_typed(1, 7, 3), after = make_typed(1, 7, 4);
	struct event_alloc event = {.header = header(EVENT_alloc, sizeof(event), 1), .sample = 7};

	after.since = event.since = 100;
	CHECK_EQ(untyped_create(&untyped), 0);
	CHECK_EQ(meet(&before), 0);
	CHECK_EQ(meet(&after), 0);
	CHECK_EQ(stored(1, 7, 0), 3);
	untyped_resolve(untyped, &event.header);
	CHECK_EQ(event.type, 4);
	untyped_free(untyped);
}

TEST(a_type_without_its_sample_is_left)
{
	struct event_typed typed = make_typed(1, 7, 3), second = make_typed(1, 7, 4);

	CHECK_EQ(untyped_create(&untyped), 0);
	CHECK_EQ(meet(&typed), 0);
	CHECK_EQ(meet(&second), -EEXIST);
	/* One that has a type keeps it. */
	CHECK_EQ(stored(1, 7, 5), 5);
	CHECK(untyped_is_left(untyped, &typed.header));
	CHECK(!untyped_is_left(untyped, &typed.header));
	typed.type = 0;
	CHECK_EQ(meet(&typed), -EBADMSG);
	CHECK_EQ(untyped_meet(untyped, &second.header, sizeof(second) - 8), -EBADMSG);
	untyped_free(untyped);
}
