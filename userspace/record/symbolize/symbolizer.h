/* SPDX-License-Identifier: BSD-2-Clause */
/* symbolizer.h: names frames by means of reader processes, during the recording. */
/*
 * Not thread-safe. Only symbolizer_finish() waits. A file that kills its reader, or takes too long,
 * gets no names, and a message says so. Users take turns (util/turns.h).
 */
#ifndef GCPROF_SYMBOLIZER_H
#define GCPROF_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../symbols/symbols.h"

/* Files without names that are remembered: each counts once, unless so many others came since. */
#define SYMBOL_FILES_NOTED 16384

/* Kinds of frames. */
enum symbol_space {
	SYMBOL_FILE,
	SYMBOL_GENERATED,
	SYMBOL_TYPE,
	SYMBOL_REMOTE,
	SYMBOL_BYTECODE,
	SYMBOL_SPACES
};

struct symbol_frame {
	uint64_t frame;   /* of a type: its number in the process */
	uint64_t process; /* of a type only */
	uint64_t space;   /* enum symbol_space */
	uint64_t owner;   /* module; of generated code: its process */
	/* Offset in the file, address, or number of a type in its file; of frames with names in
	 * memory as in bpf/frame_place.h; of bytecode the offset of its function in the file of all
	 * reports. */
	uint64_t place;
	/* Time of the frame, CLOCK_MONOTONIC ns, since addresses are reused; of bytecode the
	 * instruction. */
	uint64_t time;
	uint64_t user; /* who mapped the file first, or whose process it is */
};

/* A file that contains frames. All fields are borrowed. */
struct symbol_file {
	const char *path;
	const unsigned char *build_id;
	size_t build_id_size;
	int fd;       /* -1: the kernel's code page, which has no file */
	int debug_fd; /* possible debug file, as seen by its process; -1: none known */
};

struct symbolizer;
struct opener;

/* Receives the names of a frame, outermost first; none if n is 0. Texts are valid during the
 * call. */
typedef int symbolizer_names(void *context, const struct symbol_frame *frame,
			     const struct symbol *symbols, size_t n);

/* `opener` is borrowed. -ENOMEM. */
int symbolizer_create(struct opener *opener, symbolizer_names *names, void *context,
		      struct symbolizer **out);
void symbolizer_free(struct symbolizer *symbolizer); /* NULL is allowed */

/* Starts the reader of files before the first request. */
void symbolizer_prepare(struct symbolizer *symbolizer);

/* Requests the names of a frame; `file` is needed if it lies in one. If too many of its user's
 * wait, it gets none, at once. -ENOMEM, and errors of `names`. */
int symbolizer_ask(struct symbolizer *symbolizer, const struct symbol_frame *frame,
		   const struct symbol_file *file);

/* The current perf map of a process, for the requested frames. Takes over `fd`. */
int symbolizer_set_map(struct symbolizer *symbolizer, uint64_t process, int fd);

/* A jitdump file of a process of `user`; ignored if that user has too many. Takes over `fd`. */
int symbolizer_add_dump(struct symbolizer *symbolizer, uint64_t process, uint32_t user, int fd);

/* A process with names in its memory, whose frames may be requested from now on (SYMBOL_REMOTE). */
struct symbol_remote {
	uint64_t process;
	uint32_t pid;           /* for messages */
	int memory, library;    /* the socket of its memory, and the library; taken over */
	uid_t user;             /* who started it */
	uint64_t start, offset; /* of a mapping of the library's code */
};

int symbolizer_add_remote(struct symbolizer *symbolizer, const struct symbol_remote *remote);

/* A process with dumps or names in its memory has ended: drops what is kept for later frames. */
void symbolizer_end(struct symbolizer *symbolizer, enum symbol_space space, uint64_t process);

/* CPU time that readers took for frames of a space, ns. */
uint64_t symbolizer_spent(const struct symbolizer *symbolizer, enum symbol_space space);

/* Sends requests and takes answers. Returns what `names` returned if that was not 0. */
int symbolizer_turn(struct symbolizer *symbolizer);

/* The same until every frame has its answer, at most `ns`. */
int symbolizer_finish(struct symbolizer *symbolizer, uint64_t ns);

/* Does every requested frame have its answer? */
bool symbolizer_is_done(const struct symbolizer *symbolizer);

/* Number of files that could not be read, for any reason. */
size_t symbolizer_unread(const struct symbolizer *symbolizer);

/* Number of readers that died, or were killed because they took too long. */
size_t symbolizer_failures(const struct symbolizer *symbolizer);

#endif
