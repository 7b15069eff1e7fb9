/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot.h: what the walker of Java frames knows of a HotSpot virtual machine. */
/*
 * libjvm.so exports tables that describe its structures (gHotSpotVMStructs). The reader reads them
 * from the file.
 *
 * Java frames are stored like native ones, in a form that no address has:
 *
 *	bit 63: interpreted: 16 bits of bytecode index, 47 of the Method's address
 *	bit 62: its code:    15 bits of the compilation's number (0: no method),
 *	                     47 of the address
 */
#ifndef GCPROF_HOTSPOT_H
#define GCPROF_HOTSPOT_H

#ifndef __bpf__
#include <stdint.h>
#endif

enum hotspot_item {
	/* Addresses of variables in libjvm. */
	HOTSPOT_HEAPS,     /* array of code heaps */
	HOTSPOT_CALL_STUB, /* return address of Java methods called by C++ */
	HOTSPOT_BARRIER,   /* return address of methods whose callers are in the heap; since 19 */
	/* Offsets and sizes that the walker needs. */
	HOTSPOT_ARRAY_LENGTH,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_HEAP_MEMORY,
	HOTSPOT_HEAP_MAP, /* the segment map */
	HOTSPOT_HEAP_SHIFT,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_SPACE_BEGIN,
	HOTSPOT_BLOCK_SIZE,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_FRAME_SIZE,
	HOTSPOT_BLOB_COMPLETE,
	HOTSPOT_BLOB_BEGIN,  /* pointer, up to 22 */
	HOTSPOT_BLOB_OFFSET, /* of the code in the blob, later */
	HOTSPOT_COMPILE_ID,
	HOTSPOT_ORIGINAL_PC,   /* where a deoptimised frame keeps its pc */
	HOTSPOT_DEOPT_HANDLER, /* pointer, up to 22 */
	HOTSPOT_DEOPT_OFFSET,  /* of the handler in the code, later */
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_CODE_SIZE,
	HOTSPOT_CONST_SIZE,
	HOTSPOT_WALK_ITEMS,
	/* Additional items for names. */
	HOTSPOT_VERSION = HOTSPOT_WALK_ITEMS, /* variable: the release */
	HOTSPOT_CONST_POOL,
	HOTSPOT_CONST_NAME,
	HOTSPOT_CONST_FLAGS,
	HOTSPOT_POOL_HOLDER,
	HOTSPOT_POOL_SIZE,
	HOTSPOT_POOL_FILE, /* index of the source file's name */
	HOTSPOT_KLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_NMETHOD_METHOD,
	HOTSPOT_PCS_OFFSET,
	HOTSPOT_PCS_END,
	HOTSPOT_SCOPES_BEGIN,  /* pointer, up to 22 */
	HOTSPOT_SCOPES_OFFSET, /* later */
	HOTSPOT_METADATA_OFFSET,
	HOTSPOT_IMMUTABLE, /* pointer to the base of offsets; since 23 */
	HOTSPOT_MUTABLE,   /* pointer: relocations, then metadata; since 25 */
	HOTSPOT_RELOCATION_SIZE,
	HOTSPOT_PC_SIZE,
	HOTSPOT_PC_OFFSET,
	HOTSPOT_PC_SCOPE,
	HOTSPOT_ITEMS
};

/* Offsets, sizes, and link-time addresses of variables; HOTSPOT_NONE where the release has none.
 * All 0: the file is not such a library. */
struct hotspot_layout {
	uint64_t value[HOTSPOT_ITEMS];
};

#define HOTSPOT_FILES_MAX 64 /* different libraries in a recording */
#define HOTSPOT_HEAPS_MAX 4
#define HOTSPOT_NONE      UINT64_C(0xffff) /* an item that the release does not have */

struct hotspot_heap {
	uint64_t low, size; /* the reserved range: the committed part grows */
	uint64_t map; /* a byte per segment: distance back to the blob's begin, at least; 0: here */
	uint64_t shift; /* log2 of the segment size */
};

/* The walker's data about a process. */
struct hotspot_space {
	uint64_t value[HOTSPOT_WALK_ITEMS];
	uint64_t call_stub, barrier; /* barrier 0: none */
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
};

#define HOTSPOT_ADDRESS_BITS 47
#define HOTSPOT_ADDRESS      ((UINT64_C(1) << HOTSPOT_ADDRESS_BITS) - 1)
#define HOTSPOT_INTERPRETED  (UINT64_C(1) << 63)
#define HOTSPOT_CODE         (UINT64_C(1) << 62)
#define HOTSPOT_COMPILE_IDS  0x7fff

static inline uint64_t hotspot_interpreted(uint64_t method, uint64_t bci)
{
	return HOTSPOT_INTERPRETED | (bci & 0xffff) << HOTSPOT_ADDRESS_BITS |
	       (method & HOTSPOT_ADDRESS);
}

static inline uint64_t hotspot_code(uint64_t ip, uint64_t compile_id)
{
	return HOTSPOT_CODE | (compile_id & HOTSPOT_COMPILE_IDS) << HOTSPOT_ADDRESS_BITS |
	       (ip & HOTSPOT_ADDRESS);
}

/* Does this frame belong to HotSpot? */
static inline int hotspot_is_frame(uint64_t place)
{
	return place >= HOTSPOT_CODE;
}

#endif
