// SPDX-License-Identifier: BSD-2-Clause
/* merge.c: sorts events of several rings by time. */
/*
 * Copies are stored in blocks, in order of arrival; a block is released after its last event was
 * returned. Waiting events are a list of pointers that is sorted when the watermark advances. Each
 * ring is nearly in order, so the list consists of a few ascending runs and sorting is cheap.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "flow_parts.h"
#include "../../util/buffer.h"

#define BLOCK_BYTES (256 * 1024)
#define SPARES_MAX  16 /* empty blocks kept: fresh memory would cost page faults */

struct block {
	size_t used, size;
	size_t events; /* not yet returned */
	bool open;     /* still being filled */
	uint64_t data[];
};

struct item {
	uint64_t time;
	uint64_t order; /* of arrival: makes the sort stable */
	struct block *block;
	struct event_header *event;
};

struct merge {
	struct block *block;              /* being filled, or NULL */
	struct block *spares[SPARES_MAX]; /* empty ones */
	size_t n_spares;
	struct buffer items; /* struct item[]: taken, then due in order, then the rest */
	size_t taken, due;   /* the last one taken is still valid */
	struct buffer rest;  /* temporary, like `items` */
	uint64_t arrivals;
	uint64_t watermark;
	uint64_t late;
	size_t held;
};

int merge_create(struct merge **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

/* Releases a block when nothing in it is needed any more. */
static void block_release(struct merge *merge, struct block *block)
{
	if (block->events || block->open)
		return;
	if (merge->n_spares < SPARES_MAX && block->size == BLOCK_BYTES) {
		block->used = 0;
		merge->spares[merge->n_spares++] = block;
	} else {
		free(block);
	}
}

static struct item *items(const struct merge *merge)
{
	return (struct item *)(void *)merge->items.data;
}

static size_t item_count(const struct merge *merge)
{
	return merge->items.size / sizeof(struct item);
}

static void item_drop(struct merge *merge, const struct item *item)
{
	merge->held -= item->event->size;
	item->block->events--;
	block_release(merge, item->block);
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = merge->taken ? merge->taken - 1 : 0; i < item_count(merge); i++)
		item_drop(merge, &items(merge)[i]);
	buffer_free(&merge->items);
	buffer_free(&merge->rest);
	free(merge->block);
	while (merge->n_spares)
		free(merge->spares[--merge->n_spares]);
	free(merge);
}

/* Reserves `size` bytes in the open block, or in a new one. */
static int block_reserve(struct merge *merge, size_t size)
{
	struct block *block = merge->block;
	size_t capacity = size > BLOCK_BYTES ? size : BLOCK_BYTES;

	if (block && block->size - block->used >= size)
		return 0;
	if (merge->n_spares && capacity == BLOCK_BYTES) {
		merge->block = merge->spares[--merge->n_spares];
	} else {
		struct block *fresh = malloc(sizeof(*fresh) + capacity);

		if (!fresh)
			return -ENOMEM;
		*fresh = (struct block){.size = capacity};
		merge->block = fresh;
	}
	merge->block->open = true;
	if (block) {
		block->open = false;
		block_release(merge, block);
	}
	return 0;
}

int merge_add(struct merge *merge, const struct event_header *event, size_t size)
{
	size_t rounded = (size + 7) & ~(size_t)7;
	struct block *block;
	struct item item;
	int err;

	if (size < sizeof(*event) || size > UINT32_MAX || event->size != size)
		return -EBADMSG;
	err = buffer_reserve(&merge->items, sizeof(item));
	if (!err)
		err = block_reserve(merge, rounded);
	if (err)
		return err;
	block = merge->block;
	item.event = memcpy((char *)block->data + block->used, event, size);
	item.time = event->time;
	item.order = merge->arrivals++;
	item.block = block;
	block->used += rounded;
	block->events++;
	merge->held += size;
	merge->late += event->time < merge->watermark;
	return buffer_append(&merge->items, &item, sizeof(item));
}

static bool is_before(const struct item *a, const struct item *b)
{
	return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* Moves items below the watermark to the front; keeps the order of both parts. Returns their
 * number. */
static size_t part(struct merge *merge, uint64_t watermark, struct item *rest)
{
	struct item *all = items(merge);
	size_t n = item_count(merge), due = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (all[i].time < watermark)
			all[due++] = all[i];
		else
			rest[kept++] = all[i];
	}
	memcpy(all + due, rest, kept * sizeof(*rest));
	return due;
}

/* The end of the ascending run that begins at `from`. */
static size_t run_end(const struct item *all, size_t from, size_t n)
{
	size_t end = from + 1;

	while (end < n && is_before(&all[end - 1], &all[end]))
		end++;
	return end < n ? end : n;
}

/* Merges [from, middle) and [middle, end) into the same range of `out`. */
static void merge_runs(const struct item *all, size_t from, size_t middle, size_t end,
		       struct item *out)
{
	size_t left = from, right = middle;

	for (size_t at = from; at < end; at++) {
		bool take_left = left < middle &&
				 (right == end || is_before(&all[left], &all[right]));

		out[at] = all[take_left ? left++ : right++];
	}
}

/* Sorts by merging neighbouring runs until there is only one. `spare` has room for `n`. */
static void sort(struct item *all, size_t n, struct item *spare)
{
	struct item *from = all, *to = spare;

	while (run_end(from, 0, n) < n) {
		struct item *swap = from;

		for (size_t at = 0, middle, end; at < n; at = end) {
			middle = run_end(from, at, n);
			end = middle < n ? run_end(from, middle, n) : n;
			merge_runs(from, at, middle, end, to);
		}
		from = to;
		to = swap;
	}
	if (from != all)
		memcpy(all, from, n * sizeof(*all));
}

/* Drops the items that were taken. */
static void drop_taken(struct merge *merge)
{
	if (!merge->taken)
		return;
	item_drop(merge, &items(merge)[merge->taken - 1]);
	merge->items.size -= merge->taken * sizeof(struct item);
	memmove(items(merge), items(merge) + merge->taken, merge->items.size);
	merge->due -= merge->taken;
	merge->taken = 0;
}

int merge_advance(struct merge *merge, uint64_t watermark)
{
	size_t n;

	drop_taken(merge);
	n = item_count(merge);
	if (n && buffer_reserve(&merge->rest, n * sizeof(struct item)))
		return -ENOMEM;
	if (watermark > merge->watermark)
		merge->watermark = watermark;
	if (!n)
		return 0;
	merge->due = part(merge, merge->watermark, (struct item *)(void *)merge->rest.data);
	sort(items(merge), merge->due, (struct item *)(void *)merge->rest.data);
	return 0;
}

struct event_header *merge_next(struct merge *merge)
{
	if (merge->taken == merge->due) {
		drop_taken(merge);
		return NULL;
	}
	if (merge->taken)
		item_drop(merge, &items(merge)[merge->taken - 1]);
	return items(merge)[merge->taken++].event;
}

size_t merge_due(const struct merge *merge)
{
	return merge->due - merge->taken;
}

uint64_t merge_late(const struct merge *merge)
{
	return merge->late;
}

size_t merge_held(const struct merge *merge)
{
	return merge->held;
}
