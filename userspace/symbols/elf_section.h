/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_section.h: sections of an ELF file by their names, and their bytes within bounds. */
#ifndef GCPROF_ELF_SECTION_H
#define GCPROF_ELF_SECTION_H

#include <gelf.h>

#define ELF_SECTION_MAX (256u << 20) /* bytes of one section, unpacked */

/* The first section of this name and its header, or NULL. */
Elf_Scn *elf_section_find(Elf *elf, const char *name, GElf_Shdr *header);

/*
 * What a section holds, owned by the Elf: converted to this machine's order, or its
 * bytes as they stand in the file. NULL for no section, one that has no bytes in the
 * file, more than ELF_SECTION_MAX, or bytes that cannot be read.
 */
Elf_Data *elf_section_data(Elf_Scn *section);
Elf_Data *elf_section_raw(Elf_Scn *section);

/* The bytes of the section of that name, unpacked if they are compressed; else like them. */
Elf_Data *elf_section_bytes(Elf *elf, const char *name, GElf_Shdr *header);

/* The string at `index` of a string table, which must end within it; NULL if it does not. */
const char *elf_string(const Elf_Data *strings, uint64_t index);

#endif
