/* SPDX-License-Identifier: BSD-2-Clause */
/* pieces.c: cuts a stack into pieces that are the same in other stacks. */
/*
 * A program has few places in its code but very many stacks: a recursion that
 * calls itself from two places has 2^depth. So a stack is cut where its shadow
 * frames lie. What a walker finds between two of them depends on what lies there
 * and not on what lies above or below: it comes from a function that it knows,
 * whose frame is where the inner shadow frame is, and goes up.
 *
 * A piece is known by its key, a hash of
 *	- the words between the two that may be return addresses, and their places,
 *	- the shadow frame at its upper end: which function, which position,
 *	- how long it is,
 *	- the next shadow frame above, and the first word that may be a return
 *	  address below: the function that the walk comes from.
 * All places are distances, so the same calls make the same piece at whatever
 * depth. Words left over from earlier calls are hashed as well: they can make
 * two keys of one piece, never one of two.
 *
 * The owner of a shadow frame, the function that pushed it, has its return
 * address below it. Where functions were inlined into each other, several frames
 * have one owner and no return address lies between them; those are a group, and
 * a piece ends at the group's highest frame.
 */
#include "pieces.h"

/* Of what lies `distance` away from something. */
static inline uint64_t mix(uint64_t hash, uint64_t value, uint64_t distance)
{
	hash = (hash ^ value) * UINT64_C(0x9fb21c651e98df25) +
	       distance * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

/* A key: all bits of it depend on all of the hash, and it is not 0. */
static inline uint64_t finish(uint64_t hash)
{
	hash *= UINT64_C(0xc4ceb9fe1a85ec53);
	hash ^= hash >> 29;
	return hash ? hash : 1;
}

/*
 * Reads the shadow frames; *same of the outermost are as they were. False if they
 * do not all lie on the stack.
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

/* May the frame have the same owner as the group that lies above it? */
static bool is_of_group(const struct pieces *pieces, const struct pieces_group *group,
			const struct pieces_frame *frame)
{
	return frame->address > group->low ||
	       fingerprint_code_below(&pieces->fingerprint, group->low) <= frame->address;
}

/* Hashes the group's frames, `first` and those up to its end. */
static void group_close(struct pieces *pieces, struct pieces_group *group, size_t first)
{
	uint64_t hash = 0;

	for (size_t i = first; i < group->end; i++)
		hash = mix(hash, pieces->frames[i].place, group->top - pieces->frames[i].address);
	group->hash = hash;
}

/* Makes the group that begins with frame `first`; false if it reaches into the one above. */
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
 * Keeps the groups that are the same because nothing changed down to the frame
 * below them, and makes the others. As many pieces are the same, *kept: what a
 * piece has of its surroundings in its key lies above that frame.
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

/* The piece that ends at group number i - 1, or at the stack's base if that is none. */
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
	/* Where the walk comes from, and where it goes. */
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

/* Not inlined: its frame is the end of the stack. */
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
