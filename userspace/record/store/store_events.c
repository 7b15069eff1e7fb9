/* SPDX-License-Identifier: BSD-2-Clause */
/* store_events.c: shared by the files that store events; see store.c. */
#include "store_events.h"

#include <errno.h>
#include <string.h>

int store_take_text(struct bytes *tail, size_t size, size_t max, struct bytes *out)
{
	size_t padded = (size + 7) & ~(size_t)7;

	if (size > tail->size)
		return -EBADMSG;
	*out = (struct bytes){tail->data, strnlen(tail->data, size < max ? size : max)};
	if (padded > tail->size)
		padded = tail->size;
	tail->data += padded;
	tail->size -= padded;
	return 0;
}

uint64_t store_put_string(struct store *store, struct bytes text)
{
	return profile_writer_string(store->writer, text.data, text.size);
}

int store_put_stack_on(struct store *store, const struct incoming *in,
		       const struct stack_base *base, const struct event_stack *counts,
		       struct stored_stack *out)
{
	int err = stacks_put(store->stacks, in->process, base, counts, in->tail, out);

	store->losses[LOSS_COPY_SHORT] += out->dump_short;
	store->losses[LOSS_GUESSED] += (out->quality & STACK_USER_GUESSED) != 0;
	return err;
}

int store_put_stack(struct store *store, const struct incoming *in,
		    const struct event_stack *counts, struct stored_stack *out)
{
	const struct stack_base base = {.provider = in->header->provider};

	return store_put_stack_on(store, in, &base, counts, out);
}
