/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot_fields.c: what libjvm.so exports about itself for debuggers. */
/*
 * The tables are made by initialisers that run when the library is loaded. Pointers in them are
 * relocations; offsets of fields are constants in the initialiser's code, which does little else
 * than to store them: movq $constant, distance(%rip). That is read like a table here.
 */
#include "hotspot_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../symbols/elf_file.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "find.h"

#define RELOCATIONS_MAX (1u << 20)
#define ENTRIES_MAX     8192 /* of one table */
#define NAME_MAX_BYTES  160
#define INITIALISER     "_GLOBAL__sub_I_vmStructs.cpp"
#define INITIALISER_MAX (64u << 10) /* bytes of its code that are read */

/* A pointer in the file, and what it is when the file is loaded at 0. */
struct relocation {
	uint64_t at, value;
};

struct tables {
	struct buffer relocations; /* struct relocation[], in order of `at`; stores as well */
	struct map *fields, *statics, *sizes, *constants;
};

/* --- pointers ----------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct relocation *a = left, *b = right;

	return a->at < b->at ? -1 : a->at > b->at;
}

static void read_relocations(struct tables *tables, Elf_Scn *section)
{
	Elf_Data *data = elf_section_data(section);
	size_t left = RELOCATIONS_MAX - tables->relocations.size / sizeof(struct relocation);
	GElf_Rela rela;

	for (int i = 0; data && (size_t)i < left && gelf_getrela(data, i, &rela); i++) {
		const struct relocation relocation = {rela.r_offset, (uint64_t)rela.r_addend};

		if (GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE &&
		    buffer_append(&tables->relocations, &relocation, sizeof(relocation)))
			return;
	}
}

/* movq $constant, distance(%rip): 48 c7 05, the distance from its end, the constant. */
#define STORE_BYTES 11

static bool is_store(const unsigned char *code, uint64_t at, struct relocation *out)
{
	int32_t distance, constant;

	if (code[0] != 0x48 || code[1] != 0xc7 || code[2] != 0x05)
		return false;
	memcpy(&distance, code + 3, sizeof(distance));
	memcpy(&constant, code + 7, sizeof(constant));
	out->at = at + STORE_BYTES + (uint64_t)(int64_t)distance;
	out->value = (uint64_t)(int64_t)constant;
	return true;
}

static void read_stores(struct runtime_file *file, struct tables *tables)
{
	unsigned char *code = malloc(INITIALISER_MAX);
	struct relocation store;
	uint64_t begin;
	size_t i = 0;

	if (code && runtime_symbol(file, INITIALISER, &begin) &&
	    runtime_read(file, begin, code, INITIALISER_MAX))
		while (i + STORE_BYTES <= INITIALISER_MAX) {
			if (!is_store(code + i, begin + i, &store)) {
				i++;
				continue;
			}
			i += STORE_BYTES;
			if (buffer_append(&tables->relocations, &store, sizeof(store)))
				break;
		}
	free(code);
}

static void read_all_relocations(struct runtime_file *file, struct tables *tables)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(file->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			read_relocations(tables, section);
	read_stores(file, tables);
	if (tables->relocations.size)
		qsort(tables->relocations.data,
		      tables->relocations.size / sizeof(struct relocation),
		      sizeof(struct relocation), compare);
}

/* The word at an address once the library is loaded. */
static bool read_word(struct runtime_file *file, const struct tables *tables, uint64_t at,
		      uint64_t *out)
{
	const struct relocation wanted = {.at = at}, *found = NULL;

	if (tables->relocations.size)
		found = bsearch(&wanted, tables->relocations.data,
				tables->relocations.size / sizeof(wanted), sizeof(wanted), compare);
	if (found)
		*out = found->value;
	return found || runtime_read(file, at, out, sizeof(*out));
}

/* --- tables ------------------------------------------------------------------------------- */

/* A table, how long an entry is, and where its parts are. The library has variables that say so,
 * which are 0 in the file; debuggers have relied on this layout since there are such tables. */
struct layout {
	const char *table;
	uint64_t stride;
	uint64_t parts[5];
};

enum { TYPE_NAME, FIELD_NAME, IS_STATIC, OFFSET, ADDRESS };
enum { NAME, VALUE };

static const struct layout fields = {"gHotSpotVMStructs", 48, {0, 8, 24, 32, 40}};
static const struct layout types = {"gHotSpotVMTypes", 40, {0, 32}};
static const struct layout numbers[] = {{"gHotSpotVMIntConstants", 16, {0, 8}},
					{"gHotSpotVMLongConstants", 16, {0, 8}}};

struct walk {
	struct runtime_file *file;
	struct tables *tables;
	const struct layout *layout;
	uint64_t at;
};

static bool walk_begin(struct walk *walk, const struct layout *layout)
{
	uint64_t table;

	walk->layout = layout;
	return runtime_symbol(walk->file, layout->table, &table) &&
	       read_word(walk->file, walk->tables, table, &walk->at);
}

