/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolizer.h: finds the names of frames, by reader processes, while the recording goes on. */
/*
 * Not thread-safe. Nothing here waits but symbolizer_finish(). A file whose reading kills
 * its reader, or takes too long, gets no names, with a message that says so; files of the
 * same owner then come after those of all others.
 */
#ifndef GCPROF_SYMBOLIZER_H
#define GCPROF_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../symbols/symbols.h"

/* Where a frame is. */
enum symbol_space {
	SYMBOL_FILE,
	SYMBOL_KERNEL,
	SYMBOL_GENERATED,
	SYMBOL_TYPE,
	SYMBOL_JAVA,
	SYMBOL_BYTECODE,
	SYMBOL_SPACES
};

struct symbol_frame {
	uint64_t frame;   /* of a type its number in the process */
	uint64_t process; /* of a type */
	uint64_t space;   /* enum symbol_space */
	uint64_t owner;   /* module; of generated code its process */
	/* Offset in the file, address, or number of a type in its file; of Java frames as in
	 * bpf/hotspot.h; of bytecode where its function is in the file of all. */
	uint64_t place;
	/* When it was there, CLOCK_MONOTONIC ns: addresses are used again; of bytecode the
	 * instruction. */
	uint64_t time;
};

/* A file that frames lie in. Everything is borrowed. */
struct symbol_file {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_size;
	int fd;       /* -1: the kernel's page of code, which has no file */
	int debug_fd; /* what may be its debug file, as its process sees it; -1: none is known */
	uid_t user;   /* the owner of the file */
};

struct symbolizer;
struct opener;

/* Receives the names of a frame, outermost first; none if n is 0. Texts go away afterwards. */
typedef int symbolizer_names(void *context, const struct symbol_frame *frame,
			     const struct symbol *symbols, size_t n);

/* `opener` is borrowed. -ENOMEM. */
int symbolizer_create(struct opener *opener, symbolizer_names *names, void *context,
		      struct symbolizer **out);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL is allowed */

/* Reads the kernel's symbols before a frame needs them. */
void symbolizer_prepare(struct symbolizer *symbolizer);

/* Asks for the names of a frame; `file` is needed if it lies in one. -ENOMEM. */
int symbolizer_ask(struct symbolizer *symbolizer, const struct symbol_frame *frame,
		   const struct symbol_file *file);

/* The perf map of a process as it is now: for the frames that were asked for. Takes over `fd`. */
int symbolizer_set_map(struct symbolizer *symbolizer, uint64_t process, int fd);

/* A jitdump file of a process. Takes over `fd`. */
int symbolizer_add_dump(struct symbolizer *symbolizer, uint64_t process, int fd);

/* A Java virtual machine, whose frames may be asked for from now on (SYMBOL_JAVA). */
struct symbol_java {
	uint64_t process;
	uint32_t pid;           /* for messages */
	int memory, library;    /* the socket of its memory, and libjvm.so; taken over */
	uid_t user;             /* who has started it */
	uint64_t start, offset; /* of a mapping of the library that holds code */
};

int symbolizer_add_java(struct symbolizer *symbolizer, const struct symbol_java *java);

/* The process has ended. */
void symbolizer_end_java(struct symbolizer *symbolizer, uint64_t process);

/* Sends what can be sent and takes what has come; what `names` returned if that was not 0. */
int symbolizer_turn(struct symbolizer *symbolizer);

/* The same until every frame has its answer, or for so many ns. */
int symbolizer_finish(struct symbolizer *symbolizer, uint64_t ns);

/* Has every frame that was asked for its answer? */
bool symbolizer_is_done(const struct symbolizer *symbolizer);

/* Files that were asked for and could not be read, for whatever reason. */
size_t symbolizer_unread(const struct symbolizer *symbolizer);

/* How many readers died or were ended because they took too long. */
size_t symbolizer_failures(const struct symbolizer *symbolizer);

#endif
