/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.h: the walkers that the kernel side runs, on a stored stack. */
#ifndef GCPROF_UNWIND_REPLAY_H
#define GCPROF_UNWIND_REPLAY_H

#include "image.h"

struct walk_window;

struct walk_rows {
	const struct image *image;
};

static const struct image *replayed; /* whose memory is walked */

/* What is not in the image cannot be read. */
static long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	const struct image *image = replayed;

	(void)window;
	for (unsigned i = 0; i < image->n_stretches; i++) {
		const struct image_stretch *stretch = &image->stretches[i];

		if (from < stretch->address || from - stretch->address > stretch->size ||
		    size > stretch->size - (from - stretch->address))
			continue;
		memcpy(to, stretch->bytes + (from - stretch->address), size);
		return 0;
	}
	return -14;
}

/* The searches of the kernel side, in the image's tables: see walk_rows.h. */
static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	const struct image *image = rows->image;
	uint32_t at = unwind_find_mapping(&image->table, ip), number;
	const struct unwind_mapping *mapping;
	const struct unwind_page *page;
	uint64_t place;

	if (at >= image->table.count)
		return 0;
	mapping = &image->table.mappings[at];
	place = ip - mapping->base;
	if (ip < mapping->start || ip >= mapping->end ||
	    place >> UNWIND_PAGE_SHIFT >= mapping->count)
		return 0;
	page = &image->pages[mapping->first + (place >> UNWIND_PAGE_SHIFT)];
	if (!page->count)
		return 0;
	number = unwind_search(image->rows, page->first, page->count, place & 0xffff);
	*rule = image->rules[number];
	return number != 0;
}

#include "../../bpf/walk_managed.h"
#include "../../bpf/walk_native.h"

struct replay {
	struct event_native native[STACK_DEPTH_MAX];
	unsigned n_native;
	struct event_managed managed[MANAGED_DEPTH_MAX];
	unsigned n_managed;
	uint32_t quality, guessed;
};

static void replay_native(const struct image *image, struct replay *out)
{
	struct walk_rows rows = {image};
	struct walk_native walk;

	walk_native_begin(&walk, image->ip, image->sp, image->bp, image->bx);
	for (unsigned i = 0; i < STACK_DEPTH_MAX; i++) {
		if (!walk_native_find(&walk, &rows))
			break;
		walk_native_get(&walk, NULL, &out->native[i]);
		/* As others report it. */
		out->native[i].ip -= i && !walk.called;
		if (!walk_native_up(&walk, NULL))
			break;
	}
	out->n_native = walk.count;
	out->quality |= walk.quality;
	out->guessed = walk.guessed;
}

static void replay_managed(const struct image *image, struct replay *out)
{
	struct walk_managed walk;
	struct event_managed frame;
	int found;

	walk_managed_begin(&walk, image->anchor);
	while ((found = walk_managed_next(&walk, NULL, &frame)) >= 0)
		if (found)
			out->managed[walk.count - 1] = frame;
	out->n_managed = walk.count;
	out->quality |= walk.quality;
}

static void replay(const struct image *image, struct replay *out)
{
	memset(out, 0, sizeof(*out));
	replayed = image;
	replay_native(image, out);
	replay_managed(image, out);
}

#endif
