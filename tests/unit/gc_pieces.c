/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_pieces.c: stacks cut into pieces, and batches that are made of them. */
#include "gc_test.h"
#include "provider/pieces.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

static void observe_nothing(enum probe_number probe, const void *arguments)
{
	(void)probe;
	(void)arguments;
}

static void open_batching(struct fixture *f, uint64_t period)
{
	struct gc_options options = batching_options(period);

	probe_observer = observe_nothing;
	fixture_open(f, &options);
}

static __attribute__((noinline)) void allocate(struct fixture *f, int n)
{
	for (int i = 0; i < n; i++)
		GC_NEW(f->thread, f->node, struct node);
}

static struct pieces state;
static const struct gc_anchor no_frames;

/* The key of the calling stack. */
static inline __attribute__((always_inline)) uint64_t take(struct pieces *pieces,
							   const struct gc_anchor *anchor)
{
	size_t kept;

	return pieces_take(pieces, anchor, &kept);
}

static __attribute__((noinline)) uint64_t leaf(void)
{
	uint64_t key = take(&state, &no_frames);

	__asm__ volatile("" : "+r"(key));
	return key;
}

static __attribute__((noinline)) uint64_t deeper(int depth)
{
	uint64_t key = depth ? deeper(depth - 1) : leaf();

	__asm__ volatile("" : "+r"(key));
	return key;
}

static __attribute__((noinline)) uint64_t other_way(int depth)
{
	uint64_t key = deeper(depth);

	__asm__ volatile("" : "+r"(key));
	return key;
}

TEST(the_same_stack_has_the_same_key)
{
	/* What was there before may look like return addresses. */
	uint64_t keys[3] = {0};

	skip_under_thread_sanitizer();
	/* Not unrolled: another place of the call would be another stack. */
	for (volatile int i = 0; i < 3; i++)
		keys[i] = deeper(4);
	CHECK(keys[1]);
	CHECK(keys[1] == keys[2]);
}

TEST(depths_and_places_differ)
{
	uint64_t keys[6] = {0};

	for (int i = 0; i < 4; i++)
		keys[i] = deeper(i);
	keys[4] = other_way(2);
	keys[5] = other_way(3);
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < i; k++)
			CHECK(keys[i] != keys[k]);
}

TEST(one_function_called_from_two_places_differs)
{
	uint64_t first = 0, second = 0;

	for (int i = 0; i < 2; i++) {
		first = leaf();
		__asm__ volatile("nop");
		second = leaf();
	}
	CHECK(first && second && first != second);
}

static __attribute__((noinline)) uint64_t framed(struct fixture *f, uint32_t code, uint32_t pc)
{
	GC_FRAME(f->thread, frame, code, void *root;);
	uint64_t key;

	frame.header.pc = pc;
	key = take(&state, &f->thread->head.anchor);
	GC_FRAME_END(f->thread, frame);
	return key;
}

TEST(shadow_frames_are_in_it)
{
	struct fixture f;
	uint64_t keys[4] = {0};

	open_batching(&f, 1 << 20);
	for (int turn = 0; turn < 2; turn++) {
		static const uint32_t codes[4] = {7, 8, 7, 7}, lines[4] = {1, 1, 2, 1};

		for (int i = 0; i < 4; i++)
			keys[i] = framed(&f, codes[i], lines[i]);
	}
	CHECK(keys[0] && keys[0] == keys[3]);
	CHECK(keys[0] != keys[1] && keys[0] != keys[2] && keys[1] != keys[2]);
	fixture_close(&f);
}

static jmp_buf back;

static void (*volatile jump)(jmp_buf, int) = longjmp;

static __attribute__((noinline)) void jump_from(int depth)
{
	if (!depth) {
		jump(back, 1);
		return;
	}
	jump_from(depth - 1);
	__asm__ volatile("");
}

/* What a jump leaves on the stack may make it look like another, but never wrong. */
TEST(a_jump_does_not_confuse_it)
{
	uint64_t before = deeper(3), after;

	if (!setjmp(back))
		jump_from(9);
	deeper(3);
	after = deeper(3);
	CHECK(after && after != deeper(2));
	CHECK(before != deeper(4));
}

static struct pieces thread_state[2];
static uint64_t thread_key[2];

static void *take_in_thread(void *argument)
{
	size_t number = (size_t)(uintptr_t)argument;

	for (int i = 0; i < 2; i++)
		thread_key[number] = take(&thread_state[number], &no_frames);
	return NULL;
}

TEST(threads_have_stacks_of_their_own)
{
	pthread_t threads[2];

	skip_under_thread_sanitizer();
	for (size_t i = 0; i < 2; i++) {
		CHECK_EQ(pthread_create(&threads[i], NULL, take_in_thread, (void *)(uintptr_t)i),
			 0);
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
	}
	CHECK(thread_key[0] && thread_key[1]);
	CHECK(thread_key[0] != leaf());
}

