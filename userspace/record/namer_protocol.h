/* SPDX-License-Identifier: BSD-2-Clause */
/* namer_protocol.h: what the recorder and the process that finds names for it tell each other. */
/*
 * Over a socket that keeps messages apart. The recorder does not trust the
 * answers: whoever they came from has read files that nobody vouches for.
 */
#ifndef GCPROF_NAMER_PROTOCOL_H
#define GCPROF_NAMER_PROTOCOL_H

#include <stdint.h>

#include "../symbols/symbols.h"

enum namer_request_kind {
	NAMER_MODULE = 1, /* a file, with its descriptor if it is open: struct namer_module */
	NAMER_MAP,        /* a perf map, always with its descriptor: struct namer_process */
	NAMER_DUMP,       /* a jitdump file, likewise */
	NAMER_DEBUG,      /* what may be the debug file of a module, likewise; before its frames */
	NAMER_FRAMES,     /* places to be named: struct namer_frame[] */
};

/* Where a frame is. */
enum namer_space { NAMER_FILE, NAMER_KERNEL, NAMER_GENERATED };

struct namer_module {
	uint32_t kind;
	uint32_t build_id_size;
	uint64_t module;
	unsigned char build_id[BUILD_ID_MAX];
	char path[4096]; /* as much of it as is used, with a zero at the end */
};

struct namer_process {
	uint32_t kind, reserved;
	uint64_t process; /* or module */
};

struct namer_frame {
	uint64_t frame;
	uint64_t space;
	uint64_t owner; /* module; of generated code its process */
	uint64_t place; /* offset in the file, or address */
	uint64_t time;  /* when it was there, CLOCK_MONOTONIC ns: addresses are used again */
};

#define NAMER_BATCH 256

struct namer_frames {
	uint32_t kind;
	uint32_t count;
	struct namer_frame frames[NAMER_BATCH];
};

/*
 * Answers: one for each frame, in the same order, several in a message: a struct
 * namer_answer, then for each name a struct namer_name, its text and its file.
 */
struct namer_answer {
	uint64_t frame;
	uint32_t count;
	int32_t err; /* why its file cannot be read, a negative errno; 0: it can */
};

struct namer_name {
	uint32_t line, begin;
	uint32_t name_size, file_size;
};

#define NAMER_TEXT_MAX    2048 /* bytes of one name or file */
#define NAMER_ANSWER_MAX  (32 << 10)
#define NAMER_MESSAGE_MAX (64 << 10)

/* Answers on `socket` until it is closed. Never returns. */
_Noreturn void namer_child_run(int socket);

#endif
