/* SPDX-License-Identifier: BSD-2-Clause */
/* fingerprint.c: tells in a tenth of a microsecond whether a stack was seen before. */
/*
 * A stack is what a walker makes of it: a list of return addresses, and of the
 * managed functions of the shadow stack. Finding the return addresses takes
 * unwind tables. But whichever words they are, they are among those words of
 * the stack that lie where code is. So all of these are hashed together with
 * their places, and with the depth and the shadow frames. Equal fingerprints
 * mean equal stacks for any walker, with frame pointers or without. Words left
 * over from earlier calls are hashed as well: they can make one stack look like
 * two, never two like one.
 *
 * Code that the loader does not know (made at run time) is not seen. A runtime
 * that calls the allocator from such code has its samples sent one by one:
 * options.unbatched.
 */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

#include <link.h>
#include <sys/auxv.h>

enum {
	FRAMES_MAX = 512,   /* as the walker */
	SPAN_GAP = 1 << 20, /* between code of two files that count as one span: their data */
};

/* Stacks are read as they are: padding, and what the sanitizer fences off, too. */
#define READS_STACK __attribute__((noinline, no_sanitize("address")))

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9fb21c651e98df25);
	hash ^= hash >> 32;
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	return hash ^ hash >> 29;
}

static bool is_in(const struct code_span *span, uintptr_t address)
{
	return address - span->start < span->size;
}

/* Spans are few and sorted in no order: what comes here has passed the two outer ones. */
static bool is_code(const struct fingerprint *state, uintptr_t address)
{
	for (size_t i = 0; i < state->n_spans; i++)
		if (is_in(&state->spans[i], address))
			return true;
	return false;
}

/* The sum of what the code addresses among some words are worth; the first is `place` words
 * below the base. */
READS_STACK static uint64_t hash_words(const struct fingerprint *state, const uintptr_t *word,
				       size_t n, size_t place)
{
	const struct code_span program = state->outer[0], others = state->outer[1];
	uint64_t hash = 0;

	for (size_t i = 0; i < n; i++) {
		uintptr_t value = word[i];

		if (__builtin_expect(is_in(&program, value) || is_in(&others, value), 0) &&
		    is_code(state, value))
			hash += mix(place - i, value);
	}
	return hash;
}

READS_STACK static bool is_changed(const uintptr_t *a, const uintptr_t *b)
{
	uintptr_t difference = 0;

	for (size_t i = 0; i < FINGERPRINT_BLOCK; i++)
		difference |= a[i] ^ b[i];
	return difference != 0;
}

READS_STACK static void block_update(struct fingerprint *state, size_t block,
				     const uintptr_t *words)
{
	for (size_t i = 0; i < FINGERPRINT_BLOCK; i++)
		state->copy[block][i] = words[i];
	state->hashes[block] =
		hash_words(state, words, FINGERPRINT_BLOCK, (block + 1) * FINGERPRINT_BLOCK);
}

/*
 * Most of a stack is the same as at the sample before: comparing it with what it
 * was then is several times faster than looking at its words.
 */
static uint64_t hash_stack(struct fingerprint *state, uintptr_t low, uintptr_t base)
{
	size_t words = (base - low) / sizeof(uintptr_t);
	const uintptr_t *block = (const uintptr_t *)base;
	uint64_t hash = mix(words, 0);

	for (size_t i = 0; i < words / FINGERPRINT_BLOCK; i++) {
		block -= FINGERPRINT_BLOCK;
		if (is_changed(state->copy[i], block))
			block_update(state, i, block);
		hash += state->hashes[i];
	}
	return hash + hash_words(state, (const uintptr_t *)low, words % FINGERPRINT_BLOCK, words);
}

/* Adds the shadow frames; 0 if they do not all lie between `low` and `base`. */
static uint64_t hash_frames(uint64_t hash, const struct gc_anchor *anchor, uintptr_t low,
			    uintptr_t base)
{
	uint64_t at = anchor->top;

	for (int i = 0; at; i++) {
		const struct gc_frame *frame = (const struct gc_frame *)at;

		if (i == FRAMES_MAX || at < low || at > base - sizeof(*frame))
			return 0;
		hash = mix(hash, (uint64_t)frame->code << 32 | frame->pc);
		hash = mix(hash, base - at);
		at = frame->prev;
	}
	return hash;
}

__attribute__((noinline)) uint64_t fingerprint_take(struct fingerprint *state,
						    const struct gc_anchor *anchor)
{
	uintptr_t low = (uintptr_t)__builtin_frame_address(0);
	uintptr_t base = state->stack_base;
	uint64_t hash;

	if (!base)
		base = state->stack_base = os_stack_base();
	if (!state->n_spans)
		fingerprint_refresh(state);
	/* `low` above the base wraps around. */
	if (base - low > sizeof(state->copy))
		return 0;
	hash = hash_stack(state, low, base);
	return hash_frames(hash, anchor, low, base);
}

/* Adds the code at [start, end): to the span that it is close to, or as one of its own. */
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
	else /* More files than places: the last span grows over them all. */
		state->spans[CODE_SPANS_MAX - 1] = (struct code_span){0, UINTPTR_MAX};
}

static int add_file(struct dl_phdr_info *file, size_t size, void *context)
{
	struct fingerprint *state = context;

	(void)size;
	/* The kernel's own code calls nobody, and lies close to the stack: words that lead to the
	 * stack are many. */
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

/* The first file's entry tells already how many there were. */
static int read_counts(struct dl_phdr_info *file, size_t size, void *context)
{
	struct counts *counts = context;

	(void)size;
	*counts = (struct counts){file->dlpi_adds, file->dlpi_subs};
	return 1;
}

/* The program is the first file that the loader tells of; one span around all the others. */
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
	/* Blocks of zeroes have no code addresses: the hash of each is 0. */
	memset(state->copy, 0, sizeof(state->copy));
	memset(state->hashes, 0, sizeof(state->hashes));
	dl_iterate_phdr(add_file, state);
	find_outer(state);
	state->loaded = now.loaded;
	state->unloaded = now.unloaded;
	return true;
}

#endif
