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
	size_t *used;        /* the recording's total of bytes */
	size_t bytes;        /* of this layer */
	struct map *map;     /* struct name_key to struct entry * */
	struct names *below;
};

/* Its texts are not copied from layer to layer. */
struct entry {
	unsigned references;
	size_t text_size, file_size;
	uint64_t line;
	char text[]; /* the text, then the file */
};

#define SLOT_BYTES 64 /* the map's key, value and slots */

#define LAYERS 16 /* so many are looked through; if there are more, small ones are united */

static size_t entry_bytes(const struct entry *entry)
{
	return sizeof(*entry) + entry->text_size + entry->file_size;
}

static struct entry *entry_of(uint64_t value)
{
	return (struct entry *)(uintptr_t)value;
}

static void entry_release(struct entry *entry, size_t *used)
{
	if (--entry->references)
		return;
	*used -= entry_bytes(entry);
	free(entry);
}

/* Frees a layer without those below. */
static void layer_free(struct names *layer)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	while (map_next(layer->map, &cursor, &key, &value)) {
		entry_release(entry_of(*value), layer->used);
		*layer->used -= SLOT_BYTES;
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

static struct entry *entry_create(const struct name *name, size_t *used)
{
	struct entry *entry = malloc(sizeof(*entry) + name->text_size + name->file_size);

	if (!entry)
		return NULL;
	entry->references = 1;
	entry->text_size = name->text_size;
	entry->file_size = name->file_size;
	entry->line = name->line;
	if (name->text_size)
		memcpy(entry->text, name->text, name->text_size);
	if (name->file_size)
		memcpy(entry->text + name->text_size, name->file, name->file_size);
	*used += entry_bytes(entry);
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

bool names_allow(size_t used, size_t own, size_t more)
{
	return used + more <= NAMES_BUDGET && own + more <= 3 * (NAMES_BUDGET - used - more);
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
		entry_release(entry, layer->used);
		return -ENOMEM;
	}
	if (*value) {
		layer->bytes -= entry_bytes(entry_of(*value)) + SLOT_BYTES;
		*layer->used -= SLOT_BYTES;
		entry_release(entry_of(*value), layer->used);
	}
	*value = (uintptr_t)entry;
	layer->bytes += entry_bytes(entry) + SLOT_BYTES;
	*layer->used += SLOT_BYTES;
	return 0;
}

static struct names *layer_create(size_t *used)
{
	struct names *layer = calloc(1, sizeof(*layer));

	if (!layer)
		return NULL;
	layer->references = 1;
	layer->used = used;
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
	struct map *map = below->map;
	size_t bytes = below->bytes;
	int err = is_larger ? layer_copy(top, below, false) : layer_copy(below, top, true);

	if (err)
		return err;
	if (!is_larger) {
		bytes = below->bytes;
		below->map = top->map;
		below->bytes = top->bytes;
		top->map = map;
		top->bytes = bytes;
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
static int make_own(struct names **names, size_t *used)
{
	struct names *top;

	if (*names && (*names)->references == 1) {
		tidy(*names);
		return 0;
	}
	top = layer_create(used);
	if (!top)
		return -ENOMEM;
	top->below = *names;
	*names = top;
	return 0;
}

int names_set(struct names **names, size_t *used, struct name_key key, const struct name *name)
{
	size_t bytes = sizeof(struct entry) + name->text_size + name->file_size + SLOT_BYTES;
	struct entry *entry;
	int err;

	/* Not even its number is stored, since there may be any number of these. */
	if (!names_allow(*used, names_bytes(*names), bytes))
		return -EOVERFLOW;
	err = make_own(names, used);
	if (err)
		return err;
	entry = entry_create(name, used);
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
static uint64_t put_text(struct profile_writer *writer, const char *text, size_t size)
{
	return size ? profile_writer_string(writer, text, size) : 0;
}

int names_write(struct profile_writer *writer, uint64_t process, struct name_key key,
		const struct name *name)
{
	uint64_t text = profile_writer_string(writer, name->text, name->text_size);
	uint64_t file = put_text(writer, name->file, name->file_size);
	struct record record = {.kind = RECORD_type};

	switch (key.kind) {
	case NAME_TYPE:
		record.type =
			(struct record_type){.process = process, .type = key.number, .name = text};
		break;
	case NAME_CODE:
		record.kind = RECORD_code;
		record.code = (struct record_code){.process = process,
						   .code = key.number,
						   .name = text,
						   .file = file,
						   .line = name->line};
		break;
	case NAME_GC:
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
