/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c: tests of the way of events from rings to the store, with rings and a clock made up. */
#include "world_rig.h"

#include "record/world/joins.h"

/* --- numbers and lives -------------------------------------------------------------------- */

TEST(subscribers_are_notified_at_once_and_the_store_in_order_of_time)
{
	open_world();
	put_sample(5000, 2, 200, 0x10);
	put_fork(3000, 2, 200, 200);
	put_exec(4000, 2, 200, 200);
	put_exit(6000, 2, 200);
	CHECK_STR(machine.notified, "fork 2/100 exec 2/200 end 2/200 ");
	flow_settle(flow, 7000);
	CHECK_EQ(flow_advance(flow, SECOND, UINT64_MAX), 0);
	CHECK_EQ(machine.asked, 0);
	close_world();
	CHECK_EQ(count(RECORD_process), 2);
	CHECK_EQ(nth(RECORD_process, 1)->process.time, 3000);
	CHECK_EQ(nth(RECORD_process, 1)->process.parent, 1);
	CHECK_EQ(nth(RECORD_cpu, 0)->cpu.thread, nth(RECORD_exec, 0)->exec.thread);
	CHECK_EQ(nth(RECORD_exit, 0)->exit.time, 6000);
}

TEST(events_wait_for_a_file_but_not_for_ever_and_late_ones_are_counted)
{
	open_world();
	put_sample(SECOND, 1, 100, 0x10);
	CHECK_EQ(flow_advance(flow, SECOND + SECOND / 10, UINT64_MAX), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 0);
	/* A file that was mapped before it is still being read. */
	CHECK_EQ(flow_advance(flow, 2 * SECOND, SECOND), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 0);
	/* Not twice within a moment. */
	CHECK_EQ(flow_advance(flow, 2 * SECOND + 1000, UINT64_MAX), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 0);
	CHECK_EQ(flow_advance(flow, 4 * SECOND, SECOND), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 1);
	CHECK_EQ(flow_late(flow), 0);
	put_sample(SECOND / 2, 1, 100, 0x10);
	CHECK_EQ(flow_late(flow), 1);
	CHECK_EQ(flow_advance(flow, 5 * SECOND, SECOND), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 2);
	close_world();
}

TEST(many_that_waited_are_stored_in_parts)
{
	enum { EVENTS = 50000 };
	uint64_t stored = 0, before;
	int turns = 0;

	open_world();
	for (uint64_t i = 0; i < EVENTS; i++)
		put_sample(SECOND + i, 1, 100, 0x10);
	CHECK_EQ(flow_advance(flow, 2 * SECOND, SECOND), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 0);
	CHECK(!flow_is_behind(flow));
	do {
		before = stored;
		CHECK_EQ(flow_advance(flow, 3 * SECOND + (uint64_t)turns++, UINT64_MAX), 0);
		stored = store_count(rig.store, STREAM_CPU);
		CHECK(stored > before && stored - before <= (EVENTS - before) / 4 + 16384);
	} while (flow_is_behind(flow));
	CHECK_EQ(stored, EVENTS);
	CHECK(turns < 12);
	CHECK_EQ(flow_late(flow), 0);
	/* The end takes what is left at once. */
	for (uint64_t i = 0; i < EVENTS; i++)
		put_sample(3 * SECOND + i, 1, 100, 0x10);
	CHECK_EQ(flow_advance(flow, 5 * SECOND, UINT64_MAX), 0);
	CHECK(flow_is_behind(flow));
	CHECK_EQ(flow_finish(flow, UINT64_MAX), 0);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 2 * EVENTS);
	free_world();
}

/* A batch of a provider, with one sample at each 100 ns up to its time. */
static void put_batch(uint64_t since, uint64_t time, uint8_t provider)
{
	uint32_t count = (uint32_t)((time - since) / 100);
	struct event_samples *batch =
		event(EVENT_samples, sizeof(*batch) + count * sizeof(batch->entries[0]), 1, 100);

	batch->header.provider = provider;
	batch->since = since;
	batch->count = count;
	for (uint32_t i = 0; i < count; i++)
		batch->entries[i] = (struct gcprof_sample){.time = since + 100 * (i + 1),
							   .sample = time + i,
							   .size = 8,
							   .period = 64,
							   .kind = GCPROF_SAMPLE_NURSERY};
	put(time);
}

