// SPDX-License-Identifier: BSD-2-Clause
/* build_id.c: reads the GNU build-id of an ELF file. */
#include "build_id.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <string.h>

#include "elf_file.h"

int build_id_read(int fd, unsigned char id[BUILD_ID_MAX])
{
	Elf *elf = elf_open(fd);
	const void *found;
	ssize_t size = -ENOEXEC;

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		size = dwelf_elf_gnu_build_id(elf, &found);
		size = size > 0 && size <= BUILD_ID_MAX ? size : 0;
		if (size)
			memcpy(id, found, (size_t)size);
	}
	elf_end(elf);
	return (int)size;
}
