/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h: code addresses and variables of a Go program's runtime. */
/*
 * Everything is found by decoding functions that have names in .gopclntab, so it works for stripped
 * programs. Code of unexpected form is not found: nothing is guessed. The file is not trusted.
 * Addresses are link-time addresses. Not thread-safe.
 *
 * Functions that find something return 0 or -ENOENT. Functions are identified by address.
 */
#ifndef GCPROF_GO_FILE_H
#define GCPROF_GO_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "../../../bpf/config.h"
#include "../../symbols/go_table.h"

struct go_file;

/* As for go_table_open(). */
int go_file_open(Elf *elf, struct go_file **out, struct problem *problem);
void go_file_free(struct go_file *file); /* NULL is allowed */

const struct go_table *go_file_table(const struct go_file *file);

/*
 * The instruction after the stack check at the start of a function, where arguments are still in
 * registers; the start, if there is no check. The code that grows the stack jumps back to the start
 * of the function, which therefore runs twice. Nothing in the function jumps to the instruction
 * returned.
 *
 * If that instruction is not a push, returns the jump of the check instead, a jbe. The kernel
 * emulates both, but single-steps other instructions, which takes tens of microseconds on virtual
 * machines.
 */
int go_file_behind_check(struct go_file *file, uint64_t function, uint64_t *out);

/* The return instructions of a function. Returns their number, -ENOENT for none or more than `max`.
 */
int go_file_returns(struct go_file *file, uint64_t function, uint64_t *out, size_t max);

/* The variables that control the sampler. */
struct go_sampler {
	uint64_t rate; /* address of runtime.MemProfileRate, 8 bytes */
	uint64_t off;  /* address of runtime.disableMemoryProfiling, 1 byte, read at startup */
};

int go_file_sampler(struct go_file *file, struct go_sampler *out);

/* Where the type of an object is at the start of runtime.profilealloc, called from this code. */
enum go_type_place {
	GO_TYPE_NOWHERE,
	GO_TYPE_OF_CALLER, /* in its own argument slots: rbp + 0x18 */
	GO_TYPE_ABOVE,     /* in those of its caller: *rbp + 0x18 */
};

struct go_caller {
	uint64_t begin, end;
	enum go_type_place place;
};

/* The functions that call it, in address order; equal neighbours are merged. Returns their number,
 * -ENOENT for none or more than `max`. */
int go_file_callers(struct go_file *file, struct go_caller *out, size_t max);

/* The mark in runtime.special for a sampled object. */
struct go_special {
	uint32_t offset; /* of a byte */
	uint32_t value;
};

int go_file_special(struct go_file *file, struct go_special *out);

/* The address of runtime.mbuckets, the list of the heap profile's sites, if buckets have the layout
 * of go_buckets.c. */
int go_file_buckets(struct go_file *file, uint64_t *list);

/*
 * The path to the id of a thread's goroutine, as the runtime itself uses it to return from the
 * thread's own stack. Work that the runtime does there for a goroutine therefore counts for that
 * goroutine, as in Go's own profiles. A thread that looks for work has none.
 */
int go_file_fiber(struct go_file *file, struct fiber_path *out);

/* The collector's heap sizes. */
struct go_heap {
	uint64_t controller; /* address of runtime.gcController */
	uint32_t in_use,
		reachable; /* offsets: bytes in use, and bytes found reachable by the last cycle */
};

int go_file_heap(struct go_file *file, struct go_heap *out);

/* Before 1.21: where a thread notes why it stops the world. */
struct go_stop {
	uint32_t thread; /* offset of the thread in a goroutine */
	uint32_t reason; /* offset of a string in a thread: address and length */
};

int go_file_stop(struct go_file *file, struct go_stop *out);

#endif
