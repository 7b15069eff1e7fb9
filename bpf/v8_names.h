/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* v8_names.h: the name, script and line of a JavaScript function that walk_v8.h found. */
#ifndef GCPROF_V8_NAMES_H
#define GCPROF_V8_NAMES_H

#include "verifier.h"
#include "walk_v8.h"

/* --- texts ---------------------------------------------------------------------------------- */

/* A step from a string to its characters: returns the string it refers to, or 0 at the end. */
static inline uint64_t v8_text_step(struct walk_v8 *walk, uint64_t string)
{
	uint32_t type = v8_type(walk, string), length, offset = 0;
	struct v8_text *text = &walk->text;

	text->at = 0;
	if (type >= walk->layout.at[V8_TYPE_NO_STRING])
		return 0;
	length = (uint32_t)v8_half(string - V8_TAG + walk->layout.at[V8_STRING_LENGTH]);
	text->length = length < text->length ? length : text->length;
	text->width = type & V8_STRING_ONE_BYTE ? 1 : 2;
	switch (type & V8_STRING_FORM) {
	case V8_PLAIN:
		text->at = string - V8_TAG + walk->layout.at[V8_STRING_CHARS];
		return 0;
	case V8_OUTSIDE:
		text->at = v8_field(walk, string, V8_STRING_OUTSIDE);
		return 0;
	case V8_SLICED:
		offset = v8_field(walk, string, V8_STRING_OFFSET) >> V8_SMI_SHIFT;
		break;
	default:
		break;
	}
	/* Slices refer to the sliced string, never to other slices. Only texts that begin at the
	 * start of their string are wanted. */
	return offset ? 0 : v8_field(walk, string, V8_STRING_OTHER);
}

/* Finds the characters of a string, `text`: 1, or 0 if it has none. */
V8_PART int v8_text(struct walk_v8 *walk, uint64_t string)
{
	if (!walk)
		return 0;
	walk->text.at = 0;
	walk->text.length = 0xffffffff;
	for (int i = 0; i < V8_TEXT_STEPS && string; i++)
		string = v8_text_step(walk, string);
	if (string)
		walk->text.at = 0;
	return walk->text.at != 0;
}

static inline int v8_is_text(const struct walk_v8 *walk, uint64_t string)
{
	return v8_type(walk, string) < walk->layout.at[V8_TYPE_NO_STRING] &&
	       v8_half(string - V8_TAG + walk->layout.at[V8_STRING_LENGTH]) != 0;
}

/* --- names and places ----------------------------------------------------------------------- */

/* Where the part after the local variables begins in a ScopeInfo. */
static inline uint64_t v8_scope_rest(const struct walk_v8 *walk, uint64_t scope)
{
	uint64_t locals = v8_field(walk, scope, V8_SCOPE_LOCALS) >> V8_SMI_SHIFT;
	uint64_t skipped = 2 * locals, kind = v8_word(scope - V8_TAG + V8_SCOPE_FLAGS);

	if (locals >= V8_SCOPE_INLINE)
		skipped = locals + 1;
	if ((kind >> V8_SMI_SHIFT & V8_SCOPE_KINDS) == V8_SCOPE_MODULE)
		skipped++;
	return scope - V8_TAG + walk->layout.at[V8_SCOPE_FIRST] + skipped * V8_WORD;
}

/*
 * Finds the function's name and begin. After its variables, a ScopeInfo has the name or 0, a
 * number, an inferred name or an object that is not a string, and, up to V8 12, the first and last
 * source position.
 */