TEST(samples_wait_until_it_is_known_since_when_they_are_ours)
{
	struct process *process;

	open_world();
	put_sample(1000, 1, 100, 0x10);
	process = processes_find(rig.processes, 1);
	process->program = 2000;
	joins_begin(process, 7);
	joins_begin(process, 8);
	CHECK(joins_any(process));
	/* Of the program before, of another recorder's time, and ours; of one that knows already.
	 */
	put_batch(1500, 2000, 7);
	put_batch(2000, 5000, 7);
	put_batch(2000, 3000, 9);
	joins_end(process, 7, 4000);
	put_batch(2000, 4000, 8);
	joins_end(process, 8, 0);
	put_batch(5000, 6000, 7);
	CHECK_EQ(flow_advance(flow, SECOND, UINT64_MAX), 0);
	CHECK_EQ(store_count(rig.store, STREAM_ALLOC), 4 + 11 + 10 + 20 + 10);
	/* Another program has taken nothing for others, whether or not the first has answered. */
	joins_begin(process, 8);
	put_exec(2 * SECOND, 1, 100, 100);
	put_batch(2 * SECOND - 500, 2 * SECOND + 500, 8);
	CHECK_EQ(flow_advance(flow, 3 * SECOND, UINT64_MAX), 0);
	CHECK_EQ(store_count(rig.store, STREAM_ALLOC), 55 + 6);
	close_world();
}

TEST(a_number_that_is_used_again_leads_to_whose_it_was_then)
{
	open_world();
	put_fork(2000, 2, 200, 200);
	put_exit(3000, 2, 200);
	put_fork(4000, 3, 200, 200);
	put_exit(5000, 3, 200);
	machine.notified[0] = '\0';
	put_mapping(4500, 200, 0x1000);
	put_mapping(2500, 200, 0x1000);
	/* Nobody's: it waits until the rings have been emptied, then it is dropped. */
	put_mapping(5500, 200, 0x1000);
	CHECK_STR(machine.notified, "map 3/200 map 2/200 ");
	flow_settle(flow, 5500);
	put_fork(5400, 4, 200, 200);
	flow_settle(flow, 5501);
	CHECK_STR(machine.notified, "map 3/200 map 2/200 fork 4/100 map 4/200 ");
	put_mapping(6000, 300, 0x1000);
	flow_settle(flow, 6001);
	put_fork(5900, 5, 300, 300);
	flow_settle(flow, 7000);
	CHECK_STR(machine.notified, "map 3/200 map 2/200 fork 4/100 map 4/200 fork 5/100 ");
	close_world();
	CHECK_EQ(count(RECORD_mmap), 3);
	CHECK_EQ(nth(RECORD_mmap, 0)->mmap.process, 2);
	CHECK_EQ(nth(RECORD_mmap, 1)->mmap.process, 3);
	CHECK_EQ(nth(RECORD_mmap, 2)->mmap.process, 4);
}

TEST(two_namespaces_have_numbers_of_their_own)
{
	open_world();
	put_fork(2000, 2, 5000, 7);
	put_fork(2001, 3, 7, 5000);
	put_fork(2002, 4, 9, 0); /* it is not seen from here */
	machine.notified[0] = '\0';
	put_mapping(3000, 7, 0x1000);
	put_mapping(3001, 5000, 0x2000);
	put_mapping(3002, 9, 0x3000);
	put_mapping(3003, 0, 0x4000);
	CHECK_STR(machine.notified, "map 2/5000 map 3/7 ");
	CHECK_EQ(processes_at(rig.processes, 7, 3000)->pid, 5000);
	CHECK(!processes_at(rig.processes, 9, 3000));
	close_world();
	CHECK_EQ(count(RECORD_mmap), 2);
}

