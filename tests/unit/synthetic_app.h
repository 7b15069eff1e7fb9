/* SPDX-License-Identifier: BSD-2-Clause */
/* synthetic_app.h: writes the profile of a program that looks like a real one. */
#ifndef GCPROF_SYNTHETIC_APP_H
#define GCPROF_SYNTHETIC_APP_H

#include "synthetic.h"

enum { APP_STREAMS = 6, APP_STACKS = 12, APP_TYPES = 5 };

struct app {
	struct synthetic synthetic;
	uint64_t random, time, sample, cycle;
	uint64_t stacks[APP_STACKS];
};

static inline void app_head(struct app *app)
{
	static const char *const names[APP_STREAMS] = {"alloc",   "gc",    "cpu",
						       "syscall", "sched", "process"};
	struct synthetic *synthetic = &app->synthetic;

	PUT(synthetic, meta, .key = bytes_of("tool"), .value = bytes_of("gcprof 0.1.0"));
	PUT(synthetic, meta, .key = bytes_of("host"), .value = bytes_of("somewhere-else"));
	PUT(synthetic, meta, .key = bytes_of("kernel"), .value = bytes_of("6.18.1"));
	PUT(synthetic, meta, .key = bytes_of("machine"), .value = bytes_of("x86_64"));
	PUT(synthetic, meta, .key = bytes_of("cpus"), .value = bytes_of("8"));
	PUT(synthetic, argument, .text = bytes_of("build/workloads/indexer"));
	PUT(synthetic, argument, .text = bytes_of("/usr/share/doc"));
	PUT(synthetic, recording, .start = app->time, .frequency = 999, .period = 524288);
	PUT(synthetic, clock, .before = app->time, .realtime = UINT64_C(1795190000000000000),
	    .after = app->time + 100);
	for (uint64_t i = 0; i < APP_STREAMS; i++)
		PUT(synthetic, stream, .stream = i + 1, .name = bytes_of(names[i]),
		    .attached = i != 4, .why = i == 4 ? WHY_UNASKED : WHY_TEXT);
	PUT(synthetic, process, .id = 1, .pid = 4711, .time = app->time);
	for (uint64_t i = 1; i <= 3; i++)
		PUT(synthetic, thread, .id = i, .process = 1, .tid = 4710 + i);
	PUT(synthetic, comm, .time = app->time, .thread = 1,
	    .name = synthetic_string(synthetic, "indexer"));
}

static inline void app_stacks(struct app *app)
{
	static const char *const names[APP_STACKS] = {
		"walk_directory",
		"std::vector<std::pair<std::string, int>, std::allocator<std::pair<std::string, "
		"int> "
		">>::_M_realloc_insert(__gnu_cxx::__normal_iterator<std::pair<std::string, int>*>)",
		"tokenize",
		"postings_add",
		"hash_grow",
		"gc_minor_collect",
		"read_file",
		"write_index",
		"intern",
		"memcpy",
		"query_run",
		"tree_insert_with_a_rather_long_name_that_goes_on",
	};
	struct synthetic *synthetic = &app->synthetic;
	uint64_t main_frame = synthetic_function(synthetic, "/work/build/indexer", 16, "main");
	uint64_t start = synthetic_function(synthetic, "/lib/x86_64-linux-gnu/libc.so.6", 3,
					    "__libc_start_main");
	uint64_t managed = profile_writer_managed(synthetic->writer, 1, 7, 12);

	PUT(synthetic, code, .process = 1, .code = 7,
	    .name = synthetic_string(synthetic, "(index-file path)"),
	    .file = synthetic_string(synthetic, "/home/me/src/indexer.lisp"), .line = 42);
	for (uint64_t i = 0; i < APP_STACKS; i++) {
		uint64_t frame = synthetic_function(synthetic, "/work/build/indexer", 100 + i * 64,
						    names[i]);

		app->stacks[i] = synthetic_stack(
			synthetic, i % 3 ? (uint64_t[]){start, main_frame, frame, 0}
					 : (uint64_t[]){start, main_frame, managed, frame, 0});
	}
}

static inline void app_cycle(struct app *app)
{
	struct synthetic *synthetic = &app->synthetic;
	uint64_t first = app->sample + 1, promoted = 100000 + test_random(&app->random) % 900000;

	for (int i = 0; i < 6; i++) {
		app->time += 1000000;
		PUT(synthetic, cpu, .time = app->time, .thread = 1 + test_random(&app->random) % 3,
		    .stack = app->stacks[test_random(&app->random) % APP_STACKS],
		    .mode = 1 + i % 5 / 4, .quality = i == 5 && app->cycle % 8 == 0 ? 64 : 0);
		PUT(synthetic, alloc, .time = app->time + 10,
		    .thread = 1 + test_random(&app->random) % 3,
		    .stack = app->stacks[test_random(&app->random) % APP_STACKS],
		    .sample = ++app->sample, .type = 1 + app->sample * app->sample % APP_TYPES,
		    .size = 16 << app->sample % 12, .period = 524288, .kind = 1);
		PUT(synthetic, syscall, .time = app->time + 20, .thread = 1,
		    .number = (uint64_t)(i % 3),
		    .duration = 900 + test_random(&app->random) % 90000, .result = i == 4 ? -11 : 0,
		    .stack = i == 0 ? app->stacks[6] : 0, .flags = i == 0 ? 8 : 0,
		    .gc_ns = i == 2 ? 300 : 0);
	}
	PUT(synthetic, gc_begin, .time = app->time + 100, .thread = 2, .heap = 1,
	    .cycle = ++app->cycle, .kind = 1, .reason = 1);
	PUT(synthetic, cpu, .time = app->time + 500, .thread = 2, .stack = app->stacks[5],
	    .mode = 1);
	app->time += 200000 + promoted / 4;
	for (uint64_t sample = first; sample <= app->sample; sample++)
		PUT(synthetic, fate, .time = app->time, .process = 1, .sample = sample,
		    .outcome = test_random(&app->random) % 8 ? 1 : 2, .age = 4000000);
	PUT(synthetic, gc_end, .time = app->time, .thread = 2, .heap = 1, .cycle = app->cycle,
	    .kind = 1, .has_stats = 1, .promoted_bytes = promoted,
	    .arena_bytes = 40000000 + app->cycle * 1000, .nursery_used = 4194304);
}

/* Writes it; with `losses` some data were lost. Ends with everything but the end record. */
static inline void synthetic_app(struct app *app, int cycles, bool losses)
{
	static const char *const types[APP_TYPES] = {"string", "posting", "hash table", "cons",
						     "node of the tree"};
	struct synthetic *synthetic = &app->synthetic;

	*app = (struct app){.random = 42, .time = UINT64_C(5000000000)};
	synthetic_begin(synthetic);
	app_head(app);
	app_stacks(app);
	for (uint64_t i = 0; i < APP_TYPES; i++)
		PUT(synthetic, type, .process = 1, .type = i + 1,
		    .name = synthetic_string(synthetic, types[i]));
	for (int i = 0; i < cycles; i++)
		app_cycle(app);
	PUT(synthetic, loss_kind, .kind = 2, .stream = 3, .severity = 1,
	    .name = bytes_of("CPU_RING"),
	    .text = bytes_of("timer samples were lost: the ring was full"));
	PUT(synthetic, loss, .time = app->time, .kind = 2, .count = losses ? 1234 : 0);
}

#endif
