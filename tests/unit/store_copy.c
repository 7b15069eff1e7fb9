// SPDX-License-Identifier: BSD-2-Clause
/* store_copy.c: tests that events reach their records by the table of their fields. */
#include "record/store/store_events.h"
#include "store_rig.h"

/* Events that the table alone stores. */
static const uint16_t copied[] = {
#define COPIED(name) EVENT_##name,
#define BY_HAND(name)
#define EARLIER(name)
#define EVENT(code, name, stream, record, stored, traits, doc) stored(name)
#include "../../bpf/events.def"
};

#define COPIED_COUNT (sizeof(copied) / sizeof(copied[0]))

/* A number of its own for each field, as wide as that; numbers of names are no names yet. */
static uint64_t number_of(const struct event_field *field, size_t i)
{
	uint64_t number = field->how == CONVERT_GC_NAME ? 1 : UINT64_C(0x8182838485868700) + i;

	return field->size < 8 ? number & ((UINT64_C(1) << 8 * field->size) - 1) : number;
}

static bool is_in_header(const struct event_field *field)
{
	return field->offset < sizeof(struct event_header);
}

static void send_numbers(const struct event_info *info, uint16_t code)
{
	char *at = event(code, info->size, 1, 100);

	for (size_t i = 0; i < info->n_fields; i++) {
		uint64_t number = number_of(&info->fields[i], i);

		if (info->fields[i].how != CONVERT_NOT && !is_in_header(&info->fields[i]))
			memcpy(at + info->fields[i].offset, &number, info->fields[i].size);
	}
	CHECK_EQ(send_event(), 0);
}

TEST(each_number_arrives_in_the_field_that_the_table_names)
{
	begin();
	for (size_t i = 0; i < COPIED_COUNT; i++)
		send_numbers(event_info(copied[i]), copied[i]);
	finish();
	CHECK(COPIED_COUNT > 5);
	for (size_t i = 0; i < COPIED_COUNT; i++) {
		const struct event_info *info = event_info(copied[i]);
		const struct record *record = nth(info->record, 0);

		CHECK(record);
		for (size_t at = 0; at < info->n_fields; at++) {
			const struct event_field *field = &info->fields[at];
			uint64_t found;

			memcpy(&found, (const char *)record + field->to, sizeof(found));
			if (field->how == CONVERT_NOT || is_in_header(field))
				continue;
			if (found != number_of(field, at))
				test_fail(__FILE__, __LINE__, "%s.%s is %" PRIx64, info->name,
					  field->name, found);
		}
	}
}

static bool has_source(const struct event_info *info, const struct field_info *field)
{
	for (size_t i = 0; i < info->n_fields; i++)
		if (info->fields[i].how != CONVERT_NOT && info->fields[i].to == field->offset)
			return true;
	return false;
}

TEST(no_field_of_a_copied_record_is_forgotten)
{
	for (size_t i = 0; i < COPIED_COUNT; i++) {
		const struct event_info *info = event_info(copied[i]);
		const struct record_info *record = record_info(info->record);

		CHECK(info->record);
		for (size_t at = 0; at < record->n_fields; at++)
			if (!has_source(info, &record->fields[at]))
				test_fail(__FILE__, __LINE__, "%s.%s comes from nowhere",
					  record->name, record->fields[at].name);
	}
}

/* What is given is known before or found in the tail: the stack comes behind all texts. */
TEST(texts_are_taken_before_stacks)
{
	for (unsigned code = 0; code < 256; code++) {
		const struct event_info *info = event_info(code);
		bool stack = false;

		for (size_t i = 0; info && i < info->n_fields; i++) {
			stack |= info->fields[i].how == CONVERT_STACK;
			if (stack && info->fields[i].how == CONVERT_TEXT)
				test_fail(__FILE__, __LINE__, "%s: %s", info->name,
					  info->fields[i].name);
		}
	}
}

/* A path stands between the fixed part of a call and its stack. */
TEST(frames_are_found_behind_texts)
{
	struct event_syscall *call = event(EVENT_syscall, sizeof(*call) + 16 + 8 + 2 * 16, 1, 100);
	const struct event_native *frames;

	call->stack = (struct event_stack){.n_kernel = 1, .n_user = 2};
	call->path_size = 9;
	frames = event_frames(&call->header, call->header.size);
	CHECK_EQ((const char *)frames - (const char *)(call + 1), 16 + 8);
	CHECK(!event_frames(&call->header, call->header.size - 8));
	call->path_size = UINT32_MAX;
	CHECK(!event_frames(&call->header, call->header.size));
	call->path_size = 0;
	call->stack.n_user = 0;
	CHECK(!event_frames(&call->header, call->header.size));
}
