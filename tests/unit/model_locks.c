/* SPDX-License-Identifier: BSD-2-Clause */
/* model_locks.c: tests of what holders of a lock are said to do while others wait for it. */
#include "synthetic.h"

enum { FSYNC = 74, FUTEX = 202, TIMES = 100 };

#define MS UINT64_C(1000000)

/* Thread 1 waits 10 ms for a lock that thread 2 holds, again and again. */
struct rig {
	struct synthetic synthetic;
	uint64_t waiter, lock, saver, worker;
	uint64_t time;
	struct model *model;
};

static uint64_t stack_of(struct rig *rig, const char *inner, const char *library)
{
	struct synthetic *synthetic = &rig->synthetic;
	uint64_t frames[] = {
		synthetic_function(synthetic, "/bin/app", 1, "main"),
		synthetic_function(synthetic, "/bin/app", (uint64_t)(inner[0] * 256 + inner[1]),
				   inner),
		library ? synthetic_function(synthetic, "/lib/libc.so.6", 7, library) : 0, 0};

	return synthetic_stack(synthetic, frames);
}

static void begin(struct rig *rig)
{
	*rig = (struct rig){.time = MS};
	synthetic_begin(&rig->synthetic);
	PUT(&rig->synthetic, meta, .key = bytes_of("machine"), .value = bytes_of("x86_64"));
	PUT(&rig->synthetic, stream, .stream = 4, .name = bytes_of("syscall"), .attached = 1);
	PUT(&rig->synthetic, stream, .stream = 5, .name = bytes_of("sched"), .attached = 1);
	synthetic_process(&rig->synthetic, MS);
	PUT(&rig->synthetic, thread, .id = 2, .process = 1, .tid = 101);
	rig->waiter = stack_of(rig, "serve", "__lll_lock_wait");
	rig->lock = stack_of(rig, "update", "__lll_lock_wait");
	rig->saver = stack_of(rig, "save", NULL);
	rig->worker = stack_of(rig, "work", NULL);
}

static void wait_by(struct rig *rig, uint64_t thread, uint64_t number, uint64_t stack, uint64_t ms,
		    uint64_t waker)
{
	PUT(&rig->synthetic, wait, .time = rig->time, .thread = thread, .duration = ms * MS,
	    .number = number, .flags = 1, .stack = stack, .waker = waker);
}

/*
 * The holder waits for the lock itself in the first 4 ms, computes for `computes` of the 6 ms that
 * it holds the lock, and is in fsync() for the rest.
 */
static void hold(struct rig *rig, uint64_t computes)
{
	rig->time += 4 * MS;
	PUT(&rig->synthetic, cpu, .time = rig->time - MS, .thread = 2, .stack = rig->saver,
	    .mode = 1, .ns = MS);
	wait_by(rig, 2, FUTEX, rig->lock, 3, 1);
	for (uint64_t i = 0; i < computes; i++) {
		rig->time += MS;
		PUT(&rig->synthetic, cpu, .time = rig->time, .thread = 2, .stack = rig->worker,
		    .mode = 1, .ns = MS);
	}
	rig->time += (6 - computes) * MS;
	if (computes < 6)
		wait_by(rig, 2, FSYNC, rig->saver, 6 - computes, 0);
	wait_by(rig, 1, FUTEX, rig->waiter, 10, 2);
	PUT(&rig->synthetic, syscall, .time = rig->time, .thread = 1, .number = FUTEX,
	    .duration = 10 * MS, .stack = rig->waiter);
	rig->time += MS;
}

static const struct model_finding *end(struct rig *rig)
{
	PUT(&rig->synthetic, syscall_total, .time = rig->time, .process = 1, .number = FUTEX,
	    .count = TIMES, .total_ns = TIMES * 10 * MS, .waits = TIMES,
	    .wait_ns = TIMES * 10 * MS);
	PUT(&rig->synthetic, syscall_total, .time = rig->time, .process = 1, .number = FSYNC,
	    .count = TIMES, .total_ns = MS);
	synthetic_end(&rig->synthetic, rig->time);
	rig->model = synthetic_model(&rig->synthetic);
	for (size_t i = 0; i < rig->model->n_findings; i++) {
		const struct model_finding *finding = &rig->model->findings[i];

		printf("%s: %s %s\n", finding->kind, finding->text, finding->evidence);
		if (!strcmp(finding->kind, "lock") && strstr(finding->text, "serve"))
			return finding;
	}
	test_fail(__FILE__, __LINE__, "no lock");
}

static void free_rig(struct rig *rig)
{
	model_free(rig->model);
	synthetic_free(&rig->synthetic);
}

TEST(a_holder_that_waits_is_where_it_waits)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < TIMES; i++)
		hold(&rig, 2);
	CHECK(strstr(end(&rig)->evidence,
		     "The thread that holds it mostly waits in fsync in save (66.7% of what is "
		     "recorded of it)."));
	free_rig(&rig);
}

TEST(a_holder_that_computes_is_on_a_CPU)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < TIMES; i++)
		hold(&rig, 6);
	CHECK(strstr(end(&rig)->evidence,
		     "The thread that holds it mostly is on a CPU in work (100% of what is "
		     "recorded of it)."));
	free_rig(&rig);
}

/* Nothing of most holders is known. */
TEST(a_holder_that_was_seen_once_is_not_named)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < TIMES; i++) {
		rig.time += 10 * MS;
		wait_by(&rig, 1, FUTEX, rig.waiter, 10, i % 50 ? 0 : 2);
		PUT(&rig.synthetic, cpu, .time = rig.time + 1, .thread = 2, .stack = rig.worker,
		    .mode = 1, .ns = MS);
		PUT(&rig.synthetic, syscall, .time = rig.time, .thread = 1, .number = FUTEX,
		    .duration = 10 * MS, .stack = rig.waiter);
	}
	CHECK(!strstr(end(&rig)->evidence, "that holds it"));
	free_rig(&rig);
}
