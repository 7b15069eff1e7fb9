/* SPDX-License-Identifier: BSD-2-Clause */
/* fingerprint.c: finds the words of a stack that may be return addresses. */
/*
 * Only unwind tables can tell which words are return addresses. But all return
 * addresses are among the words of the stack that point into code.
 *
 * Most of a stack is unchanged since the previous sample. So there is a copy of
 * it, and only changed blocks are searched word by word.
 *
 * Code that the loader does not know (generated at run time) is not found. A
 * runtime that calls the allocator from such code needs unbatched samples:
 * gcprof_options.no_batching.
 */
#include "pieces.h"
#include "system.h"

#include <link.h>
#include <string.h>
#include <sys/auxv.h>

enum { SPAN_GAP = 1 << 20 }; /* files this close form one span; the gap is their data */

/* Reads whole stacks, including padding and the sanitizer's red zones. */
#define READS_STACK __attribute__((noinline, no_sanitize("address")))

static bool is_in(const struct code_span *span, uintptr_t address)
{
	return address - span->start < span->size;
}

/* A linear search of the few unsorted spans, after a check of the two outer ones. */
static bool is_code(const struct fingerprint *state, uintptr_t address)
{
	for (size_t i = 0; i < state->n_spans; i++)
		if (is_in(&state->spans[i], address))
			return true;
	return false;
}

/* Comparing whole blocks is several times faster than searching their words. */
READS_STACK static bool is_changed(const uintptr_t *a, const uintptr_t *b)
{
	uintptr_t difference = 0;

	for (size_t i = 0; i < FINGERPRINT_BLOCK; i++)
		difference |= a[i] ^ b[i];
	return difference != 0;
}

/* Copies a block's words from index `from` on; true if code addresses changed. */
READS_STACK static bool block_update(struct fingerprint *state, size_t block,
				     const uintptr_t *words, size_t from)
{
	const struct code_span program = state->outer[0], others = state->outer[1];
	uintptr_t *copy = state->copy[block];
	uint32_t code = state->code[block], differ = 0, maybe = 0;

	/* Without branches, because code addresses are unpredictable. */
	for (size_t i = from; i < FINGERPRINT_BLOCK; i++) {
		uintptr_t value = words[i];

		differ |= (uint32_t)(value != copy[i]) << i;
		maybe |= (uint32_t)(is_in(&program, value) | is_in(&others, value)) << i;
		copy[i] = value;
	}
	state->code[block] &= ~differ;
	for (maybe &= differ; maybe; maybe &= maybe - 1)
		if (is_code(state, copy[__builtin_ctz(maybe)]))
			state->code[block] |= maybe & -maybe;
	return ((code | state->code[block]) & differ) != 0;
}

/* Reads the stack from its base down to `low`; returns the address below which code addresses
 * changed. */
static uintptr_t update(struct fingerprint *state, uintptr_t low)
{
	size_t words = (state->stack_base - low) / sizeof(uintptr_t);
	size_t blocks = words / FINGERPRINT_BLOCK, rest = words % FINGERPRINT_BLOCK;
	const uintptr_t *block = (const uintptr_t *)state->stack_base;
	uintptr_t changed = 0;

	for (size_t i = 0; i < blocks; i++) {
		block -= FINGERPRINT_BLOCK;
		if (is_changed(state->copy[i], block) && block_update(state, i, block, 0) &&
		    !changed)
			changed = (uintptr_t)(block + FINGERPRINT_BLOCK);
	}
	if (rest &&
	    block_update(state, blocks, block - FINGERPRINT_BLOCK, FINGERPRINT_BLOCK - rest) &&
	    !changed)
		changed = (uintptr_t)block;
	return changed ? changed : low;
}

