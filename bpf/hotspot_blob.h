/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* hotspot_blob.h: finds the blob of an address in the code of a HotSpot virtual machine. */
/*
 * Used by the walker, and by the reader for names. The segment map of a code heap leads from an
 * address to its blob. Requires walk_read(), see walk_native.h. Nothing that is read is trusted;
 * searches are bounded.
 */
#ifndef GCPROF_HOTSPOT_BLOB_H
#define GCPROF_HOTSPOT_BLOB_H

#include "hotspot.h"
#include "walk_native.h"

enum hotspot_kind {
	HOTSPOT_STUB,
	HOTSPOT_COMPILED,
	HOTSPOT_NATIVE,
	HOTSPOT_INTERPRETER,
	HOTSPOT_ADAPTER,
	HOTSPOT_FUNCTION, /* the return address of a C function */
	HOTSPOT_LEAF,     /* rbp is still the caller's */
	HOTSPOT_CHECK,    /* a leaf with two arguments on the stack */
};

#define HOTSPOT_HOPS      16 /* steps in the segment map */
#define HOTSPOT_FRAME_MAX 65536

/* Blob names by their first eight characters. */
#define HOTSPOT_NAME_NMETHOD     UINT64_C(0x00646f6874656d6e) /* "nmethod" */
#define HOTSPOT_NAME_NATIVE      UINT64_C(0x6e2065766974616e) /* "native n" */
#define HOTSPOT_NAME_INTERPRETER UINT64_C(0x6572707265746e49) /* "Interpre" */
#define HOTSPOT_NAME_VTABLE      UINT64_C(0x6320656c62617476) /* "vtable c" */
#define HOTSPOT_NAME_ADAPTER     UINT64_C(0x204932432f433249) /* "I2C/C2I " */
#define HOTSPOT_NAME_FLUSH       UINT64_C(0x63695f6873756c66) /* "flush_ic": C++ calls it */
#define HOTSPOT_NAME_UNWIND      UINT64_C(0x655f646e69776e75) /* "unwind_e" */
#define HOTSPOT_NAME_SUBTYPE     UINT64_C(0x6275735f776f6c73) /* "slow_sub": pushes registers */
#define HOTSPOT_NAME_HANDLES     UINT64_C(0x6148646f6874654d) /* "MethodHa" */

#ifdef __bpf__
#define HOTSPOT_PART __noinline /* the verifier checks it once */
#else
#define HOTSPOT_PART static inline
#endif

struct walk_hotspot {
	struct hotspot_space space;
	uint64_t here, low, frame, bx,
		called;   /* the current frame: ip, rsp, rbp, rbx; see struct walk_native */
	uint64_t ax, r13; /* of the interrupted thread; 0: not the innermost frame */
	uint64_t blob, begin;
	uint64_t kind;                 /* enum hotspot_kind */
	uint64_t frame_size, complete; /* bytes; bytes up to the end of the prologue */
	uint64_t compile_id;
	uint64_t ip, sp, bp; /* of the caller, once found */
	uint64_t place;      /* the frame as encoded in hotspot.h */
};

