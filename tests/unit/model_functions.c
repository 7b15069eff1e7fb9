/* SPDX-License-Identifier: BSD-2-Clause */
/* model_functions.c: tests of the rows of functions: names, recursion, the allocator's frames. */
#include <math.h>

#include "synthetic.h"

static const uint64_t tick = 1000000; /* ns at 1000 Hz */

static void put_cpu(struct synthetic *synthetic, uint64_t time, uint64_t stack)
{
	PUT(synthetic, cpu, .time = time, .thread = 1, .stack = stack, .mode = 1);
}

/* The object is certain to be sampled and stands for itself. */
static void put_alloc(struct synthetic *synthetic, uint64_t time, uint64_t stack, uint64_t id)
{
	PUT(synthetic, alloc, .time = time, .thread = 1, .stack = stack, .sample = id, .type = 1,
	    .size = 1000000, .period = 1000, .kind = 1);
}

TEST(recursion_counts_once_per_stack)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t outer, inner, stack;

	synthetic_program(&synthetic, 1000);
	outer = synthetic_function(&synthetic, "/bin/app", 0x10, "main");
	inner = synthetic_function(&synthetic, "/bin/app", 0x20, "walk");
	stack = synthetic_stack(&synthetic, (uint64_t[]){outer, inner, inner, inner, 0});
	for (int i = 0; i < 5; i++)
		put_cpu(&synthetic, 2000 + (uint64_t)i, stack);
	/* The same function at another address. */
	stack = profile_writer_stack(synthetic.writer, stack,
				     synthetic_function(&synthetic, "/bin/app", 0x28, "walk"));
	put_cpu(&synthetic, 3000, stack);
	put_alloc(&synthetic, 3001, stack, 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "walk")->cpu_self_ns == 6.0 * tick);
	CHECK(find_function(model, "walk")->cpu_total_ns == 6.0 * tick);
	CHECK(find_function(model, "main")->cpu_self_ns == 0);
	CHECK(find_function(model, "main")->cpu_total_ns == 6.0 * tick);
	CHECK(find_function(model, "walk")->alloc_self_bytes == 1e6);
	CHECK(find_function(model, "walk")->alloc_total_bytes == 1e6);
	CHECK(find_function(model, "main")->alloc_self_bytes == 0);
	CHECK_EQ(model->n_functions, 2);
	CHECK_EQ(model->cpu.on_cpu_ns, 6 * tick);
	synthetic_close(&synthetic, model);
}

TEST(runtime_work_is_separate_from_the_program)
{
	struct synthetic synthetic;
	uint64_t start, collect, compile, common;
	struct model *model;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, runtime, .process = 1, .name = synthetic_string(&synthetic, "hotspot"),
	    .collector = synthetic_string(&synthetic, "Gang::run rt.mark"),
	    .compiler = synthetic_string(&synthetic, "Compiler::loop"));
	start = synthetic_function(&synthetic, "/bin/app", 0x10, "start");
	collect = synthetic_function(&synthetic, "/bin/app", 0x20, "Gang::run()");
	compile = synthetic_function(&synthetic, "/bin/app", 0x30, "Compiler::loop.part");
	common = synthetic_function(&synthetic, "/bin/app", 0x40, "memcpy");
	put_cpu(&synthetic, 2000, synthetic_stack(&synthetic, (uint64_t[]){start, common, 0}));
	for (uint64_t i = 0; i < 3; i++)
		put_cpu(&synthetic, 2001 + i,
			synthetic_stack(&synthetic, (uint64_t[]){start, collect, common, 0}));
	put_cpu(&synthetic, 2010, synthetic_stack(&synthetic, (uint64_t[]){start, compile, 0}));
	put_cpu(&synthetic, 2011,
		synthetic_stack(&synthetic, (uint64_t[]){start,
							 synthetic_function(&synthetic, "/bin/app",
									    0x50, "Gang::running"),
							 0}));
	/* In a pause it counts only as pause time. */
	PUT(&synthetic, gc_begin, .time = 2020, .thread = 1, .heap = 1, .kind = 1);
	put_cpu(&synthetic, 2021, synthetic_stack(&synthetic, (uint64_t[]){start, collect, 0}));
	PUT(&synthetic, gc_end, .time = 2022, .thread = 1, .heap = 1, .kind = 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->cpu.in_gc_ns, tick);
	CHECK_EQ(model->cpu.work_ns[WORK_COLLECTOR], 3 * tick);
	CHECK_EQ(model->cpu.work_ns[WORK_COMPILER], tick);
	CHECK_EQ(model->cpu.work_ns[WORK_PROGRAM], 2 * tick);
	CHECK_EQ(find_function(model, "Gang::run()")->work, WORK_COLLECTOR);
	CHECK_EQ(find_function(model, "memcpy")->work, WORK_PROGRAM);
	CHECK_EQ(find_function(model, "Compiler::loop.part")->work, WORK_COMPILER);
	synthetic_close(&synthetic, model);
}

