/* SPDX-License-Identifier: BSD-2-Clause */
/* model_time.c: tests of where the wall time of threads went: exact sums, causes of waits. */
#include "model/time/thread_time.h"
#include "synthetic_waits.h"

/* The calls, as in the table of x86-64. */
enum { READ = 0, POLL = 7, FSYNC = 74, FUTEX = 202, EPOLL_WAIT = 232, RECVFROM = 45 };

enum { BEGIN = 1000, END = 1001000, WALL = END - BEGIN };

static uint64_t sum(const uint64_t parts[TIME_PARTS])
{
	uint64_t all = 0;

	for (int i = 0; i < TIME_PARTS; i++)
		all += parts[i];
	return all;
}

TEST(what_exceeds_the_wall_time_is_cut_in_the_order_of_the_parts)
{
	uint64_t parts[TIME_PARTS] = {[TIME_OWN] = 60, [TIME_READY] = 30, [TIME_IDLE] = 30};

	time_divide(100, parts);
	CHECK_EQ(parts[TIME_OWN], 60);
	CHECK_EQ(parts[TIME_READY], 30);
	CHECK_EQ(parts[TIME_IDLE], 10);
	CHECK_EQ(parts[TIME_UNRECORDED], 0);
	time_divide(250, parts);
	CHECK_EQ(parts[TIME_UNRECORDED], 150);
	time_divide(50, parts);
	CHECK_EQ(parts[TIME_OWN], 50);
	CHECK_EQ(sum(parts), 50);
}

TEST(threads_of_a_runtime_and_idle_ones_do_not_serve)
{
	CHECK(time_serves(100, (uint64_t[TIME_PARTS]){[TIME_OWN] = 10, [TIME_COLLECTOR] = 60}));
	CHECK(time_serves(100, (uint64_t[TIME_PARTS]){[TIME_LOCK] = 90}));
	CHECK(!time_serves(100, (uint64_t[TIME_PARTS]){[TIME_COMPILER] = 60}));
	CHECK(!time_serves(1000, (uint64_t[TIME_PARTS]){[TIME_OWN] = 2, [TIME_IDLE] = 998}));
	CHECK(!time_serves(1000, (uint64_t[TIME_PARTS]){[TIME_OWN] = 2, [TIME_UNRECORDED] = 998}));
	/* As before, and after, a recording that attached to it. */
	CHECK(!time_serves(1000,
			   (uint64_t[TIME_PARTS]){[TIME_BLOCKED] = 900, [TIME_STOPPED] = 100}));
	CHECK(time_serves(1000, (uint64_t[TIME_PARTS]){[TIME_OWN] = 20, [TIME_BLOCKED] = 900}));
}

/* A thread with a number of waits of 1000 ns each, and their sum. */
struct rig {
	struct synthetic synthetic;
	struct model *model;
	uint64_t time, waits;
};

static void begin(struct rig *rig)
{
	*rig = (struct rig){.time = 10000};
	synthetic_begin(&rig->synthetic);
	PUT(&rig->synthetic, stream, .stream = 5, .name = bytes_of("sched"), .attached = 1);
	synthetic_process(&rig->synthetic, BEGIN);
	PUT(&rig->synthetic, runtime, .process = 1,
	    .name = synthetic_string(&rig->synthetic, "machine"),
	    .collector = synthetic_string(&rig->synthetic, "collect"),
	    .compiler = synthetic_string(&rig->synthetic, "compile"),
	    .locks = synthetic_string(&rig->synthetic, "Monitor.enter ?acquire"),
	    .rests = synthetic_string(&rig->synthetic, "Condition.await Pool.*"));
}

/* Waits below functions, outermost first, that `names` separates by blanks. */
static void wait_in(struct rig *rig, uint64_t number, const char *names)
{
	uint64_t frames[8] = {0};
	char copy[256], *rest = copy;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", names);
	for (char *name; (name = strsep(&rest, " "));)
		if (*name)
			frames[n++] = synthetic_function(&rig->synthetic, "/bin/app",
							 (uint64_t)name[0] * 256 + strlen(name),
							 name);
	rig->time += 2000;
	rig->waits += 1000;
	PUT(&rig->synthetic, wait, .time = rig->time, .thread = 1, .duration = 1000,
	    .number = number, .flags = 1, .stack = synthetic_stack(&rig->synthetic, frames));
}

static const struct model_thread *end(struct rig *rig, uint64_t more)
{
	PUT(&rig->synthetic, usage, .time = END, .thread = 1, .flags = 3, .call_waits = 1,
	    .call_ns = rig->waits + more, .queued_ns = 500);
	synthetic_end(&rig->synthetic, END);
	rig->model = synthetic_model(&rig->synthetic);
	CHECK_EQ(rig->model->n_threads, 1);
	CHECK_EQ(rig->model->threads[0].wall_ns, WALL);
	CHECK_EQ(sum(rig->model->threads[0].time), WALL);
	return &rig->model->threads[0];
}

static void free_rig(struct rig *rig)
{
	model_free(rig->model);
	synthetic_free(&rig->synthetic);
}

