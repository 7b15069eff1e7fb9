/* SPDX-License-Identifier: BSD-2-Clause */
/* open_gcs.c: collections in progress. */
#include "open_gcs.h"

#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"

static void forget(struct open_gcs *open, size_t i)
{
	free(open->items[i].pause.events);
	open->count--;
	memmove(&open->items[i], &open->items[i + 1], (open->count - i) * sizeof(*open->items));
}

/*
 * Drops a collection and those that its thread began later, which were nested in it. An outer one
 * may come after it in the list, if its begin became known late. Returns how many were dropped.
 */
static size_t drop(struct open_gcs *open, size_t at)
{
	uint64_t thread = open->items[at].pause.thread, begin = open->items[at].pause.begin;
	size_t before = open->count;

	for (size_t i = open->count; i-- > at;)
		if (open->items[i].pause.thread == thread && open->items[i].pause.begin >= begin)
			forget(open, i);
	return before - open->count;
}

static bool is_of(const struct open_gc *gc, uint64_t process, uint64_t heap, uint64_t kind)
{
	return gc->pause.process == process && gc->pause.heap == heap && gc->pause.kind == kind;
}

size_t open_gcs_begin(struct open_gcs *open, const struct open_gc *begun)
{
	const struct long_pause *pause = &begun->pause;
	size_t lost = 0;

	for (size_t i = 0; i < open->count; i++)
		if (is_of(&open->items[i], pause->process, pause->heap, pause->kind))
			lost += drop(open, i--);
	if (open->count == OPEN_GCS_MAX)
		lost += drop(open, 0);
	open->items[open->count] = *begun;
	open->items[open->count].inside = open_gcs_find(open, pause->thread, UINT64_MAX) >= 0;
	open->count++;
	return lost;
}

bool open_gcs_end(struct open_gcs *open, uint64_t process, const struct record_gc_end *record,
		  struct open_gc *out, size_t *lost)
{
	*lost = 0;
	for (size_t i = open->count; i--;) {
		uint64_t cycle = open->items[i].pause.cycle;

		if (!is_of(&open->items[i], process, record->heap, record->kind))
			continue;
		*out = open->items[i];
		open->items[i].pause.events = NULL;
		*lost = drop(open, i);
		/*
		 * The open one is an earlier collection: its end is lost, and so is the begin of
		 * this one.
		 */
		if (cycle != record->cycle && cycle && record->cycle) {
			free(out->pause.events);
			return false;
		}
		--*lost;
		return true;
	}
	return false;
}

size_t open_gcs_leave(struct open_gcs *open, uint64_t thread, uint64_t time)
{
	size_t lost = 0;

	for (size_t i = open->count; i--;) {
		if (open->items[i].pause.thread != thread || open->items[i].pause.begin >= time)
			continue;
		/* Programs end in stops, as a Java machine does. */
		lost += open->items[i].pause.kind != GCPROF_GC_STOP;
		forget(open, i);
	}
	return lost;
}

int open_gcs_find(const struct open_gcs *open, uint64_t thread, uint64_t time)
{
	for (size_t i = open->count; i--;)
		if (open->items[i].pause.thread == thread && open->items[i].pause.begin <= time)
			return (int)i;
	return -1;
}
