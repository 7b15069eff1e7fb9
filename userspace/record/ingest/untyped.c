/* SPDX-License-Identifier: BSD-2-Clause */
/* untyped.c: adds types that arrived later to their samples, before these are stored. */
#include "flow_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "../../util/map.h"

struct sample_key {
	uint32_t process, provider;
	uint64_t since; /* start of its program */
	uint64_t sample;
};

struct untyped {
	struct map *types; /* struct sample_key to type; as many as events wait */
};

int untyped_create(struct untyped **out)
{
	struct untyped *untyped = calloc(1, sizeof(*untyped));

	if (!untyped)
		return -ENOMEM;
	untyped->types = map_create(sizeof(struct sample_key));
	if (!untyped->types) {
		free(untyped);
		return -ENOMEM;
	}
	*out = untyped;
	return 0;
}

void untyped_free(struct untyped *untyped)
{
	if (!untyped)
		return;
	map_free(untyped->types);
	free(untyped);
}

int untyped_meet(struct untyped *untyped, const struct event_header *event, size_t size)
{
	const struct event_typed *typed = (const void *)event;
	struct sample_key key = {event->process, event->provider, 0, 0};
	uint64_t *type;
	bool added;

	if (event->code != EVENT_typed)
		return 0;
	if (size < sizeof(*typed) || !typed->type)
		return -EBADMSG;
	key.since = typed->since;
	key.sample = typed->sample;
	type = map_put(untyped->types, &key, &added);
	if (!type)
		return -ENOMEM;
	if (!added)
		return -EEXIST;
	*type = typed->type;
	return 0;
}

void untyped_resolve(struct untyped *untyped, struct event_header *event)
{
	struct event_alloc *alloc = (void *)event;
	struct sample_key key = {event->process, 0, 0, 0};
	const uint64_t *known;

	if (!map_count(untyped->types) || event->code != EVENT_alloc ||
	    event->size < sizeof(*alloc) || alloc->type)
		return;
	key.provider = alloc->provider;
	key.since = alloc->since;
	key.sample = alloc->sample;
	known = map_get(untyped->types, &key);
	if (!known)
		return;
	alloc->type = *known;
	map_remove(untyped->types, &key);
}

bool untyped_is_left(struct untyped *untyped, const struct event_header *event)
{
	const struct event_typed *typed = (const void *)event;
	const struct sample_key key = {event->process, event->provider, typed->since,
				       typed->sample};

	return map_remove(untyped->types, &key);
}
