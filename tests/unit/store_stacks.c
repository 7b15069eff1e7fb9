/* SPDX-License-Identifier: BSD-2-Clause */
/* store_stacks.c: samples of batches, and stacks that are made of pieces. */
#include "store_rig.h"
#include "record/store/stacks.h"
#include "runtimes/runtime.h"
#include "../../bpf/frame_place.h"
#include "../../bpf/hotspot.h"

/* A sample with its stack, which has a key. */
static void send_told(uint32_t process, uint32_t pid, uint64_t sample, uint64_t key, uint64_t ip)
{
	struct event_alloc *alloc =
		event(EVENT_alloc, sizeof(*alloc) + sizeof(struct event_native), process, pid);

	*alloc = (struct event_alloc){.header = alloc->header,
				      .stack = {0, 1, 0, STACK_USER_CUT},
				      .sample = sample,
				      .type = 5,
				      .bytes = 32,
				      .period = 4096,
				      .kind = GCPROF_SAMPLE_LARGE,
				      .key = key};
	memcpy(alloc + 1, &(struct event_native){ip, 0}, sizeof(struct event_native));
	CHECK_EQ(send_event(), 0);
}

static void send_keyed(uint32_t process, uint32_t pid, uint64_t sample, uint64_t key)
{
	struct event_alloc *one = event(EVENT_alloc, sizeof(*one), process, pid);

	one->batched = 1;
	one->sample = sample;
	one->type = 5;
	one->bytes = 48;
	one->period = 4096;
	one->kind = GCPROF_SAMPLE_NURSERY;
	one->key = key;
	CHECK_EQ(send_event(), 0);
}

TEST(samples_of_a_batch_have_the_stack_of_their_key)
{
	const struct record *told, *keyed, *unknown, *other;

	begin();
	send_told(1, 100, 1, 77, 0x1234);
	send_keyed(1, 100, 2, 77);
	send_keyed(1, 100, 3, 78);
	/* Another process means something else by it, and so does another program. */
	send_keyed(2, 200, 1, 77);
	send_exec(1, 100, "/bin/other");
	send_keyed(1, 100, 2, 77);
	CHECK_EQ(store_loss(rig.store, LOSS_STACK_LOST), 3);
	CHECK_EQ(store_count(rig.store, STREAM_ALLOC), 5);
	finish();
	told = nth(RECORD_alloc, 0);
	keyed = nth(RECORD_alloc, 1);
	unknown = nth(RECORD_alloc, 2);
	other = nth(RECORD_alloc, 3);
	CHECK(told->alloc.stack && told->alloc.stack == keyed->alloc.stack);
	CHECK_EQ(keyed->alloc.quality, STACK_USER_CUT);
	CHECK_EQ(keyed->alloc.size, 48);
	CHECK_EQ(keyed->alloc.kind, GCPROF_SAMPLE_NURSERY);
	CHECK_EQ(unknown->alloc.stack, 0);
	CHECK_EQ(unknown->alloc.quality, STACK_LOST);
	CHECK_EQ(other->alloc.stack, 0);
	CHECK_EQ(nth(RECORD_alloc, 4)->alloc.stack, 0);
}

/* A sample by itself whose stack has functions at `ips`, the innermost first, 0x100 bytes each; it
 * is cut at the frames of all of them. The outermost piece is `pieces[0]`. */
static void send_cut(uint64_t key, const uint64_t *ips, const uint64_t *keys, uint32_t n)
{
	const uint64_t base = 0x7ffd00000000;
	struct event_pieces *cut =
		event(EVENT_pieces, sizeof(*cut) + n * sizeof(cut->pieces[0]), 1, 100);
	struct event_alloc *alloc;
	struct event_native *frames;

	cut->stack = key;
	cut->count = n;
	for (uint32_t i = 0; i < n; i++)
		cut->pieces[i] = (struct gcprof_piece){keys[i], base - i * 0x100};
	CHECK_EQ(send_event(), 0);
	alloc = event(EVENT_alloc, sizeof(*alloc) + n * sizeof(*frames), 1, 100);
	*alloc = (struct event_alloc){.header = alloc->header,
				      .stack = {.n_user = (uint16_t)n},
				      .sample = key,
				      .type = 5,
				      .bytes = 32,
				      .period = 4096,
				      .kind = GCPROF_SAMPLE_NURSERY,
				      .key = key};
	frames = (void *)(alloc + 1);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = (struct event_native){ips[i], base - (n - 1 - i) * 0x100 + 0x10};
	CHECK_EQ(send_event(), 0);
}

static void send_stacks(const uint64_t *words, size_t n)
{
	struct event_stacks *stacks =
		event(EVENT_stacks, sizeof(*stacks) + n * sizeof(*words), 1, 100);

	memcpy(stacks->words, words, n * sizeof(*words));
	CHECK_EQ(send_event(), 0);
}