TEST(a_thread_that_executes_a_program_goes_on_as_the_first)
{
	open_world();
	put_thread(2000, 1, 100, 101);
	put_thread(2001, 1, 100, 102);
	put_sample(3000, 1, 100, 0x10);
	((struct event_header *)event(EVENT_comm, sizeof(struct event_comm), 1, 100))->tid = 101;
	put(3001);
	put_exec(4000, 1, 100, 101);
	put_sample(5000, 1, 100, 0x10);
	((struct event_header *)event(EVENT_comm, sizeof(struct event_comm), 1, 100))->tid = 101;
	put(5001);
	put_thread(5002, 1, 100, 101); /* its number is free again */
	close_world();
	CHECK_EQ(nth(RECORD_cpu, 0)->cpu.thread, nth(RECORD_cpu, 1)->cpu.thread);
	CHECK_EQ(nth(RECORD_fork, 0)->fork.child, nth(RECORD_comm, 0)->comm.thread);
	CHECK(nth(RECORD_fork, 2)->fork.child != nth(RECORD_fork, 0)->fork.child);
	CHECK_EQ(count(RECORD_process), 1);
}

/* --- begins and ends that were lost -------------------------------------------------------- */

TEST(a_missed_start_is_made_up_for_by_the_first_event)
{
	open_world();
	machine.present = 2;
	put_sample(3000, 2, 200, 200 * 0x10000 + 0x10);
	put_sample(2500, 2, 200, 200 * 0x10000 + 0x10);
	flow_settle(flow, 2500);
	CHECK_EQ(machine.asked, 0); /* its begin may still be in a ring */
	flow_settle(flow, 2501);
	CHECK_EQ(machine.asked, 1);
	CHECK_EQ(machine.read_at, 2499);
	put_sample(4000, 2, 200, 200 * 0x10000 + 0x10);
	flow_settle(flow, 5000);
	CHECK_EQ(machine.asked, 1);
	CHECK_STR(machine.notified, "map 2/200 ");
	close_world();
	CHECK_EQ(count(RECORD_process), 2);
	CHECK_EQ(nth(RECORD_process, 1)->process.time, 2499);
	CHECK_EQ(nth(RECORD_process, 1)->process.ns_pid, 7);
	CHECK_EQ(count(RECORD_cpu), 3);
	for (size_t i = 0; i < 3; i++)
		CHECK_STR(stack_text(nth(RECORD_cpu, i)->cpu.stack), "m1:10");
}

TEST(a_begin_that_comes_after_other_events_of_its_process_is_not_missed)
{
	open_world();
	machine.present = 2;
	put_sample(3000, 2, 200, 0x10);
	flow_settle(flow, 0); /* the rings are not empty yet */
	put_fork(2000, 2, 200, 200);
	flow_settle(flow, 4000);
	CHECK_EQ(machine.asked, 0);
	CHECK_EQ(processes_find(rig.processes, 2)->begin, 2000);
	close_world();
	CHECK_EQ(nth(RECORD_process, 1)->process.parent, 1);
}

TEST(what_was_missed_and_is_gone_is_asked_for_once_and_forgotten)
{
	uint64_t now = 10 * SECOND;

	open_world();
	for (unsigned i = 0; i < 1000; i++) {
		put_sample(3000 + i, 2, 200, 0x10);
		flow_settle(flow, 5000);
	}
	CHECK_EQ(machine.asked, 1);
	CHECK_EQ(processes_count(rig.processes), 2);
	machine.alive_to = 1;
	sweep(&now, 60);
	CHECK_EQ(processes_count(rig.processes), 1);
	/* Its number may be another's by now: nobody is notified of an end. */
	CHECK_STR(machine.notified, "");
	close_world();
	CHECK_EQ(count(RECORD_cpu), 1000);
}

