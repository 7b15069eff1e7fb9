/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id.h: reads the GNU build-id of an ELF file. */
#ifndef GCPROF_BUILD_ID_H
#define GCPROF_BUILD_ID_H

#define BUILD_ID_MAX 64

/* Returns its size, 0 if the file has no readable one, or -ENOEXEC: not an ELF file, or one that
 * elf_open() refuses. */
int build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);

#endif
