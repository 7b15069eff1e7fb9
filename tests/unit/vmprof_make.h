/* SPDX-License-Identifier: BSD-2-Clause */
/* vmprof_make.h: writes VMProf profiles, for the tests that import them. */
#ifndef GCPROF_VMPROF_MAKE_H
#define GCPROF_VMPROF_MAKE_H

#include <string.h>

#include "test.h"
#include "util/buffer.h"

enum { VM_MEMORY = 1, VM_LINES = 2, VM_NATIVE = 4, VM_RPYTHON = 8 };

struct vm {
	struct buffer out;
	unsigned version, mode;
};

static inline void vm_bytes(struct vm *vm, const void *data, size_t size)
{
	CHECK_EQ(buffer_append(&vm->out, data, size), 0);
}

static inline void vm_byte(struct vm *vm, unsigned byte)
{
	unsigned char c = (unsigned char)byte;

	vm_bytes(vm, &c, 1);
}

static inline void vm_word(struct vm *vm, uint64_t word)
{
	vm_bytes(vm, &word, sizeof(word));
}

static inline void vm_text(struct vm *vm, const char *text)
{
	vm_word(vm, strlen(text));
	vm_bytes(vm, text, strlen(text));
}

static inline void vm_time(struct vm *vm, unsigned kind, uint64_t seconds, uint64_t micros)
{
	vm_byte(vm, kind);
	vm_word(vm, seconds);
	vm_word(vm, micros);
	vm_bytes(vm, "UTC\0\0\0\0", 8);
}

static inline void vm_meta(struct vm *vm, const char *key, const char *value)
{
	vm_byte(vm, 7);
	vm_text(vm, key);
	vm_text(vm, value);
}

/* Header, start at 1000 s since 1970, interval of 1 ms. */
static inline void vm_begin(struct vm *vm, unsigned version, unsigned mode, const char *interpreter)
{
	*vm = (struct vm){.version = version, .mode = mode};
	for (int i = 0; i < 5; i++)
		vm_word(vm, i == 1 ? 3 : i == 3 ? 1000 : 0);
	vm_byte(vm, 5);
	vm_byte(vm, version >> 8);
	vm_byte(vm, version & 255);
	if (version >= 4)
		vm_byte(vm, mode);
	vm_byte(vm, (unsigned)strlen(interpreter));
	vm_bytes(vm, interpreter, strlen(interpreter));
	if (version >= 6)
		vm_time(vm, 6, 1000, 0);
}

static inline void vm_words(struct vm *vm, unsigned kind, double seconds, const uint64_t *words,
			    size_t count)
{
	uint64_t first = 1;

	if (vm->version >= 7)
		memcpy(&first, &seconds, sizeof(first));
	vm_byte(vm, kind);
	vm_word(vm, first);
	vm_word(vm, count);
	for (size_t i = 0; i < count; i++)
		vm_word(vm, words[i]);
}

/* A sample of kind 1 (time) or 9 (allocation); words as the mode has them, innermost first. */
static inline void vm_sample(struct vm *vm, unsigned kind, double seconds, const uint64_t *words,
			     size_t count, uint64_t thread)
{
	vm_words(vm, kind, seconds, words, count);
	if (vm->version >= 1)
		vm_word(vm, thread);
	if (vm->mode & VM_MEMORY || vm->version == 3)
		vm_word(vm, 5000);
}

static inline void vm_name(struct vm *vm, unsigned kind, uint64_t id, const char *name)
{
	vm_byte(vm, kind);
	vm_word(vm, id);
	vm_text(vm, name);
}

static inline void vm_end(struct vm *vm, uint64_t seconds)
{
	if (vm->version >= 5)
		vm_time(vm, 3, seconds, 0);
	else
		vm_byte(vm, 3);
}

/*
 * PyPy's version 7: `rounds` collections, each with three allocations by the function
 * `leaf` in `outer` (two of a "list" that die, one of a "dict" that survives) and a tick.
 */
static inline void vm_pypy(struct vm *vm, int rounds)
{
	static const uint64_t stack[] = {6, 0x7000, 3, 16, 1, 16, 1, 32};
	double now = 50;

	vm_begin(vm, 7, VM_MEMORY | VM_RPYTHON, "pypy");
	vm_meta(vm, "start_time_offset", "50.000000");
	for (int i = 0; i < rounds; i++) {
		/* From the latest to the first: dict that lives, two lists; then three figures. */
		uint64_t objects[] = {2 << 2 | 1, 1 << 2, 1 << 2, 100000, 200000, 0};

		vm_sample(vm, 1, now += 0.001, stack, 8, 0);
		for (int j = 0; j < 3; j++)
			vm_sample(vm, 9, now += 0.0001, stack, 8, 0);
		objects[5] = (uint64_t)i % 4;
		vm_words(vm, 10, now += 0.0001, objects, 6);
	}
	vm_name(vm, 2, 16, "py:leaf:10:/src/app.py");
	vm_name(vm, 2, 32, "py:outer:20:/src/app.py");
	vm_meta(vm, "sample_allocated_bytes", "4096");
	vm_meta(vm, "gc_stats__0", "total_memory_used");
	vm_meta(vm, "gc_stats__1", "total_size_of_arenas");
	vm_meta(vm, "gc_stats__2", "gc_state");
	vm_meta(vm, "__rtype_1", "list");
	vm_meta(vm, "__rtype_2", "dict");
	vm_end(vm, 1000 + (uint64_t)rounds);
}

#endif
