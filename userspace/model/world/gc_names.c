/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_names.c: the runtimes' own names for kinds and reasons of pauses, with counts. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/map.h"
#include "../model.h"
#include "arena.h"
#include "collection.h"

struct name_key {
	uint64_t process, number;
};

int gc_names_init(struct gc_names *names)
{
	names->index = map_create(sizeof(struct name_key));
	return names->index ? 0 : -ENOMEM;
}

void gc_names_free(struct gc_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->items[i].pauses)
			durations_free(names->items[i].pauses);
		free(names->items[i].pauses);
	}
	free(names->items);
	map_free(names->index);
}

static struct gc_name *put(struct gc_names *names, uint64_t process, uint64_t number)
{
	const struct name_key key = {process, number};
	bool added;
	uint64_t *place = map_put(names->index, &key, &added);

	if (!place ||
	    array_reserve(&names->items, &names->capacity, names->count, sizeof(*names->items)) < 0)
		return NULL;
	if (added) {
		*place = names->count++;
		names->items[*place] = (struct gc_name){.process = process, .number = number};
	}
	return &names->items[*place];
}

int gc_names_define(struct gc_names *names, const struct record_gc_name *record, const char *text)
{
	struct gc_name *name;

	if (!text || !*text || record->number < GC_NAMES_FIRST)
		return -EBADMSG;
	name = put(names, record->process, record->number);
	if (!name)
		return -ENOMEM;
	if (!name->text)
		name->text = text;
	return 0;
}

const char *gc_names_text(const struct gc_names *names, uint64_t process, uint64_t number)
{
	const struct name_key key = {process, number};
	const uint64_t *place = number ? map_get(names->index, &key) : NULL;

	return place ? names->items[*place].text : NULL;
}

static int add_named(struct gc_names *names, const struct long_pause *pause, uint64_t ns)
{
	struct gc_name *name = put(names, pause->process, pause->name);

	if (!name)
		return -ENOMEM;
	if (!name->pauses)
		name->pauses = calloc(1, sizeof(*name->pauses));
	name->kind = pause->kind;
	return name->pauses ? durations_add(name->pauses, ns) : -ENOMEM;
}

int gc_names_reason(struct gc_names *names, uint64_t process, uint64_t reason, uint64_t count,
		    uint64_t ns)
{
	struct gc_name *name = put(names, process, reason);

	if (!name)
		return -ENOMEM;
	name->count += count;
	name->ns += ns;
	return 0;
}

int gc_names_pause(struct gc_names *names, const struct long_pause *pause, uint64_t ns)
{
	if (pause->reason >= GC_NAMES_FIRST &&
	    gc_names_reason(names, pause->process, pause->reason, 1, ns) < 0)
		return -ENOMEM;
	return pause->name >= GC_NAMES_FIRST ? add_named(names, pause, ns) : 0;
}

static int by_text(const void *a, const void *b)
{
	const struct gc_name *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->kind > y->kind) - (x->kind < y->kind);
}

static int by_pauses(const void *a, const void *b)
{
	const struct model_named_pauses *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->pauses.total_ns != y->pauses.total_ns)
		return x->pauses.total_ns < y->pauses.total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	const struct model_named_reason *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Merges the pauses with the same text and kind into a row. */
static int fill_pauses(struct gc_name *first, size_t count, struct model_gc *gc)
{
	struct model_named_pauses *row = &gc->named[gc->n_named];
	struct durations all = {0};
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		if (first[i].pauses)
			err = durations_add_all(&all, first[i].pauses);
	if (!err && all.count) {
		row->name = first->text;
		row->kind = (unsigned)first->kind;
		durations_summarize(&all, &row->pauses);
		gc->n_named++;
	}
	durations_free(&all);
	return err;
}

static void fill_reason(const struct gc_name *name, struct model_gc *gc)
{
	struct model_named_reason *last =
		gc->n_named_reasons ? &gc->named_reasons[gc->n_named_reasons - 1] : NULL;

	if (!name->count)
		return;
	if (!last || strcmp(last->name, name->text) != 0) {
		last = &gc->named_reasons[gc->n_named_reasons++];
		last->name = name->text;
	}
	last->count += name->count;
	last->total_ns += name->ns;
}

int gc_names_finish(struct gc_names *names, struct model *model)
{
	struct model_gc *gc = &model->gc;
	struct arena *arena = model->arena;
	size_t count = names->count;
	struct gc_name *sorted = calloc(count + 1, sizeof(*sorted));
	int err = 0;

	gc->named = arena_alloc(arena, (count + 1) * sizeof(*gc->named));
	gc->named_reasons = arena_alloc(arena, (count + 1) * sizeof(*gc->named_reasons));
	if (!gc->named || !gc->named_reasons || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = names->items[i];
		if (!sorted[i].text)
			sorted[i].text = "(unnamed)";
	}
	qsort(sorted, count, sizeof(*sorted), by_text);
	for (size_t first = 0, next; first < count && !err; first = next) {
		for (next = first; next < count && !by_text(&sorted[first], &sorted[next]);)
			fill_reason(&sorted[next++], gc);
		err = fill_pauses(&sorted[first], next - first, gc);
	}
	free(sorted);
	qsort(gc->named, gc->n_named, sizeof(*gc->named), by_pauses);
	qsort(gc->named_reasons, gc->n_named_reasons, sizeof(*gc->named_reasons), by_time);
	return err;
}
