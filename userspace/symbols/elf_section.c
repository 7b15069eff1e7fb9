// SPDX-License-Identifier: BSD-2-Clause
/* elf_section.c: sections of an ELF file by their names. */
#include <string.h>

#include "elf_section.h"

const char *elf_string(const Elf_Data *strings, uint64_t index)
{
	const char *text = strings ? strings->d_buf : NULL;

	if (!text || index >= strings->d_size || !memchr(text + index, 0, strings->d_size - index))
		return NULL;
	return text + index;
}

Elf_Scn *elf_section_find(Elf *elf, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL, *names;
	Elf_Data *strings;
	size_t index;

	if (elf_getshdrstrndx(elf, &index) || !(names = elf_getscn(elf, index)))
		return NULL;
	strings = elf_getdata(names, NULL);
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

Elf_Data *elf_section_bytes(Elf *elf, const char *name)
{
	GElf_Shdr header;
	Elf_Scn *section = elf_section_find(elf, name, &header);

	return section && header.sh_type != SHT_NOBITS ? elf_rawdata(section, NULL) : NULL;
}
