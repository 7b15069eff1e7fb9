/* SPDX-License-Identifier: BSD-2-Clause */
/* store_stacks.c: stacks that a program composes of segments that it reported before. */
/*
 * The stack of an unbatched sample is walked, and `pieces`, right before it, says where to cut it.
 * So the recorder learns the segments. A batch of samples then says which segments its stacks
 * consist of.
 *
 * The program controls all of this. A stack with an unknown segment, or beyond the greatest depth,
 * is invalid; its samples are stored without one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store_events.h"

enum {
	WAITING = 64,         /* threads whose next sample will be cut */
	DEPTH_MAX = 1024,     /* frames per stack, as in reports */
	FRAMES_MAX = 1 << 16, /* frames in all stacks of a batch */
	MEMO_BITS = 12,
	SEGMENTS_KEPT = 1 << 16,
	SEGMENT_FRAMES_KEPT = 1 << 19,
};

/* What a thread reported about its next sample. */
struct waiting {
	uint64_t thread; /* 0: empty */
	uint64_t stack;  /* key */
	size_t n;
	struct gcprof_piece pieces[GCPROF_PIECES_MAX];
};

/* A stack up to a segment. */
struct level {
	bool known;
	uint32_t depth;
	struct keyed_stack so_far;
};

/* Cache: a stack extended by a segment. Saves a lookup for each frame. */
struct memo {
	uint64_t below, place; /* the stack and the segment */
	uint64_t stack;        /* 0: empty */
};

struct composer {
	struct stack_keys *segments;
	struct waiting waiting[WAITING];
	struct level levels[GCPROF_PIECES_MAX]; /* of the stack composed last */
	size_t n_levels;
	size_t frames; /* in this batch */
	struct memo memos[1 << MEMO_BITS];
};

void composer_free(struct composer *composer)
{
	if (!composer)
		return;
	stack_keys_free(composer->segments);
	free(composer);
}

int composer_create(const struct stack_owners *owners, struct composer **out)
{
	struct composer *composer = calloc(1, sizeof(*composer));
	int err = composer ? stack_keys_create(owners, SEGMENTS_KEPT, SEGMENT_FRAMES_KEPT,
					       &composer->segments)
			   : -ENOMEM;

	if (err) {
		composer_free(composer);
		return err;
	}
	*out = composer;
	return 0;
}

int store_pieces(struct store *store, const struct incoming *in)
{
	const struct event_pieces *event = (const void *)in->header;
	struct waiting *waiting = &store->composer->waiting[in->thread % WAITING];

	if (!event->count || event->count > GCPROF_PIECES_MAX ||
	    event->count * sizeof(event->pieces[0]) > in->tail.size)
		return -EBADMSG;
	waiting->thread = in->thread;
	waiting->stack = event->stack;
	waiting->n = event->count;
	memcpy(waiting->pieces, event->pieces, event->count * sizeof(event->pieces[0]));
	return 0;
}

/*
 * A stack that the program provides is stored under its key like others; bits beyond those of
 * `quality` say how it combines with native frames.
 */
#define HOW_SHIFT 16
_Static_assert(STACK_FLAWS < 1 << HOW_SHIFT, "both fit");

int store_frames(struct store *store, const struct incoming *in)
{
	const struct event_frames *event = (const void *)in->header;
	struct keyed_stack known = {.quality = event->how << HOW_SHIFT};

	if (!event->count || event->count > GCPROF_FRAMES_MAX ||
	    event->count * sizeof(event->frames[0]) > in->tail.size || !event->how ||
	    event->how > GCPROF_STACK_MANAGED)
		return -EBADMSG;
	known.stack = stacks_put_known(store->stacks, in->process, in->header->provider,
				       event->frames, event->count);
	if (!known.stack)
		return -ENOMEM;
	return stack_keys_set(store->keys, in->process->id, store_number(in, event->stack), &known);
}

/* Puts native frames on top of the provided ones. A native walk that ends there did not end too
 * early. */
static int put_on_known(struct store *store, const struct incoming *in, struct keyed_stack *stack)
{
	const struct event_alloc *event = (const void *)in->header;
	uint32_t end = STACK_USER_END | STACK_JAVA_END | STACK_USER_FAILED;
	const struct stack_base base = {
		.below = stack->stack,
		.provider = in->header->provider,
		.cut = stack->quality >> HOW_SHIFT == GCPROF_STACK_MANAGED,
	};
	struct stored_stack stored;
	int err = store_put_stack_on(store, in, &base, &event->stack, &stored);

	/* Generated code, without unwind rows. */
	if (base.cut)
		end |= STACK_USER_GUESSED;
	*stack = (struct keyed_stack){stored.id, stored.quality & ~end};
	return err;
}

struct learning {
	struct store *store;
	const struct incoming *in;
	uint8_t provider; /* of the sample */
};

static int learn(void *context, uint64_t key, const struct stack_segment *segment)
{
	const struct learning *learning = context;
	struct process *process = learning->in->process;

	return stack_keys_set_segment(learning->store->composer->segments, process->id,
				      process_number(process, learning->provider, key), segment);
}

