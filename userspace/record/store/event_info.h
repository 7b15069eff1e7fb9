/* SPDX-License-Identifier: BSD-2-Clause */
/* event_info.h: describes every event and its fields, from events.def. */
#ifndef GCPROF_EVENT_INFO_H
#define GCPROF_EVENT_INFO_H

#include <stddef.h>

#include "../../../bpf/events.h"
#include "../../profile/record.h"

/* How a field becomes one of the record. */
enum event_conversion {
	CONVERT_NOT,
	/* A number, by its size. */
	CONVERT_SAME_1 = sizeof(uint8_t),
	CONVERT_SAME_2 = sizeof(uint16_t),
	CONVERT_SAME_4 = sizeof(uint32_t),
	CONVERT_SAME_8 = sizeof(uint64_t),
	CONVERT_SPAN,
	CONVERT_HEAP,
	CONVERT_GC_NAME,
	CONVERT_TEXT,
	/* What is given: no field of the event. */
	CONVERT_THREAD,
	CONVERT_PROCESS,
	CONVERT_STACK,
	CONVERT_QUALITY,
};

struct event_field {
	const char *name;      /* of the field, or of a member of it */
	uint16_t offset, size; /* in the event */
	uint16_t to;           /* offset in struct record */
	uint8_t how;           /* enum event_conversion */
};

struct event_info {
	const char *name;
	enum stream stream;
	enum record_kind record; /* RECORD_none: it becomes none */
	unsigned traits;         /* enum event_trait */
	size_t size;             /* of the fixed part */
	const struct event_field *fields;
	size_t n_fields;
};

/* NULL for an unknown code. */
const struct event_info *event_info(unsigned code);

/* The number in a field of an event. Fields are aligned. */
static inline uint64_t event_number(const struct event_header *event,
				    const struct event_field *field)
{
	const void *at = (const char *)event + field->offset;

	switch (field->size) {
	case sizeof(uint64_t):
		return *(const uint64_t *)at;
	case sizeof(uint32_t):
		return *(const uint32_t *)at;
	case sizeof(uint16_t):
		return *(const uint16_t *)at;
	case sizeof(uint8_t):
		return *(const uint8_t *)at;
	default:
		return 0;
	}
}

/* The native frames of an event that should get names at once, behind its texts and the frames of
 * the kernel. NULL: it has none within its size. */
const struct event_native *event_frames(const struct event_header *event, size_t size);

#endif