static inline void v8_describe(struct walk_v8 *walk)
{
	uint64_t scope = v8_shared(walk, V8_SHARED_NAME), place;
	int is_before = walk->layout.at[V8_SCOPE_FIRST] > V8_SCOPE_PLACE;

	walk->function = scope;
	walk->begin = 0xffffffff;
	walk->source = v8_field(walk, walk->script, V8_SCRIPT_SOURCE);
	if (v8_type(walk, scope) != walk->layout.at[V8_TYPE_SCOPE])
		return;
	walk->function = 0;
	if (walk_read(NULL, walk->name, sizeof(walk->name), v8_scope_rest(walk, scope)))
		return;
	walk->function = v8_is_text(walk, walk->name[0])   ? walk->name[0]
			 : v8_is_text(walk, walk->name[2]) ? walk->name[2]
							   : 0;
	place = v8_is_object(walk->name[2]) ? walk->name[3] : walk->name[2];
	if (is_before)
		place = v8_word(scope - V8_TAG + V8_SCOPE_PLACE);
	if (!(place & V8_TAG_BITS))
		walk->begin = (uint32_t)(place >> V8_SMI_SHIFT);
}

/* --- lines ---------------------------------------------------------------------------------- */

/* The number of line ends in the block. */
static inline uint32_t v8_ends(const struct walk_v8 *walk)
{
	const uint32_t bits = walk->text.width == 1 ? 8 : 16;
	const uint64_t ones = bits == 8 ? UINT64_C(0x0101010101010101)
					: UINT64_C(0x0001000100010001);
	const uint64_t low = ~(ones << (bits - 1)), end = '\n' * ones;
	uint64_t sums =
		0; /* a sum in each character's position: a block has fewer than 256 words */

	for (int i = 0; i < V8_BLOCK_WORDS; i++) {
		uint64_t word = walk->block[i] ^ end;

		/* The highest bit of each character that is 0 now. */
		sums += ~(((word & low) + low) | word | low) >> (bits - 1);
	}
	/* Add positions in pairs, since the sum of 8 does not fit one. */
	if (bits == 8)
		sums = (sums & UINT64_C(0x00ff00ff00ff00ff)) +
		       (sums >> 8 & UINT64_C(0x00ff00ff00ff00ff));
	return (uint32_t)(sums * UINT64_C(0x0001000100010001) >> 48);
}

/*
 * Starts counting lines up to the function's begin, from the last position that `lines` knows in
 * this script. 0 if they cannot be counted.
 */
static inline int v8_count_begin(struct walk_v8 *walk)
{
	uint32_t piece;

	walk->line = 0;
	if (!v8_text(walk, walk->source) || walk->begin > walk->text.length)
		return 0;
	walk->begin *= walk->text.width;
	piece = walk->begin >> V8_PIECE_SHIFT;
	if (piece >= V8_PIECES || walk->text.length >= 1u << 30)
		return 0;
	piece = piece < walk->lines.known ? piece : walk->lines.known;
	walk->counted = piece << V8_PIECE_SHIFT;
	walk->line = 1 + walk->lines.before[opaque(piece) & (V8_PIECES - 1)];
	return 1;
}

/* Reads `bytes` of the source into the block and zeroes the rest. */
static inline long v8_read_block(struct walk_v8 *walk, uint32_t bytes)
{
	uint64_t from = walk->text.at + walk->counted;

	if (bytes >= V8_BLOCK)
		return walk_read(NULL, walk->block, V8_BLOCK, from);
	for (int i = 0; i < V8_BLOCK_WORDS; i++)
		walk->block[i] = 0;
	return walk_read(NULL, walk->block, opaque(bytes) & (V8_BLOCK - 1), from);
}

/* Counts lines in a block: 1 at the end. */
static inline int v8_count(struct walk_v8 *walk)
{
	uint32_t left = walk->begin - walk->counted, piece = walk->counted >> V8_PIECE_SHIFT;

	if (piece > walk->lines.known && piece < V8_PIECES) {
		walk->lines.before[opaque(piece) & (V8_PIECES - 1)] = walk->line - 1;
		walk->lines.known = piece;
	}
	if (!left)
		return 1;
	if (left > V8_BLOCK)
		left = V8_BLOCK;
	if (v8_read_block(walk, left)) {
		walk->line = 0;
		return 1;
	}
	walk->line += v8_ends(walk);
	walk->counted += left;
	return 0;
}

#define V8_COUNT_STEPS ((V8_PIECES << V8_PIECE_SHIFT) / V8_BLOCK + 1)

#endif
