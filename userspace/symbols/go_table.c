// SPDX-License-Identifier: BSD-2-Clause
/* go_table.c: finds the tables in a Go program's file: functions and types. */
/*
 * The header of .gopclntab locates its parts. The other tables have no name in a stripped file.
 * They are found through `moduledata`, a record of addresses that begins with the one of
 * .gopclntab. In a position-independent program its words are in the relocations.
 */
#include "go_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "go_lines.h"
#include "../profile/cursor.h"

#define VERSION_MAX  64
#define SECTIONS_MAX 64 /* loaded sections with bytes in the file */
#define TABLE_ALIGN  8

/* Words of moduledata. */
enum { WORD_TABLE, WORD_NAMES, WORD_TEXT = 22, WORD_TYPES_118 = 35, WORD_TYPES_120 = 37 };
enum { AFTER_TYPES_END = 1, AFTER_TYPES_GOFUNC = 3 };

/* Offsets in runtime._type. */
enum { TYPE_POINTERS = 8, TYPE_FLAGS = 20, TYPE_NAME = 40, TYPE_SIZE = 48, FLAG_EXTRA_STAR = 2 };

struct section {
	uint64_t address, size, offset;
	bool writable, code;
	Elf_Scn *from;       /* NULL: its bytes were read, if possible */
	const uint8_t *data; /* NULL: none, or not read yet */
};

struct go_table {
	Elf *elf;
	struct section *sections;
	size_t n_sections;
	struct go_lines lines;
	uint64_t address; /* of .gopclntab */
	uint64_t module;  /* of moduledata */
	uint64_t types, types_end;
	uint64_t inlined; /* trees of inlined calls */
	char version[VERSION_MAX];
};

/* --- the file ----------------------------------------------------------------------------- */

static void find_sections(struct go_table *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(table->elf, scn)) && table->n_sections < SECTIONS_MAX) {
		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    header.sh_type == SHT_NOBITS || header.sh_size > ELF_SECTION_MAX ||
		    header.sh_flags & (SHF_TLS | SHF_COMPRESSED) ||
		    header.sh_size > UINT64_MAX - header.sh_addr)
			continue;
		table->sections[table->n_sections++] = (struct section){
			.address = header.sh_addr,
			.size = header.sh_size,
			.offset = header.sh_offset,
			.writable = header.sh_flags & SHF_WRITE,
			.code = header.sh_flags & SHF_EXECINSTR,
			.from = scn,
		};
	}
}

/* Reads sections on demand: most of a large program is not needed. */
static const uint8_t *section_data(struct section *section)
{
	const Elf_Data *data = section->from ? elf_section_raw(section->from) : NULL;

	section->from = NULL;
	if (data && data->d_size == section->size)
		section->data = data->d_buf;
	return section->data;
}

static struct section *section_at(const struct go_table *table, uint64_t address)
{
	for (size_t i = 0; i < table->n_sections; i++)
		if (address - table->sections[i].address < table->sections[i].size)
			return &table->sections[i];
	return NULL;
}

const uint8_t *go_table_bytes(const struct go_table *table, uint64_t address, uint64_t *size)
{
	struct section *section = section_at(table, address);
	const uint8_t *data = section ? section_data(section) : NULL;

	if (!data)
		return NULL;
	*size = section->size - (address - section->address);
	return data + (address - section->address);
}

const uint8_t *go_table_code(const struct go_table *table, const struct go_function *function,
			     uint64_t *size)
{
	const struct section *section = section_at(table, function->address);
	const Elf_Data *data;
	uint64_t at;

	if (!section || !section->code || section->offset > INT64_MAX - ELF_SECTION_MAX)
		return NULL;
	at = function->address - section->address;
	*size = section->size - at < function->size ? section->size - at : function->size;
	data = elf_getdata_rawchunk(table->elf, (int64_t)(section->offset + at), *size, ELF_T_BYTE);
	return data && data->d_size == *size ? data->d_buf : NULL;
}

void go_table_keep(const struct go_table *table)
{
	for (size_t i = 0; i < table->n_sections; i++)
		if (!table->sections[i].code)
			section_data(&table->sections[i]);
}

static bool read_bytes(const struct go_table *table, uint64_t address, void *out, size_t size)
{
	uint64_t left;
	const uint8_t *at = go_table_bytes(table, address, &left);

	if (!at || left < size)
		return false;
	memcpy(out, at, size);
	return true;
}

/* Receives the relocations that store addresses; false ends the walk. */
typedef bool relocation_visit(void *context, const GElf_Rela *relocation);

static void each_relocation(const struct go_table *table, relocation_visit *visit, void *context)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(table->elf, scn))) {
		Elf_Data *data;
		GElf_Rela relocation;

		if (!gelf_getshdr(scn, &header) || header.sh_type != SHT_RELA)
			continue;
		data = elf_section_data(scn);
		for (int i = 0; data && gelf_getrela(data, i, &relocation); i++)
			if (GELF_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE &&
			    !visit(context, &relocation))
				return;
	}
}

