/* SPDX-License-Identifier: BSD-2-Clause */
/* ruby_layout.c: layouts of Ruby interpreter structures, by version. */
/*
 * There is a row per minor release, compared with that release as Debian builds it, and run. What
 * small exported functions of a file read there is compared with the row, since a build may have
 * other layouts. The interpreter must be in a shared library, which finds its thread-local storage
 * by a pair of words that the dynamic linker fills in.
 */
#include "ruby_layout.h"

#include <string.h>

#include "../symbols/elf_file.h"
#include "find.h"

#define STORAGES_MAX 1024 /* thread-local variables of a file that are searched */

static const struct row {
	const char *version; /* with the '.' in front of the third number */
	uint16_t at[RUBY_ITEMS];
} rows[] = {
	{"3.1.",
	 {[RUBY_FRAME_BYTES] = 64,
	  [RUBY_TAG_LABEL] = 24,
	  [RUBY_TAG_PREVIOUS] = 56,
	  [RUBY_BODY_CODE] = 8,
	  [RUBY_BODY_FILE] = 64,
	  [RUBY_BODY_NAME] = 80,
	  [RUBY_BODY_LINE] = 88,
	  [RUBY_BODY_ENTRIES] = 120,
	  [RUBY_BODY_INDEX] = 144}},
};

/* Functions that begin by reading the body of a function object, and this item of it. */
static const struct {
	const char *name;
	enum ruby_item item;
} readers[] = {
	{"rb_iseq_path", RUBY_BODY_FILE},
	{"rb_iseq_label", RUBY_BODY_NAME},
	{"rb_iseq_first_lineno", RUBY_BODY_LINE},
};

static bool reads_as(struct runtime_file *file, const char *name, uint16_t offset)
{
	const uint8_t wanted[] = {0x48, 0x8b, 0x47, RUBY_CODE_BODY * sizeof(uint64_t), /* n(%rdi) */
				  0x48, 0x8b, 0x40, (uint8_t)offset};                  /* n(%rax) */
	uint8_t code[sizeof(wanted)];
	uint64_t at;

	return runtime_exported(file, name, &at) && runtime_read(file, at, code, sizeof(code)) &&
	       !memcmp(code, wanted, sizeof(wanted));
}

/* The same for the size of a frame: rb_vm_get_ruby_level_next_cfp() goes up by it. */
static bool goes_up_by(struct runtime_file *file, uint16_t bytes)
{
	const uint8_t wanted[] = {0x48, 0x83, 0xc6, (uint8_t)bytes}; /* add $n,%rsi */
	uint8_t code[48];
	uint64_t at;

	return runtime_exported(file, "rb_vm_get_ruby_level_next_cfp", &at) &&
	       runtime_read(file, at, code, sizeof(code)) &&
	       memmem(code, sizeof(code), wanted, sizeof(wanted));
}

struct storage_search {
	const char *name;
	unsigned left; /* thread-local variables still to look at */
	uint64_t found;
};

/* The same in a table of relocations. */
static bool storage_in(struct storage_search *search, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Scn *linked = elf_getscn(elf, header->sh_link);
	Elf_Data *data = elf_section_data(section), *symbols = elf_section_data(linked), *strings;
	GElf_Rela relocation;
	GElf_Shdr table;
	GElf_Sym symbol;

	if (!data || !symbols || !gelf_getshdr(linked, &table))
		return false;
	strings = elf_section_data(elf_getscn(elf, table.sh_link));
	for (int i = 0; strings && search->left && gelf_getrela(data, i, &relocation); i++) {
		const char *name;

		if (GELF_R_TYPE(relocation.r_info) != R_X86_64_DTPMOD64)
			continue;
		search->left--;
		if (!gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		name = elf_string(strings, symbol.st_name);
		search->found = relocation.r_offset;
		if (name && !strcmp(name, search->name))
			return true;
	}
	return false;
}

/* Where the dynamic linker stores the module and the offset of a thread-local variable. */
static bool storage_of(Elf *elf, const char *name, uint64_t *out)
{
	struct storage_search search = {.name = name, .left = STORAGES_MAX};
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !storage_in(&search, elf, section, &header))
			continue;
		*out = search.found;
		return true;
	}
	return false;
}

static const struct row *row_of(struct runtime_file *file, const char *version)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool matches = !strncmp(version, rows[i].version, strlen(rows[i].version)) &&
			       goes_up_by(file, rows[i].at[RUBY_FRAME_BYTES]);

		for (size_t j = 0; matches && j < sizeof(readers) / sizeof(readers[0]); j++)
			matches = reads_as(file, readers[j].name, rows[i].at[readers[j].item]);
		if (matches)
			return &rows[i];
	}
	return NULL;
}

bool ruby_layout_of(struct runtime_file *file, const char *version, struct ruby_layout *out)
{
	const struct row *row = row_of(file, version);
	struct ruby_layout layout = {0};

	memset(out, 0, sizeof(*out));
	if (!row || !runtime_exported(file, "rb_vm_exec", &layout.loop) ||
	    !runtime_symbol_size(file, layout.loop, &layout.loop_size) ||
	    !storage_of(file->elf, "ruby_current_ec", &layout.storage))
		return false;
	memcpy(layout.at, row->at, sizeof(layout.at));
	*out = layout;
	return true;
}
