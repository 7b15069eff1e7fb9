/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* walk_hotspot.h: one step of a walk up Java frames: compiled, interpreted, stubs. */
/*
 * Used with walk_native.h, and compiled like it. The row walker comes to an address in a code
 * heap and this goes on: from a frame of HotSpot's to its caller, up to the call stub, which C++
 * calls Java by. HotSpot keeps no frame pointers:
 *
 *	compiled     frame size, return address and rbp on top of it; in the prologue and
 *	             behind the epilogue what the stack has so far
 *	native       the same for the wrapper of a native method, with rbp as frame pointer
 *	interpreted  rbp is the frame pointer: -8 sender's rsp, -24 Method, -64 bytecode
 *	adapters     only the return address
 *	stubs        frame size, or rbp, or the return address alone
 *	leaves       the return address, below it perhaps some registers
 *
 * An address in a code heap leads to its blob by the heap's map of segments. Nothing that is
 * read is trusted: each step goes up the stack or ends the walk, and searches are bounded.
 */
#ifndef GCPROF_WALK_HOTSPOT_H
#define GCPROF_WALK_HOTSPOT_H

#include "hotspot.h"
#include "walk_native.h"

enum hotspot_kind {
	HOTSPOT_STUB,
	HOTSPOT_COMPILED,
	HOTSPOT_NATIVE,
	HOTSPOT_INTERPRETER,
	HOTSPOT_ADAPTER,
	HOTSPOT_FUNCTION, /* the return address of a C function */
	HOTSPOT_LEAF,     /* rbp is the caller's */
	HOTSPOT_CHECK,    /* a leaf with two arguments on the stack */
};

#define HOTSPOT_HOPS       16 /* in the map of segments */
#define HOTSPOT_FRAME_MAX  65536
#define HOTSPOT_SCAN_WORDS 32

/* Names of blobs by their first eight letters. */
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
	uint64_t here, low, frame, bx, called; /* the frame: ip, rsp, rbp, rbx; see struct walk_native */
	uint64_t ax, r13; /* of the interrupted thread; 0: it is not the first frame */
	uint64_t blob, begin;
	uint64_t kind;                 /* enum hotspot_kind */
	uint64_t frame_size, complete; /* bytes; bytes of the prologue */
	uint64_t compile_id;
	uint64_t ip, sp, bp; /* of the caller, once it was found */
	uint64_t place;      /* of the frame, as in hotspot.h */
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

	if (from < WALK_ADDRESS_MIN || from >= WALK_ADDRESS_END ||
	    walk_read(window, &word, sizeof(word), from))
		return 0;
	return word;
}

/* A part of a word that does not cross its end. */
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
	out->map = hotspot_word(window,
				heap + value[HOTSPOT_HEAP_MAP] + value[HOTSPOT_SPACE_BEGIN]);
	out->shift = hotspot_part(window, heap + value[HOTSPOT_HEAP_SHIFT], 32);
	if (!heap || !out->low || !out->map || out->shift > 30 || out->size > UINT64_C(1) << 40)
		out->size = 0;
	return 0;
}

/* Fills the space in from the memory of the process; 0 if its virtual machine is not ready. */
static inline int hotspot_learn(struct walk_hotspot *at, struct walk_window *window,
				const struct hotspot_cells *cells, uint64_t bias)
{
	uint64_t *value = at->space.value;
	uint64_t heaps, data, length;

	for (int i = 0; i < HOTSPOT_WALK_ITEMS; i++) {
		uint64_t cell = cells->cell[i];

		value[i] = cell ? hotspot_word(window, bias + cell) : HOTSPOT_NONE;
	}
	/* It is made after the heaps. */
	at->space.call_stub = hotspot_word(window, value[HOTSPOT_CALL_STUB]);
	heaps = hotspot_word(window, value[HOTSPOT_HEAPS]);
	if (!at->space.call_stub || !heaps)
		return 0;
	length = hotspot_part(window, heaps + value[HOTSPOT_ARRAY_LENGTH], 32);
	data = hotspot_word(window, heaps + value[HOTSPOT_ARRAY_DATA]);
	for (uint32_t i = 0; i < HOTSPOT_HEAPS_MAX; i++)
		hotspot_learn_heap(at, window, i,
				   i < length ? hotspot_word(window, data + 8 * i) : 0);
	return 1;
}