uintptr_t fingerprint_code_below(const struct fingerprint *state, uintptr_t address)
{
	size_t words = (state->stack_base - address) / sizeof(uintptr_t);
	size_t block = words / FINGERPRINT_BLOCK, passed = words % FINGERPRINT_BLOCK;
	uint32_t code;

	/* Words are numbered from the block's low end: the words passed are the highest bits. */
	if (block >= FINGERPRINT_BLOCKS)
		return 0;
	code = (uint32_t)((uint64_t)state->code[block] << passed);
	while (!code) {
		if (++block >= FINGERPRINT_BLOCKS)
			return 0;
		passed = 0;
		code = state->code[block];
	}
	words = block * FINGERPRINT_BLOCK + passed + (size_t)__builtin_clz(code);
	return state->stack_base - (words + 1) * sizeof(uintptr_t);
}

uintptr_t fingerprint_word(const struct fingerprint *state, uintptr_t address)
{
	size_t word = (state->stack_base - address) / sizeof(uintptr_t) - 1;

	return state
		->copy[word / FINGERPRINT_BLOCK][FINGERPRINT_BLOCK - 1 - word % FINGERPRINT_BLOCK];
}

bool fingerprint_look(struct fingerprint *state, uintptr_t low, uintptr_t *changed)
{
	uintptr_t base = state->stack_base;

	if (!base)
		base = state->stack_base = system_stack_base();
	if (!state->n_spans)
		fingerprint_refresh(state);
	/* `low` above the base wraps around. */
	if (base - low > sizeof(state->copy) || low % sizeof(uintptr_t))
		return false;
	*changed = update(state, low);
	return true;
}

/* Adds the code at [start, end) to a nearby span, or as a new span. */
static void add_code(struct fingerprint *state, uintptr_t start, uintptr_t end)
{
	for (size_t i = 0; i < state->n_spans; i++) {
		struct code_span *span = &state->spans[i];
		uintptr_t span_end = span->start + span->size;

		if (start > span_end + SPAN_GAP || end + SPAN_GAP < span->start)
			continue;
		span->size = (end > span_end ? end : span_end);
		span->start = start < span->start ? start : span->start;
		span->size -= span->start;
		return;
	}
	if (state->n_spans < CODE_SPANS_MAX)
		state->spans[state->n_spans++] = (struct code_span){start, end - start};
	else /* More files than spans: the last span grows to cover them. */
		state->spans[CODE_SPANS_MAX - 1] = (struct code_span){0, UINTPTR_MAX};
}

static int add_file(struct dl_phdr_info *file, size_t size, void *context)
{
	struct fingerprint *state = context;

	(void)size;
	/* Skips the vDSO: it calls nothing and is close to the stack, and many words point into the
	 * stack. */
	if (file->dlpi_addr && file->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return 0;
	for (size_t i = 0; i < file->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &file->dlpi_phdr[i];
		uintptr_t start = file->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && header->p_flags & PF_X)
			add_code(state, start, start + header->p_memsz);
	}
	return 0;
}

struct counts {
	unsigned long long loaded, unloaded;
};

/* The first file's entry already has the counts. */
static int read_counts(struct dl_phdr_info *file, size_t size, void *context)
{
	struct counts *counts = context;

	(void)size;
	*counts = (struct counts){file->dlpi_adds, file->dlpi_subs};
	return 1;
}

/* One span for the program, the first file that the loader lists, and one around all others. */
static void find_outer(struct fingerprint *state)
{
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (size_t i = 1; i < state->n_spans; i++) {
		const struct code_span *span = &state->spans[i];

		low = span->start < low ? span->start : low;
		high = span->start + span->size > high ? span->start + span->size : high;
	}
	state->outer[0] = state->spans[0];
	state->outer[1] = (struct code_span){low, high > low ? high - low : 0};
}

bool fingerprint_refresh(struct fingerprint *state)
{
	struct counts now = {0};

	dl_iterate_phdr(read_counts, &now);
	if (state->n_spans && now.loaded == state->loaded && now.unloaded == state->unloaded)
		return false;
	state->n_spans = 0;
	/* Zeros are not code addresses. */
	memset(state->copy, 0, sizeof(state->copy));
	memset(state->code, 0, sizeof(state->code));
	dl_iterate_phdr(add_file, state);
	find_outer(state);
	state->loaded = now.loaded;
	state->unloaded = now.unloaded;
	return true;
}
