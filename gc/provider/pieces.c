/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.c: cuts a stack into pieces (segments) that recur in other stacks. */
/*
 * A program has few call sites but very many stacks: a recursion that calls itself
 * from two sites has 2^depth. So a stack is cut at its shadow frames. What an
 * unwinder finds between two of them depends only on the memory between them: it
 * starts in a known function, whose native frame contains the inner shadow frame,
 * and walks up.
 *
 * The key of a piece is a hash of
 *	- the words between the two frames that may be return addresses, and their
 *	  positions,
 *	- the shadow frame at its upper end: function and line,
 *	- its length,
 *	- the next shadow frame above, and the first word below that may be a return
 *	  address: the function from which the walk arrives.
 * All positions are relative, so the same calls give the same piece at any depth.
 * Stale words left by earlier calls are hashed as well: they can give one piece
 * two keys, but never two pieces the same key.
 *
 * The owner of a shadow frame is the function that pushed it; the first return
 * address below the frame leads back into it. Functions inlined into each other
 * have several shadow frames with one owner and no return address between them.
 * These form a group, and a piece ends at the group's highest frame.
 */
#include "pieces.h"

/* Mixes in a value at a relative position. */
static inline uint64_t mix(uint64_t hash, uint64_t value, uint64_t distance)
{
	hash = (hash ^ value) * UINT64_C(0x9fb21c651e98df25) +
	       distance * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

/* Makes a key, never 0, of which every bit depends on the whole hash. */
static inline uint64_t finish(uint64_t hash)
{
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	hash ^= hash >> 29;
	return hash ? hash : 1;
}

/*
 * Reads the shadow frames; the *same outermost ones are unchanged. False if some are not on the
 * stack.
 */
static bool read_frames(struct pieces *pieces, const struct gc_anchor *anchor, size_t *same)
{
	struct pieces_frame read[PIECES_FRAMES_MAX];
	uint64_t at = anchor->top, base = pieces->fingerprint.stack_base;
	size_t n = 0, common = 0;

	for (; at; n++) {
		const struct gc_frame *frame = (const struct gc_frame *)at;

		if (n == PIECES_FRAMES_MAX || at < pieces->low || at > base - sizeof(*frame) ||
		    at % sizeof(uint64_t))
			return false;
		read[n] = (struct pieces_frame){at, (uint64_t)frame->code << 32 | frame->pc};
		at = frame->prev;
	}
	while (common < n && common < pieces->n_frames &&
	       read[n - 1 - common].address == pieces->frames[common].address &&
	       read[n - 1 - common].place == pieces->frames[common].place)
		common++;
	for (size_t i = common; i < n; i++)
		pieces->frames[i] = read[n - 1 - i];
	pieces->n_frames = n;
	*same = common;
	return true;
}

/* Whether the frame may have the same owner as the group above it. */
static bool is_of_group(const struct pieces *pieces, const struct pieces_group *group,
			const struct pieces_frame *frame)
{
	return frame->address > group->low ||
	       fingerprint_code_below(&pieces->fingerprint, group->low) <= frame->address;
}

/* Hashes the group's frames, from `first` to its end. */
static void group_close(struct pieces *pieces, struct pieces_group *group, size_t first)
{
	uint64_t hash = 0;

	for (size_t i = first; i < group->end; i++)
		hash = mix(hash, pieces->frames[i].place, group->top - pieces->frames[i].address);
	group->hash = hash;
}

/* Builds the group that begins with frame `first`; false if it overlaps the one above. */
static bool group_make(struct pieces *pieces, size_t first)
{
	struct pieces_group *group = &pieces->groups[pieces->n_groups];
	uint64_t address = pieces->frames[first].address, above = UINT64_MAX;

	if (pieces->n_groups)
		above = group[-1].low;
	*group = (struct pieces_group){address, address, 0, first + 1};
	while (group->end < pieces->n_frames &&
	       is_of_group(pieces, group, &pieces->frames[group->end])) {
		address = pieces->frames[group->end++].address;
		group->top = address > group->top ? address : group->top;
		group->low = address < group->low ? address : group->low;
	}
	if (group->top >= above)
		return false;
	group_close(pieces, group, first);
	pieces->n_groups++;
	return true;
}

/*
 * Keeps the groups with no change down to the frame below them, and rebuilds the
 * others. Equally many pieces, *kept, are unchanged: the surroundings that are in
 * a piece's key are above that frame.
 */
static bool make_groups(struct pieces *pieces, size_t same, uintptr_t changed, size_t *kept)
{
	size_t old = pieces->n_groups, next = 0, n = 0;

	while (n < old && pieces->groups[n].end < same &&
	       pieces->frames[pieces->groups[n].end].address >= changed)
		next = pieces->groups[n++].end;
	*kept = pieces->n_groups = n;
	while (next < pieces->n_frames) {
		if (!group_make(pieces, next))
			return false;
		next = pieces->groups[pieces->n_groups - 1].end;
	}
	return true;
}

/* The key of the piece that ends at group i - 1, or at the stack's base for i = 0. */
static uint64_t piece_key(const struct pieces *pieces, size_t i)
{
	const struct pieces_group *group = i ? &pieces->groups[i - 1] : NULL;
	const struct fingerprint *stack = &pieces->fingerprint;
	uint64_t top = group ? group->top : stack->stack_base;
	uint64_t low = i < pieces->n_groups ? pieces->groups[i].top : pieces->low;
	uint64_t hash = mix(0, group ? group->hash : 0, top - low);
	uintptr_t at = fingerprint_code_below(stack, top);

	for (; at > low; at = fingerprint_code_below(stack, at))
		hash = mix(hash, fingerprint_word(stack, at), top - at);
	/* Where the walk arrives from, and where it continues. */
	if (i < pieces->n_groups && at >= pieces->low)
		hash = mix(hash, fingerprint_word(stack, at), top - at);
	if (i > 1)
		hash = mix(hash, group[-1].hash, group[-1].top - top);
	return finish(hash);
}

static void make_pieces(struct pieces *pieces, size_t kept)
{
	pieces->n = pieces->n_groups + 1;
	for (size_t i = kept; i < pieces->n; i++) {
		uint64_t key = piece_key(pieces, i);

		pieces->piece[i] = (struct gcprof_piece){key, i ? pieces->groups[i - 1].top
								: pieces->fingerprint.stack_base};
		pieces->keys[i] = finish(mix(i ? pieces->keys[i - 1] : 0, key, 0));
	}
}

static uint64_t give_up(struct pieces *pieces)
{
	pieces->n_frames = pieces->n_groups = pieces->n = 0;
	return 0;
}

/* Not inlined, because its frame is the end of the stack. */
__attribute__((noinline)) uint64_t pieces_take(struct pieces *pieces,
					       const struct gc_anchor *anchor, size_t *kept)
{
	uint64_t low = (uintptr_t)__builtin_frame_address(0), before = pieces->low;
	size_t frames = pieces->n_frames, same;
	uintptr_t changed;

	*kept = 0;
	pieces->low = low;
	if (!fingerprint_look(&pieces->fingerprint, low, &changed) ||
	    !read_frames(pieces, anchor, &same))
		return give_up(pieces);
	*kept = pieces->n;
	if (pieces->n && low == before && changed == low && same == frames &&
	    same == pieces->n_frames)
		return pieces->keys[pieces->n - 1];
	if (!make_groups(pieces, same, changed, kept))
		return give_up(pieces);
	make_pieces(pieces, *kept);
	return pieces->keys[pieces->n - 1];
}
