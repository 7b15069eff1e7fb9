/* SPDX-License-Identifier: BSD-2-Clause */
/* elf_open.h: begins to read an ELF file whose headers claim no more than files have. */
#ifndef GCPROF_ELF_OPEN_H
#define GCPROF_ELF_OPEN_H

#include <libelf.h>

#define ELF_SECTIONS_MAX 65535
#define ELF_SEGMENTS_MAX 4096
#define ELF_NAMES_MAX    (64u << 20) /* bytes of the table of section names */

/*
 * The regular file behind `fd`, read and never mapped: its owner may cut it short at any
 * moment. NULL if it is no ELF file, or one whose headers exceed the limits above: libelf
 * makes room for what they claim before it reads anything. End with elf_end().
 */
Elf *elf_open(int fd);

#endif
