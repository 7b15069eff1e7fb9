/* SPDX-License-Identifier: BSD-2-Clause */
/* name_reader.h: how functions are named from the memory of their process; in the confined reader.
 */
#ifndef GCPROF_NAME_READER_H
#define GCPROF_NAME_READER_H

#include <stddef.h>
#include <stdint.h>

#include "../symbols/symbol.h"

struct remote;

/* Nothing that is read is trusted. */
struct name_reader {
	const char *library; /* base names of its files begin so */
	/* A request may follow after this many times the CPU time of the last one: more where each
	 * reads all functions. */
	uint32_t rests;
	uint32_t retries; /* for a frame without a name */
	/* What a file says about its processes, from malloc(), and freed with free(); NULL: the
	 * file is another. `fd` is borrowed. */
	void *(*read)(int fd);
	/* A process with that file. Both are borrowed until close(); `bias` is the file's. -ENOMEM.
	 */
	int (*open)(struct remote *memory, void *file, uint64_t bias, void **out);
	/* The functions of a frame, outermost first; returns their number, 0: unknown, or no longer
	 * known. Texts stay valid until the next call. */
	size_t (*name)(void *process, uint64_t place, struct symbol out[SYMBOLS_MAX]);
	void (*close)(void *process);
};

#endif
