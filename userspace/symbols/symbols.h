/* SPDX-License-Identifier: BSD-2-Clause */
/* symbols.h: names for the frames of a profile. */
/*
 * Reads untrusted ELF files through libelf: every error is an unnamed frame, never a failure.
 * Results are cached by file. Not thread-safe.
 */
#ifndef GCPROF_SYMBOLS_H
#define GCPROF_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "debug_open.h"
#include "symbol.h"

struct symbols;

/* How files are opened: the files themselves, and candidates for their debug files. */
struct symbols_access {
	int (*open)(void *context, const char *path); /* returns a descriptor, or -1 and errno */
	struct debug_access debug;                    /* shares the context of `open` */
};

/* `access` NULL: files are opened by path. -ENOMEM. */
int symbols_create(const struct symbols_access *access, struct symbols **out);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

/*
 * The functions at `offset` of the file `path`: the function and those inlined into it there,
 * outermost first; returns their number. If `build_id_size` is not 0, the file must have this
 * build-id. Names are demangled; a function whose name was stripped has none, and stands alone.
 * Texts are owned by `symbols`.
 */
size_t symbols_native(struct symbols *symbols, const char *path, const void *build_id,
		      size_t build_id_size, uint64_t offset, struct symbol out[SYMBOLS_MAX]);

/* The name of a type in the file of a Go program: see elf_symbols_type(). */
size_t symbols_type(struct symbols *symbols, const char *path, const void *build_id,
		    size_t build_id_size, uint64_t number, char *out, size_t size, bool *plain);

/* Why a requested file has no symbols: 0, or a negative errno; -ESTALE: it has another build-id. */
int symbols_error(const struct symbols *symbols, const char *path, const void *build_id,
		  size_t build_id_size);

/* The readable name, which the caller frees; NULL if it is not mangled or better left alone. */
char *demangle(const char *name);

#define LONG_NAME_MAX 512 /* characters kept */

/*
 * Shortens a readable name in place to LONG_NAME_MAX characters, so that it keeps the function's
 * own name and differs from other names: parameters become "(...)", then template arguments
 * "<...>", the most deeply nested first. A hash of the whole name is its end. Thread-safe.
 */
void long_name_shorten(char *name);

#endif
