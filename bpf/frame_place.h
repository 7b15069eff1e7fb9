/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_place.h: encodes frames of interpreted functions, which have no address. */
/*
 * bit 61: an interpreted function: 37 bits of its number in the `bytecode` event (0: it could not
 * be read), 24 bits of the instruction within it
 *
 * bit 36 of that number: instead, the process's own number of the function, whose name is in its
 * memory; and 24 bits that tell its programs apart
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
#define FRAME_OWN_NUMBER       (UINT64_C(1) << 36)
#define FRAME_INSTRUCTIONS     ((UINT64_C(1) << FRAME_INSTRUCTION_BITS) - 1)

static inline uint64_t frame_place(uint64_t number, uint64_t instruction)
{
	if (instruction > FRAME_INSTRUCTIONS)
		instruction = FRAME_INSTRUCTIONS;
	return FRAME_BYTECODE | number << FRAME_INSTRUCTION_BITS | instruction;
}

/* `program` tells apart those that the process executed. */
static inline uint64_t frame_own_place(uint64_t number, uint64_t program)
{
	return frame_place(FRAME_OWN_NUMBER | (number & (FRAME_OWN_NUMBER - 1)),
			   program * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FRAME_INSTRUCTION_BITS));
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

/* Is the name of the frame in the memory of its process? */
static inline int frame_place_is_remote(uint64_t place)
{
	return place >> 62 ||
	       (frame_place_is_bytecode(place) && frame_place_number(place) & FRAME_OWN_NUMBER);
}

#endif
