// SPDX-License-Identifier: BSD-2-Clause
/* again_uses.c: which definitions are forgotten: not those that others need which are kept. */
/*
 * Some are needed all the time, such as the path of a program that runs; others come by the
 * thousand and never again. What is in use by other definitions and by notes therefore has a limit
 * of its own, which only very many of these reach.
 */
#include "again_parts.h"

#define USED_TIMES 3 /* the limit of what is in use, in limits of the rest */

static size_t cost_of(const struct thing *thing)
{
	return sizeof(*thing) + thing->size;
}

static struct things *list_of(struct again *again, const struct thing *thing)
{
	return thing->uses ? &again->used[thing->kind] : &again->unused[thing->kind];
}

void again_link(struct again *again, struct thing *thing)
{
	struct things *list = list_of(again, thing);

	thing->older = list->newest;
	thing->newer = NULL;
	*(list->newest ? &list->newest->newer : &list->oldest) = thing;
	list->newest = thing;
	list->bytes += cost_of(thing);
}

void again_unlink(struct again *again, struct thing *thing)
{
	struct things *list = list_of(again, thing);

	*(thing->older ? &thing->older->newer : &list->oldest) = thing->newer;
	*(thing->newer ? &thing->newer->older : &list->newest) = thing->older;
	list->bytes -= cost_of(thing);
}

void again_use(struct again *again, const struct record *record, bool begins)
{
	const struct record_info *info = record_info(record->kind);

	for (size_t i = 0; i < info->n_fields; i++) {
		const struct field_info *field = &info->fields[i];
		struct thing *thing = NULL;

		if (field->ref == REF_string || field->ref == REF_module)
			thing = again_find(again, field->ref, again_at(record, field->offset));
		if (!thing)
			continue;
		again_unlink(again, thing);
		thing->uses += begins ? 1 : UINT32_MAX;
		again_link(again, thing);
	}
}

void again_leave(struct again *again, const char *packed, size_t size)
{
	struct record record;

	if (size && !codec_unpack(&again->codec, packed, size, &record))
		again_use(again, &record, false);
}

struct thing *again_excess(const struct again *again, enum record_ref kind, size_t limit)
{
	if (again->unused[kind].bytes > limit)
		return again->unused[kind].oldest;
	if (again->used[kind].bytes / USED_TIMES > limit)
		return again->used[kind].oldest;
	return NULL;
}