#define STACK(key, kept, added) key, (uint64_t)(added) << 32 | (kept)

TEST(stacks_are_made_of_pieces)
{
	static const uint64_t left[] = {0x30, 0x20, 0x10}, right[] = {0x50, 0x40, 0x10};
	static const uint64_t left_keys[] = {1, 2, 3}, right_keys[] = {1, 4, 5};
	/* The left one, then its two outer pieces with the right one's innermost, then unknown. */
	static const uint64_t words[] = {STACK(100, 0, 3),
					 1,
					 2,
					 3,
					 STACK(101, 2, 1),
					 5,
					 STACK(102, 1, 1),
					 9,
					 STACK(103, 2, 1),
					 3,
					 STACK(104, 0, 1),
					 1};
	const struct record *made[5];

	begin();
	send_cut(70, left, left_keys, 3);
	send_cut(71, right, right_keys, 3);
	send_stacks(words, sizeof(words) / sizeof(words[0]));
	for (uint64_t i = 0; i < 5; i++)
		send_keyed(1, 100, 200 + i, 100 + i);
	/* Another program means nothing by the keys. */
	send_exec(1, 100, "/bin/other");
	send_stacks(words, 5);
	send_keyed(1, 100, 300, 100);
	CHECK_EQ(store_loss(rig.store, LOSS_STACK_LOST), 3);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 0);
	finish();
	for (size_t i = 0; i < 5; i++)
		made[i] = nth(RECORD_alloc, 2 + i);
	CHECK(made[0]->alloc.stack);
	CHECK_EQ(made[0]->alloc.stack, nth(RECORD_alloc, 0)->alloc.stack);
	CHECK_EQ(made[0]->alloc.quality, 0);
	/* A stack that nobody has told as a whole. */
	CHECK(made[1]->alloc.stack && made[1]->alloc.stack != made[0]->alloc.stack);
	CHECK(made[1]->alloc.stack != nth(RECORD_alloc, 1)->alloc.stack);
	CHECK_EQ(made[2]->alloc.stack, 0);
	CHECK_EQ(made[2]->alloc.quality, STACK_LOST);
	CHECK_EQ(made[3]->alloc.stack, 0);
	CHECK(made[4]->alloc.stack && made[4]->alloc.stack != made[0]->alloc.stack);
}

/* What the first of these was made of is remembered, but not what its pieces were then. */
TEST(a_piece_that_is_told_anew_means_something_else_from_then_on)
{
	static const uint64_t left[] = {0x30, 0x20, 0x10}, right[] = {0x50, 0x40, 0x10};
	static const uint64_t keys[] = {1, 2, 3};
	static const uint64_t words[] = {STACK(100, 0, 3), 1, 2, 3};
	const struct record *made[4];

	begin();
	send_cut(70, left, keys, 3);
	for (uint64_t i = 0; i < 2; i++) {
		send_stacks(words, 5);
		send_keyed(1, 100, 200 + i, 100);
	}
	send_cut(71, right, keys, 3);
	send_stacks(words, 5);
	send_keyed(1, 100, 202, 100);
	send_cut(70, left, keys, 3);
	send_stacks(words, 5);
	send_keyed(1, 100, 203, 100);
	finish();
	made[0] = nth(RECORD_alloc, 1);
	made[1] = nth(RECORD_alloc, 2);
	made[2] = nth(RECORD_alloc, 4);
	made[3] = nth(RECORD_alloc, 6);
	CHECK(made[0]->alloc.stack && made[0]->alloc.stack == made[1]->alloc.stack);
	CHECK_EQ(made[0]->alloc.stack, nth(RECORD_alloc, 0)->alloc.stack);
	CHECK_EQ(made[2]->alloc.stack, nth(RECORD_alloc, 3)->alloc.stack);
	CHECK(made[2]->alloc.stack != made[0]->alloc.stack);
	CHECK_EQ(made[3]->alloc.stack, made[0]->alloc.stack);
}

