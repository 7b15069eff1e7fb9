/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_place.h: encodes frames of interpreted functions, which have no address. */
/*
 * bit 61: an interpreted function: 37 bits of its number in the `bytecode` event (0: it could not
 * be read), 24 bits of the instruction within it
 *
 * Bits 62 and 63 mark frames of a Java virtual machine, see hotspot.h.
 */
#ifndef GCPROF_FRAME_PLACE_H
#define GCPROF_FRAME_PLACE_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define FRAME_BYTECODE         (UINT64_C(1) << 61)
#define FRAME_INSTRUCTION_BITS 24
#define FRAME_INSTRUCTIONS     ((UINT64_C(1) << FRAME_INSTRUCTION_BITS) - 1)

static inline uint64_t frame_place(uint64_t number, uint64_t instruction)
{
	if (instruction > FRAME_INSTRUCTIONS)
		instruction = FRAME_INSTRUCTIONS;
	return FRAME_BYTECODE | number << FRAME_INSTRUCTION_BITS | instruction;
}

/* Is it an encoded frame instead of an address? */
static inline int frame_place_is_made(uint64_t place)
{
	return place >= FRAME_BYTECODE;
}

static inline int frame_place_is_bytecode(uint64_t place)
{
	return place >> 61 == 1;
}

static inline uint64_t frame_place_number(uint64_t place)
{
	return (place & (FRAME_BYTECODE - 1)) >> FRAME_INSTRUCTION_BITS;
}

#endif
