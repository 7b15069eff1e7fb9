// SPDX-License-Identifier: BSD-2-Clause
/* control_search.c: finds the blocks of running programs, by their symbols (gc/frame.h). */
#include "control_search.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "modules.h"
#include "snapshot.h"
#include "../../gc/frame.h"

#define CONTROL_SYMBOLS_MAX (1 << 22) /* of one file that are looked at */

static const struct wanted {
	const char *name;
	uint64_t size;
} blocks[CONTROL_BLOCKS] = {
	[BLOCK_CONTROL] = {"gcprof_control", sizeof(struct gcprof_control)},
	[BLOCK_SINGLY] = {"gcprof_singly", sizeof(struct gcprof_singly)},
	[BLOCK_ARRIVALS] = {"gcprof_arrivals", sizeof(struct gcprof_arrivals)},
};

static bool table_find(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
		       const struct wanted *wanted, uint64_t *value)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (uint64_t i = 0; data && i < count && i < CONTROL_SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) ||
		    GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size != wanted->size)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		if (!name || strcmp(name, wanted->name) != 0)
			continue;
		*value = symbol.st_value;
		return true;
	}
	return false;
}

static bool symbol_find(Elf *elf, const struct wanted *wanted, uint64_t *value)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		if (table_find(elf, section, &header, wanted, value))
			return true;
	}
	return false;
}

/* What is to be added to the addresses in the file, as one of its mappings shows. */
static bool bias_find(Elf *elf, const struct event_mmap *mapping, uint64_t *bias)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count && i < 4096; i++) {
		GElf_Phdr header;
		uint64_t first;

		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD)
			continue;
		first = header.p_offset & ~UINT64_C(0xfff);
		if (!(header.p_flags & PF_X) || mapping->offset < first ||
		    mapping->offset - first >= header.p_filesz + (header.p_offset - first))
			continue;
		*bias = mapping->address - (mapping->offset - first) -
			(header.p_vaddr - (header.p_offset - first));
		return true;
	}
	return false;
}

static bool search_file(int fd, const struct event_mmap *mapping, enum control_block block,
			uint64_t *address)
{
	const struct wanted *wanted = &blocks[block];
	uint64_t value = 0, bias = 0;
	bool found = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && symbol_find(elf, wanted, &value))
		found = bias_find(elf, mapping, &bias);
	elf_end(elf);
	*address = value + bias;
	return found;
}

/* A search in one process. */
struct search {
	enum control_block block;
	control_found *found;
	void *context;
	uint64_t last; /* address: a file may be mapped in several pieces */
};

static void search_mapping(void *context, struct event_mmap *event, const char *path)
{
	struct search *search = context;
	struct module_place place = module_place_of(event, path);
	int fd = module_open(&place);
	uint64_t address;

	if (fd < 0)
		return;
	if (search_file(fd, event, search->block, &address) && address != search->last) {
		search->last = address;
		search->found(search->context, event, address);
	}
	close(fd);
}

int control_search(uint32_t proc_pid, enum control_block block, control_found *found, void *context)
{
	struct search search = {.block = block, .found = found, .context = context};

	return snapshot_mappings(proc_pid, 0, search_mapping, &search);
}
