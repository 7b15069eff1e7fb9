// SPDX-License-Identifier: BSD-2-Clause
/* names.c: a process's names of types, functions, providers, and kinds and reasons of collections.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "../../profile/writer.h"
#include "../../util/map.h"

struct names {
	unsigned references;
	size_t *used;    /* the recording's total of bytes */
	size_t bytes;    /* of this table */
	struct map *map; /* struct name_key to struct entry * */
};

struct entry {
	size_t text_size, file_size;
	uint64_t line;
	char text[]; /* the text, then the file */
};

static size_t entry_size(const struct entry *entry)
{
	/* The map's key, value and slots count as well. */
	return sizeof(*entry) + entry->text_size + entry->file_size + 64;
}

static struct entry *entry_of(uint64_t value)
{
	return (struct entry *)(uintptr_t)value;
}

struct names *names_share(struct names *names)
{
	if (names)
		names->references++;
	return names;
}

void names_release(struct names *names)
{
	size_t cursor = 0;
	const void *key;
	uint64_t *value;

	if (!names || --names->references)
		return;
	while (map_next(names->map, &cursor, &key, &value)) {
		if (!*value)
			continue;
		free(entry_of(*value));
	}
	*names->used -= names->bytes;
	map_free(names->map);
	free(names);
}

static struct entry *entry_create(const struct name *name)
{
	struct entry *entry = malloc(sizeof(*entry) + name->text_size + name->file_size);

	if (!entry)
		return NULL;
	entry->text_size = name->text_size;
	entry->file_size = name->file_size;
	entry->line = name->line;
	if (name->text_size)
		memcpy(entry->text, name->text, name->text_size);
	if (name->file_size)
		memcpy(entry->text + name->text_size, name->file, name->file_size);
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

static void hold(struct names *names, size_t more, size_t less)
{
	names->bytes += more - less;
	*names->used += more - less;
}

bool names_allow(size_t used, size_t own, size_t more)
{
	return used + more <= NAMES_BUDGET && own + more <= 3 * (NAMES_BUDGET - used - more);
}

size_t names_bytes(const struct names *names)
{
	return names ? names->bytes : 0;
}

/* Adds a name to a table with a single reference. */
static int put(struct names *names, const struct name_key *key, const struct name *name)
{
	struct entry *entry = entry_create(name);
	uint64_t *value;

	/* Not even its number is stored, since there may be any number of these. */
	if (entry && !names_allow(*names->used, names->bytes, entry_size(entry))) {
		free(entry);
		return -EOVERFLOW;
	}
	value = entry ? map_put(names->map, key, NULL) : NULL;
	if (!value) {
		free(entry);
		return -ENOMEM;
	}
	if (*value) {
		hold(names, 0, entry_size(entry_of(*value)));
		free(entry_of(*value));
	}
	*value = (uintptr_t)entry;
	hold(names, entry_size(entry), 0);
	return 0;
}

static struct names *names_create(size_t *used)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return NULL;
	names->references = 1;
	names->used = used;
	names->map = map_create(sizeof(struct name_key));
	if (!names->map) {
		free(names);
		return NULL;
	}
	return names;
}

/* Gives *names a single reference. */
static int make_own(struct names **names, size_t *used)
{
	struct names *old = *names, *own;
	size_t cursor = 0;
	const void *key;
	uint64_t *value;
	int err = 0;

	if (old && old->references == 1)
		return 0;
	own = names_create(used);
	if (!own)
		return -ENOMEM;
	while (!err && old && map_next(old->map, &cursor, &key, &value)) {
		struct name name;

		if (!*value)
			continue;
		entry_name(entry_of(*value), &name);
		err = put(own, key, &name);
	}
	if (err) {
		names_release(own);
		return err;
	}
	names_release(old);
	*names = own;
	return 0;
}

int names_set(struct names **names, size_t *used, struct name_key key, const struct name *name)
{
	int err = make_own(names, used);

	return err ? err : put(*names, &key, name);
}

int names_get(const struct names *names, struct name_key key, struct name *out)
{
	const uint64_t *value = names ? map_get(names->map, &key) : NULL;

	if (!value || !*value)
		return 0;
	entry_name(entry_of(*value), out);
	return 1;
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
