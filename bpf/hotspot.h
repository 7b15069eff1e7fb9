/* SPDX-License-Identifier: BSD-2-Clause */
/* hotspot.h: what the walker of Java stacks knows of a HotSpot virtual machine. */
/*
 * libjvm.so exports tables of its own structures (gHotSpotVMStructs), which the reader reads from
 * the file.
 *
 * Frames that HotSpot has made look like native ones, in a form that no address has:
 *
 *	bit 63: interpreted: 16 bits of bytecode index, 47 of the address of the Method
 *	bit 62: its code:    15 bits of the number of the compilation (0: no method),
 *	                     47 of the address
 */
#ifndef GCPROF_HOTSPOT_H
#define GCPROF_HOTSPOT_H

#ifndef __bpf__
#include <stdint.h>
#endif

enum hotspot_item {
	/* Variables of libjvm: their addresses. */
	HOTSPOT_HEAPS,     /* array of code heaps */
	HOTSPOT_CALL_STUB, /* where Java methods that C++ calls return to */
	HOTSPOT_BARRIER,   /* where methods return to whose callers are in the heap; since 19 */
	/* Offsets and sizes that the walker needs. */
	HOTSPOT_ARRAY_LENGTH,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_HEAP_MEMORY,
	HOTSPOT_HEAP_MAP, /* of segments */
	HOTSPOT_HEAP_SHIFT,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_SPACE_BEGIN,
	HOTSPOT_BLOCK_SIZE,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_FRAME_SIZE,
	HOTSPOT_BLOB_COMPLETE,
	HOTSPOT_BLOB_BEGIN,  /* pointer, up to 22 */
	HOTSPOT_BLOB_OFFSET, /* of the code from the blob, later */
	HOTSPOT_COMPILE_ID,
	HOTSPOT_ORIGINAL_PC,   /* where a deoptimised frame keeps it */
	HOTSPOT_DEOPT_HANDLER, /* pointer, up to 22 */
	HOTSPOT_DEOPT_OFFSET,  /* of it from the code, later */
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_CODE_SIZE,
	HOTSPOT_CONST_SIZE,
	HOTSPOT_WALK_ITEMS,
	/* What names need besides. */
	HOTSPOT_VERSION = HOTSPOT_WALK_ITEMS, /* variable: the release */
	HOTSPOT_CONST_POOL,
	HOTSPOT_CONST_NAME,
	HOTSPOT_CONST_FLAGS,
	HOTSPOT_POOL_HOLDER,
	HOTSPOT_POOL_SIZE,
	HOTSPOT_POOL_FILE, /* number of the source file's name */
	HOTSPOT_KLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_NMETHOD_METHOD,
	HOTSPOT_PCS_OFFSET,
	HOTSPOT_PCS_END,
	HOTSPOT_SCOPES_BEGIN,  /* pointer, up to 22 */
	HOTSPOT_SCOPES_OFFSET, /* later */
	HOTSPOT_METADATA_OFFSET,
	HOTSPOT_IMMUTABLE, /* pointer to what offsets are from; since 23 */
	HOTSPOT_MUTABLE,   /* pointer: relocations, then metadata; since 25 */
	HOTSPOT_RELOCATION_SIZE,
	HOTSPOT_PC_SIZE,
	HOTSPOT_PC_OFFSET,
	HOTSPOT_PC_SCOPE,
	HOTSPOT_ITEMS
};

/* Offsets, sizes, and addresses of variables as the linker knows them, or HOTSPOT_NONE. All 0: the
 * file is no such library. */
struct hotspot_layout {
	uint64_t value[HOTSPOT_ITEMS];
};

#define HOTSPOT_FILES_MAX 64 /* different ones in a recording */
#define HOTSPOT_HEAPS_MAX 4
#define HOTSPOT_NONE      UINT64_C(0xffff) /* value of an item that the release does not have */

struct hotspot_heap {
	uint64_t low, size; /* as reserved: what is committed grows */
	uint64_t map;       /* a byte a segment: how far back the blob begins, at least; 0: here */
	uint64_t shift;     /* log2 of the size of a segment */
};

/* A process as the walker knows it. */
struct hotspot_space {
	uint64_t value[HOTSPOT_WALK_ITEMS];
	uint64_t call_stub, barrier; /* barrier 0: there is none */
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

/* Has this place of a frame been made by HotSpot? */
static inline int hotspot_is_frame(uint64_t place)
{
	return place >= HOTSPOT_CODE;
}

#endif
