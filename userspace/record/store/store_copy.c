// SPDX-License-Identifier: BSD-2-Clause
/* store_copy.c: copies events into their records, by tables made from events.def. */
#include <errno.h>

#include "store_events.h"

/* Writes the text at the start of the tail; 0: none. */
static int take_string(struct store *store, struct bytes *tail, uint64_t *value)
{
	struct bytes text;
	int err = store_take_text(tail, *value, PATH_BYTES_MAX, &text);

	if (!err)
		*value = text.size ? store_put_string(store, text) : 0;
	return err;
}

/* What is left of the event, and what is known of its stack. */
struct copying {
	struct incoming in;
	struct stored_stack stack;
};

/* Turns a number of the event into one of the record. */
static int convert(struct store *store, struct copying *copying, const struct event_field *field,
		   uint64_t *value)
{
	struct incoming *in = &copying->in;
	int err = 0;

	switch (field->how) {
	case CONVERT_SPAN:
		if (*value > in->header->time)
			return -EBADMSG;
		*value = in->header->time - *value;
		break;
	case CONVERT_HEAP:
		*value = process_heap(in->process, in->header->provider, *value);
		break;
	case CONVERT_GC_NAME:
		return store_refer_gc(store, in, value);
	case CONVERT_TEXT:
		return take_string(store, &in->tail, value);
	case CONVERT_THREAD:
		*value = in->thread;
		break;
	case CONVERT_PROCESS:
		*value = in->process->id;
		break;
	case CONVERT_STACK:
		err = store_put_stack(store, in, (const void *)(in->header + 1), &copying->stack);
		*value = copying->stack.id;
		break;
	case CONVERT_QUALITY:
		*value = copying->stack.quality;
		break;
	default:
		break;
	}
	return err;
}

int store_fill(struct store *store, const struct incoming *in, struct record *record)
{
	const struct event_info *info = in->info;
	const struct event_field *end = info->fields + info->n_fields;
	struct copying copying = {.in = *in};
	int err = 0;

	record->kind = info->record;
	/* Most fields stay as they are, in most events: this is where storing takes its time. */
	for (const struct event_field *field = info->fields; field < end && !err; field++) {
		const void *from = (const char *)in->header + field->offset;
		uint64_t *to = (void *)((char *)record + field->to);

		switch (field->how) {
		case CONVERT_NOT:
			break;
		case CONVERT_SAME_8:
			*to = *(const uint64_t *)from;
			break;
		case CONVERT_SAME_4:
			*to = *(const uint32_t *)from;
			break;
		case CONVERT_SAME_2:
			*to = *(const uint16_t *)from;
			break;
		case CONVERT_SAME_1:
			*to = *(const uint8_t *)from;
			break;
		default:
			*to = event_number(in->header, field);
			err = convert(store, &copying, field, to);
		}
	}
	return err;
}

int store_copied(struct store *store, const struct incoming *in)
{
	struct record record = {0};
	int err = store_fill(store, in, &record);

	return err ? err : profile_writer_put(store->writer, &record);
}

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

	if (!info || !(info->traits & TRAIT_STACK) || size < info->size ||
	    !(stack->n_user + stack->n_managed))
		return NULL;
	head = info->size + stack->n_kernel * sizeof(uint64_t);
	for (size_t i = 0; i < info->n_fields; i++)
		if (info->fields[i].how == CONVERT_TEXT)
			head += (event_number(event, &info->fields[i]) + 7) & ~UINT64_C(7);
	return head + stack->n_user * sizeof(struct event_native) +
				       stack->n_managed * sizeof(struct event_managed) <=
			       size
		       ? (const void *)((const char *)event + head)
		       : NULL;
}
