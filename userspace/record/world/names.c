// SPDX-License-Identifier: BSD-2-Clause
/* names.c: a process's names of types, functions, providers, and kinds and reasons of collections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "../../profile/writer.h"
#include "../../util/map.h"

/*
 * A layer of a table; what it lacks is in the layers below. Only the top layer of a single process
 * changes. A fork makes it common to two processes, and the next name of each begins a new layer,
 * so a fork costs nothing for the names before it.
 */
struct names {
	unsigned references; /* of processes, and of layers above */
	struct names_share *share;
	size_t bytes;    /* of this layer */
	struct map *map; /* struct name_key to struct entry * */
	struct names *below;
};

/* Its texts are not copied from layer to layer. */
struct entry {
	unsigned references;
	struct names_share *share;
	size_t text_size, file_size;
	uint64_t line;
	char text[]; /* the text, then the file */
};

#define SLOT_BYTES 64 /* the map's key, value and slots */

#define LAYERS 16 /* so many are looked through; if there are more, small ones are united */

struct names_share *names_share_of(struct map *shares, size_t *total, uint32_t user)
{
	uint64_t *slot = map_put(shares, &user, NULL);
	struct names_share *share;

	if (!slot || *slot)
		return slot ? (struct names_share *)(uintptr_t)*slot : NULL;
	share = calloc(1, sizeof(*share));
	*slot = (uintptr_t)share;
	if (share)
		share->total = total;
	return share;
}

bool names_same(const struct name *a, const struct name *b)
{
	return a->text_size == b->text_size && a->file_size == b->file_size && a->line == b->line &&
	       !memcmp(a->text, b->text, a->text_size) &&
	       (!a->file_size || !memcmp(a->file, b->file, a->file_size));
}

static size_t entry_bytes(const struct entry *entry)
{
	return sizeof(*entry) + entry->text_size + entry->file_size;
}

static struct entry *entry_of(uint64_t value)
{
	return (struct entry *)(uintptr_t)value;
}

static void charge(struct names_share *share, size_t bytes)
{
	share->used += bytes;
	*share->total += bytes;
}

static void discharge(struct names_share *share, size_t bytes)
{
	share->used -= bytes;
	*share->total -= bytes;
}

static void entry_release(struct entry *entry)
{
	if (--entry->references)
		return;
	discharge(entry->share, entry_bytes(entry));
	free(entry);
}

/* Frees a layer without those below. */
static void layer_free(struct names *layer)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(layer->map, &cursor, &key, &value)) {
		entry_release(entry_of(*value));
		discharge(layer->share, SLOT_BYTES);
	}
	map_free(layer->map);
	free(layer);
}

void names_release(struct names *names)
{
	struct names *below;

	for (; names && !--names->references; names = below) {
		below = names->below;
		layer_free(names);
	}
}

static struct entry *entry_create(const struct name *name, struct names_share *share)
{
	struct entry *entry = malloc(sizeof(*entry) + name->text_size + name->file_size);

	if (!entry)
		return NULL;
	entry->references = 1;
	entry->share = share;
	entry->text_size = name->text_size;
	entry->file_size = name->file_size;
	entry->line = name->line;
	if (name->text_size)
		memcpy(entry->text, name->text, name->text_size);
	if (name->file_size)
		memcpy(entry->text + name->text_size, name->file, name->file_size);
	charge(share, entry_bytes(entry));
	return entry;
}

static void entry_name(const struct entry *entry, struct name *out)
{
	out->text = entry->text;
	out->text_size = entry->text_size;
	out->file = entry->text + entry->text_size;
	out->file_size = entry->file_size;
	out->line = entry->line;
}

bool names_allow(const struct names_share *share, size_t own, size_t more)
{
	size_t left = *share->total < NAMES_BUDGET ? NAMES_BUDGET - *share->total : 0;
	/* More of it would be more than three times what is left then. */
	size_t room = 3 * left > share->used ? (3 * left - share->used) / 4 : 0;

	return more <= room && own + more <= 3 * (room - more);
}

size_t names_bytes(const struct names *names)
{
	size_t bytes = 0;

	for (; names; names = names->below)
		bytes += names->bytes;
	return bytes;
}

/* --- layers ------------------------------------------------------------------------------- */

/* Takes over a reference of the entry, also if it fails. */
static int layer_put(struct names *layer, const struct name_key *key, struct entry *entry)
{
	uint64_t *value = map_put(layer->map, key, NULL);

	if (!value) {
		entry_release(entry);
		return -ENOMEM;
	}
	if (*value) {
		layer->bytes -= entry_bytes(entry_of(*value)) + SLOT_BYTES;
		discharge(layer->share, SLOT_BYTES);
		entry_release(entry_of(*value));
	}
	*value = (uintptr_t)entry;
	layer->bytes += entry_bytes(entry) + SLOT_BYTES;
	charge(layer->share, SLOT_BYTES);
	return 0;
}

static struct names *layer_create(struct names_share *share)
{
	struct names *layer = calloc(1, sizeof(*layer));

