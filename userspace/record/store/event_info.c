// SPDX-License-Identifier: BSD-2-Clause
/* event_info.c: the tables that describe every event and its fields, made from events.def. */
#include "event_info.h"

#define MEMBER(event, member) (((const struct event_##event *)0)->member)
#define OFFSET_IN(event, to)  offsetof(struct record, event.to)
#define WHERE(event, member)  offsetof(struct event_##event, member), sizeof(MEMBER(event, member))

#define PLAIN(event, member)            {#member, WHERE(event, member), 0, CONVERT_NOT},
#define BECOMES(how, event, member, to) {#member, WHERE(event, member), OFFSET_IN(event, to), how},
#define STAYS(event, member, to)        BECOMES(sizeof(MEMBER(event, member)), event, member, to)

/* fields_alloc[], fields_fate[] ... */
#define EVENT(code, name, stream, record, stored, traits, doc) \
	static const struct event_field fields_##name[] = {
#define FIELD(event, type, field)        PLAIN(event, field)
#define ARRAY(event, type, field, count) PLAIN(event, field)
#define ENTRIES(event, type, field) \
	{#field, offsetof(struct event_##event, field), 0, 0, CONVERT_NOT},
#define SAME(event, type, field)     STAYS(event, field, field)
#define AS(event, type, field, to)   STAYS(event, field, to)
#define PART(event, member, to)      STAYS(event, member, to)
#define GIVEN(event, what, to)       {#what, 0, 0, OFFSET_IN(event, to), CONVERT_##what},
#define SPAN(event, field, to)       BECOMES(CONVERT_SPAN, event, field, to)
#define HEAP(event, field)           BECOMES(CONVERT_HEAP, event, field, field)
#define GC_NAME(event, type, field)  BECOMES(CONVERT_GC_NAME, event, field, field)
#define TEXT(event, type, field, to) BECOMES(CONVERT_TEXT, event, field, to)
#define END_EVENT(name) \
	}               \
	;
#include "../../../bpf/events.def"

static const struct event_info infos[] = {
#define EVENT(code, name, stream, record, stored, traits, doc) \
	[code] = {#name,                                       \
		  STREAM_##stream,                             \
		  RECORD_##record,                             \
		  traits,                                      \
		  sizeof(struct event_##name),                 \
		  fields_##name,                               \
		  sizeof(fields_##name) / sizeof(fields_##name[0])},
#include "../../../bpf/events.def"
};

const struct event_info *event_info(unsigned code)
{
	return code < sizeof(infos) / sizeof(infos[0]) && infos[code].name ? &infos[code] : NULL;
}

const struct event_native *event_frames(const struct event_header *event, size_t size)
{
	const struct event_info *info = event_info(event->code);
	const struct event_stack *stack = (const void *)(event + 1);
	uint64_t head;

	if (!info || !(info->traits & TRAIT_STACK) || size < info->size || !stack->n_user)
		return NULL;
	head = info->size + stack->n_kernel * sizeof(uint64_t);
	for (size_t i = 0; i < info->n_fields; i++)
		if (info->fields[i].how == CONVERT_TEXT)
			head += (event_number(event, &info->fields[i]) + 7) & ~UINT64_C(7);
	return head + stack->n_user * sizeof(struct event_native) <= size
		       ? (const void *)((const char *)event + head)
		       : NULL;
}
