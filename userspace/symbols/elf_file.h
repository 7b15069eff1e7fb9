/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_file.h: reads an untrusted ELF file within limits. */
#ifndef GCPROF_ELF_FILE_H
#define GCPROF_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>

#include "debug_open.h"

#define ELF_SECTIONS_MAX 65535
#define ELF_SEGMENTS_MAX 4096
#define ELF_NAMES_MAX    (64u << 20)  /* bytes of the table of section names */
#define ELF_SECTION_MAX  (256u << 20) /* bytes of one section, unpacked */
#define ELF_STRING_MAX   (64u << 10)  /* bytes of a name, including its zero */

struct unwind_segment;

/*
 * Opens the regular file behind `fd` for reading. It is never mapped, because its owner may
 * truncate it at any time. NULL if it is not an ELF file, or if its headers exceed the limits
 * above: libelf allocates for their claims before it reads anything. Release with elf_end().
 */
Elf *elf_open(int fd);

/* The program header with this number; false if there is none. */
bool elf_segment(Elf *elf, size_t index, GElf_Phdr *out);

/* The file offset of `length` bytes at a link-time `address`, in a segment with all of these flags
 * (PF_X). False: nowhere. */
bool elf_offset(Elf *elf, uint64_t address, uint64_t length, uint32_t flags, uint64_t *offset);

/* Segments loaded as code, at most `max`; returns their number. */
size_t elf_code_segments(Elf *elf, struct unwind_segment *out, size_t max);

/* The first section of this name and its header, or NULL. */
Elf_Scn *elf_section_find(Elf *elf, const char *name, GElf_Shdr *header);

/*
 * The content of a section, owned by the Elf: converted to this machine's byte order, or raw. NULL
 * for no section, a section without bytes in the file, more than ELF_SECTION_MAX, or unreadable
 * bytes.
 */
Elf_Data *elf_section_data(Elf_Scn *section);
Elf_Data *elf_section_raw(Elf_Scn *section);

/* The raw content of the section with that name, decompressed if necessary; otherwise the same. */
Elf_Data *elf_section_bytes(Elf *elf, const char *name, GElf_Shdr *header);

/* The string at `index` of a string table; NULL if it is not terminated within the table, or longer
 * than ELF_STRING_MAX. */
const char *elf_string(const Elf_Data *strings, uint64_t index);

/* Reads the GNU build-id of a file: its size, 0 if there is no readable one, or -ENOEXEC: not an
 * ELF file, or one that elf_open() refuses. */
int build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);

#endif