/* --- blobs ---------------------------------------------------------------------------------- */

/* Where the blob begins that has this address, 0: none. */
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

/* --- callers -------------------------------------------------------------------------------- */

/* The caller: its registers, once the frame is left. */
static inline int hotspot_to(struct walk_hotspot *at, uint64_t ip, uint64_t sp, uint64_t bp)
{
	at->ip = ip;
	at->sp = sp;
	at->bp = bp;
	return ip != 0;
}

/* By a frame whose return address is at the end: `top` is what the caller's rsp will be. */
static inline int hotspot_by_end(struct walk_hotspot *at, struct walk_window *window, uint64_t top)
{
	uint64_t ip = hotspot_word(window, top - 8);

	return hotspot_to(at, ip, top, hotspot_word(window, top - 16));
}

/* The same, if that is a return address to Java code. */
static inline int hotspot_try_end(struct walk_hotspot *at, struct walk_window *window, uint64_t top)
{
	return hotspot_is_code(at, hotspot_word(window, top - 8)) &&
	       hotspot_by_end(at, window, top);
}

/* Only the return address is on the stack, or rbp has been pushed as well. */
static inline int hotspot_try_leaf(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t ip = hotspot_word(window, at->low);

	if (hotspot_is_code(at, ip))
		return hotspot_to(at, ip, at->low + 8, at->frame);
	return hotspot_try_end(at, window, at->low + 16);
}

/* By rbp, if it is a frame pointer not far from rsp. */
static inline int hotspot_try_frame(struct walk_hotspot *at, struct walk_window *window,
				    uint64_t most)
{
	return at->frame - at->low < most && !(at->frame & 7) &&
	       hotspot_try_end(at, window, at->frame + 16);
}

/* The nearest return address to Java code: for stubs that move rsp as they like. */
HOTSPOT_PART int hotspot_scan(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	for (uint32_t i = 0; i < HOTSPOT_SCAN_WORDS; i++) {
		uint64_t ip = hotspot_word(window, at->low + 8 * i);

		if (hotspot_is_code(at, ip))
			return hotspot_to(at, ip, at->low + 8 * i + 8,
					  i ? hotspot_word(window, at->low + 8 * i - 8)
					    : at->frame);
	}
	return 0;
}

/* --- kinds of frames ------------------------------------------------------------------------ */

/* Is this behind the part of the epilogue that gives the frame up? pop %rbp; the poll of the
 * return (cmp, ja); ret. */
static inline int hotspot_is_epilogue(uint64_t code)
{
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0x5d || (code & 0xffffff) == 0xa73b49 ||
	       (code & 0xffffff) == 0x673b49 ||
	       (((code & 0xffff) == 0x870f || (code & 0xffff) == 0x850f) &&
		(code >> 48 & 0xff) == 0xc3);
}

/* Where the frame would have gone on, if it was deoptimised: its return address is the handler. */
static inline uint64_t hotspot_original(struct walk_hotspot *at,
					struct walk_window *window)
{
	const uint64_t *value = at->space.value;
	uint64_t handler, offset, ip;

	if (value[HOTSPOT_DEOPT_HANDLER] != HOTSPOT_NONE)
		handler = hotspot_word(window, at->blob + value[HOTSPOT_DEOPT_HANDLER]);
	else
		handler = at->begin +
			  hotspot_part(window, at->blob + value[HOTSPOT_DEOPT_OFFSET], 32);
	if (at->here != handler)
		return at->here;
	offset = hotspot_part(window, at->blob + value[HOTSPOT_ORIGINAL_PC], 32);
	ip = offset < HOTSPOT_FRAME_MAX ? hotspot_word(window, at->low + offset) : 0;
	return ip - at->begin < UINT64_C(1) << 30 ? ip : at->here;
}