TEST(allocator_frames_are_skipped)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t app, slow, sample, helper, managed;

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/bin/app", 0x20, 0x10);
	app = synthetic_function(&synthetic, "/bin/app", 0x10, "make_tree");
	slow = synthetic_function(&synthetic, "/bin/app", 0x20, "gc_alloc_slow");
	helper = synthetic_function(&synthetic, "/bin/app", 0x30, "sampler_fire");
	sample = synthetic_function(&synthetic, "/bin/app", 0x40, "memset");
	managed = profile_writer_managed(synthetic.writer, 1, 7, 12);
	PUT(&synthetic, code, .process = 1, .code = 7,
	    .name = synthetic_string(&synthetic, "(make-tree)"),
	    .file = synthetic_string(&synthetic, "tree.lisp"), .line = 10);
	put_alloc(&synthetic, 2000,
		  synthetic_stack(&synthetic, (uint64_t[]){app, slow, helper, sample, 0}), 1);
	put_alloc(&synthetic, 2001,
		  synthetic_stack(&synthetic, (uint64_t[]){app, managed, slow, helper, 0}), 2);
	/* Only allocator frames: the outermost one is used. */
	put_alloc(&synthetic, 2002, synthetic_stack(&synthetic, (uint64_t[]){slow, helper, 0}), 3);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "make_tree")->alloc_self_bytes == 1e6);
	CHECK(find_function(model, "make_tree")->alloc_total_bytes == 2e6);
	CHECK(find_function(model, "(make-tree)")->alloc_self_bytes == 1e6);
	CHECK_EQ(find_function(model, "(make-tree)")->runtime, RUNTIME_MANAGED);
	CHECK_STR(find_function(model, "(make-tree)")->file, "tree.lisp");
	CHECK_EQ(find_function(model, "(make-tree)")->line, 10);
	CHECK(find_function(model, "gc_alloc_slow")->alloc_self_bytes == 1e6);
	synthetic_close(&synthetic, model);
}

/* Programs have functions with any names; what is a collector's is known from its place. */
TEST(names_make_no_collector)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t app, alloc, collect;

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/bin/app", 0x30, 0x10);
	app = synthetic_function(&synthetic, "/bin/app", 0x10, "main");
	alloc = synthetic_function(&synthetic, "/bin/app", 0x20, "gc_user_alloc");
	collect = synthetic_function(&synthetic, "/bin/app", 0x30, "evacuate");
	put_alloc(&synthetic, 2000, synthetic_stack(&synthetic, (uint64_t[]){app, alloc, 0}), 1);
	put_cpu(&synthetic, 2001, synthetic_stack(&synthetic, (uint64_t[]){app, alloc, 0}));
	put_cpu(&synthetic, 2002, synthetic_stack(&synthetic, (uint64_t[]){app, collect, 0}));
	PUT(&synthetic, gc_begin, .time = 3000, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	PUT(&synthetic, gc_end, .time = 3100, .thread = 1, .heap = 1, .cycle = 1, .kind = 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "gc_user_alloc")->alloc_self_bytes == 1e6);
	CHECK_EQ(find_function(model, "gc_user_alloc")->work, WORK_PROGRAM);
	CHECK_EQ(find_function(model, "evacuate")->work, WORK_COLLECTOR);
	synthetic_close(&synthetic, model);
}