TEST(a_lost_end_is_found_out_but_is_not_that_of_the_next_with_the_number)
{
	uint64_t now = 10 * SECOND;

	open_world();
	put_fork(2000, 2, 200, 200);
	put_fork(2001, 3, 300, 300);
	put_fork(9000, 4, 200, 200);
	put_exit(9001, 4, 200);
	put_fork(9002, 5, 200, 200);
	machine.notified[0] = '\0';
	machine.alive_to = 5;
	sweep(&now, 40);
	CHECK_EQ(processes_count(rig.processes), 4); /* not 4, which ended */
	machine.alive_to = 1;
	sweep(&now, 60);
	CHECK_EQ(processes_count(rig.processes), 1);
	CHECK(!processes_at(rig.processes, 200, now));
	CHECK(strstr(machine.notified, "end 3/300"));
	CHECK(strstr(machine.notified, "end 5/200"));
	CHECK(!strstr(machine.notified, "end 2/200"));
	close_world();
}

/* Half of the ends are lost, and a tenth of the begins; the same few numbers are used again. */
TEST(a_storm_of_forks_leaves_nothing_behind)
{
	uint64_t now = 10 * SECOND, random = test_seed();
	uint32_t process = 1;
	size_t most = 0;

	open_world();
	for (unsigned second = 0; second < 80; second++) {
		machine.alive_to = process;
		for (unsigned i = 0; i < 500; i++) {
			uint32_t pid = 200 + ++process % 97;

			if (test_random(&random) % 10)
				put_fork(now + i * 1000, process, pid, pid);
			put_sample(now + i * 1000 + 1, process, pid, 0x10);
			put_mapping(now + i * 1000 + 2, pid, 0x1000);
			if (test_random(&random) % 2)
				put_exit(now + i * 1000 + 3, process, pid);
		}
		machine.notified[0] = '\0';
		machine.alive_to = 1;
		sweep(&now, 1);
		if (processes_count(rig.processes) > most)
			most = processes_count(rig.processes);
	}
	/* Each is missed within two turns of 16 sweeps, and dropped 5 sweeps later. */
	CHECK(most < (32 + 6) * 500);
	sweep(&now, 60);
	CHECK_EQ(processes_count(rig.processes), 1);
	free_world();
}

/* Its last record does not reach the store. */
TEST(an_end_that_is_never_stored_is_an_end)
{
	uint64_t now = 10 * SECOND;
	struct event_exit exit = {.header = {.size = 8, .code = EVENT_exit, .process = 2},
				  .last = 1};

	open_world();
	put_fork(2000, 2, 200, 200);
	flow_event(flow, &exit.header, sizeof(exit));
	sweep(&now, 8);
	CHECK_EQ(processes_count(rig.processes), 2);
	sweep(&now, 8);
	CHECK_EQ(processes_count(rig.processes), 1);
	close_world();
}

TEST(many_that_ended_are_not_kept_for_late_records)
{
	uint64_t now = 10 * SECOND;
	uint32_t process = 1;

	open_world();
	for (unsigned n = 10; n <= 20000; n += 19990) {
		for (unsigned i = 0; i < n; i++) {
			put_fork(now - SECOND, ++process, 200, 200);
			put_exit(now - SECOND + 1, process, 200);
		}
		sweep(&now, 3);
		CHECK_EQ(processes_count(rig.processes), n == 10 ? 11 : 1);
		sweep(&now, 5);
		CHECK_EQ(processes_count(rig.processes), 1);
	}
	free_world();
}

/* --- mappings that no record tells --------------------------------------------------------- */

TEST(what_ran_before_has_what_it_has_mapped_since_its_program_runs)
{
	open_world();
	machine.program_since = 2500;
	put_task(3000, 2, 200);
	put_task(3001, 2, 200); /* another thread of it */
	flow_settle(flow, 0);
	CHECK_EQ(machine.read, 1);
	CHECK_EQ(machine.read_at, 3000);
	/* It executes other programs while it is read: the last reading counts, if it comes to an
	 * end. */
	machine.program_since = 4000;
	machine.execs = 2;
	put_task(3500, 3, 300);
	flow_settle(flow, 0);
	CHECK_EQ(machine.read, 3);
	CHECK_EQ(machine.read_at, 4003);
	machine.execs = 1000;
	put_task(3600, 4, 400);
	flow_settle(flow, 0);
	CHECK_EQ(machine.read, 7);
	flow_settle(flow, 0);
	CHECK_EQ(machine.read, 7);
	close_world();
	/* What earlier programs had mapped is not theirs. */
	CHECK_EQ(count(RECORD_mmap), 3);
}