/* The name in a part of the entry; false at the table's end. */
static bool walk_name(const struct walk *walk, int part, char out[NAME_MAX_BYTES])
{
	uint64_t name;

	return read_word(walk->file, walk->tables, walk->at + walk->layout->parts[part], &name) &&
	       runtime_text(walk->file, name, out, NAME_MAX_BYTES);
}

static void put(struct map *map, const char *name, uint64_t value)
{
	uint64_t *slot = map_put_string(map, name, strlen(name), NULL);

	if (slot)
		*slot = value;
}

static void read_field(const struct walk *walk, const char *type)
{
	char field[NAME_MAX_BYTES], name[2 * NAME_MAX_BYTES];
	int32_t is_static = 0;
	uint64_t value;

	if (!walk_name(walk, FIELD_NAME, field) ||
	    !runtime_read(walk->file, walk->at + walk->layout->parts[IS_STATIC], &is_static,
			  sizeof(is_static)))
		return;
	snprintf(name, sizeof(name), "%s.%s", type, field);
	if (is_static) {
		if (read_word(walk->file, walk->tables, walk->at + walk->layout->parts[ADDRESS],
			      &value))
			put(walk->tables->statics, name, value);
	} else if (read_word(walk->file, walk->tables, walk->at + walk->layout->parts[OFFSET],
			     &value)) {
		put(walk->tables->fields, name, value);
	}
}

static void read_fields(struct walk *walk)
{
	char type[NAME_MAX_BYTES];

	if (!walk_begin(walk, &fields))
		return;
	for (int i = 0; i < ENTRIES_MAX && walk_name(walk, TYPE_NAME, type); i++) {
		read_field(walk, type);
		walk->at += walk->layout->stride;
	}
}

/* Names and the `bytes` of their values. */
static void read_values(struct walk *walk, const struct layout *layout, size_t bytes,
			struct map *map)
{
	char name[NAME_MAX_BYTES];

	if (!walk_begin(walk, layout))
		return;
	for (int i = 0; i < ENTRIES_MAX && walk_name(walk, NAME, name); i++) {
		int64_t value = 0;
		int32_t half = 0;

		if (bytes == sizeof(half)) {
			runtime_read(walk->file, walk->at + walk->layout->parts[VALUE], &half,
				     bytes);
			value = half;
		} else {
			runtime_read(walk->file, walk->at + walk->layout->parts[VALUE], &value,
				     bytes);
		}
		put(map, name, (uint64_t)value);
		walk->at += walk->layout->stride;
	}
}

static void tables_free(void *own)
{
	struct tables *tables = own;

	if (!tables)
		return;
	buffer_free(&tables->relocations);
	map_free(tables->fields);
	map_free(tables->statics);
	map_free(tables->sizes);
	map_free(tables->constants);
	free(tables);
}

/* Of the file, read when they are first needed; NULL: no memory. */
static struct tables *tables_of(struct runtime_file *file)
{
	struct tables *tables = file->own;
	struct walk walk = {.file = file};

	if (tables)
		return tables;
	tables = calloc(1, sizeof(*tables));
	if (!tables)
		return NULL;
	tables->fields = map_create(MAP_STRING_KEYS);
	tables->statics = map_create(MAP_STRING_KEYS);
	tables->sizes = map_create(MAP_STRING_KEYS);
	tables->constants = map_create(MAP_STRING_KEYS);
	if (!tables->fields || !tables->statics || !tables->sizes || !tables->constants) {
		tables_free(tables);
		return NULL;
	}
	file->own = tables;
	file->own_free = tables_free;
	walk.tables = tables;
	read_all_relocations(file, tables);
	read_fields(&walk);
	read_values(&walk, &types, sizeof(int64_t), tables->sizes);
	read_values(&walk, &numbers[0], sizeof(int32_t), tables->constants);
	read_values(&walk, &numbers[1], sizeof(int64_t), tables->constants);
	return tables;
}

/* --- questions ---------------------------------------------------------------------------- */

static bool find(const struct map *map, const char *name, uint64_t *out)
{
	const uint64_t *value = map_get_string(map, name, strlen(name));

	if (value)
		*out = *value;
	return value;
}

bool hotspot_field(struct runtime_file *file, const char *name, int32_t *offset)
{
	const struct tables *tables = tables_of(file);
	uint64_t value;

	if (!tables || !find(tables->fields, name, &value) || value > INT32_MAX)
		return false;
	*offset = (int32_t)value;
	return true;
}

bool hotspot_static(struct runtime_file *file, const char *name, uint64_t *address)
{
	const struct tables *tables = tables_of(file);

	return tables && find(tables->statics, name, address);
}

bool hotspot_size(struct runtime_file *file, const char *name, uint64_t *size)
{
	const struct tables *tables = tables_of(file);

	return tables && find(tables->sizes, name, size);
}

bool hotspot_constant(struct runtime_file *file, const char *name, int64_t *value)
{
	const struct tables *tables = tables_of(file);
	uint64_t word;

	if (!tables || !find(tables->constants, name, &word))
		return false;
	*value = (int64_t)word;
	return true;
}
