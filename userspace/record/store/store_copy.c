// SPDX-License-Identifier: BSD-2-Clause
/* store_copy.c: copies events into their records, as events.def says. */
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
