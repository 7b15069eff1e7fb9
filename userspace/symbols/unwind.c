// SPDX-License-Identifier: BSD-2-Clause
/* unwind.c: finds the frame information of an ELF file and compiles it to rows. */
/*
 * Sections are found by name. If they were stripped, the segment PT_GNU_EH_FRAME, which programs
 * need at run time, leads to the same bytes.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "code_rows.h"
#include "elf_file.h"
#include "go_table.h"
#include "unwind.h"
#include "unwind_build.h"

/* False: no section of this name. */
static bool find_section(Elf *elf, const char *name, struct frame_section *out)
{
	GElf_Shdr header;
	const Elf_Data *data = elf_section_bytes(elf, name, &header);

	if (!data || !data->d_buf || !data->d_size)
		return false;
	out->data = data->d_buf;
	out->size = data->d_size;
	out->address = header.sh_addr;
	return true;
}

/* The bytes of the file loaded at an address: so many, or up to the end of their segment. */
static bool find_loaded(Elf *elf, uint64_t address, uint64_t wanted, struct frame_section *out)
{
	GElf_Phdr header;

	for (size_t i = 0; elf_segment(elf, i, &header); i++) {
		Elf_Data *data;
		uint64_t size;

		if (header.p_type != PT_LOAD || address - header.p_vaddr >= header.p_filesz)
			continue;
		size = header.p_filesz - (address - header.p_vaddr);
		size = size < wanted ? size : wanted;
		if (size > ELF_SECTION_MAX || header.p_offset > INT64_MAX - header.p_filesz)
			return false;
		data = elf_getdata_rawchunk(elf,
					    (int64_t)(header.p_offset + (address - header.p_vaddr)),
					    size, ELF_T_BYTE);
		if (!data || !data->d_buf)
			return false;
		*out = (struct frame_section){data->d_buf, data->d_size, address, false};
		return true;
	}
	return false;
}

/* .eh_frame_hdr starts with version 1, encodings, and the distance from itself + 4 to .eh_frame. */
static bool find_by_segment(Elf *elf, struct frame_section *out)
{
	static const uint8_t pc_relative_4 = 0x1b;
	struct frame_section table;
	GElf_Phdr header;

	for (size_t i = 0; elf_segment(elf, i, &header); i++) {
		int32_t distance;

		if (header.p_type != PT_GNU_EH_FRAME)
			continue;
		if (!find_loaded(elf, header.p_vaddr, UINT64_MAX, &table) || table.size < 8 ||
		    table.data[0] != 1 || table.data[1] != pc_relative_4)
			return false;
		memcpy(&distance, table.data + 4, sizeof(distance));
		return find_loaded(elf, header.p_vaddr + 4 + (uint64_t)(int64_t)distance,
				   UINT64_MAX, out);
	}
	return false;
}

static int add_sections(Elf *elf, struct unwind_builder *builder)
{
	struct frame_section section = {0};
	int err = 0;

	if (find_section(elf, ".eh_frame", &section) || find_by_segment(elf, &section))
		err = unwind_builder_add(builder, &section);
	if (!err)
		err = go_unwind_add(elf, builder);
	if (err || unwind_builder_count(builder))
		return err;
	section = (struct frame_section){.debug = true};
	if (find_section(elf, ".debug_frame", &section))
		err = unwind_builder_add(builder, &section);
	return err;
}

/* --- functions without frame information -------------------------------------------------- */

struct gaps {
	Elf *elf;
	struct unwind_builder *builder;
	uint64_t most, left; /* bytes to look at: in one, and in all */
};

/* With more, the compiler wrote information for all that it made: what has none is small. */
#define FUNCTIONS_FEW 100
#define GAP_BYTES     8192

static int add_gap(void *context, uint64_t begin, uint64_t end)
{
	struct gaps *gaps = context;
	struct frame_section code;

	if (end - begin > gaps->most || end - begin > gaps->left ||
	    !find_loaded(gaps->elf, begin, end - begin, &code) || code.size < end - begin)
		return 0;
	gaps->left -= end - begin;
	return code_rows_add(code.data, code.size, begin, gaps->builder);
}

/* Not of files without any: these may be of a compiler with a stack of its own. */
static int add_gaps(Elf *elf, struct unwind_builder *builder)
{
	bool is_bare = unwind_builder_count(builder) < FUNCTIONS_FEW;
	struct gaps gaps = {elf, builder, is_bare ? CODE_ROWS_BYTES_MAX : GAP_BYTES,
			    CODE_ROWS_BYTES_MAX};
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int err = 0;

	while (!err && unwind_builder_count(builder) && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_flags & SHF_EXECINSTR)
			err = unwind_builder_gaps(builder, header.sh_addr,
						  header.sh_addr + header.sh_size, add_gap, &gaps);
	return err;
}

static int compile(Elf *elf, uint64_t entry, struct unwind_file *file)
{
	struct unwind_builder *builder = unwind_builder_create();
	uint64_t low = UINT64_MAX, high = 0;
	int err = builder ? 0 : -ENOMEM;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct unwind_segment *segment = &file->segments[i];

		if (segment->address < low)
			low = segment->address;
		if (segment->address + segment->size > high)
			high = segment->address + segment->size;
	}
	if (!err)
		err = add_sections(elf, builder);
	if (!err && entry >= low && entry < high && unwind_builder_count(builder))
		err = unwind_builder_add_entry(builder, entry);
	if (!err)
		err = add_gaps(elf, builder);
	if (!err)
		err = unwind_builder_finish(builder, low, high, file);
	unwind_builder_free(builder);
	return err;
}

/* Takes over the Elf. */
static int unwind_create(Elf *elf, struct unwind_file **out)
{
	struct unwind_file *file = calloc(1, sizeof(*file));
	GElf_Ehdr header;
	int err = file ? -ENOEXEC : -ENOMEM;

	if (file && elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header) &&
	    header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	    header.e_ident[EI_DATA] == ELFDATA2LSB) {
		file->n_segments = elf_code_segments(elf, file->segments, UNWIND_SEGMENTS_MAX);
		err = compile(elf, header.e_entry, file);
	}
	elf_end(elf);
	if (err) {
		unwind_free(file);
		return err;
	}
	*out = file;
	return 0;
}

int unwind_read(int fd, struct unwind_file **out)
{
	return unwind_create(elf_open(fd), out);
}

int unwind_read_go(int fd, struct unwind_file **out)
{
	Elf *elf = elf_open(fd);

	if (elf && go_table_has(elf))
		return unwind_create(elf, out);
	elf_end(elf);
	return -ENOEXEC;
}

int unwind_read_memory(void *image, size_t size, struct unwind_file **out)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOEXEC;
	return unwind_create(elf_memory(image, size), out);
}