TEST(frames_of_an_allocating_runtime_are_skipped)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t start, library, loop, make, sampling, managed;

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/lib/agent.so", 0x10, 0x10);
	start = synthetic_function(&synthetic, "/bin/python", 0x10, "start");
	loop = synthetic_function(&synthetic, "/bin/python", 0x20, "evaluate");
	make = synthetic_function(&synthetic, "/bin/python", 0x30, "make_object");
	library = synthetic_function(&synthetic, "/lib/extension.so", 0x10, "parse");
	sampling = synthetic_function(&synthetic, "/lib/agent.so", 0x10, "gcprof_runtime_allocate");
	managed = profile_writer_managed(synthetic.writer, 1, 7, 12);
	PUT(&synthetic, code, .process = 1, .code = 7, .name = synthetic_string(&synthetic, "f"));
	put_alloc(
		&synthetic, 2000,
		synthetic_stack(&synthetic, (uint64_t[]){start, managed, loop, make, sampling, 0}),
		1);
	put_alloc(&synthetic, 2001,
		  synthetic_stack(&synthetic,
				  (uint64_t[]){start, managed, loop, library, make, sampling, 0}),
		  2);
	put_alloc(&synthetic, 2002, synthetic_stack(&synthetic, (uint64_t[]){managed, sampling, 0}),
		  3);
	/* Only runtime frames. */
	put_alloc(&synthetic, 2003,
		  synthetic_stack(&synthetic, (uint64_t[]){start, make, sampling, 0}), 4);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "f")->alloc_self_bytes == 2e6);
	CHECK(find_function(model, "f")->alloc_total_bytes == 3e6);
	CHECK(find_function(model, "parse")->alloc_self_bytes == 1e6);
	CHECK(find_function(model, "make_object")->alloc_self_bytes == 1e6);
	synthetic_close(&synthetic, model);
}

static void put_inlined(struct synthetic *synthetic, uint64_t frame, const char *name)
{
	PUT(synthetic, symbol, .frame = frame, .name = synthetic_string(synthetic, name),
	    .file = synthetic_string(synthetic, "/src/a.c"), .line = 20, .begin = 10);
}

TEST(inlined_functions_have_rows)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t outer, maker, slow;

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/bin/app", 0x30, 0x10);
	outer = synthetic_function(&synthetic, "/bin/app", 0x10, "main");
	put_inlined(&synthetic, outer, "run");
	maker = synthetic_function(&synthetic, "/bin/app", 0x20, "make");
	put_inlined(&synthetic, maker, "fill");
	PUT(&synthetic, symbol, .frame = maker, .name = synthetic_string(&synthetic, "gc_alloc"),
	    .file = synthetic_string(&synthetic, "/usr/include/gcprof/gc_inline.h"));
	slow = synthetic_function(&synthetic, "/bin/app", 0x30, "gc_alloc_slow");
	put_inlined(&synthetic, slow, "gc_refill");
	put_cpu(&synthetic, 2000, synthetic_stack(&synthetic, (uint64_t[]){outer, 0}));
	put_cpu(&synthetic, 2001, synthetic_stack(&synthetic, (uint64_t[]){outer, maker, slow, 0}));
	put_alloc(&synthetic, 3001,
		  synthetic_stack(&synthetic, (uint64_t[]){outer, maker, slow, 0}), 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "run")->cpu_self_ns == 1.0 * tick);
	CHECK(find_function(model, "run")->cpu_total_ns == 2.0 * tick);
	CHECK(find_function(model, "main")->cpu_self_ns == 0);
	CHECK_EQ(find_function(model, "run")->line, 10);
	CHECK_STR(find_function(model, "run")->file, "/src/a.c");
	/*
	 * Inside the allocator, all inlined functions are shown; in its callers, the allocator's
	 * are not.
	 */
	CHECK(find_function(model, "gc_refill")->cpu_self_ns == 1.0 * tick);
	for (size_t i = 0; i < model->n_functions; i++)
		CHECK(strcmp(model->functions[i].name, "gc_alloc") != 0);
	CHECK(find_function(model, "fill")->alloc_self_bytes == 1e6);
	CHECK(find_function(model, "make")->alloc_self_bytes == 0);
	CHECK(find_function(model, "make")->alloc_total_bytes == 1e6);
	synthetic_close(&synthetic, model);
}

TEST(unnamed_frames_have_placeholder_names)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t frames[4];

	synthetic_program(&synthetic, 1000);
	frames[0] = synthetic_function(&synthetic, "/usr/lib/libfoo.so.1", 0x1234, NULL);
	frames[1] = profile_writer_native(synthetic.writer, 0, 0x7f00dead);
	frames[2] = profile_writer_kernel(synthetic.writer, 0);
	frames[3] = 0;
	put_cpu(&synthetic, 2000, synthetic_stack(&synthetic, frames));
	put_cpu(&synthetic, 2001, 0);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "libfoo.so.1+0x1234")->cpu_total_ns == 1.0 * tick);
	CHECK(find_function(model, "[unknown]+0x7f00dead")->module == NULL);
	CHECK_EQ(find_function(model, "[kernel]")->runtime, RUNTIME_KERNEL);
	CHECK(find_function(model, "[kernel]")->cpu_self_ns == 1.0 * tick);
	CHECK(find_function(model, "(no stack)")->cpu_self_ns == 1.0 * tick);
	synthetic_close(&synthetic, model);
}