	if (!layer)
		return NULL;
	layer->references = 1;
	layer->share = share;
	layer->map = map_create(sizeof(struct name_key));
	if (!layer->map) {
		free(layer);
		return NULL;
	}
	return layer;
}

/* Adds what a layer has to another; `newer`: it replaces what is there. -ENOMEM: a part is
 * missing. */
static int layer_copy(struct names *to, const struct names *from, bool newer)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;
	int err = 0;

	while (!err && map_next(from->map, &cursor, &key, &value)) {
		if (!newer && map_get(to->map, key))
			continue;
		entry_of(*value)->references++;
		err = layer_put(to, key, entry_of(*value));
	}
	return err;
}

/*
 * Unites the top layer with the one below, which no other process has any more: the smaller one
 * moves, so each name moves a few times at most. -ENOMEM: they stay apart.
 */
static int unite(struct names *top)
{
	struct names *below = top->below;
	bool is_larger = map_count(top->map) > map_count(below->map);
	struct names_share *share = below->share;
	struct map *map = below->map;
	size_t bytes = below->bytes;
	int err = is_larger ? layer_copy(top, below, false) : layer_copy(below, top, true);

	if (err)
		return err;
	if (!is_larger) {
		bytes = below->bytes;
		below->map = top->map;
		below->bytes = top->bytes;
		below->share = top->share;
		top->map = map;
		top->bytes = bytes;
		top->share = share;
	}
	top->below = below->below;
	layer_free(below);
	return 0;
}

/* Unites a process's own layer with those below that no other process has any more. */
static void tidy(struct names *top)
{
	while (top->below && top->below->references == 1 && !unite(top))
		;
}

static size_t depth_of(const struct names *names)
{
	size_t depth = 0;

	for (; names; names = names->below)
		depth++;
	return depth;
}

/* Unites it with copies of those that are not much larger: so a name is copied once in many forks,
 * and a few times in all. */
static void flatten(struct names *top)
{
	struct names *below;

	while (top->below && map_count(top->below->map) < 2 * map_count(top->map) &&
	       !layer_copy(top, top->below, false)) {
		below = top->below;
		top->below = below->below;
		if (top->below)
			top->below->references++;
		names_release(below);
	}
}

struct names *names_share(struct names *names)
{
	if (!names)
		return NULL;
	if (names->references == 1) {
		tidy(names);
		if (depth_of(names) > LAYERS)
			flatten(names);
	}
	names->references++;
	return names;
}

/* Gives a process a layer of its own. */
static int make_own(struct names **names, struct names_share *share)
{
	struct names *top;

	if (*names && (*names)->references == 1) {
		tidy(*names);
		return 0;
	}
	top = layer_create(share);
	if (!top)
		return -ENOMEM;
	top->below = *names;
	*names = top;
	return 0;
}

int names_set(struct names **names, struct names_share *share, struct name_key key,
	      const struct name *name)
{
	size_t bytes = sizeof(struct entry) + name->text_size + name->file_size + SLOT_BYTES;
	struct entry *entry;
	int err;

	/* Not even its number is stored, since there may be any number of these. */
	if (!names_allow(share, names_bytes(*names), bytes))
		return -EOVERFLOW;
	err = make_own(names, share);
	if (err)
		return err;
	entry = entry_create(name, share);
	return entry ? layer_put(*names, &key, entry) : -ENOMEM;
}

int names_get(const struct names *names, struct name_key key, struct name *out)
{
	for (; names; names = names->below) {
		const uint64_t *value = map_get(names->map, &key);

		if (!value)
			continue;
		entry_name(entry_of(*value), out);
		return 1;
	}
	return 0;
}

/* Writes a text, if any, and returns its id; 0: none. */
static uint64_t names_put_text(struct profile_writer *writer, const char *text, size_t size)
{
	return size ? profile_writer_string(writer, text, size) : 0;
}

int names_write(struct profile_writer *writer, uint64_t process, struct name_key key,
		const struct name *name)
{
	uint64_t text = profile_writer_string(writer, name->text, name->text_size);
	uint64_t file = names_put_text(writer, name->file, name->file_size);
	struct record record = {.kind = RECORD_type};

	switch (key.kind) {
	case GCPROF_NAME_TYPE:
		record.type =
			(struct record_type){.process = process, .type = key.number, .name = text};
		break;
	case GCPROF_NAME_CODE:
		record.kind = RECORD_code;
		record.code = (struct record_code){.process = process,
						   .code = key.number,
						   .name = text,
						   .file = file,
						   .line = name->line};
		break;
	case GCPROF_NAME_GC:
		record.kind = RECORD_gc_name;
		record.gc_name = (struct record_gc_name){
			.process = process, .number = key.number, .name = text};
		break;
	default:
		record.kind = RECORD_runtime;
		record.runtime = (struct record_runtime){
			.process = process,
			.name = text,
			.version = file,
			.provider = (key.number >> PROVIDER_SHIFT & (PROFILE_PROVIDERS - 1)) + 1};
	}
	return profile_writer_put(writer, &record);
}