static int learn_pieces(struct store *store, const struct incoming *in, uint64_t stack)
{
	struct waiting *waiting = &store->composer->waiting[in->thread % WAITING];
	const struct event_alloc *event = (const void *)in->header;
	struct learning learning = {store, in, (uint8_t)event->provider};
	int err;

	if (waiting->thread != in->thread || waiting->stack != stack)
		return 0;
	waiting->thread = 0;
	err = stacks_cut(store->stacks, in->process, waiting->pieces, waiting->n, learn, &learning);
	if (err != -EBADMSG)
		return err;
	/* This does not affect the sample. */
	store->losses[LOSS_BAD_EVENT]++;
	return 0;
}

/* The stack of a key, under an id that may be referred to. */
static bool find_keyed(struct store *store, const struct incoming *in, uint64_t key,
		       struct keyed_stack *out)
{
	const uint64_t process = in->process->id;
	uint64_t stack;

	if (!stack_keys_get(store->keys, process, key, out))
		return false;
	stack = profile_writer_renew_stack(store->writer, out->stack);
	if (stack == out->stack)
		return true;
	out->stack = stack;
	return stack && !stack_keys_set(store->keys, process, key, out);
}

int store_put_keyed(struct store *store, const struct incoming *in, struct keyed_stack *out)
{
	const struct event_alloc *event = (const void *)in->header;
	uint64_t key = process_number(in->process, (uint8_t)event->provider, event->key);
	const struct stack_base base = {.provider = in->header->provider, .sample = true};
	struct stored_stack stored;
	int err;

	if (event->batched) {
		if (!find_keyed(store, in, key, out)) {
			*out = (struct keyed_stack){0, STACK_LOST};
			store->losses[LOSS_STACK_LOST]++;
		}
		out->quality &= STACK_FLAWS;
		return 0;
	}
	if (event->key && find_keyed(store, in, key, out) && out->quality >> HOW_SHIFT) {
		if (out->quality >> HOW_SHIFT != GCPROF_STACK_WHOLE)
			return put_on_known(store, in, out);
		out->quality = 0;
		return 0;
	}
	err = store_put_stack_on(store, in, &base, &event->stack, &stored);
	*out = (struct keyed_stack){stored.id, stored.quality};
	if (err || !event->key)
		return err;
	err = stack_keys_set(store->keys, in->process->id, key, out);
	return err ? err : learn_pieces(store, in, event->key);
}

/* Writes the frames of a segment on top of a stack; 0: no memory. */
static uint64_t put_frames(struct store *store, uint64_t below, const struct stack_segment *segment)
{
	uint64_t hash = (below ^ segment->place << 20) * UINT64_C(0x9e3779b97f4a7c15);
	struct memo *memo = &store->composer->memos[hash >> (64 - MEMO_BITS)];
	uint64_t stack = below;

	if (memo->stack && memo->below == below && memo->place == segment->place &&
	    profile_writer_knows_stack(store->writer, memo->stack))
		return memo->stack;
	for (size_t i = 0; i < segment->n; i++) {
		stack = profile_writer_stack(store->writer, stack, segment->frames[i]);
		if (!stack)
			return 0;
	}
	*memo = (struct memo){below, segment->place, stack};
	return stack;
}

/* Extends the stack by a segment. */
static int add_segment(struct store *store, const struct incoming *in, uint64_t key,
		       struct level *level)
{
	struct composer *composer = store->composer;
	struct stack_segment segment;

	if (!stack_keys_get_segment(composer->segments, in->process->id, store_number(in, key),
				    &segment))
		level->known = false;
	if (!level->known)
		return 0;
	if (segment.open) {
		level->depth = 0;
		level->so_far = (struct keyed_stack){0, 0};
	}
	level->depth += (uint32_t)segment.n;
	composer->frames += segment.n;
	if (level->depth > DEPTH_MAX || composer->frames > FRAMES_MAX) {
		level->known = false;
		return 0;
	}
	level->so_far.quality |= segment.quality;
	if (segment.n)
		level->so_far.stack = put_frames(store, level->so_far.stack, &segment);
	return segment.n && !level->so_far.stack ? -ENOMEM : 0;
}

/* Composes a stack; these are the keys of its further segments. */
static int make_stack(struct store *store, const struct incoming *in,
		      const struct gcprof_stack *stack, const uint64_t *keys)
{
	struct composer *composer = store->composer;
	struct level level = {.known = true};
	int err = 0;

	if (stack->kept > composer->n_levels || stack->added > GCPROF_PIECES_MAX - stack->kept)
		return -EBADMSG;
	if (stack->kept)
		level = composer->levels[stack->kept - 1];
	for (uint32_t i = 0; i < stack->added && !err; i++) {
		err = add_segment(store, in, keys[i], &level);
		composer->levels[stack->kept + i] = level;
	}
	composer->n_levels = stack->kept + stack->added;
	if (err || !level.known)
		return err;
	return stack_keys_set(store->keys, in->process->id, store_number(in, stack->stack),
			      &level.so_far);
}

int store_stacks(struct store *store, const struct incoming *in)
{
	const uint64_t *word = ((const struct event_stacks *)(const void *)in->header)->words;
	const uint64_t *end = word + in->tail.size / sizeof(*word);
	int err = 0;

	store->composer->n_levels = 0;
	store->composer->frames = 0;
	while (word < end && !err) {
		struct gcprof_stack stack;
		const size_t head = sizeof(stack) / sizeof(*word);

		if ((size_t)(end - word) < head)
			return -EBADMSG;
		memcpy(&stack, word, sizeof(stack));
		word += head;
		if (stack.added > (size_t)(end - word))
			return -EBADMSG;
		err = make_stack(store, in, &stack, word);
		word += stack.added;
	}
	return err;
}
