/* SPDX-License-Identifier: BSD-2-Clause */
/* find.h: recognises a runtime in an ELF file, and finds its places; in the confined reader. */
#ifndef GCPROF_RUNTIMES_FIND_H
#define GCPROF_RUNTIMES_FIND_H

#include <gelf.h>

#include "runtime.h"
#include "../reader/site.h"
#include "../util/buffer.h"

/*
 * Recognises the runtime of a file, which is not trusted, and appends its places to *sites, of
 * which `count` are used and PROBE_SITES_MAX fit. Returns how many are used then. *facts: all zero
 * if there is none.
 */
size_t runtime_search(int fd, Elf *elf, struct runtime_facts *facts, struct probe_site *sites,
		      size_t count);

/* --- for the runtimes --------------------------------------------------------------------- */

#define RUNTIME_BLOCKS      32
#define RUNTIME_BLOCK_BYTES 4096

struct runtime_file {
	int fd;
	Elf *elf;
	struct runtime_symbols {
		struct buffer list; /* struct runtime_symbol[], in no order */
		bool is_read;
	} exported, symbols;
	struct runtime_block { /* of the file; its number modulo RUNTIME_BLOCKS is its place here */
		uint64_t number; /* from 1; 0: there is none */
		char data[RUNTIME_BLOCK_BYTES];
	} * blocks; /* NULL: none was read yet */
	void *own;  /* of the runtime that recognised the file, by malloc(): freed at the end */
	void (*own_free)(void *own); /* NULL: free() */
};

/* Frees what was read of a file; its descriptor and Elf stay. */
void runtime_file_end(struct runtime_file *file);

/* The address of a function or variable by its symbol; by one that other files may use, which are
 * few. */
bool runtime_exported(struct runtime_file *file, const char *name, uint64_t *address);
bool runtime_symbol(struct runtime_file *file, const char *name, uint64_t *address);

/* How long what has a symbol at this address is; false: no symbol says so. */
bool runtime_symbol_size(struct runtime_file *file, uint64_t address, uint64_t *size);

/* Bytes of the file at an address that the linker knows; false if it does not have them all. */
bool runtime_read(struct runtime_file *file, uint64_t address, void *out, size_t size);

/* The text at such an address, up to a zero and at most `room` - 1 bytes; false, and "": there is
 * none. */
bool runtime_text(struct runtime_file *file, uint64_t address, char *out, size_t room);

/* Adds code of the runtime's own, in the order of addresses; padding in between belongs to it. */
#define RUNTIME_GAP_MAX 64
void runtime_own_code(struct runtime_facts *facts, uint64_t begin, uint64_t end);

/* Where these bytes are in the file, in a segment with these flags (PF_X); false: nowhere. */
bool runtime_offset(struct runtime_file *file, uint64_t address, size_t size, uint32_t flags,
		    uint64_t *offset);

#endif
