/* SPDX-License-Identifier: BSD-2-Clause */
/* model_findings_calls.c: tests of findings: waits and system calls. */
#include "findings_scene.h"

/* Each statement is a transaction: what it waits for is the disk, and no other query asks more. */
TEST(queries_that_are_commits_are_told_apart)
{
	static const struct pattern pattern = {PATTERN_QUERY, "sqlite3_step", "", ""};
	struct model_syscall sync = {
		.name = "fdatasync", .number = 75, .count = 6000, .total_ns = 4 * second};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &pattern, 4e9);

	scene->model.syscalls = &sync;
	scene->model.n_syscalls = 1;
	place = scene_place(scene, &pattern, 0);
	place->call = 76;
	place->class = CALL_DISK;
	place->calls = 6000;
	place->call_ns = 1e9;
	CHECK(first(scene, "queries", "is sqlite3_step in serve"));
	place->call_ns = 4e9;
	CHECK(first(scene, "slow_call", "is waiting in fdatasync in serve"));
	CHECK(!found(scene, "queries"));
	scene_free(scene);
}

TEST(waits_for_locks_count_and_waits_for_work_do_not)
{
	static const struct pattern lock = {PATTERN_LOCK, "pthread_mutex_lock", "", ""},
				    idle = {PATTERN_IDLE, "pthread_cond_*", "", ""},
				    gil = {PATTERN_GIL, "take_gil", "", ""};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &lock, 0);

	place->call = 203;
	place->class = CALL_FUTEX;
	place->call_ns = 5e9;
	place->calls = 100;
	CHECK(first(scene, "lock",
		    "50.0% of the time (5.00 s, of all threads) is waiting for a lock in serve"));
	CHECK(strstr(scene->found[0].evidence, "100 waits in futex, 50.0 ms each"));
	place->pattern = &gil;
	CHECK(first(scene, "lock", "the lock of the interpreter (GIL)"));
	CHECK(strstr(scene->found[0].remedy, "multiprocessing"));
	place->pattern = &idle;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	place->pattern = NULL;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	scene_free(scene);
}

/* Readers take it in each of their calls, and no other thread has it. */
TEST(a_lock_of_go_that_is_free_is_not_waited_for)
{
	static const struct pattern take = {PATTERN_TAKE, "sync.(*RWMutex).*", "", ""},
				    wait = {PATTERN_LOCK, "sync.(*Mutex).lockSlow", "", ""};
	struct model_runtime runtime = {.name = "go 1.22"};
	struct scene *scene = scene_make();

	scene->model.runtimes = &runtime;
	scene->model.n_runtimes = 1;
	scene_place(scene, &take, 1e9);
	scene_look(scene);
	CHECK(!found(scene, "lock"));
	scene_place(scene, &wait, 1e9);
	CHECK(first(scene, "lock", "Goroutines wait for a lock in serve"));
	scene_free(scene);
}

TEST(a_lock_whose_holder_has_no_cpu_is_not_to_blame)
{
	static const struct pattern pattern = {PATTERN_LOCK, "pthread_mutex_lock", "", ""};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, &pattern, 0);

	place->call = 203;
	place->class = CALL_FUTEX;
	place->call_ns = 4e9;
	place->calls = 900;
	scene->held = (struct lock_held){.lock = SERVE, .function = MAIN, .ns = 1e9};
	CHECK(first(scene, "lock", "is waiting for a lock in serve"));
	CHECK(scene->found[0].time_lost_ns > 3.9e9);
	scene->held.call = HELD_WITHOUT_CPU;
	scene_look(scene);
	CHECK(!found(scene, "lock"));
	scene_free(scene);
}

