/* SPDX-License-Identifier: BSD-2-Clause */
/* build_id.h: the GNU build-id of an ELF file. */
#ifndef GCPROF_BUILD_ID_H
#define GCPROF_BUILD_ID_H

#define BUILD_ID_MAX 64

/* Its size, 0 if the file has none that can be read, or -ENOEXEC: it is no ELF file, or one that
 * elf_open() refuses. */
int build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);

#endif