static ucontext_t main_context, coroutine;
static uint64_t coroutine_key = 1;

static void run_coroutine(void)
{
	coroutine_key = take(&state, &no_frames);
}

TEST(a_stack_that_is_not_the_threads_has_none)
{
	size_t size = 256 << 10;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(leaf());
	CHECK(stack != MAP_FAILED);
	CHECK_EQ(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &main_context;
	makecontext(&coroutine, run_coroutine, 0);
	CHECK_EQ(swapcontext(&main_context, &coroutine), 0);
	CHECK_EQ(coroutine_key, 0);
}

static __attribute__((noinline)) uint64_t far_down(void)
{
	char room[256 << 10];
	uint64_t key;

	__asm__ volatile("" : : "r"(room) : "memory");
	key = take(&state, &no_frames);
	__asm__ volatile("" : : "r"(room) : "memory");
	return key;
}

TEST(a_very_deep_stack_has_none)
{
	CHECK_EQ(far_down(), 0);
}

/* A recursion by two places: each path is another stack. */
static __attribute__((noinline)) void walk_tree(struct fixture *f, int depth, uint32_t path,
						void (*visit)(struct fixture *, uint32_t))
{
	GC_FRAME(f->thread, frame, 0, void *root;);

	if (!depth) {
		visit(f, path);
	} else {
		walk_tree(f, depth - 1, path * 2, visit);
		__asm__ volatile("nop");
		walk_tree(f, depth - 1, path * 2 + 1, visit);
	}
	GC_FRAME_END(f->thread, frame);
}

enum { TREE = 7, PATHS = 1 << TREE };

static struct {
	uint64_t keys[2][PATHS];
	uint64_t different[1000]; /* keys of pieces */
	size_t n, turn;
} paths;

static void note_path(struct fixture *f, uint32_t path)
{
	static struct pieces before;
	size_t kept, i;

	before.n = state.n;
	memcpy(before.piece, state.piece, sizeof(before.piece));
	paths.keys[paths.turn][path] = pieces_take(&state, &f->thread->head.anchor, &kept);
	CHECK_EQ(state.n, TREE + 2);
	CHECK(kept <= before.n && kept <= state.n);
	CHECK(!memcmp(before.piece, state.piece, kept * sizeof(before.piece[0])));
	for (size_t k = 0; k < state.n; k++) {
		CHECK(!k || state.piece[k].top < state.piece[k - 1].top);
		for (i = 0; i < paths.n && paths.different[i] != state.piece[k].piece; i++)
			;
		CHECK(i < 1000);
		paths.different[i] = state.piece[k].piece;
		paths.n += i == paths.n;
	}
}

TEST(many_stacks_have_few_pieces)
{
	struct fixture f;
	uint32_t twice = 0;

	skip_under_thread_sanitizer();
	memset(&state, 0, sizeof(state));
	open_batching(&f, 1 << 30);
	for (volatile size_t turn = 0; turn < 2; turn++) {
		paths.turn = turn;
		walk_tree(&f, TREE, 0, note_path);
	}
	fixture_close(&f);
	for (uint32_t i = 0; i < PATHS; i++)
		for (uint32_t k = 0; k < i; k++)
			twice += paths.keys[1][i] == paths.keys[1][k];
	CHECK_EQ(twice, 0);
	CHECK(paths.n < PATHS);
}

/* What has been kept is what a look at everything finds. */
static void compare_path(struct fixture *f, uint32_t path)
{
	static struct pieces fresh;
	size_t kept;
	uint64_t key;

	(void)path;
	memset(&fresh, 0, sizeof(fresh));
	for (volatile int i = 0; i < 2; i++)
		pieces_take(i ? &fresh : &state, &f->thread->head.anchor, &kept);
	key = state.keys[state.n - 2];
	CHECK_EQ(state.n, fresh.n);
	CHECK(key == fresh.keys[fresh.n - 2]);
	CHECK(!memcmp(state.piece, fresh.piece, (state.n - 1) * sizeof(state.piece[0])));
}

TEST(what_is_kept_is_right)
{
	struct fixture f;

	skip_under_thread_sanitizer();
	open_batching(&f, 1 << 30);
	walk_tree(&f, TREE, 0, compare_path);
	fixture_close(&f);
}

/* Frames of one function lie in any order: they are one group, with one piece. */
TEST(frames_of_one_function_are_one_piece)
{
	/* What was on the stack before may look like return addresses. */
	struct gc_frame frames[4] = {{0}};
	struct gc_anchor anchor = {0};
	uint64_t keys[3] = {0};
	size_t kept = 0;

	skip_under_thread_sanitizer();
	for (volatile int i = 0; i < 3; i++) {
		frames[0] = (struct gc_frame){.prev = (uintptr_t)&frames[2], .code = 1};
		frames[2] = (struct gc_frame){.prev = (uintptr_t)&frames[1], .code = 2};
		frames[1] =
			(struct gc_frame){.prev = i == 1 ? 0 : (uintptr_t)&frames[3], .code = 3};
		anchor.top = (uintptr_t)&frames[0];
		__asm__ volatile("" : : "r"(frames) : "memory");
		keys[i] = pieces_take(&state, &anchor, &kept);
		CHECK_EQ(state.n, 2);
	}
	CHECK(keys[0] && keys[0] == keys[2] && keys[0] != keys[1]);
}

TEST(shadow_frames_that_cannot_be_have_no_key)
{
	struct gc_frame frame = {.prev = 8, .code = 1};
	struct gc_anchor anchor = {(uintptr_t)&frame};

	__asm__ volatile("" : : "r"(&frame) : "memory");
	CHECK_EQ(take(&state, &anchor), 0);
	frame.prev = (uintptr_t)&frame; /* a circle */
	__asm__ volatile("" : : "r"(&frame) : "memory");
	CHECK_EQ(take(&state, &anchor), 0);
	frame.prev = UINT64_MAX - 7;
	__asm__ volatile("" : : "r"(&frame) : "memory");
	CHECK_EQ(take(&state, &anchor), 0);
	anchor.top |= 1;
	CHECK_EQ(take(&state, &anchor), 0);
	CHECK(leaf());
}

/* --- how a batch says what its stacks are ------------------------------------------------ */

static struct {
	uint64_t reported[4096]; /* keys of pieces */
	size_t n_reported;
	uint64_t keys[GCPROF_SAMPLES_MAX]; /* of the stacks of a batch */
	uint64_t n_stacks, n_kept;
} book;

static bool book_has(uint64_t piece)
{
	for (size_t i = 0; i < book.n_reported; i++)
		if (book.reported[i] == piece)
			return true;
	return false;
}

static void book_stacks(const struct probe_samples *batch)
{
	const uint64_t *word = batch->stacks, *end = word + batch->words;
	const struct gcprof_sample *entries = batch->entries;
	size_t n = 0, length = 0;

	CHECK(batch->words <= GCPROF_STACK_WORDS_MAX);
	while (word < end) {
		struct gcprof_stack stack;

		memcpy(&stack, word, sizeof(stack));
		word += sizeof(stack) / sizeof(*word);
		CHECK(stack.stack && stack.kept <= length && stack.added <= (size_t)(end - word));
		CHECK(n < GCPROF_SAMPLES_MAX);
		length = stack.kept + stack.added;
		CHECK(length && length <= GCPROF_PIECES_MAX);
		for (uint32_t i = 0; i < stack.added; i++)
			CHECK(book_has(word[i]));
		word += stack.added;
		book.keys[n++] = stack.stack;
		book.n_stacks++;
		book.n_kept += stack.kept != 0;
	}
	for (uint64_t i = 0; i < batch->count; i++) {
		size_t k = 0;

		while (k < n && book.keys[k] != entries[i].stack)
			k++;
		CHECK(k < n);
	}
}

static void keep_book(enum probe_number probe, const void *arguments)
{
	const struct probe_pieces *reported = arguments;
	const struct gcprof_piece *pieces = reported->pieces;

	if (probe == PROBE_samples)
		book_stacks(arguments);
	if (probe != PROBE_pieces)
		return;
	CHECK(reported->stack && reported->count >= 1 && reported->count <= GCPROF_PIECES_MAX);
	for (uint64_t i = 0; i < reported->count; i++) {
		CHECK(book.n_reported < 4096);
		if (!book_has(pieces[i].piece))
			book.reported[book.n_reported++] = pieces[i].piece;
	}
}

static void allocate_there(struct fixture *f, uint32_t path)
{
	allocate(f, path % 3 + 1);
}

TEST(a_batch_has_stacks_of_reported_pieces_only)
{
	struct fixture f;

	skip_under_thread_sanitizer();
	open_batching(&f, 256);
	memset(&book, 0, sizeof(book));
	probe_observer = keep_book;
	for (int i = 0; i < 100; i++)
		walk_tree(&f, TREE, 0, allocate_there);
	fixture_close(&f);
	/* Far more stacks than pieces, and most of them say what differs only. */
	CHECK(book.n_stacks > 500);
	CHECK(book.n_kept > book.n_stacks / 2);
	CHECK(book.n_reported < book.n_stacks);
}
