// SPDX-License-Identifier: BSD-2-Clause
/* go_table.c: finds the tables in a Go program's file; its functions and its types. */
/*
 * The header of .gopclntab says where its parts are. What else is needed has no name in a
 * stripped file: `moduledata`, a record of addresses that begins with that of .gopclntab. In a
 * program that can be loaded anywhere, its words are in the relocations.
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
#define SECTIONS_MAX 64 /* that are loaded and have bytes */
#define TABLE_ALIGN  8

/* Words of moduledata. */
enum { WORD_TABLE, WORD_NAMES, WORD_TEXT = 22, WORD_TYPES_118 = 35, WORD_TYPES_120 = 37 };
enum { AFTER_TYPES_END = 1, AFTER_TYPES_GOFUNC = 3 };

/* Of runtime._type. */
enum { TYPE_FLAGS = 20, TYPE_NAME = 40, TYPE_SIZE = 48, FLAG_EXTRA_STAR = 2 };

struct section {
	uint64_t address, size;
	bool writable;
	const uint8_t *data;
};

struct go_table {
	Elf *elf;
	struct section sections[SECTIONS_MAX];
	size_t n_sections;
	struct go_lines lines;
	uint64_t address; /* of .gopclntab */
	uint64_t module;  /* of moduledata */
	uint64_t types, types_end;
	char version[VERSION_MAX];
};

/* --- the file ----------------------------------------------------------------------------- */

static void read_sections(struct go_table *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr header;

	while ((scn = elf_nextscn(table->elf, scn)) && table->n_sections < SECTIONS_MAX) {
		const Elf_Data *data;

		if (!gelf_getshdr(scn, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    header.sh_flags & (SHF_TLS | SHF_COMPRESSED))
			continue;
		data = elf_section_raw(scn);
		if (!data || !data->d_buf || data->d_size > UINT64_MAX - header.sh_addr)
			continue;
		table->sections[table->n_sections++] = (struct section){
			header.sh_addr, data->d_size, header.sh_flags & SHF_WRITE, data->d_buf};
	}
}

const uint8_t *go_table_bytes(const struct go_table *table, uint64_t address, uint64_t *size)
{
	for (size_t i = 0; i < table->n_sections; i++) {
		const struct section *section = &table->sections[i];

		if (address - section->address >= section->size)
			continue;
		*size = section->size - (address - section->address);
		return section->data + (address - section->address);
	}
	return NULL;
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

/* Receives the relocations that put addresses into the program; false ends the walk. */
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

/* A word as it is once the program is loaded where the linker thinks that it is; 0: there is none.
 */
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

static void find_in_section(struct go_table *table, const struct section *section)
{
	for (uint64_t at = -section->address & 7; at + 8 <= section->size && !table->module;
	     at += 8) {
		uint64_t word;

		memcpy(&word, section->data + at, sizeof(word));
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
	uint64_t word, left;

	if (!find_module(table))
		return "the record of its parts (moduledata) was not found";
	word = table->module + 8 * (table->lines.is_118 ? WORD_TYPES_118 : WORD_TYPES_120);
	table->types = read_word(table, word);
	table->types_end = read_word(table, word + 8 * AFTER_TYPES_END);
	table->lines.text = read_word(table, table->module + 8 * WORD_TEXT);
	if (!table->lines.text || !go_table_bytes(table, table->types, &left) ||
	    table->types_end <= table->types || table->types_end - table->types > left)
		return "the record of its parts (moduledata) has another layout";
	table->lines.inlined.at =
		go_table_bytes(table, read_word(table, word + 8 * AFTER_TYPES_GOFUNC), &left);
	if (table->lines.inlined.at)
		table->lines.inlined.end = table->lines.inlined.at + left;
	return NULL;
}

/* --- opening ------------------------------------------------------------------------------ */

/* The table's section; a system linker may have put it among others, into .data.rel.ro. */
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

/* Has it what all Go programs have: one of these sections? */
static bool is_go(Elf *elf)
{
	static const char *const names[] = {".gopclntab", ".go.buildinfo"};
	GElf_Shdr header;
	GElf_Ehdr file;

	if (!gelf_getehdr(elf, &file) || file.e_machine != EM_X86_64 ||
	    file.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	return elf_section_find(elf, names[0], &header) || elf_section_find(elf, names[1], &header);
}

/* The text of .go.buildinfo: a mark, flags, and from 1.18 on the version with its length. */
static void read_version(struct go_table *table)
{
	static const char mark[] = "\xff Go buildinf:";
	enum { FLAGS = 15, TEXT = 32, TEXT_INLINE = 2 };
	const uint8_t *text;
	struct cursor cursor;
	GElf_Shdr header;
	const Elf_Data *data =
		elf_section_raw(elf_section_find(table->elf, ".go.buildinfo", &header));
	uint64_t length;

	if (!data || !data->d_buf || data->d_size <= TEXT ||
	    memcmp(data->d_buf, mark, sizeof(mark) - 1) != 0 ||
	    !(((const uint8_t *)data->d_buf)[FLAGS] & TEXT_INLINE))
		return;
	cursor = cursor_make((const uint8_t *)data->d_buf + TEXT, data->d_size - TEXT);
	if (!cursor_varint(&cursor, &length) || !cursor_take(&cursor, length, &text) ||
	    length < 3 || length - 2 >= sizeof(table->version) || memcmp(text, "go", 2) != 0)
		return;
	memcpy(table->version, text + 2, length - 2);
	for (char *at = table->version; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
}

int go_table_open(Elf *elf, struct go_table **out, struct problem *problem)
{
	struct go_table *table;
	const char *fault;

	if (!is_go(elf))
		return -ENOENT;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->elf = elf;
	read_version(table);
	fault = find_table(table);
	if (!fault) {
		read_sections(table);
		fault = read_module(table);
	}
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

enum go_frame go_table_stack(const struct go_table *table, size_t index, go_stack_visit *visit,
			     void *context)
{
	return go_lines_stack(&table->lines, index, visit, context);
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
	return go_lines_find(&table->lines, address, out);
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

size_t go_table_type_name(const struct go_table *table, uint64_t offset, char *out, size_t size)
{
	uint64_t all = table->types_end - table->types, left;
	const uint8_t *types = go_table_bytes(table, table->types, &left), *text = types;
	size_t length;
	int32_t name;

	if (offset == GO_TYPE_NONE)
		return (size_t)snprintf(out, size, "(no pointers)");
	if (!types || all < TYPE_SIZE || offset > all - TYPE_SIZE || !size)
		return 0;
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
