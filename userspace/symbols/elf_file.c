/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_file.c: reads an untrusted ELF file within limits. */
#include "elf_file.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind_file.h"

/* The limited quantities, for either ELF class. */
struct counts {
	uint64_t table; /* offset of the section headers; 0: none */
	uint64_t sections, segments, names;
	bool wide;
};

static bool read_at(int fd, void *out, size_t size, uint64_t at)
{
	return at <= INT64_MAX - size && pread(fd, out, size, (off_t)at) == (ssize_t)size;
}

static bool read_counts(int fd, struct counts *out)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} header = {{0}};

	/* A 32-bit file may end after its shorter header. */
	if (pread(fd, &header, sizeof(header), 0) < (ssize_t)sizeof(header.narrow) ||
	    memcmp(header.ident, ELFMAG, SELFMAG) != 0)
		return false;
	out->wide = header.ident[EI_CLASS] == ELFCLASS64;
	if (out->wide)
		*out = (struct counts){header.wide.e_shoff, header.wide.e_shnum,
				       header.wide.e_phnum, header.wide.e_shstrndx, true};
	else
		*out = (struct counts){header.narrow.e_shoff, header.narrow.e_shnum,
				       header.narrow.e_phnum, header.narrow.e_shstrndx, false};
	return true;
}

/* Reads a section header of either ELF class. */
static bool read_section(int fd, const struct counts *counts, uint64_t index, Elf64_Shdr *out)
{
	Elf32_Shdr narrow;

	if (index > ELF_SECTIONS_MAX || counts->table > INT64_MAX / 2)
		return false;
	if (counts->wide)
		return read_at(fd, out, sizeof(*out), counts->table + index * sizeof(*out));
	if (!read_at(fd, &narrow, sizeof(narrow), counts->table + index * sizeof(narrow)))
		return false;
	*out = (Elf64_Shdr){.sh_size = narrow.sh_size, .sh_link = narrow.sh_link};
	return true;
}

/* Counts that do not fit into the file header are in the first section header (gABI, chapter 4). */
static bool is_bounded(int fd, struct counts *counts)
{
	Elf64_Shdr first, names;

	if (!counts->table)
		return counts->segments <= ELF_SEGMENTS_MAX;
	if (counts->sections == 0 || counts->names == SHN_XINDEX) {
		if (!read_section(fd, counts, 0, &first))
			return counts->segments <= ELF_SEGMENTS_MAX;
		counts->sections = counts->sections ? counts->sections : first.sh_size;
		counts->names = counts->names == SHN_XINDEX ? first.sh_link : counts->names;
	}
	if (counts->sections > ELF_SECTIONS_MAX || counts->segments > ELF_SEGMENTS_MAX)
		return false;
	return !read_section(fd, counts, counts->names, &names) || names.sh_size <= ELF_NAMES_MAX;
}

Elf *elf_open(int fd)
{
	struct counts counts;
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || elf_version(EV_CURRENT) == EV_NONE)
		return NULL;
	if (!read_counts(fd, &counts) || !is_bounded(fd, &counts))
		return NULL;
	return elf_begin(fd, ELF_C_READ, NULL);
}

/* --- segments --------------------------------------------------------------------------- */

bool elf_segment(Elf *elf, size_t index, GElf_Phdr *out)
{
	size_t n;

	return index < ELF_SEGMENTS_MAX && !elf_getphdrnum(elf, &n) && index < n &&
	       gelf_getphdr(elf, (int)index, out);
}

bool elf_offset(Elf *elf, uint64_t address, uint64_t length, uint32_t flags, uint64_t *offset)
{
	GElf_Phdr header;

	for (size_t i = 0; elf_segment(elf, i, &header); i++) {
		if (header.p_type != PT_LOAD || (header.p_flags & flags) != flags ||
		    address < header.p_vaddr)
			continue;
		if (header.p_filesz < length || address - header.p_vaddr > header.p_filesz - length)
			continue;
		if (header.p_offset > INT64_MAX - (address - header.p_vaddr))
			continue;
		*offset = header.p_offset + (address - header.p_vaddr);
		return true;
	}
	return false;
}

size_t elf_code_segments(Elf *elf, struct unwind_segment *out, size_t max)
{
	GElf_Phdr header;
	size_t n = 0;

	for (size_t i = 0; n < max && elf_segment(elf, i, &header); i++)
		if (header.p_type == PT_LOAD && header.p_flags & PF_X && header.p_filesz &&
		    header.p_vaddr <= UINT64_MAX - header.p_filesz)
			out[n++] = (struct unwind_segment){header.p_offset, header.p_vaddr,
							   header.p_filesz};
	return n;
}

/* --- sections --------------------------------------------------------------------------- */

const char *elf_string(const Elf_Data *strings, uint64_t index)
{
	const char *text = strings ? strings->d_buf : NULL;
	size_t left;

	if (!text || index >= strings->d_size)
		return NULL;
	left = strings->d_size - index;
	return memchr(text + index, 0, left < ELF_STRING_MAX ? left : ELF_STRING_MAX) ? text + index
										      : NULL;
}

static bool is_loadable(Elf_Scn *section)
{
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
	       header.sh_size <= ELF_SECTION_MAX;
}

Elf_Data *elf_section_data(Elf_Scn *section)
{
	return is_loadable(section) ? elf_getdata(section, NULL) : NULL;
}

Elf_Data *elf_section_raw(Elf_Scn *section)
{
	return is_loadable(section) ? elf_rawdata(section, NULL) : NULL;
}

Elf_Scn *elf_section_find(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL, *names;
	Elf_Data *strings;
	size_t index;

	if (elf_getshdrstrndx(elf, &index) || !(names = elf_getscn(elf, index)))
		return NULL;
	strings = elf_section_data(names);
	while ((section = elf_nextscn(elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, header))
			continue;
		found = elf_string(strings, header->sh_name);
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

Elf_Data *elf_section_bytes(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = elf_section_find(elf, name, header);
	GElf_Chdr packed;

	if (!is_loadable(section))
		return NULL;
	if (header->sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section, &packed) || packed.ch_size > ELF_SECTION_MAX ||
	     elf_compress(section, 0, 0) < 0))
		return NULL;
	return elf_rawdata(section, NULL);
}

int build_id_read(int fd, unsigned char id[BUILD_ID_MAX])
{
	Elf *elf = elf_open(fd);
	const void *found;
	ssize_t size = -ENOEXEC;

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		size = dwelf_elf_gnu_build_id(elf, &found);
		size = size > 0 && size <= BUILD_ID_MAX ? size : 0;
		if (size)
			memcpy(id, found, (size_t)size);
	}
	elf_end(elf);
	return (int)size;
}