TEST(stacks_that_make_no_sense_are_refused)
{
	static const uint64_t ips[] = {0x20, 0x10}, keys[] = {1, 2};
	static const uint64_t no_such[] = {STACK(100, 1, 1), 1}, too_long[] = {STACK(100, 0, 2), 1};
	static const uint64_t torn[] = {STACK(100, 0, 1), 1, 7},
			      many[] = {STACK(100, 0, UINT32_MAX)};
	uint64_t deep[2 + 100] = {STACK(100, 0, 100)};
	struct event_pieces *cut;

	begin();
	send_cut(70, ips, keys, 2);
	send_stacks(no_such, 3);
	send_stacks(too_long, 3);
	send_stacks(torn, 4);
	send_stacks(many, 2);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 4);
	/* Tops that rise: the sample is stored, its pieces are not. */
	cut = event(EVENT_pieces, sizeof(*cut) + 2 * sizeof(cut->pieces[0]), 1, 100);
	cut->stack = 77;
	cut->count = 2;
	cut->pieces[0] = (struct gcprof_piece){3, 100};
	cut->pieces[1] = (struct gcprof_piece){4, 100};
	CHECK_EQ(send_event(), 0);
	send_told(1, 100, 5, 77, 0x99);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 5);
	/* More pieces than are there, or than may be. */
	cut = event(EVENT_pieces, sizeof(*cut) + sizeof(cut->pieces[0]), 1, 100);
	cut->count = 2;
	CHECK_EQ(send_event(), 0);
	cut = event(EVENT_pieces, sizeof(*cut), 1, 100);
	cut->count = UINT32_MAX;
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 7);
	/* The same piece many times. */
	for (size_t i = 0; i < 100; i++)
		deep[2 + i] = 2;
	send_stacks(deep, sizeof(deep) / sizeof(deep[0]));
	send_keyed(1, 100, 6, 100);
	CHECK_EQ(store_loss(rig.store, LOSS_STACK_LOST), 0);
	finish();
	CHECK(nth(RECORD_alloc, 1)->alloc.stack);
	CHECK(nth(RECORD_alloc, 2)->alloc.stack);
}

static void send_frames(uint64_t key, const struct gcprof_frame *frames, uint32_t n, uint32_t how,
			int result)
{
	struct event_frames *known =
		event(EVENT_frames, sizeof(*known) + n * sizeof(*frames), 1, 100);

	known->stack = key;
	known->count = n;
	known->how = how;
	memcpy(known->frames, frames, n * sizeof(*frames));
	CHECK_EQ(send_event(), result);
}

TEST(a_stack_that_the_program_knows_replaces_the_native_one_or_goes_below_it)
{
	static const struct gcprof_frame frames[] = {{1, 10}, {2, 20}};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0, "/nowhere/prog");
	send_mmap(1, 0x8000, 0x1000, 0x8000, "//anon");
	send_frames(70, frames, 2, GCPROF_STACK_WHOLE, 0);
	send_frames(71, frames, 2, GCPROF_STACK_CALLERS, 0);
	send_frames(72, frames, 2, GCPROF_STACK_MANAGED, 0);
	for (uint64_t key = 70; key <= 72; key++)
		send_told(1, 100, key, key, 0x8234);
	send_told(1, 100, 73, 72, 0x1234);
	send_keyed(1, 100, 74, 70);
	/* Another provider means something else by the key. */
	send_told(1, 100, 75, 70, 0x1234);
	((struct event_alloc *)rig.room)->provider = 2;
	CHECK_EQ(send_event(), 0);
	finish();
	CHECK_STR(stack_text(nth(RECORD_alloc, 0)->alloc.stack), "c2@20 c1@10");
	CHECK_EQ(nth(RECORD_alloc, 0)->alloc.quality, 0);
	CHECK_STR(stack_text(nth(RECORD_alloc, 1)->alloc.stack), "c2@20 c1@10 m2:8234");
	CHECK_EQ(nth(RECORD_alloc, 1)->alloc.quality, STACK_USER_CUT);
	CHECK_STR(stack_text(nth(RECORD_alloc, 2)->alloc.stack), "c2@20 c1@10");
	CHECK_STR(stack_text(nth(RECORD_alloc, 3)->alloc.stack), "c2@20 c1@10 m1:234");
	CHECK_STR(stack_text(nth(RECORD_alloc, 4)->alloc.stack), "c2@20 c1@10");
	CHECK_EQ(nth(RECORD_alloc, 4)->alloc.quality, 0);
	CHECK_STR(stack_text(nth(RECORD_alloc, 6)->alloc.stack), "m1:234");
}

TEST(known_stacks_that_make_no_sense_are_refused)
{
	static const struct gcprof_frame frames[] = {{1, 10}, {2, 20}};

	begin();
	send_frames(70, frames, 2, 0, 0);
	send_frames(70, frames, 2, 4, 0);
	send_frames(70, frames, 0, GCPROF_STACK_WHOLE, 0);
	send_frames(70, frames, 2, GCPROF_STACK_WHOLE, 0);
	((struct event_frames *)rig.room)->count = 3;
	CHECK_EQ(send_event(), 0);
	((struct event_frames *)rig.room)->count = UINT32_MAX;
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 5);
	finish();
}

