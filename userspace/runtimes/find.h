/* SPDX-License-Identifier: BSD-2-Clause */
/* find.h: recognises a runtime in an ELF file and finds its probe sites; in the confined reader. */
#ifndef GCPROF_RUNTIMES_FIND_H
#define GCPROF_RUNTIMES_FIND_H

#include <gelf.h>

#include "runtime.h"
#include "../reader/site.h"
#include "../util/buffer.h"

/*
 * Recognises the runtime of an untrusted file, and appends its probe sites to *sites, which has
 * room for PROBE_SITES_MAX, of which `count` are used. Returns the new count. *facts: all zero if
 * there is no runtime.
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
		struct buffer list; /* struct runtime_symbol[], unordered */
		bool is_read;
	} exported, symbols;
	struct runtime_block {   /* of the file; its index is its number modulo RUNTIME_BLOCKS */
		uint64_t number; /* from 1; 0: empty */
		char data[RUNTIME_BLOCK_BYTES];
	} * blocks; /* NULL: none read yet */
	void *own;  /* private data of the recognised runtime, from malloc(): freed at the end */
	void (*own_free)(void *own); /* NULL: free() */
};

/* Frees cached data of a file; its descriptor and Elf stay. */
void runtime_file_end(struct runtime_file *file);

/* The address of a function or variable by its symbol; runtime_exported() searches only the
 * exported symbols, which are few. */
bool runtime_exported(struct runtime_file *file, const char *name, uint64_t *address);
bool runtime_symbol(struct runtime_file *file, const char *name, uint64_t *address);

/* The size of the symbol at this address, or else of the function in the frame information; false:
 * none has a size. */
bool runtime_symbol_size(struct runtime_file *file, uint64_t address, uint64_t *size);

/* Reads bytes of the file at a link-time address; false if it does not have them all. */
bool runtime_read(struct runtime_file *file, uint64_t address, void *out, size_t size);

/* Reads the text at such an address, up to a zero and at most `room` - 1 bytes; false, and "":
 * none. */
bool runtime_text(struct runtime_file *file, uint64_t address, char *out, size_t room);

/* Adds code of the runtime itself, in address order; also covers padding in between. */
#define RUNTIME_GAP_MAX 64
void runtime_own_code(struct runtime_facts *facts, uint64_t begin, uint64_t end);

/* The file offset of these bytes, in a segment with these flags (PF_X); false: nowhere. */
bool runtime_offset(struct runtime_file *file, uint64_t address, size_t size, uint32_t flags,
		    uint64_t *offset);

#endif