HOTSPOT_PART int hotspot_compiled(struct walk_hotspot *at, struct walk_window *window)
{
	int found = 0;

	if (!at)
		return 0;
	at->place = at->here;
	if (at->called)
		at->place = hotspot_original(at, window);
	else if (at->here - at->begin < at->complete ||
		 hotspot_is_epilogue(hotspot_word(window, at->here)))
		found = hotspot_try_leaf(at, window);
	at->place = hotspot_code(at->place, at->compile_id);
	if (found)
		return 1;
	if (at->kind == HOTSPOT_NATIVE &&
	    hotspot_try_frame(at, window, at->frame_size + 48))
		return 1;
	return hotspot_by_end(at, window, at->low + at->frame_size);
}

HOTSPOT_PART int hotspot_stub(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	if (at->here == at->space.call_stub)
		return hotspot_by_end(at, window, at->frame + 16);
	if (at->called) {
		if (at->frame_size &&
		    hotspot_try_end(at, window, at->low + at->frame_size))
			return 1;
		return hotspot_try_frame(at, window, HOTSPOT_FRAME_MAX) ||
		       hotspot_scan(at, window);
	}
	if (hotspot_is_code(at, hotspot_word(window, at->low)))
		return hotspot_try_leaf(at, window);
	return hotspot_try_frame(at, window, 4096) ||
	       hotspot_try_leaf(at, window) ||
	       (at->frame_size &&
		hotspot_try_end(at, window, at->low + at->frame_size)) ||
	       hotspot_scan(at, window);
}

/* An adapter may have taken the return address from the stack; it is in rax then, and the
 * sender's rsp in r13. */
HOTSPOT_PART int hotspot_adapter(struct walk_hotspot *at, struct walk_window *window)
{
	if (!at)
		return 0;
	if (hotspot_is_code(at, hotspot_word(window, at->low)))
		return hotspot_try_leaf(at, window);
	if (hotspot_is_code(at, at->ax))
		return hotspot_to(at, at->ax,
				  at->r13 - at->low < HOTSPOT_FRAME_MAX ? at->r13 : at->low,
				  at->frame);
	return hotspot_scan(at, window);
}

/* The index of a bytecode in a method; HOTSPOT_NONE: it is not in there. */
HOTSPOT_PART uint64_t hotspot_bci(const struct walk_hotspot *at, struct walk_window *window,
				  uint64_t method, uint64_t bcp)
{
	uint64_t constant, size, bci;
	const uint64_t *value;

	if (!at)
		return 0;
	value = at->space.value;
	constant = hotspot_word(window, method + value[HOTSPOT_METHOD_CONST]);
	size = hotspot_part(window, constant + value[HOTSPOT_CONST_CODE_SIZE], 16);
	bci = bcp - constant - value[HOTSPOT_CONST_SIZE];
	return constant && bci < size ? bci : HOTSPOT_NONE;
}

/* The frame is still being built: return address and sender's rsp are in registers, or are on the
 * stack. The method is in rbx. */
static inline int hotspot_entering(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t sender = at->r13;

	if (!sender || sender - at->low >= HOTSPOT_FRAME_MAX || sender & 7)
		return 0;
	at->place = hotspot_interpreted(at->bx, 0);
	if (at->frame < sender && hotspot_try_frame(at, window, 128))
		return at->sp = sender, 1;
	if (hotspot_is_code(at, at->ax))
		return hotspot_to(at, at->ax, sender, at->frame);
	return hotspot_try_leaf(at, window) && (at->sp = sender);
}