TEST(providers_of_a_process_have_numbers_of_their_own)
{
	struct process *process, *child;

	begin();
	process = processes_find(rig.processes, 1);
	CHECK_EQ(process_number(process, 7, 5), 5);
	CHECK(process_number(process, 3, 5) != 5);
	CHECK(process_number(process, 3, 5) != process_number(process, 4, 5));
	CHECK(process_heap(process, 3, 1) != process_heap(process, 7, 1));
	CHECK_EQ(process_number(process, 7, 6), 6);
	/* A child goes on with them. */
	CHECK_EQ(processes_begin(rig.processes, 2, &(struct process_ids){200, 200, 200}, 2000), 1);
	child = processes_find(rig.processes, 2);
	process_inherit(child, process);
	CHECK_EQ(process_number(child, 4, 5), process_number(process, 4, 5));
	/* There is an end to them, but not to the memory. */
	for (unsigned provider = 10; provider < 250; provider++)
		process_number(process, (uint8_t)provider, 1);
	CHECK_EQ(process_number(process, 249, 5), process_number(process, 248, 5));
	CHECK_EQ(process_number(process, 7, 5), 5);
	finish();
}

TEST(a_sample_begins_where_the_program_allocates)
{
	const struct runtime_facts java = {
		.runtime = RUNTIME_HOTSPOT, .n_own = 1, .own = {{0x800, 0x2000}}};
	const struct runtime_facts v8 = {.runtime = RUNTIME_V8,
					 .n_own = 1,
					 .own = {{0x800, 0x2000}},
					 .around = {0x400, 0x3000}};
	/* The place, two functions of the runtime, a stub, and the program's method. */
	const uint64_t methods[] = {
		0x1000, 0x1100, 0x1800, hotspot_code(0x900000, 0), 0, hotspot_code(0x900100, 7),
		0x1100};
	/* The engine, and native functions of its program that a JavaScript function called. */
	const uint64_t functions[] = {0x1000, 0x1100, 0x2100, 0x1200, frame_place(7, 0), 0x1300};
	/* Without such a function, the program's native one is where it allocates. */
	const uint64_t natives[] = {0x1000, 0x1100, 0x2100, 0x1200, 0};

	CHECK_EQ(stacks_own_frames(&java, methods, 7), 4);
	CHECK_EQ(stacks_own_frames(&v8, functions, 6), 4);
	CHECK_EQ(stacks_own_frames(&v8, natives, 5), 2);
	/* A stack that is the runtime's own throughout stays. */
	CHECK_EQ(stacks_own_frames(&java, methods, 3), 0);
	CHECK_EQ(stacks_own_frames(&v8, functions, 2), 0);
}

TEST(functions_of_an_interpreter_stand_for_its_loop)
{
	/* main (900) called the loop (700), whose activation lies at 650 and which called itself
	 * (500) by way of call (600); that activation is handed out behind what it runs. */
	const uint32_t high = FRAME_BYTECODE >> 32;
	struct stack_input in = {
		.n_user = 4,
		.user = {{0x1400, 500}, {0x1301, 600}, {0x1201, 700}, {0x1101, 900}},
		.n_managed = 4,
		.managed = {{MANAGED_PLACE, high, 3 << 24 | 30},
			    {450 | MANAGED_PLACE, 0, 0},
			    {650 | MANAGED_PLACE, high, 2 << 24 | 20},
			    {650 | MANAGED_PLACE, high, 1 << 24 | 10}},
	};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0x5000, "/nowhere/prog");
	send_cpu(1, 100, &in);
	in.quality = STACK_USER_GUESSED;
	send_cpu(1, 100, &in);
	finish();
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack),
		  "m1:5100 m2:200000000100000a m2:2000000002000014 m1:5300 m2:200000000300001e");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack),
		  "m1:5100 m1:5200 m2:200000000100000a m2:2000000002000014 m1:5300 m1:5400 "
		  "m2:200000000300001e");
}

TEST(compiled_code_goes_on_with_what_the_interpreter_entered)
{
	/* The loop (700) runs f and enters compiled code (500) by way of call (600); there f, which
	 * called itself, calls g. Elsewhere that code has another function. */
	const uint32_t high = FRAME_BYTECODE >> 32, f = 1 << 24, g = 2 << 24;
	struct stack_input in = {
		.n_user = 4,
		.user = {{0x1400, 500}, {0x1301, 600}, {0x1201, 700}, {0x1101, 900}},
		.n_managed = 4,
		.managed = {{400 | MANAGED_PLACE | MANAGED_COMPILED, high, g},
			    {400 | MANAGED_PLACE | MANAGED_COMPILED, high, f},
			    {400 | MANAGED_PLACE | MANAGED_COMPILED, high, f},
			    {650 | MANAGED_PLACE, high, f}},
	};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0x5000, "/nowhere/prog");
	send_cpu(1, 100, &in);
	in.managed[1].pc = in.managed[2].pc = g;
	send_cpu(1, 100, &in);
	finish();
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack),
		  "m1:5100 m2:2000000001000000 m2:2000000002000000");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack),
		  "m1:5100 m2:2000000001000000 m1:5300 m2:2000000002000000");
}
