/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_section.h: sections of an ELF file by their names. */
#ifndef GCPROF_ELF_SECTION_H
#define GCPROF_ELF_SECTION_H

#include <gelf.h>

/* The first section of this name and its header, or NULL. */
Elf_Scn *elf_section_find(Elf *elf, const char *name, GElf_Shdr *header);

/* Its bytes as they stand in the file, or NULL; owned by the Elf. */
Elf_Data *elf_section_bytes(Elf *elf, const char *name);

/* The string at `index` of a string table, which must end within it; NULL if it does not. */
const char *elf_string(const Elf_Data *strings, uint64_t index);

#endif