TEST(children_are_read_where_a_file_was_attached_to_after_their_birth)
{
	open_world();
	put_fork(2000, 2, 200, 200);
	put_fork(3000, 3, 300, 300);
	world_children(world, 2500, false);
	CHECK_EQ(machine.read, 0); /* files are still being read */
	world_children(world, 2500, true);
	CHECK_EQ(machine.read, 1);
	CHECK_EQ(machine.read_at, 2000);
	world_children(world, UINT64_MAX, true);
	CHECK_EQ(machine.read, 1);
	close_world();
}

/* Every process on the machine may map without end: what waits is bounded, and the rest counted. */
TEST(mappings_of_strangers_wait_within_bounds)
{
	open_world();
	for (unsigned i = 0; i < 100000; i++)
		put_mapping(3000, 77, i * UINT64_C(0x1000));
	CHECK(world_lost(world) > 0);
	CHECK_EQ(world_lost(world), 0);
	flow_settle(flow, 3001);
	put_fork(2000, 2, 77, 77);
	flow_settle(flow, 3002);
	put_mapping(3000, 77, 0x1000);
	close_world();
	CHECK_EQ(count(RECORD_mmap), 1);
}

/* --- budgets of processes ------------------------------------------------------------------ */

TEST(tables_of_mappings_share_a_budget_and_small_ones_always_grow)
{
	enum { TABLES = 40 };
	struct mappings *tables[TABLES] = {NULL};
	struct mappings_pool pool = {0};
	size_t own[TABLES] = {0};

	for (size_t i = 0; i < TABLES; i++) {
		struct mapping mapping = {.module = 1};
		int err = 0;

		while (!err) {
			mapping.start = mapping.end + 0x1000;
			mapping.end = mapping.start + 0x1000;
			err = mappings_add(&tables[i], &pool, &mapping);
			own[i] += !err;
		}
		CHECK_EQ(err, -EOVERFLOW);
		CHECK(own[i] <= MAPPINGS_MAX && own[i] >= MAPPINGS_SHARE - 2);
	}
	CHECK(own[0] > MAPPINGS_MAX - 2);
	CHECK(pool.used <= MAPPINGS_BUDGET + TABLES * MAPPINGS_SHARE);
	/* A child has its parent's until it changes; for one of its own there is no room. */
	tables[1] = (mappings_release(tables[1]), mappings_share(tables[0]));
	CHECK_EQ(mappings_add(&tables[1], &pool, &(struct mapping){.end = 0x1000, .module = 1}),
		 -EOVERFLOW);
	CHECK(tables[1] == tables[0]);
	for (size_t i = 0; i < TABLES; i++)
		mappings_release(tables[i]);
	CHECK_EQ(pool.used, 0);
}

/* Of a program that maps one file after the other, most go; others have room as ever. */
TEST(a_program_that_maps_without_end_is_cut_short_and_counted)
{
	uint64_t lost, now = 10 * SECOND;

	open_world();
	put_fork(2000, 2, 200, 200);
	put_fork(2000, 3, 300, 300);
	for (unsigned i = 1; i <= MAPPINGS_MAX + 1000; i++) {
		put_mapping(3000 + i, 200, i * UINT64_C(0x2000));
		if (i % 200 == 0)
			flow_settle(flow, 0); /* more in a turn are read from /proc */
		if (i % 10000 == 0)
			sweep(&now, 1);
	}
	sweep(&now, 1);
	lost = store_loss(rig.store, LOSS_SHARE);
	CHECK(lost >= 1000 && lost < 1010);
	for (unsigned i = 1; i <= 200; i++)
		put_mapping(now + i, 300, i * UINT64_C(0x2000));
	sweep(&now, 2);
	CHECK_EQ(store_loss(rig.store, LOSS_SHARE), lost);
	put_exit(now, 2, 200);
	sweep(&now, 10);
	CHECK_EQ(processes_count(rig.processes), 2);
	free_world();
}