struct word {
	uint64_t address, value;
};

static bool is_of_word(void *context, const GElf_Rela *relocation)
{
	struct word *word = context;

	if (relocation->r_offset != word->address)
		return true;
	word->value = (uint64_t)relocation->r_addend;
	return false;
}

/* A word of the program as loaded at its link-time address; 0: none. */
static uint64_t read_word(const struct go_table *table, uint64_t address)
{
	struct word word = {address, 0};

	if (!read_bytes(table, address, &word.value, sizeof(word.value)))
		return 0;
	each_relocation(table, is_of_word, &word);
	return word.value;
}

/* --- moduledata --------------------------------------------------------------------------- */

static bool is_module(const struct go_table *table, uint64_t address)
{
	return read_word(table, address) == table->address &&
	       read_word(table, address + WORD_NAMES * 8) == table->address + table->lines.names_at;
}

static bool is_of_module(void *context, const GElf_Rela *relocation)
{
	struct go_table *table = context;

	if ((uint64_t)relocation->r_addend != table->address ||
	    !is_module(table, relocation->r_offset))
		return true;
	table->module = relocation->r_offset;
	return false;
}

static void find_in_section(struct go_table *table, struct section *section)
{
	const uint8_t *data = section_data(section);

	for (uint64_t at = -section->address & 7; data && at + 8 <= section->size && !table->module;
	     at += 8) {
		uint64_t word;

		memcpy(&word, data + at, sizeof(word));
		if (word == table->address && is_module(table, section->address + at))
			table->module = section->address + at;
	}
}

static bool find_module(struct go_table *table)
{
	for (size_t i = 0; i < table->n_sections && !table->module; i++)
		if (table->sections[i].writable)
			find_in_section(table, &table->sections[i]);
	if (!table->module)
		each_relocation(table, is_of_module, table);
	return table->module;
}

static const char *read_module(struct go_table *table)
{
	const struct section *types;
	uint64_t word;

	if (!find_module(table))
		return "the record of its parts (moduledata) was not found";
	word = table->module + 8 * (table->lines.is_118 ? WORD_TYPES_118 : WORD_TYPES_120);
	table->types = read_word(table, word);
	table->types_end = read_word(table, word + 8 * AFTER_TYPES_END);
	table->lines.text = read_word(table, table->module + 8 * WORD_TEXT);
	types = section_at(table, table->types);
	if (!table->lines.text || !types || table->types_end <= table->types ||
	    table->types_end - types->address > types->size)
		return "the record of its parts (moduledata) has another layout";
	table->inlined = read_word(table, word + 8 * AFTER_TYPES_GOFUNC);
	return NULL;
}

/* --- opening ------------------------------------------------------------------------------ */

/* Finds the table's section; an external linker may have put it among others, into .data.rel.ro. */
static const char *find_table(struct go_table *table)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	const Elf_Data *data = NULL;
	const char *fault = NULL;
	GElf_Shdr header;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !data; i++)
		data = elf_section_raw(elf_section_find(table->elf, names[i], &header));
	if (data && data->d_buf) {
		table->address = header.sh_addr;
		return go_lines_open(&table->lines, data->d_buf, data->d_size);
	}
	data = elf_section_raw(elf_section_find(table->elf, ".data.rel.ro", &header));
	for (size_t at = 0; data && data->d_buf && at < data->d_size; at += TABLE_ALIGN) {
		table->address = header.sh_addr + at;
		fault = go_lines_open(&table->lines, (const char *)data->d_buf + at,
				      data->d_size - at);
		if (!fault)
			return NULL;
	}
	return fault ? fault : "it has no table of functions";
}

