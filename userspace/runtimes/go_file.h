/* SPDX-License-Identifier: BSD-2-Clause */
/* go_file.h: where a Go program's runtime does what is recorded, and where it keeps its settings.
 */
/*
 * All of it is found by decoding the code of functions that have names in .gopclntab, so it works
 * for stripped programs, and what has another shape than expected is not found: nothing is guessed.
 * The file is not trusted. Addresses are as the linker knows them. Not thread-safe.
 *
 * Functions that find something return 0 or -ENOENT. Functions are named by addresses.
 */
#ifndef GCPROF_GO_FILE_H
#define GCPROF_GO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "../../bpf/config.h"
#include "../symbols/go_table.h"

struct go_file;

/* As go_table_open(). */
int go_file_open(Elf *elf, struct go_file **out, struct problem *problem);
void go_file_free(struct go_file *file); /* NULL is allowed */

const struct go_table *go_file_table(const struct go_file *file);

/*
 * The instruction behind the stack check with which a function begins; its arguments are still in
 * registers there. What makes a stack larger jumps back to the function's begin, which therefore
 * runs twice. The begin, if there is no check. Nothing in the function jumps to the place.
 *
 * Where that instruction is not a push, it is the jump of the check, a jbe, which the kernel
 * emulates as it does a push: it runs others in steps, which takes tens of microseconds on virtual
 * machines.
 */
int go_file_behind_check(struct go_file *file, uint64_t function, uint64_t *out);

/* The instructions that return from a function; how many, -ENOENT for none or more than `max`. */
int go_file_returns(struct go_file *file, uint64_t function, uint64_t *out, size_t max);

/* What the sampler is switched by. */
struct go_sampler {
	uint64_t rate; /* address of runtime.MemProfileRate, 8 bytes */
	uint64_t off;  /* address of runtime.disableMemoryProfiling, 1 byte, read at the start */
};

int go_file_sampler(struct go_file *file, struct go_sampler *out);

/* Where the type of an object is when runtime.profilealloc begins, which this code has called. */
enum go_type_place {
	GO_TYPE_NOWHERE,
	GO_TYPE_OF_CALLER, /* in its argument slots: rbp + 0x18 */
	GO_TYPE_ABOVE,     /* in those of its caller: *rbp + 0x18 */
};

struct go_caller {
	uint64_t begin, end;
	enum go_type_place place;
};

/* The functions that call it, in the order of addresses; neighbours that are alike are one. How
 * many, -ENOENT for none or more than `max`. */
int go_file_callers(struct go_file *file, struct go_caller *out, size_t max);

/* How runtime.special says that it belongs to a sampled object. */
struct go_special {
	uint32_t offset; /* of a byte */
	uint32_t value;
};

int go_file_special(struct go_file *file, struct go_special *out);

/* The address of runtime.mbuckets, the heap profile's places, if they are as go_buckets.c has them.
 */
int go_file_buckets(struct go_file *file, uint64_t *list);

/*
 * How the id of the goroutine is found that a thread runs: as the runtime itself goes back to it
 * from the thread's own stack. So what it does there for a goroutine counts as that one's, as in
 * Go's own profiles, and a thread that looks for work has none.
 */
int go_file_fiber(struct go_file *file, struct fiber_path *out);

/* Where the collector keeps the heap's sizes. */
struct go_heap {
	uint64_t controller; /* address of runtime.gcController */
	uint32_t in_use,
		reachable; /* offsets: bytes in use, and found reachable by the last cycle */
};

int go_file_heap(struct go_file *file, struct go_heap *out);

#endif
