/* SPDX-License-Identifier: BSD-2-Clause */
/* facts.c: what the recorder must know of a mapped file at once: READ_FACTS. */
#include "facts.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../gc/provider/frame.h"
#include "../symbols/elf_file.h"

#define SYMBOLS_READ_MAX (1 << 22) /* of one file */

static const struct {
	const char *name;
	uint64_t size;
} blocks[CONTROL_BLOCKS] = {
	[BLOCK_CONTROL] = {"gcprof_control", sizeof(struct gcprof_control)},
	[BLOCK_SINGLY] = {"gcprof_singly", sizeof(struct gcprof_singly)},
	[BLOCK_ARRIVALS] = {"gcprof_arrivals", sizeof(struct gcprof_arrivals)},
};

static void read_symbol(const Elf_Data *strings, const GElf_Sym *symbol, struct file_facts *facts)
{
	const char *name;

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT)
		return;
	for (int i = 0; i < CONTROL_BLOCKS; i++) {
		if (facts->blocks[i] || symbol->st_size != blocks[i].size)
			continue;
		name = elf_string(strings, symbol->st_name);
		if (name && strcmp(name, blocks[i].name) == 0)
			facts->blocks[i] = symbol->st_value;
	}
}

static void read_blocks(Elf *elf, struct file_facts *facts)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int left = SYMBOLS_READ_MAX;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data, *strings;
		GElf_Sym symbol;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
			continue;
		data = elf_section_data(section);
		strings = elf_section_data(elf_getscn(elf, header.sh_link));
		for (int i = 0; data && left && gelf_getsym(data, i, &symbol); i++, left--)
			read_symbol(strings, &symbol, facts);
	}
}

static void read_interpreter(int fd, const GElf_Phdr *header, struct file_facts *facts)
{
	char *text = facts->interpreter;
	size_t size = header->p_filesz;

	if (size < 2 || size > sizeof(facts->interpreter) ||
	    pread(fd, text, size, (off_t)header->p_offset) != (ssize_t)size || text[size - 1] ||
	    text[0] != '/')
		text[0] = '\0';
}

static void read_segments(int fd, Elf *elf, struct file_facts *facts)
{
	GElf_Phdr header;

	for (size_t i = 0; elf_segment(elf, i, &header); i++)
		if (header.p_type == PT_INTERP)
			read_interpreter(fd, &header, facts);
	facts->n_segments = (uint32_t)elf_code_segments(elf, facts->segments, UNWIND_SEGMENTS_MAX);
}

static void read_elf(int fd, struct file_facts *facts)
{
	Elf *elf = elf_open(fd);

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		read_segments(fd, elf, facts);
		/* Programs that can be asked are programs with probes. */
		if (facts->n_sites)
			read_blocks(elf, facts);
	}
	elf_end(elf);
}

int facts_read(int fd, struct file_facts *out, struct probe_site **sites)
{
	struct problem problem = {""};
	struct probes_found found;
	int err;

	memset(out, 0, sizeof(*out));
	*sites = NULL;
	out->build_id_size = build_id_read(fd, out->build_id);
	if (out->build_id_size < 0)
		return 0;
	err = probes_find(fd, &found, &problem);
	if (err)
		return err;
	out->n_sites = (uint32_t)found.n_sites;
	out->refused = found.refused;
	out->runtime = found.runtime;
	memcpy(out->problem, problem.text, sizeof(out->problem) - 1);
	*sites = found.sites;
	read_elf(fd, out);
	return 0;
}

static bool is_operand(const struct probe_argument *argument)
{
	return argument->size && argument->size <= 8 && !(argument->size & (argument->size - 1)) &&
	       argument->is_signed <= 1;
}

/* A place of the file's own runtime, which has it. */
static bool is_place(const struct file_facts *facts, const struct probe_place *place)
{
	const struct runtime *runtime = runtime_get(facts->runtime.runtime);
	const struct runtime_place *row;

	if (place->probe != PROBE_PLACE || !runtime || place->runtime != facts->runtime.runtime ||
	    place->place >= runtime->n_places)
		return false;
	row = &runtime->places[place->place];
	return place->flags == row->flags ||
	       (row->where == PLACE_BEHIND_CHECK && place->flags == (row->flags | PLACE_JUMP));
}

static bool is_site(const struct file_facts *facts, const struct probe_site *site)
{
	if ((site->place.probe >= PROBES && !is_place(facts, &site->place)) ||
	    site->place.count > PROBE_ARGUMENTS)
		return false;
	for (uint32_t i = 0; i < site->place.count; i++)
		if (!is_operand(&site->place.arguments[i]))
			return false;
	return true;
}

int facts_take(const void *data, size_t size, struct file_facts *out,
	       const struct probe_site **sites)
{
	if (size < sizeof(*out))
		return -EBADMSG;
	memcpy(out, data, sizeof(*out));
	*sites = (const void *)((const char *)data + sizeof(*out));
	if (out->build_id_size > BUILD_ID_MAX || out->n_segments > UNWIND_SEGMENTS_MAX ||
	    out->n_sites > PROBE_SITES_MAX ||
	    size != sizeof(*out) + out->n_sites * sizeof(struct probe_site))
		return -EBADMSG;
	for (uint32_t i = 0; i < out->n_sites; i++)
		if (!is_site(out, &(*sites)[i]))
			return -EBADMSG;
	out->problem[sizeof(out->problem) - 1] = '\0';
	out->runtime.version[sizeof(out->runtime.version) - 1] = '\0';
	out->runtime.missing[sizeof(out->runtime.missing) - 1] = '\0';
	if (out->runtime.n_own > RUNTIME_OWN_MAX ||
	    (out->runtime.runtime && !runtime_get(out->runtime.runtime)))
		return -EBADMSG;
	if (!out->n_sites)
		memset(out->blocks, 0, sizeof(out->blocks));
	for (size_t i = 0; i < RUNTIME_REASONS_MAX; i++)
		out->runtime.reasons[i][RUNTIME_REASON_BYTES - 1] = '\0';
	out->interpreter[sizeof(out->interpreter) - 1] = '\0';
	return 0;
}

bool facts_locate(const struct file_facts *facts, uint64_t start, uint64_t offset, uint64_t address,
		  uint64_t *out)
{
	return unwind_locate(facts->segments, facts->n_segments, start, offset, address, out);
}