/* Names that are referred to, and others that never come. */
static void name_without_end(const char *name)
{
	for (uint64_t i = 1; i <= 100000; i++) {
		send_type(1, i, name);
		send_alloc(1, 100, i, i + 1000000);
	}
}

TEST(a_program_that_names_without_end_leaves_room_for_the_names_of_others)
{
	char name[400];
	uint64_t lost;

	open_world();
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name_without_end(name);
	lost = store_loss(rig.store, LOSS_SHARE);
	CHECK(lost > 100000 && lost < 200000);
	CHECK_EQ(store_count(rig.store, STREAM_ALLOC), 100000);
	/* Another program in its place has just as much room. */
	send_exec(1, 100, "/nowhere");
	name_without_end(name);
	CHECK_EQ(store_loss(rig.store, LOSS_SHARE), 2 * lost);
	for (uint64_t i = 1; i <= 1000; i++) {
		send_type(2, i, name);
		send_alloc(2, 200, i, i);
	}
	CHECK_EQ(store_loss(rig.store, LOSS_SHARE), 2 * lost);
	free_world();
}

/* The ends of all are lost. */
TEST(a_program_that_makes_threads_without_end_keeps_those_that_run)
{
	uint64_t now = 10 * SECOND, first;
	uint32_t tid = 1000;

	open_world();
	first = processes_thread(rig.processes, processes_find(rig.processes, 1), 100);
	for (unsigned second = 0; second < 40; second++) {
		for (unsigned i = 0; i < 5000; i++)
			put_thread(now + i, 1, 100, ++tid);
		put_sample(now + 5000, 1, 100, 0x10);
		sweep(&now, 1);
		CHECK(processes_threads(rig.processes) < 32768 + 18 * 5000);
	}
	CHECK(processes_threads(rig.processes) > 32768);
	CHECK_EQ(processes_thread(rig.processes, processes_find(rig.processes, 1), 100), first);
	free_world();
}

/* --- everything together ------------------------------------------------------------------- */

/*
 * Processes use few numbers one after the other; each maps one file, at an address that is its own.
 * The rings are emptied one by one at random moments, and each mapping must reach its process.
 */
TEST(rings_that_are_emptied_at_random_give_each_process_its_own)
{
	enum { PROCESSES = 300, NUMBERS = 5, RINGS_MADE_UP = 3 };
	uint64_t random = test_seed(), now = SECOND;
	uint32_t done[RINGS_MADE_UP] = {2, 2, 2};

	open_world();
	while (done[2] < PROCESSES) {
		now += test_random(&random) % (SECOND / 20);
		for (int ring = 0; ring < RINGS_MADE_UP; ring++) {
			for (; done[ring] < PROCESSES; done[ring]++) {
				uint32_t process = done[ring], pid = 200 + process % NUMBERS;
				uint64_t born = SECOND + process * (SECOND / 100);

				if (born + 40 > now)
					break;
				if (ring == 0) {
					put_mapping(born + 10, pid, process * UINT64_C(0x10000));
				} else if (ring == 1) {
					put_fork(born, process, pid, pid);
					put_exit(born + 30, process, pid);
				} else {
					put_sample(born + 20, process, pid,
						   process * UINT64_C(0x10000) + 0x10);
				}
			}
		}
		machine.notified[0] = '\0';
		flow_settle(flow, now);
		CHECK_EQ(flow_advance(flow, now, UINT64_MAX), 0);
	}
	CHECK_EQ(flow_late(flow), 0);
	CHECK_EQ(machine.asked, 0);
	close_world();
	CHECK_EQ(count(RECORD_cpu), PROCESSES - 2);
	for (size_t i = 0; i < PROCESSES - 2; i++) {
		CHECK_STR(stack_text(nth(RECORD_cpu, i)->cpu.stack), "m1:10");
		CHECK_EQ(nth(RECORD_mmap, i)->mmap.address,
			 nth(RECORD_mmap, i)->mmap.process * 0x10000);
	}
}