TEST(unnamed_generated_code_is_one_row_per_process)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t jit, other, named, stack = 0;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, comm, .time = 1000, .thread = 1,
	    .name = synthetic_string(&synthetic, "java"));
	PUT(&synthetic, process, .id = 2, .pid = 101, .parent = 1, .time = 1500);
	jit = profile_writer_generated(synthetic.writer, 1);
	other = profile_writer_generated(synthetic.writer, 2);
	for (uint64_t i = 0; i < 4; i++)
		stack = profile_writer_stack(
			synthetic.writer, stack,
			profile_writer_native(synthetic.writer, jit, 0x7000 + i * 16));
	put_cpu(&synthetic, 2000, stack);
	put_cpu(&synthetic, 2001,
		synthetic_stack(&synthetic,
				(uint64_t[]){profile_writer_native(synthetic.writer, jit, 1), 0}));
	named = profile_writer_native(synthetic.writer, jit, 2);
	PUT(&synthetic, symbol, .frame = named, .name = synthetic_string(&synthetic, "loop"));
	put_cpu(&synthetic, 2002, synthetic_stack(&synthetic, (uint64_t[]){named, 0}));
	put_cpu(&synthetic, 2003,
		synthetic_stack(
			&synthetic,
			(uint64_t[]){profile_writer_native(synthetic.writer, other, 1), 0}));
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->n_functions, 3);
	CHECK(find_function(model, "[jit] of java")->cpu_self_ns == 2.0 * tick);
	CHECK(find_function(model, "[jit] of java")->cpu_total_ns == 2.0 * tick);
	CHECK_EQ(find_function(model, "[jit] of java")->runtime, RUNTIME_MANAGED);
	CHECK(find_function(model, "loop")->cpu_self_ns == 1.0 * tick);
	CHECK(find_function(model, "[jit] of ?")->cpu_self_ns == 1.0 * tick);
	synthetic_close(&synthetic, model);
}

TEST(forked_children_use_their_parents_names)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t frame;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, code, .process = 1, .code = 3,
	    .name = synthetic_string(&synthetic, "shared"));
	PUT(&synthetic, type, .process = 1, .type = 1,
	    .name = synthetic_string(&synthetic, "cons"));
	PUT(&synthetic, process, .id = 2, .pid = 101, .parent = 1, .time = 1500);
	PUT(&synthetic, thread, .id = 2, .process = 2, .tid = 101);
	frame = profile_writer_managed(synthetic.writer, 2, 3, 0);
	PUT(&synthetic, alloc, .time = 2000, .thread = 2,
	    .stack = synthetic_stack(&synthetic, (uint64_t[]){frame, 0}), .sample = 1, .type = 1,
	    .size = 1000000, .period = 10, .kind = 1);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK(find_function(model, "shared")->alloc_self_bytes == 1e6);
	CHECK_EQ(find_type(model, "cons")->samples, 1);
	synthetic_close(&synthetic, model);
}

TEST(stacks_that_begin_in_the_c_library_are_complete)
{
	enum { USER_END = 64, TORN = 16 };
	struct synthetic synthetic;
	struct model *model;
	uint64_t app, start, alone;

	synthetic_program(&synthetic, 1000);
	app = synthetic_function(&synthetic, "/bin/app", 0x10, "main");
	start = synthetic_function(&synthetic, "/lib/x86_64-linux-gnu/libc.so.6", 0x20, "start");
	alone = synthetic_stack(&synthetic, (uint64_t[]){start, 0});
	PUT(&synthetic, cpu, .time = 2000, .thread = 1, .quality = USER_END,
	    .stack = synthetic_stack(&synthetic, (uint64_t[]){start, app, 0}));
	PUT(&synthetic, cpu, .time = 2001, .thread = 1, .quality = USER_END, .stack = alone);
	PUT(&synthetic, cpu, .time = 2002, .thread = 1, .quality = USER_END | TORN,
	    .stack = synthetic_stack(&synthetic, (uint64_t[]){app, 0}));
	PUT(&synthetic, cpu, .time = 2003, .thread = 1, .stack = alone);
	model = synthetic_loaded(&synthetic, 4000);
	CHECK_EQ(model->stacks.samples, 4);
	CHECK_EQ(model->stacks.complete, 2);
	CHECK_EQ(model->stacks.reasons[REASON_USER_END], 2);
	CHECK_EQ(model->stacks.reasons[REASON_MANAGED_TORN], 1);
	synthetic_close(&synthetic, model);
}

