// SPDX-License-Identifier: BSD-2-Clause
/* plt_names.c: names the stubs through which code calls other files (the PLT). */
/*
 * A stub jumps to the address in a slot: "ff 25" and the distance of the slot. The relocation of
 * that slot names the function. No assumption is made about the order of stubs, which differs
 * between linkers and options.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../util/buffer.h"
#include "elf_file.h"
#include "elf_symbols.h"

#define STUBS_MAX      (1u << 20) /* per section */
#define RELOCATION_MAX (4u << 20) /* bytes read per section */
#define STUB_SIZE      16
#define JUMP_SIZE      6

struct slot {
	uint64_t address;
	const char *name; /* NULL: a function in this file */
	uint64_t target;  /* its address */
};

struct search {
	Elf *elf;
	struct buffer slots; /* struct slot[], sorted by address */
	plt_visit *visit;
	plt_resolve *resolve;
	void *context;
};

/* The symbols referenced by relocations of a section. */
struct table {
	Elf_Data *symbols;
	Elf_Data *strings;
};

static struct table read_symbols(Elf *elf, size_t index)
{
	struct table table = {0};
	Elf_Scn *section = elf_getscn(elf, index);
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header) ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return table;
	table.symbols = elf_section_data(section);
	table.strings = elf_section_data(elf_getscn(elf, header.sh_link));
	return table;
}

/* The function to which the slot of a relocation leads; false if there is none. */
static bool read_slot(const struct table *table, const GElf_Rela *relocation, struct slot *slot)
{
	GElf_Sym symbol;

	*slot = (struct slot){.address = relocation->r_offset};
	switch (GELF_R_TYPE(relocation->r_info)) {
	case R_X86_64_IRELATIVE:
		slot->target = (uint64_t)relocation->r_addend;
		return true;
	case R_X86_64_JUMP_SLOT:
	case R_X86_64_GLOB_DAT:
		if (!table->symbols ||
		    !gelf_getsym(table->symbols, (int)GELF_R_SYM(relocation->r_info), &symbol))
			return false;
		slot->name = elf_string(table->strings, symbol.st_name);
		return slot->name && *slot->name;
	default:
		return false;
	}
}

static int read_slots(struct search *search, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(search->elf, name, &header);
	Elf_Data *data = section && header.sh_type == SHT_RELA ? elf_section_data(section) : NULL;
	size_t size = gelf_fsize(search->elf, ELF_T_RELA, 1, EV_CURRENT);
	struct table table;

	if (!data || !size || data->d_type != ELF_T_RELA)
		return 0;
	table = read_symbols(search->elf, header.sh_link);
	for (size_t i = 0; i < data->d_size / size && i < RELOCATION_MAX; i++) {
		GElf_Rela relocation;
		struct slot slot;

		if (gelf_getrela(data, (int)i, &relocation) &&
		    read_slot(&table, &relocation, &slot) &&
		    buffer_append(&search->slots, &slot, sizeof(slot)))
			return -ENOMEM;
	}
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

/* The slot through which a stub jumps: its bytes contain "jmp *distance(%rip)". */
static const struct slot *find_slot(const struct search *search, const unsigned char *stub,
				    size_t size, uint64_t address)
{
	for (size_t i = 0; i + JUMP_SIZE <= size; i++) {
		struct slot key = {0};
		int32_t distance;

		if (stub[i] != 0xff || stub[i + 1] != 0x25)
			continue;
		memcpy(&distance, stub + i + 2, sizeof(distance));
		key.address = address + i + JUMP_SIZE + (uint64_t)(int64_t)distance;
		return bsearch(&key, search->slots.data, search->slots.size / sizeof(key),
			       sizeof(key), by_address);
	}
	return NULL;
}

static int read_stubs(struct search *search, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(search->elf, name, &header);
	Elf_Data *data = section && header.sh_type == SHT_PROGBITS ? elf_section_raw(section)
								   : NULL;
	size_t size = section && header.sh_entsize == 8 ? 8 : STUB_SIZE;
	int err = 0;

	if (!data || !data->d_buf)
		return 0;
	for (size_t i = 0; (i + 1) * size <= data->d_size && i < STUBS_MAX && !err; i++) {
		uint64_t address = header.sh_addr + i * size;
		const struct slot *slot = find_slot(
			search, (const unsigned char *)data->d_buf + i * size, size, address);
		const char *callee = NULL;

		if (slot)
			callee = slot->name ? slot->name
					    : search->resolve(search->context, slot->target);
		if (callee)
			err = search->visit(search->context, address, size, callee);
	}
	return err;
}

int plt_each(Elf *elf, plt_visit *visit, plt_resolve *resolve, void *context)
{
	static const char *const relocations[] = {".rela.plt", ".rela.dyn"};
	static const char *const stubs[] = {".plt", ".plt.sec", ".plt.got"};
	struct search search = {.elf = elf, .visit = visit, .resolve = resolve, .context = context};
	GElf_Ehdr header;
	int err = 0;

	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
		return 0;
	for (size_t i = 0; i < sizeof(relocations) / sizeof(relocations[0]) && !err; i++)
		err = read_slots(&search, relocations[i]);
	if (!err && search.slots.size) {
		qsort(search.slots.data, search.slots.size / sizeof(struct slot),
		      sizeof(struct slot), by_address);
		for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]) && !err; i++)
			err = read_stubs(&search, stubs[i]);
	}
	buffer_free(&search.slots);
	return err;
}