/* Has it one of the sections that all Go programs have? */
bool go_table_has(Elf *elf)
{
	static const char *const names[] = {".gopclntab", ".go.buildinfo"};
	GElf_Shdr header;
	GElf_Ehdr file;

	if (!gelf_getehdr(elf, &file) || file.e_machine != EM_X86_64 ||
	    file.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	return elf_section_find(elf, names[0], &header) || elf_section_find(elf, names[1], &header);
}

/* The build information: a magic string, flags, and from 1.18 on the version with its length. */
static const char mark[] = "\xff Go buildinf:";
enum { INFO_ALIGN = 16, INFO_FLAGS = 15, INFO_TEXT = 32, TEXT_INLINE = 2 };

static bool take_version(struct go_table *table, const uint8_t *info, uint64_t left)
{
	const uint8_t *text;
	struct cursor cursor;
	uint64_t length;

	if (left <= INFO_TEXT || memcmp(info, mark, sizeof(mark) - 1) != 0 ||
	    !(info[INFO_FLAGS] & TEXT_INLINE))
		return false;
	cursor = cursor_make(info + INFO_TEXT, left - INFO_TEXT);
	if (!cursor_varint(&cursor, &length) || !cursor_take(&cursor, length, &text) ||
	    length < 3 || length - 2 >= sizeof(table->version) || memcmp(text, "go", 2) != 0)
		return false;
	memcpy(table->version, text + 2, length - 2);
	for (char *at = table->version; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	return true;
}

/* It is in its own section, or somewhere in the data. */
static void read_version(struct go_table *table)
{
	GElf_Shdr header;
	const Elf_Data *data =
		elf_section_raw(elf_section_find(table->elf, ".go.buildinfo", &header));
	bool found = data && data->d_buf && take_version(table, data->d_buf, data->d_size);

	for (size_t i = 0; i < table->n_sections && !found; i++) {
		struct section *section = &table->sections[i];
		const uint8_t *bytes = section->writable ? section_data(section) : NULL;

		for (uint64_t at = -section->address % INFO_ALIGN;
		     bytes && at < section->size && !found; at += INFO_ALIGN)
			found = take_version(table, bytes + at, section->size - at);
	}
}

int go_table_open(Elf *elf, struct go_table **out, struct problem *problem)
{
	struct go_table *table;
	const char *fault;

	if (!go_table_has(elf))
		return -ENOENT;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->elf = elf;
	table->sections = calloc(SECTIONS_MAX, sizeof(*table->sections));
	if (!table->sections) {
		free(table);
		return -ENOMEM;
	}
	find_sections(table);
	read_version(table);
	fault = find_table(table);
	if (!fault)
		fault = read_module(table);
	if (!fault) {
		*out = table;
		return 0;
	}
	problem_set(problem, -ENOEXEC, "Go %s: %s", table->version, fault);
	go_table_free(table);
	return -ENOEXEC;
}

void go_table_free(struct go_table *table)
{
	if (table)
		free(table->sections);
	free(table);
}

const char *go_table_version(const struct go_table *table)
{
	return table->version;
}

/* --- functions ---------------------------------------------------------------------------- */

bool go_table_function(const struct go_table *table, size_t index, struct go_function *out)
{
	return go_lines_function(&table->lines, index, out);
}

bool go_table_is_top(const struct go_table *table, size_t index)
{
	return go_lines_is_top(&table->lines, index);
}

void go_table_stack(const struct go_table *table, size_t index, go_stack_visit *visit,
		    void *context)
{
	go_lines_stack(&table->lines, index, visit, context);
}

bool go_table_named(const struct go_table *table, const char *name, struct go_function *out)
{
	for (size_t i = 0; go_table_function(table, i, out); i++)
		if (out->name && strcmp(out->name, name) == 0)
			return true;
	return false;
}

bool go_table_at(const struct go_table *table, uint64_t address, struct go_function *out)
{
	return go_lines_function(&table->lines, go_lines_index(&table->lines, address), out) &&
	       address - out->address < out->size;
}

size_t go_table_find(const struct go_table *table, uint64_t address, struct symbol out[SYMBOLS_MAX])
{
	struct go_lines lines = table->lines;
	uint64_t left;

	lines.inlined.at = go_table_bytes(table, table->inlined, &left);
	if (lines.inlined.at)
		lines.inlined.end = lines.inlined.at + left;
	return go_lines_find(&lines, address, out);
}

/* --- types -------------------------------------------------------------------------------- */

void go_table_types(const struct go_table *table, uint64_t *begin, uint64_t *end)
{
	*begin = table->types;
	*end = table->types_end;
}

/* A name: flags, its length as a varint, its text. */
static size_t take_name(const uint8_t *at, uint64_t left, const uint8_t **out)
{
	struct cursor cursor = cursor_make(at, left);
	uint64_t length;

	if (!at || !cursor_take(&cursor, 1, out) || !cursor_varint(&cursor, &length) ||
	    !cursor_take(&cursor, length, out))
		return 0;
	return length;
}

size_t go_table_type_name(const struct go_table *table, uint64_t offset, char *out, size_t size,
			  bool *plain)
{
	uint64_t all = table->types_end - table->types, left;
	const uint8_t *types = go_table_bytes(table, table->types, &left), *text = types;
	uint64_t pointers;
	size_t length;
	int32_t name;

	*plain = offset == GO_TYPE_NONE;
	if (*plain)
		return (size_t)snprintf(out, size, "(no pointers)");
	if (!types || all < TYPE_SIZE || offset > all - TYPE_SIZE || !size)
		return 0;
	memcpy(&pointers, types + offset + TYPE_POINTERS, sizeof(pointers));
	*plain = !pointers;
	memcpy(&name, types + offset + TYPE_NAME, sizeof(name));
	if (name <= 0 || (uint64_t)name >= all)
		return 0;
	length = take_name(types + name, all - (uint64_t)name, &text);
	if (length && *text == '*' && types[offset + TYPE_FLAGS] & FLAG_EXTRA_STAR) {
		text++;
		length--;
	}
	length = length < size ? length : size - 1;
	memcpy(out, text, length);
	out[length] = '\0';
	return strlen(out);
}