TEST(stacks_can_be_limited_to_one_kind_of_frames)
{
	static const enum model_frames kinds[] = {MODEL_FRAMES_MANAGED, MODEL_FRAMES_NATIVE};
	struct synthetic synthetic;
	uint64_t outer, managed, inner, bare;

	synthetic_program(&synthetic, 1000);
	outer = synthetic_function(&synthetic, "/bin/app", 0x10, "eval");
	inner = synthetic_function(&synthetic, "/bin/app", 0x20, "memcpy");
	managed = profile_writer_managed(synthetic.writer, 1, 5, 7);
	PUT(&synthetic, code, .process = 1, .code = 5,
	    .name = synthetic_string(&synthetic, "lambda"));
	bare = synthetic_stack(&synthetic, (uint64_t[]){outer, 0});
	put_cpu(&synthetic, 2000, bare);
	put_cpu(&synthetic, 2001, synthetic_stack(&synthetic, (uint64_t[]){outer, managed, 0}));
	put_cpu(&synthetic, 2002,
		synthetic_stack(&synthetic, (uint64_t[]){outer, managed, inner, 0}));
	PUT(&synthetic, fault, .time = 2003, .thread = 1, .stack = bare, .minor = 7);
	synthetic_end(&synthetic, 4000);
	for (int i = 0; i < 2; i++) {
		struct source *source;
		struct model *model;

		CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &source), 0);
		CHECK_EQ(model_load_view(source, "x", &(struct model_view){.frames = kinds[i]},
					 &model),
			 0);
		CHECK_EQ(model->cpu.on_cpu_ns, 3 * tick);
		if (kinds[i] == MODEL_FRAMES_MANAGED) {
			CHECK_EQ(model->n_functions, 2);
			CHECK(find_function(model, "lambda")->cpu_self_ns == 2.0 * tick);
			CHECK(find_function(model, "(no managed frames)")->cpu_self_ns ==
			      1.0 * tick);
			CHECK_EQ(find_function(model, "(no managed frames)")->faults_self, 7);
		} else {
			CHECK_EQ(model->n_functions, 2);
			CHECK(find_function(model, "eval")->cpu_self_ns == 2.0 * tick);
			CHECK_EQ(find_function(model, "eval")->faults_self, 7);
			CHECK(find_function(model, "eval")->cpu_total_ns == 3.0 * tick);
			CHECK(find_function(model, "memcpy")->cpu_self_ns == 1.0 * tick);
		}
		model_free(model);
	}
	synthetic_free(&synthetic);
}

/* The first goroutine makes a thread, initialises the program and runs it. */
TEST(a_fiber_begins_with_the_function_that_it_ran_last)
{
	struct synthetic synthetic;
	uint64_t exit, main, thread, stacks[3];
	struct model *model;

	synthetic_program(&synthetic, 1000);
	exit = synthetic_function(&synthetic, "/bin/app", 0x10, "runtime.goexit");
	main = synthetic_function(&synthetic, "/bin/app", 0x20, "runtime.main");
	thread = synthetic_function(&synthetic, "/lib/libc.so", 0x10, "clone3");
	stacks[0] = synthetic_stack(&synthetic, (uint64_t[]){thread, 0});
	stacks[1] = synthetic_stack(
		&synthetic,
		(uint64_t[]){exit, main,
			     synthetic_function(&synthetic, "/bin/app", 0x30, "runtime.doInit"),
			     0});
	stacks[2] = synthetic_stack(
		&synthetic,
		(uint64_t[]){exit, main,
			     synthetic_function(&synthetic, "/bin/app", 0x40, "main.main"), 0});
	for (uint64_t i = 0; i < 3; i++)
		PUT(&synthetic, cpu, .time = 2000 + i, .thread = 1, .stack = stacks[i], .mode = 1,
		    .fiber = 1);
	model = synthetic_loaded(&synthetic, 4000);
	for (size_t i = 0; i < model->n_entries; i++)
		CHECK_EQ(model->entries[i].fibers, !strcmp(model->entries[i].name, "main.main"));
	CHECK_EQ(model->n_entries, 3);
	synthetic_close(&synthetic, model);
}
