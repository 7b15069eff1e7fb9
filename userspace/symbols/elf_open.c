/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_open.c: begins to read an ELF file whose headers claim no more than files have. */
#include "elf_open.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the limits are about, of either class. */
struct counts {
	uint64_t table; /* where the section headers are, 0: there are none */
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

	/* A file of the narrow class may end behind its shorter header. */
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

/* One section header, of either class. */
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

/* Counts that do not fit into the file's header stand in the first section's (gABI, chapter 4). */
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
