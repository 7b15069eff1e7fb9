/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.h: names for the frames of a profile. */
/*
 * Reads ELF files that nobody vouches for, through libelf: every error is an
 * unnamed frame, never a failure. Results are cached by file. Not thread-safe.
 */
#ifndef GCPROF_SYMBOLS_H
#define GCPROF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbols;

int symbols_create(struct symbols **out);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

struct symbol {
	const char *name; /* owned by the struct symbols; NULL if nothing is known */
	uint64_t offset;  /* of the instruction in the function */
};

/*
 * The function at `offset` of the file `path`. If `build_id_size` is not 0 the
 * file is used only if it has this build-id. Names are demangled.
 */
struct symbol symbols_native(struct symbols *symbols, const char *path, const void *build_id,
			     size_t build_id_size, uint64_t offset);

/* The kernel function at `address`, from /proc/kallsyms of the running kernel. */
struct symbol symbols_kernel(struct symbols *symbols, uint64_t address);

#define BUILD_ID_MAX 64

/* The GNU build-id of an ELF file: its size, 0 if it has none, or a negative errno. */
int build_id_read(int fd, unsigned char id[BUILD_ID_MAX]);

#endif