/* Interpreters take long to start; others that take so long have work to do. */
TEST(many_processes_that_do_little)
{
	static const struct {
		const char *name;
		uint64_t processes;
		double cpu_ns;
		bool found;
	} rows[] = {{"sha256sum", 60, 2e9, true},  {"sha256sum", 20, 2e9, false},
		    {"cc1", 60, 9e9, false},       {"python3.11", 20, 4e9, true},
		    {"python3.11", 4, 1e9, false}, {"java", 20, 9e9, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model_program program = {.name = rows[i].name,
						.processes = rows[i].processes,
						.cpu_ns = rows[i].cpu_ns};
		struct scene *scene = scene_make();

		scene->model.programs = &program;
		scene->model.n_programs = 1;
		scene_look(scene);
		CHECK_EQ(found(scene, "processes"), rows[i].found);
		scene_free(scene);
	}
}

TEST(slow_calls_have_their_place_and_remedy)
{
	struct model_syscall call = {.name = "fsync",
				     .number = 74,
				     .count = 900,
				     .total_ns = second,
				     .p50_ns = 1000000,
				     .p99_ns = 2000000};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, NULL, 0);

	scene->model.syscalls = &call;
	scene->model.n_syscalls = 1;
	place->call = 75;
	place->class = CALL_DISK;
	place->call_ns = 1e9;
	place->calls = 900;
	place->path = "/tmp/journal";
	CHECK(first(scene, "slow_call", "10.0% of the time (1.00 s) is waiting in fsync in serve"));
	CHECK(strstr(scene->found[0].evidence,
		     "Of 900 calls half took 1.00 ms or less, and 99 % 2.00 ms or less; the "
		     "longest was for /tmp/journal"));
	CHECK(strstr(scene->found[0].remedy, "batches"));
	place->class = CALL_IDLE;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	scene_free(scene);
}

TEST(many_short_calls_and_failing_ones)
{
	struct model_syscall calls[2] = {
		{.name = "write", .number = 1, .count = 1000000, .total_ns = second, .p50_ns = 800},
		{.name = "none", .number = 2}};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, NULL, 0);

	scene->model.syscalls = calls;
	scene->model.n_syscalls = 2;
	place->call = 2;
	place->call_cpu_ns = 1e9;
	place->calls = 100;
	place->moved_bytes = 100;
	CHECK(first(scene, "many_calls", "most of them write in serve (called by main)"));
	CHECK(strstr(scene->found[0].evidence, "They moved 1 B each"));
	/* Who moves pages has a buffer. */
	place->moved_bytes = 100 * 8192;
	CHECK(first(scene, "many_calls", "most of them write in serve (called by main)"));
	CHECK(strstr(scene->found[0].remedy, "larger blocks"));
	/* What moves much has nothing to gain. */
	place->moved_bytes = 100 << 20;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	place->moved_bytes = 100;
	/* A few are slow, which fewer would not help; unless that is for want of a CPU. */
	calls[0].total_ns = 9 * second;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	scene->model.cpu.queued_ns = 20 * second;
	scene_look(scene);
	CHECK(found(scene, "many_calls"));
	scene->model.cpu.queued_ns = 0;
	calls[0] = (struct model_syscall){
		.name = "openat", .number = 1, .count = 2000, .errors = 1990, .total_ns = second};
	CHECK(first(scene, "failing_calls", "is calls of openat that fail in serve"));
	calls[0].errors = 20;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	/* No buffer helps those who open a file each time. */
	calls[0] = (struct model_syscall){
		.name = "openat", .number = 1, .count = 100000, .total_ns = second, .p50_ns = 9000};
	CHECK(first(scene, "many_calls", "most of them openat in serve"));
	CHECK(strstr(scene->found[0].remedy, "keep it open"));
	/* Nor those who also read it. */
	scene->places[scene->n] = *place;
	scene->places[scene->n].call = 3;
	scene->places[scene->n++].call_cpu_ns = 2e9;
	calls[1] = (struct model_syscall){.name = "read",
					  .number = 2,
					  .count = 200000,
					  .total_ns = second / 2,
					  .p50_ns = 800};
	CHECK(first(scene, "many_calls", "most of them read in serve"));
	CHECK(strstr(scene->found[0].remedy, "keep it open"));
	calls[0].count = 20000;
	CHECK(first(scene, "many_calls", "most of them read in serve"));
	CHECK(strstr(scene->found[0].remedy, "in a buffer"));
	scene_free(scene);
}

TEST(short_sleeps_are_polling)
{
	struct model_syscall call = {
		.name = "clock_nanosleep", .number = 1, .count = 100000, .total_ns = second};
	struct scene *scene = scene_make();
	struct place *place = scene_place(scene, NULL, 0);

	scene->model.syscalls = &call;
	scene->model.n_syscalls = 1;
	place->call = 2;
	place->call_cpu_ns = 1e9;
	/* Sleeping for the shortest time takes 50 us and more. */
	call.p50_ns = 60000;
	CHECK(first(scene, "spinning", "is waiting in a loop in serve"));
	CHECK(strstr(scene->found[0].evidence, "It slept 100 k times"));
	call.p50_ns = 5000000;
	scene_look(scene);
	CHECK_EQ(scene->n_found, 0);
	scene_free(scene);
}