HOTSPOT_PART int hotspot_is_code(const struct walk_hotspot *at, uint64_t ip)
{
	if (!at)
		return 0;
	UNROLL
	for (int i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (ip - at->space.heaps[i].low < at->space.heaps[i].size)
			return 1;
	return 0;
}

/* --- memory --------------------------------------------------------------------------------- */

/* A word; 0 if it cannot be read. */
HOTSPOT_PART uint64_t hotspot_word(struct walk_window *window, uint64_t from)
{
	uint64_t word = 0;

	if (from < WALK_ADDRESS_MIN || from >= WALK_ADDRESS_END)
		return 0;
#ifdef __bpf__
	/* Without another call: the deepest call chain has no stack left. */
	if (window)
		return walk_read_here(window, sizeof(word), from) ? 0 : window->words[0];
#endif
	return walk_read(window, &word, sizeof(word), from) ? 0 : word;
}

/* Part of a word; must not cross the word's end. */
static inline uint64_t hotspot_part(struct walk_window *window, uint64_t from, uint32_t bits)
{
	uint64_t word = hotspot_word(window, from & ~UINT64_C(7)) >> (from & 7) * 8;

	return word & ((UINT64_C(1) << bits) - 1);
}

/* --- the process ---------------------------------------------------------------------------- */

HOTSPOT_PART int hotspot_learn_heap(struct walk_hotspot *at, struct walk_window *window,
				    uint32_t number, uint64_t heap)
{
	struct hotspot_heap *out;
	const uint64_t *value;
	uint64_t memory;

	if (!at || number >= HOTSPOT_HEAPS_MAX)
		return 0;
	out = &at->space.heaps[number];
	value = at->space.value;
	memory = heap + value[HOTSPOT_HEAP_MEMORY];
	out->low = hotspot_word(window, memory + value[HOTSPOT_SPACE_LOW]);
	out->size = hotspot_word(window, memory + value[HOTSPOT_SPACE_HIGH]) - out->low;
	out->map =
		hotspot_word(window, heap + value[HOTSPOT_HEAP_MAP] + value[HOTSPOT_SPACE_BEGIN]);
	out->shift = hotspot_part(window, heap + value[HOTSPOT_HEAP_SHIFT], 32);
	if (!heap || !out->low || !out->map || out->shift > 30 || out->size > UINT64_C(1) << 40)
		out->size = 0;
	return 0;
}

/* Reads the process's data; 0 if its virtual machine is not ready. */
static inline int hotspot_learn(struct walk_hotspot *at, struct walk_window *window,
				const struct hotspot_layout *layout, uint64_t bias)
{
	uint64_t *value = at->space.value;
	uint64_t heaps, data, length;

	for (int i = 0; i < HOTSPOT_WALK_ITEMS; i++)
		value[i] = layout->value[i];
	/* Set by the virtual machine after it creates the heaps. */
	at->space.call_stub = hotspot_word(window, bias + value[HOTSPOT_CALL_STUB]);
	heaps = hotspot_word(window, bias + value[HOTSPOT_HEAPS]);
	at->space.barrier = 0;
	if (value[HOTSPOT_BARRIER] != HOTSPOT_NONE)
		at->space.barrier = hotspot_word(window, bias + value[HOTSPOT_BARRIER]);
	if (!at->space.call_stub || !heaps ||
	    (value[HOTSPOT_BARRIER] != HOTSPOT_NONE && !at->space.barrier))
		return 0;
	length = hotspot_part(window, heaps + value[HOTSPOT_ARRAY_LENGTH], 32);
	data = hotspot_word(window, heaps + value[HOTSPOT_ARRAY_DATA]);
	for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		hotspot_learn_heap(at, window, i,
				   i < length ? hotspot_word(window, data + 8 * i) : 0);
	return 1;
}

/* --- blobs ---------------------------------------------------------------------------------- */

/* Start of the blob that contains this address; 0: none. */
HOTSPOT_PART uint64_t hotspot_block(const struct hotspot_heap *heap, struct walk_window *window,
				    uint64_t ip)
{
	uint64_t segment;

	if (!heap)
		return 0;
	segment = (ip - heap->low) >> (heap->shift & 31);
	for (int i = 0; i < HOTSPOT_HOPS; i++) {
		uint64_t back = hotspot_part(window, heap->map + segment, 8);

		if (!back)
			return heap->low + (segment << (heap->shift & 31));
		if (back == 255 || back > segment)
			return 0;
		segment -= back;
	}
	return 0;
}

static inline uint64_t hotspot_kind_of(uint64_t name)
{
	if (name == HOTSPOT_NAME_NMETHOD)
		return HOTSPOT_COMPILED;
	if (name == HOTSPOT_NAME_NATIVE)
		return HOTSPOT_NATIVE;
	if (name == HOTSPOT_NAME_INTERPRETER)
		return HOTSPOT_INTERPRETER;
	if (name == HOTSPOT_NAME_VTABLE || name == HOTSPOT_NAME_ADAPTER ||
	    name == HOTSPOT_NAME_HANDLES)
		return HOTSPOT_ADAPTER;
	if (name == HOTSPOT_NAME_FLUSH)
		return HOTSPOT_FUNCTION;
	if (name == HOTSPOT_NAME_UNWIND)
		return HOTSPOT_LEAF;
	if (name == HOTSPOT_NAME_SUBTYPE)
		return HOTSPOT_CHECK;
	return HOTSPOT_STUB;
}

/* Finds the blob of an address: 1, or 0 if there is none. */
HOTSPOT_PART int hotspot_find(struct walk_hotspot *at, struct walk_window *window, uint64_t ip)
{
	uint64_t block = 0, blob, name;
	const uint64_t *value;

	if (!at)
		return 0;
	value = at->space.value;
	UNROLL
	for (int i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		if (ip - at->space.heaps[i].low < at->space.heaps[i].size)
			block = hotspot_block(&at->space.heaps[i], window, ip);
	if (!block)
		return 0;
	at->blob = blob = block + value[HOTSPOT_BLOCK_SIZE];
	name = hotspot_word(window, blob + value[HOTSPOT_BLOB_NAME]);
	at->kind = hotspot_kind_of(hotspot_word(window, name));
	at->frame_size =
		hotspot_part(window, blob + value[HOTSPOT_BLOB_FRAME_SIZE], 32) * sizeof(uint64_t);
	at->compile_id = 0;
	if (at->kind != HOTSPOT_COMPILED && at->kind != HOTSPOT_NATIVE)
		return name != 0;
	at->compile_id = hotspot_part(window, blob + value[HOTSPOT_COMPILE_ID], 32);
	at->complete = hotspot_part(window, blob + value[HOTSPOT_BLOB_COMPLETE], 16);
	if (value[HOTSPOT_BLOB_BEGIN] != HOTSPOT_NONE)
		at->begin = hotspot_word(window, blob + value[HOTSPOT_BLOB_BEGIN]);
	else
		at->begin = blob + hotspot_part(window, blob + value[HOTSPOT_BLOB_OFFSET], 32);
	return at->frame_size <= HOTSPOT_FRAME_MAX;
}

#endif
