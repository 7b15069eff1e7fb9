// SPDX-License-Identifier: BSD-2-Clause
/* store_copy.c: copies events into their records, as events.def says. */
#include <errno.h>
#include <string.h>

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
	const struct event_info *info = event_info(in->header->code);
	struct copying copying = {.in = *in};
	int err = 0;

	record->kind = info->record;
	for (size_t i = 0; i < info->n_fields && !err; i++) {
		const struct event_field *field = &info->fields[i];
		uint64_t value;

		if (field->how == CONVERT_NOT)
			continue;
		value = event_number(in->header, field);
		err = convert(store, &copying, field, &value);
		memcpy((char *)record + field->to, &value, sizeof(value));
	}
	return err;
}

int store_copied(struct store *store, const struct incoming *in)
{
	struct record record = {0};
	int err = store_fill(store, in, &record);

	return err ? err : profile_writer_put(store->writer, &record);
}
