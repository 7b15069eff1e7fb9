// SPDX-License-Identifier: BSD-2-Clause
/* elf_section.c: sections of an ELF file by their names, and their bytes within bounds. */
#include <stdbool.h>
#include <string.h>

#include "elf_section.h"

const char *elf_string(const Elf_Data *strings, uint64_t index)
{
	const char *text = strings ? strings->d_buf : NULL;

	if (!text || index >= strings->d_size || !memchr(text + index, 0, strings->d_size - index))
		return NULL;
	return text + index;
}

static bool is_bounded(Elf_Scn *section)
{
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_type != SHT_NOBITS &&
	       header.sh_size <= ELF_SECTION_MAX;
}

Elf_Data *elf_section_data(Elf_Scn *section)
{
	return is_bounded(section) ? elf_getdata(section, NULL) : NULL;
}

Elf_Data *elf_section_raw(Elf_Scn *section)
{
	return is_bounded(section) ? elf_rawdata(section, NULL) : NULL;
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

	if (!is_bounded(section))
		return NULL;
	if (header->sh_flags & SHF_COMPRESSED &&
	    (!gelf_getchdr(section, &packed) || packed.ch_size > ELF_SECTION_MAX ||
	     elf_compress(section, 0, 0) < 0))
		return NULL;
	return elf_rawdata(section, NULL);
}
