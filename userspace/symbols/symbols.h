/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.h: names for the frames of a profile. */
/*
 * Reads ELF files that are not trusted, through libelf: every error is an
 * unnamed frame, never a failure. Results are cached by file. Not thread-safe.
 */
#ifndef GCPROF_SYMBOLS_H
#define GCPROF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "build_id.h"
#include "debug_open.h"
#include "symbol.h"

struct symbols;

/* How files are opened: by themselves, and what may be their debug files. */
struct symbols_access {
	int (*open)(void *context, const char *path); /* a descriptor or -1, and errno */
	struct debug_access debug;                    /* its context is that of `open`, too */
};

/* `access` NULL: files are opened by their paths. -ENOMEM. */
int symbols_create(const struct symbols_access *access, struct symbols **out);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

/*
 * The functions at `offset` of the file `path`: the function, and those inlined
 * into it at this place, outermost first; how many. If `build_id_size` is not 0
 * the file is used only if it has this build-id. Names are demangled; a function
 * whose name was stripped off has none, and stands alone. Texts are owned by `symbols`.
 */
size_t symbols_native(struct symbols *symbols, const char *path, const void *build_id,
		      size_t build_id_size, uint64_t offset, struct symbol out[SYMBOLS_MAX]);

/* The name of the type with this number in a file of a Go program: as elf_symbols_type(). */
size_t symbols_type(struct symbols *symbols, const char *path, const void *build_id,
		    size_t build_id_size, uint64_t number, char *out, size_t size);

/* Why nothing is known of a file that was asked for: 0, or a negative errno; -ESTALE: it has
 * another build-id. */
int symbols_error(const struct symbols *symbols, const char *path, const void *build_id,
		  size_t build_id_size);

/*
 * Reads the kernel's symbols from /proc/kallsyms, which shows addresses only to
 * processes with rights when they open it. Once. The descriptor is borrowed.
 */
void symbols_kernel_read(struct symbols *symbols, int fd);

/* The kernel function at `address` in the running kernel. */
struct symbol symbols_kernel(struct symbols *symbols, uint64_t address);

/* The readable name, to be freed; NULL if it is no mangled name or one better left alone. */
char *demangle(const char *name);

#endif