/* The frame is being left: it has gone, and the return address is in r13. */
static inline int hotspot_leaving(struct walk_hotspot *at)
{
	/* The caller has come back already. */
	if (at->here - at->r13 < 256 || !hotspot_is_code(at, at->r13))
		return 0;
	at->place = hotspot_code(at->here, 0);
	return hotspot_to(at, at->r13,
			  at->bx - at->low < HOTSPOT_FRAME_MAX ? at->bx : at->low, at->frame);
}

HOTSPOT_PART int hotspot_interpreter(struct walk_hotspot *at, struct walk_window *window)
{
	uint64_t method, bci = HOTSPOT_NONE;

	if (!at)
		return 0;
	method = hotspot_word(window, at->frame - 24);
	at->place = hotspot_code(at->here, 0);
	if (at->r13) {
		if (hotspot_leaving(at))
			return 1;
		bci = hotspot_bci(at, window, method, at->r13);
		if (bci == HOTSPOT_NONE && hotspot_entering(at, window))
			return 1;
	}
	if (bci == HOTSPOT_NONE)
		bci = hotspot_bci(at, window, method, hotspot_word(window, at->frame - 64));
	if (at->frame < at->low || !hotspot_try_end(at, window, at->frame + 16))
		return !at->called && hotspot_scan(at, window);
	at->sp = hotspot_word(window, at->frame - 8);
	/* Native methods have no bytecodes. */
	at->place = hotspot_interpreted(method, bci == HOTSPOT_NONE ? 0 : bci);
	return method != 0;
}

/* --- the step ------------------------------------------------------------------------------- */

/* Takes the frame that the walk is at; its blob was found. */
static inline void hotspot_take(struct walk_hotspot *at, const struct walk_native *walk)
{
	at->here = walk->ip;
	at->low = walk->sp;
	at->frame = walk->bp;
	at->bx = walk->bx;
	at->called = walk->called;
	at->place = hotspot_code(walk->ip, 0);
	/* Only the first function's are known. */
	if (walk->count)
		at->ax = at->r13 = 0;
}

/* Its caller: 1, or 0 if it is not found; `place` is filled in all the same. */
static inline int hotspot_caller(struct walk_hotspot *at, struct walk_window *window)
{
	switch (at->kind) {
	case HOTSPOT_COMPILED:
	case HOTSPOT_NATIVE:
		return hotspot_compiled(at, window);
	case HOTSPOT_INTERPRETER:
		return hotspot_interpreter(at, window);
	case HOTSPOT_ADAPTER:
		return hotspot_adapter(at, window);
	case HOTSPOT_FUNCTION:
		return hotspot_to(at, hotspot_word(window, at->low), at->low + 8, at->frame);
	case HOTSPOT_LEAF:
	case HOTSPOT_CHECK:
		return hotspot_scan(at, window) &&
		       hotspot_to(at, at->ip, at->sp + (at->kind == HOTSPOT_CHECK ? 16 : 0),
				  at->frame);
	default:
		return hotspot_stub(at, window);
	}
}

/* Hands the frame out and goes on to the caller, if it was found: 1, or 0 at the end. */
static inline int hotspot_up(const struct walk_hotspot *at, struct walk_native *walk, int found,
			     struct event_native *out)
{
	out->ip = at->place;
	out->frame = walk->sp;
	walk->count++;
	if (!found || at->sp <= walk->sp || at->sp & 7 || at->ip < WALK_ADDRESS_MIN ||
	    at->ip >= WALK_ADDRESS_END) {
		walk->quality |= STACK_USER_END | STACK_JAVA_END;
		return 0;
	}
	out->frame = at->sp - 16;
	walk->called = 1;
	walk->ip = at->ip;
	walk->sp = at->sp;
	walk->bp = at->bp;
	if (walk->count >= STACK_DEPTH_MAX) {
		walk->quality |= STACK_USER_CUT;
		return 0;
	}
	return 1;
}

#endif
