/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_file.h: an ELF file that is not trusted, read within bounds. */
#ifndef GCPROF_ELF_FILE_H
#define GCPROF_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>

#define ELF_SECTIONS_MAX 65535
#define ELF_SEGMENTS_MAX 4096
#define ELF_NAMES_MAX    (64u << 20)  /* bytes of the table of section names */
#define ELF_SECTION_MAX  (256u << 20) /* bytes of one section, unpacked */
#define ELF_STRING_MAX   (64u << 10)  /* bytes of a name, with its zero */

struct unwind_segment;

/*
 * The regular file behind `fd`, read and never mapped: its owner may cut it short at any
 * moment. NULL if it is no ELF file, or one whose headers exceed the limits above: libelf
 * makes room for what they claim before it reads anything. End with elf_end().
 */
Elf *elf_open(int fd);

/* The program header of this number; false if there is none. */
bool elf_segment(Elf *elf, size_t index, GElf_Phdr *out);

/* Where `length` bytes at `address`, as the linker knows it, are in the file: in a segment with all
 * of these flags (PF_X). False: nowhere. */
bool elf_offset(Elf *elf, uint64_t address, uint64_t length, uint32_t flags, uint64_t *offset);

/* Segments that are loaded as code, `max` at most; how many. */
size_t elf_code_segments(Elf *elf, struct unwind_segment *out, size_t max);

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

/* The string at `index` of a string table; NULL if it does not end within the table, or is longer
 * than ELF_STRING_MAX. */
const char *elf_string(const Elf_Data *strings, uint64_t index);

#endif