TEST(waits_are_for_what_their_call_and_stack_say)
{
	const struct model_thread *row;
	struct rig rig;

	begin(&rig);
	wait_in(&rig, FUTEX, "main __pthread_mutex_lock __lll_lock_wait");
	wait_in(&rig, FUTEX, "work pthread_cond_wait@@GLIBC_2.3.2 __futex_wait");
	wait_in(&rig, FUTEX, "main Monitor.enter(Object) pthread_cond_wait");
	wait_in(&rig, FUTEX, "Condition.await acquire park");
	wait_in(&rig, FUTEX, "main acquire park");
	wait_in(&rig, FUTEX, "Pool.take Monitor.enter");
	wait_in(&rig, FUTEX, "main pthread_join");
	wait_in(&rig, FUTEX, "collect helper");
	wait_in(&rig, FUTEX, "main unknown");
	wait_in(&rig, FSYNC, "main __pthread_mutex_lock");
	wait_in(&rig, EPOLL_WAIT, "main");
	wait_in(&rig, RECVFROM, "main");
	row = end(&rig, 0);
	CHECK_EQ(row->time[TIME_LOCK], 4000);
	CHECK_EQ(row->time[TIME_IDLE], 3000);
	CHECK_EQ(row->time[TIME_PROCESS], 1000);
	CHECK_EQ(row->time[TIME_COLLECTOR], 1000);
	CHECK_EQ(row->time[TIME_BLOCKED], 1000);
	CHECK_EQ(row->time[TIME_DISK], 1000);
	CHECK_EQ(row->time[TIME_NETWORK], 1000);
	CHECK_EQ(row->time[TIME_READY], 500);
	free_rig(&rig);
}

/* They are divided as those of the same call that have one. */
TEST(waits_without_a_record_are_divided_by_call)
{
	const struct model_thread *row;
	struct rig rig;

	begin(&rig);
	wait_in(&rig, FUTEX, "main __lll_lock_wait");
	wait_in(&rig, FUTEX, "main pthread_cond_wait");
	PUT(&rig.synthetic, syscall_total, .time = END, .process = 1, .number = FUTEX, .waits = 9,
	    .wait_ns = 6000);
	PUT(&rig.synthetic, syscall_total, .time = END, .process = 1, .number = FSYNC, .waits = 9,
	    .wait_ns = 4000);
	/* Of these 8500, 500 are for a CPU. */
	row = end(&rig, 8500);
	CHECK_EQ(row->time[TIME_LOCK], 3000);
	CHECK_EQ(row->time[TIME_IDLE], 3000);
	CHECK_EQ(row->time[TIME_DISK], 4000);
	CHECK_EQ(row->time[TIME_BLOCKED], 0);
	free_rig(&rig);
}

TEST(cpu_time_is_divided_by_mode_and_by_functions_of_the_runtime)
{
	const struct model_thread *row;
	struct rig rig;
	uint64_t main, collect, compile;

	begin(&rig);
	main = synthetic_stack(
		&rig.synthetic,
		(uint64_t[]){synthetic_function(&rig.synthetic, "/bin/app", 1, "main"), 0});
	collect = synthetic_stack(
		&rig.synthetic,
		(uint64_t[]){synthetic_function(&rig.synthetic, "/bin/app", 2, "collect"), 0});
	compile = synthetic_stack(
		&rig.synthetic,
		(uint64_t[]){synthetic_function(&rig.synthetic, "/bin/app", 3, "compile"), 0});
	PUT(&rig.synthetic, cpu, .time = 2000, .thread = 1, .stack = main, .mode = 1, .ns = 1000);
	PUT(&rig.synthetic, cpu, .time = 3000, .thread = 1, .stack = main, .mode = 2, .call = 1,
	    .ns = 2000);
	PUT(&rig.synthetic, cpu, .time = 4000, .thread = 1, .stack = main, .mode = 2, .ns = 3000);
	PUT(&rig.synthetic, cpu, .time = 5000, .thread = 1, .stack = collect, .mode = 1,
	    .ns = 4000);
	PUT(&rig.synthetic, cpu, .time = 6000, .thread = 1, .stack = compile, .mode = 2,
	    .ns = 5000);
	PUT(&rig.synthetic, cpu, .time = 7000, .thread = 1, .stack = main, .mode = 2, .ns = 6000,
	    .recording = 1);
	row = end(&rig, 0);
	CHECK_EQ(row->time[TIME_OWN], 1000);
	CHECK_EQ(row->time[TIME_KERNEL], 2000);
	CHECK_EQ(row->time[TIME_FAULTS], 3000);
	CHECK_EQ(row->time[TIME_COLLECTOR], 4000);
	CHECK_EQ(row->time[TIME_COMPILER], 5000);
	CHECK_EQ(row->time[TIME_RECORDING], 6000);
	free_rig(&rig);
}

/* Three timer samples hit a thread that hardly ran: its time is what the kernel says. */
TEST(samples_divide_no_more_than_the_thread_ran)
{
	const struct model_thread *row;
	struct rig rig;
	uint64_t main;

	begin(&rig);
	main = synthetic_stack(
		&rig.synthetic,
		(uint64_t[]){synthetic_function(&rig.synthetic, "/bin/app", 1, "main"), 0});
	PUT(&rig.synthetic, cpu, .time = 2000, .thread = 1, .stack = main, .mode = 1, .ns = 60000);
	PUT(&rig.synthetic, cpu, .time = 3000, .thread = 1, .stack = main, .mode = 2, .call = 1,
	    .ns = 20000);
	PUT(&rig.synthetic, cpu, .time = 4000, .thread = 1, .stack = main, .mode = 2, .ns = 20000,
	    .recording = 1);
	PUT(&rig.synthetic, cpu_time, .thread = 1, .used = 5000, .ns = 100000, .ticks = 3);
	rig.waits += 900000;
	row = end(&rig, 0);
	CHECK_EQ(row->time[TIME_OWN], 3000);
	CHECK_EQ(row->time[TIME_KERNEL], 1000);
	CHECK_EQ(row->time[TIME_RECORDING], 1000);
	CHECK_EQ(row->time[TIME_UNSAMPLED], 0);
	CHECK_EQ(row->time[TIME_BLOCKED], 900000 - 500);
	CHECK(row->serves);
	free_rig(&rig);
}

/* A lock that a stopped thread holds is not what delays; a client is none of the collector's. */
TEST(waits_in_a_collection_are_for_its_end)
{
	const struct model_thread *row;
	struct rig rig;

	begin(&rig);
	PUT(&rig.synthetic, thread, .id = 2, .process = 1, .tid = 101);
	PUT(&rig.synthetic, gc_begin, .time = 11500, .thread = 2, .heap = 1, .cycle = 1, .kind = 1);
	PUT(&rig.synthetic, gc_end, .time = 11900, .thread = 2, .heap = 1, .cycle = 1, .kind = 1);
	wait_in(&rig, FUTEX, "main __lll_lock_wait"); /* from 11000 */
	PUT(&rig.synthetic, gc_begin, .time = 13700, .thread = 2, .heap = 1, .cycle = 2, .kind = 1);
	wait_in(&rig, FUTEX, "main other"); /* from 13000 */
	PUT(&rig.synthetic, gc_end, .time = 14500, .thread = 2, .heap = 1, .cycle = 2, .kind = 1);
	wait_in(&rig, EPOLL_WAIT, "main");
	PUT(&rig.synthetic, usage, .time = END, .thread = 1, .flags = 1, .call_waits = 3,
	    .call_ns = rig.waits);
	synthetic_end(&rig.synthetic, END);
	rig.model = synthetic_model(&rig.synthetic);
	row = &rig.model->threads[0];
	CHECK_EQ(row->tid, 100);
	CHECK_EQ(row->time[TIME_STOPPED], 400 + 300);
	CHECK_EQ(row->time[TIME_LOCK], 600);
	CHECK_EQ(row->time[TIME_BLOCKED], 700);
	CHECK_EQ(row->time[TIME_IDLE], 1000);
	CHECK_EQ(sum(row->time), row->wall_ns);
	free_rig(&rig);
}

TEST(stops_that_overlap_count_once)
{
	struct stops stops = {0};

	CHECK_EQ(stops_between(&stops, NULL, 1, 0, 100), 0);
	CHECK_EQ(stops_add(&stops, 1, 10, 20), 0);
	CHECK_EQ(stops_add(&stops, 1, 40, 50), 0);
	CHECK_EQ(stops_add(&stops, 1, 30, 60), 0);
	CHECK_EQ(stops_add(&stops, 2, 0, 100), 0);
	CHECK_EQ(stops_between(&stops, NULL, 1, 0, 100), 40);
	CHECK_EQ(stops_between(&stops, NULL, 1, 15, 45), 20);
	CHECK_EQ(stops_between(&stops, NULL, 1, 20, 30), 0);
	CHECK_EQ(stops_between(&stops, NULL, 3, 0, 100), 0);
	stops_free(&stops);
}

TEST(calls_on_files_wait_for_what_the_file_is)
{
	const struct model_thread *row;
	struct rig rig;
	/* On disk, pipe, socket, server, client, terminal, eventfd. */
	const uint64_t calls[] = {READ, READ, READ, POLL, RECVFROM, READ, READ};

	begin(&rig);
	for (uint64_t file = 1; file <= sizeof(calls) / sizeof(*calls); file++) {
		rig.time += 2000;
		rig.waits += 1000;
		PUT(&rig.synthetic, wait, .time = rig.time, .thread = 1, .duration = 1000,
		    .number = calls[file - 1], .flags = 1, .file = file);
	}
	wait_in(&rig, READ, "main");
	row = end(&rig, 0);
	CHECK_EQ(row->time[TIME_DISK], 1000);
	CHECK_EQ(row->time[TIME_PROCESS], 1000);
	CHECK_EQ(row->time[TIME_NETWORK], 2000);
	CHECK_EQ(row->time[TIME_IDLE], 3000);
	CHECK_EQ(row->time[TIME_BLOCKED], 1000);
	free_rig(&rig);
}
