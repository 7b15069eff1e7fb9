// SPDX-License-Identifier: BSD-2-Clause
/* store.c: tests of the store with events made by hand: stacks, processes, names, hostile sizes. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "record/ingest/flow_parts.h"
#include "store_rig.h"
#include "symbols/elf_file.h"
#include "symbols/symbols.h"

TEST(frames_are_ordered_and_interleaved)
{
	/* main (frame 900) pushed code 1, called eval (700), which pushed 2 and 3 and called
	 * itself (500), which pushed 4 and called read (400). */
	struct stack_input in = {
		.n_kernel = 2,
		.kernel = {0xffffffff81000010, 0xffffffff81000100},
		.n_user = 4,
		.user = {{0x1400, 400}, {0x1301, 500}, {0x1201, 700}, {0x1101, 900}},
		.n_managed = 4,
		.managed = {{450, 4, 40}, {620, 3, 30}, {650, 2, 20}, {850, 1, 10}},
	};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0x5000, "/nowhere/prog");
	send_cpu(1, 100, &in);
	finish();
	CHECK_EQ(count(RECORD_cpu), 1);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack),
		  "m1:5100 c1@10 m1:5200 c2@20 c3@30 m1:5300 c4@40 m1:5400 "
		  "k9 k10");
	CHECK_EQ(nth(RECORD_cpu, 0)->cpu.quality, STACK_USER_CUT);
	CHECK_EQ(nth(RECORD_cpu, 0)->cpu.mode, CPU_MODE_USER);
}

TEST(managed_frames_without_a_native_place_stay_in_order)
{
	struct stack_input cut = {/* the native stack was cut below what pushed code 1 */
				  .n_user = 2,
				  .user = {{0x1400, 400}, {0x1301, 500}},
				  .n_managed = 2,
				  .managed = {{450, 2, 0}, {800, 1, 0}}};
	struct stack_input unknown = {/* the innermost function has not set up its frame */
				      .n_user = 2,
				      .user = {{0x1400, 0}, {0x1301, 500}},
				      .n_managed = 1,
				      .managed = {{450, 2, 0}}};
	struct stack_input none = {.n_managed = 2, .managed = {{450, 2, 0}, {800, 1, 0}}};

	begin();
	send_cpu(1, 100, &cut);
	send_cpu(1, 100, &unknown);
	send_cpu(1, 100, &none);
	finish();
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "c1@0 m0:1300 c2@0 m0:1400");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m0:1300 c2@0 m0:1400");
	CHECK_STR(stack_text(nth(RECORD_cpu, 2)->cpu.stack), "c1@0 c2@0");
}

TEST(same_stack_is_written_once_and_again_when_mappings_change)
{
	begin();
	send_ip(1, 100, 0x1400);
	send_ip(1, 100, 0x1400);
	send_mmap(1, 0x1000, 0x1000, 0, "/nowhere/prog");
	send_ip(1, 100, 0x1400);
	finish();
	CHECK_EQ(count(RECORD_stack), 2);
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m0:1400");
	CHECK_STR(stack_text(nth(RECORD_cpu, 2)->cpu.stack), "m1:400");
}

TEST(later_mappings_cut_earlier_ones)
{
	begin();
	send_mmap(1, 0x1000, 0x5000, 0x10000, "/nowhere/a");
	send_mmap(1, 0x3000, 0x1000, 0x70000, "/nowhere/b");
	for (uint64_t ip = 0x0800; ip < 0x7000; ip += 0x1000)
		send_ip(1, 100, ip);
	send_mmap(1, 0x2000, 0x8000, 0, "//anon"); /* all but the first page is gone */
	send_ip(1, 100, 0x1ff0);
	send_ip(1, 100, 0x2000);
	send_ip(1, 100, 0x5ff0);
	send_mmap(1, 0x8000, 0x1000, 0x8000, "[vdso]");
	send_ip(1, 100, 0x8010);
	finish();
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m0:800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m1:10800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 2)->cpu.stack), "m1:11800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 3)->cpu.stack), "m2:70800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 4)->cpu.stack), "m1:13800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 5)->cpu.stack), "m1:14800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 6)->cpu.stack), "m0:6800");
	CHECK_STR(stack_text(nth(RECORD_cpu, 7)->cpu.stack), "m1:10ff0");
	CHECK_STR(stack_text(nth(RECORD_cpu, 8)->cpu.stack), "m3:2000");
	CHECK_STR(stack_text(nth(RECORD_cpu, 9)->cpu.stack), "m3:5ff0");
	CHECK_STR(stack_text(nth(RECORD_cpu, 10)->cpu.stack), "m4:10");
	CHECK_STR(seen.strings[seen.modules[3].path], "[jit]");
	CHECK_EQ(seen.modules[3].process, 1);
	CHECK_STR(seen.strings[seen.modules[4].path], "[vdso]");
	CHECK_EQ(count(RECORD_mmap), 4);
}

/* The mappings against a page by page model. */
TEST(mappings_behave_like_pages)
{
	enum { PAGES = 64, ROUNDS = 300 };
	/* The last one stands for what is generated; before it nothing is mapped. */
	static const char *const paths[] = {"/nowhere/1", "/nowhere/2", "/nowhere/3", "//anon"};
	uint64_t random = test_seed(), expected[ROUNDS][2], modules[5] = {0};
	struct {
		int path;
		uint64_t offset;
	} pages[PAGES] = {{0, 0}};

	for (int i = 0; i < PAGES; i++)
		pages[i].path = 4;
	begin();
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t first = test_random(&random) % PAGES;
		uint64_t n = 1 + test_random(&random) % (PAGES - first);
		uint64_t offset = test_random(&random) % 1000 * 4096, page;
		int path = (int)(test_random(&random) % 4);

		n = test_random(&random) % 4 ? 1 + n % 5 : n;
		if (first + n > PAGES)
			n = PAGES - first;
		send_mmap(1, (first + 16) * 4096, n * 4096, offset, paths[path]);
		for (uint64_t i = first; i < first + n; i++) {
			pages[i].path = path;
			pages[i].offset = offset + (i - first) * 4096;
		}
		page = test_random(&random) % PAGES;
		send_ip(1, 100, (page + 16) * 4096 + 77);
		expected[round][0] = (uint64_t)pages[page].path;
		expected[round][1] = pages[page].path >= 3 ? (page + 16) * 4096 + 77
							   : pages[page].offset + 77;
	}
	finish();
	for (uint64_t i = 1; i < 64 && seen.modules[i].id; i++)
		modules[seen.modules[i].process ? 3 : seen.strings[seen.modules[i].path][9] - '1'] =
			i;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t stack = nth(RECORD_cpu, (size_t)round)->cpu.stack;
		const struct record_native_frame *frame = &seen.natives[seen.stacks[stack].frame];

		CHECK_EQ(frame->module, modules[expected[round][0]]);
		CHECK_EQ(frame->offset, expected[round][1]);
	}
}

TEST(forked_child_inherits_and_goes_its_own_way)
{
	begin();
	send_mmap(1, 0x1000, 0x1000, 0, "/nowhere/a");
	send_type(1, 7, "pair");
	send_fork(1, 100, 2, 200);
	send_mmap(2, 0x2000, 0x1000, 0, "/nowhere/b");
	send_type(2, 8, "child's");
	send_ip(2, 200, 0x1010);
	send_ip(2, 200, 0x2010);
	send_ip(1, 100, 0x2010);
	send_alloc(2, 200, 1, 7);
	send_alloc(2, 200, 2, 8);
	send_alloc(1, 100, 1, 8);
	finish();
	CHECK_EQ(count(RECORD_process), 2);
	CHECK_EQ(nth(RECORD_process, 1)->process.parent, 1);
	CHECK_EQ(nth(RECORD_process, 1)->process.pid, 200);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m1:10");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m2:10");
	CHECK_STR(stack_text(nth(RECORD_cpu, 2)->cpu.stack), "m0:2010");
	CHECK_EQ(count(RECORD_type), 2);
	CHECK_EQ(nth(RECORD_type, 0)->type.process, 2);
	CHECK_STR(seen.strings[nth(RECORD_type, 0)->type.name], "pair");
	CHECK_EQ(nth(RECORD_type, 1)->type.process, 2);
	CHECK_STR(seen.strings[nth(RECORD_type, 1)->type.name], "child's");
}

TEST(exec_forgets_the_old_program)
{
	struct stack_input in = {
		.n_user = 1, .user = {{0x1010, 500}}, .n_managed = 1, .managed = {{400, 5, 1}}};

	begin();
	send_mmap(1, 0x1000, 0x1000, 0, "/nowhere/a");
	send_type(1, 7, "old type");
	send_code(1, 5, "old code", "");
	send_alloc(1, 100, 1, 7);
	send_cpu(1, 100, &in);
	send_exec(1, 100, "/nowhere/b");
	send_cpu(1, 100, &in);
	send_alloc(1, 100, 1, 7);
	send_type(1, 7, "new type");
	send_code(1, 5, "new code", "file.x");
	finish();
	CHECK_STR(seen.strings[nth(RECORD_exec, 0)->exec.path], "/nowhere/b");
	/* The same numbers, but they are not mistaken for the old ones. */
	CHECK_EQ(nth(RECORD_alloc, 0)->alloc.type, 7);
	CHECK_EQ(nth(RECORD_alloc, 1)->alloc.type, (INT64_C(1) << 48) + 7);
	CHECK_EQ(nth(RECORD_alloc, 1)->alloc.sample, (INT64_C(1) << 48) + 1);
	CHECK_EQ(nth(RECORD_type, 1)->type.type, (INT64_C(1) << 48) + 7);
	CHECK_STR(seen.strings[nth(RECORD_type, 0)->type.name], "old type");
	CHECK_STR(seen.strings[nth(RECORD_type, 1)->type.name], "new type");
	CHECK_STR(seen.strings[nth(RECORD_code, 0)->code.name], "old code");
	CHECK_STR(seen.strings[nth(RECORD_code, 1)->code.name], "new code");
	CHECK_STR(seen.strings[nth(RECORD_code, 1)->code.file], "file.x");
	CHECK_EQ(nth(RECORD_code, 1)->code.line, 10);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m1:10 c5@1");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m0:1010 c281474976710661@1");
}

TEST(exec_that_comes_late_keeps_the_new_mappings)
{
	begin();
	send_mmap(1, 0x1000, 0x1000, 0, "/nowhere/old");
	rig.clock += 10;
	send_mmap(1, 0x2000, 0x1000, 0, "/nowhere/new");
	rig.clock -= 6; /* between the two */
	send_exec(1, 100, "/nowhere/new");
	rig.clock += 10;
	send_ip(1, 100, 0x1010);
	send_ip(1, 100, 0x2010);
	finish();
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m0:1010");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m2:10");
}

TEST(reused_pids_and_tids_are_others)
{
	begin();
	send_fork(1, 100, 2, 200);
	send_mmap(2, 0x1000, 0x1000, 0, "/nowhere/a");
	send_exit(2, 200, 200, 1);
	send_ip(2, 200, 0x1010); /* late, but still understood */
	send_fork(1, 100, 3, 200);
	send_ip(3, 200, 0x1010);
	/* A thread of process 1 ends and another one gets its number. */
	send_fork(1, 100, 1, 300);
	send_exit(1, 100, 300, 0);
	send_fork(1, 100, 1, 300);
	CHECK_EQ(store_loss(rig.store, LOSS_UNKNOWN_PROCESS), 0);
	finish();
	CHECK_EQ(count(RECORD_process), 3);
	CHECK_EQ(nth(RECORD_process, 2)->process.pid, 200);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m1:10");
	CHECK_STR(stack_text(nth(RECORD_cpu, 1)->cpu.stack), "m0:1010");
	CHECK_EQ(count(RECORD_mmap), 1);
	CHECK(nth(RECORD_fork, 0)->fork.child != nth(RECORD_fork, 1)->fork.child);
	CHECK(nth(RECORD_fork, 2)->fork.child != nth(RECORD_fork, 3)->fork.child);
	CHECK_EQ(nth(RECORD_fork, 3)->fork.kind, FORK_THREAD);
	CHECK_EQ(nth(RECORD_exit, 0)->exit.last, 1);
}

TEST(unknown_process_is_made_known)
{
	begin();
	send_ip(9, 900, 0x1010);
	send_ip(0, 901, 0x1010);
	CHECK_EQ(store_loss(rig.store, LOSS_UNKNOWN_PROCESS), 1);
	CHECK_EQ(store_count(rig.store, STREAM_CPU), 1);
	finish();
	CHECK_EQ(nth(RECORD_process, 1)->process.id, 9);
	CHECK_EQ(nth(RECORD_process, 1)->process.parent, 0);
	CHECK_EQ(nth(RECORD_process, 1)->process.pid, 900);
	CHECK_EQ(count(RECORD_cpu), 1);
}

TEST(names_are_written_when_needed_and_once)
{
	begin();
	send_type(1, 1, "never used");
	send_type(1, 2, "before");
	send_alloc(1, 100, 1, 2);
	send_alloc(1, 100, 2, 2);
	send_alloc(1, 100, 3, 3);
	send_type(1, 3, "after");
	send_type(1, 3, "after");
	send_type(1, 2, "before");
	finish();
	CHECK_EQ(count(RECORD_type), 2);
	CHECK_STR(seen.strings[nth(RECORD_type, 0)->type.name], "before");
	CHECK_STR(seen.strings[nth(RECORD_type, 1)->type.name], "after");
}

TEST(events_become_records)
{
	struct event_fate *fate;
	struct event_gc_begin *gc;
	struct event_gc_end *gc_end;
	struct event_syscall *call;
	struct event_comm *comm;

	begin();
	fate = event(EVENT_fate, sizeof(*fate) + 2 * sizeof(fate->entries[0]), 1, 100);
	fate->count = 2;
	fate->entries[0] = (struct gcprof_fate){11, 255, GCPROF_DIED_YOUNG, 0};
	fate->entries[1] = (struct gcprof_fate){12, 1000001, GCPROF_PROMOTED, 1};
	CHECK_EQ(send_event(), 0);
	gc = event(EVENT_gc_begin, sizeof(*gc), 1, 100);
	gc->cycle = 5;
	gc->kind = GCPROF_GC_MINOR;
	gc->reason = GCPROF_REASON_LARGE;
	CHECK_EQ(send_event(), 0);
	gc_end = event(EVENT_gc_end, sizeof(*gc_end), 1, 100);
	gc_end->has_stats = 1;
	gc_end->stats.live_bytes = 77;
	gc_end->stats.threads = 4;
	gc_end->rss_bytes = 77777;
	CHECK_EQ(send_event(), 0);
	call = event(EVENT_syscall, sizeof(*call), 1, 100);
	call->number = 257;
	call->result = -2;
	call->args[2] = 3;
	call->gc_ns = 9;
	CHECK_EQ(send_event(), 0);
	comm = event(EVENT_comm, sizeof(*comm), 1, 100);
	memset(comm->name, 'x', sizeof(comm->name)); /* no zero at the end */
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_count(rig.store, STREAM_GC), 2);
	CHECK_EQ(store_count(rig.store, STREAM_ALLOC), 2); /* fates */
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 0);
	finish();
	CHECK_EQ(count(RECORD_fate), 2);
	CHECK_EQ(nth(RECORD_fate, 0)->fate.age, 255);
	CHECK_EQ(nth(RECORD_fate, 1)->fate.age, 999424); /* 244 * 4096: eight bits are kept */
	CHECK_EQ(nth(RECORD_fate, 1)->fate.outcome, GCPROF_PROMOTED);
	CHECK_EQ(nth(RECORD_gc_begin, 0)->gc_begin.reason, GCPROF_REASON_LARGE);
	CHECK_EQ(nth(RECORD_gc_end, 0)->gc_end.live_bytes, 77);
	CHECK_EQ(nth(RECORD_gc_end, 0)->gc_end.threads, 4);
	CHECK_EQ(nth(RECORD_gc_end, 0)->gc_end.rss_bytes, 77777);
	CHECK_EQ(nth(RECORD_syscall, 0)->syscall.result, -2);
	CHECK_EQ(nth(RECORD_syscall, 0)->syscall.arg2, 3);
	CHECK_EQ(nth(RECORD_syscall, 0)->syscall.gc_ns, 9);
	CHECK_STR(seen.strings[nth(RECORD_comm, 0)->comm.name], "xxxxxxxxxxxxxxxx");
}

static void send_title(const char *text, size_t size, size_t arguments, bool overwritten)
{
	struct event_title *title = event(EVENT_title, sizeof(*title), 1, 100);

	memcpy(title->text, text, size);
	title->size = (uint32_t)arguments;
	title->overwritten = overwritten;
	CHECK_EQ(send_event(), 0);
}

TEST(titles_are_command_lines_or_what_was_written_over_them)
{
	static const char command[] = "cc\0-c\0a b.c\0\0\0HOME=/root", title[] = "pg: idle in it";
	char full[248];

	memset(full, 'x', sizeof(full));
	begin();
	send_title(command, sizeof(command), 14, false);
	send_title(command, sizeof(command), 14, false);
	send_title(title, sizeof(title), 3, true);
	send_title(full, sizeof(full), UINT32_MAX, true); /* no zero at the end */
	send_title("\0\0\0", 3, 3, false);
	finish();
	CHECK_EQ(count(RECORD_title), 3);
	CHECK_STR(seen.strings[nth(RECORD_title, 0)->title.text], "cc -c a b.c");
	CHECK_STR(seen.strings[nth(RECORD_title, 1)->title.text], "pg: idle in it");
	CHECK_EQ(strlen(seen.strings[nth(RECORD_title, 2)->title.text]), 63); /* the rig's room */
}

TEST(syscall_totals_keep_their_histogram)
{
	struct syscall_key key = {1, 3}, stranger = {77, 3};
	struct syscall_total total = {.count = 3, .errors = 1, .total_ns = 700, .max_ns = 500};
	const struct record *record;

	total.histogram[0] = 1;
	total.histogram[3] = 300;
	total.histogram[SYSCALL_BUCKETS - 1] = 1;
	begin();
	CHECK_EQ(store_syscall_total(rig.store, 5, &key, &total), 0);
	CHECK_EQ(store_syscall_total(rig.store, 5, &stranger, &total), -ENOENT);
	finish();
	CHECK_EQ(count(RECORD_syscall_total), 1);
	record = nth(RECORD_syscall_total, 0);
	CHECK_EQ(record->syscall_total.max_ns, 500);
	/* 0+1, +3: 300 (two bytes), +156 (two bytes): 1 */
	CHECK_EQ(record->syscall_total.histogram.size, 2 + 3 + 3);
}

static uint64_t refused(void)
{
	return store_loss(rig.store, LOSS_BAD_EVENT) + store_loss(rig.store, LOSS_UNKNOWN_PROCESS);
}

static uint64_t stored(void)
{
	uint64_t sum = 0;

	for (int stream = 0; stream < STREAM_END; stream++)
		sum += store_count(rig.store, (enum stream)stream);
	return sum;
}

/* Every event, with sizes and counts that are not true. A sample whose stack's pieces are refused
 * is stored all the same. */
TEST(hostile_events_are_refused)
{
	uint64_t random = test_seed(), expected = 0, refusals = 0;

	begin();
	for (int i = 0; i < 100000; i++) {
		struct event_header *header =
			event((uint16_t)(test_random(&random) % 64), 1024, 1, 100);
		uint64_t *words = rig.room + sizeof(*header) / 8, before = stored();

		for (int at = 0; at < 120; at++)
			words[at] = test_random(&random) >> (test_random(&random) % 64);
		header->size = (uint32_t)(test_random(&random) % 1024);
		header->process = test_random(&random) % 4 ? 1 : header->process % 8;
		CHECK_EQ(send_event(), 0);
		if (refused() == refusals || (header->code == EVENT_alloc && stored() > before))
			expected += store_is_auxiliary(header) ? 0 : store_events_in(header);
		else
			CHECK_EQ(refused(), refusals + 1);
		if (header->code == EVENT_freed)
			expected = stored(); /* of any number of objects, if a heap ends */
		refusals = refused();
	}
	CHECK_EQ(stored(), expected);
	CHECK(store_loss(rig.store, LOSS_BAD_EVENT) > 10000);
	CHECK(expected > 1000);
	store_free(rig.store);
	CHECK_EQ(profile_writer_close(rig.writer), 0);
	free(rig.data);
}

TEST(counts_beyond_the_record_are_refused)
{
	struct event_fate *fate;
	struct event_cpu *cpu;
	struct event_name *type;
	struct event_mmap *map;

	begin();
	fate = event(EVENT_fate, sizeof(*fate) + sizeof(fate->entries[0]), 1, 100);
	fate->count = 2;
	CHECK_EQ(send_event(), 0);
	fate = event(EVENT_fate, sizeof(*fate), 1, 100);
	fate->count = 0x10000001; /* times 24 it is small again */
	CHECK_EQ(send_event(), 0);
	cpu = event(EVENT_cpu, sizeof(*cpu) + 8, 1, 100);
	cpu->stack.n_kernel = 2;
	CHECK_EQ(send_event(), 0);
	cpu = event(EVENT_cpu, sizeof(*cpu) + 200 * 16, 1, 100);
	cpu->stack.n_user = STACK_DEPTH_MAX + 1;
	CHECK_EQ(send_event(), 0);
	type = event(EVENT_name, sizeof(*type) + 8, 1, 100);
	type->name_size = 9;
	CHECK_EQ(send_event(), 0);
	map = event(EVENT_mmap, sizeof(*map), 1, 100);
	map->address = UINT64_MAX - 10;
	map->length = 100;
	CHECK_EQ(send_event(), 0);
	event(EVENT_exit, sizeof(struct event_exit), 1, 100);
	((struct event_header *)(void *)rig.room)->size = 36;
	CHECK_EQ(send_event(), 0);
	event(99, 64, 1, 100);
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 8);
	finish();
	CHECK_EQ(count(RECORD_fate) + count(RECORD_cpu) + count(RECORD_mmap), 0);
}

/* This very program: its mapping, its build-id, its symbols. */
TEST(frames_of_a_real_file_get_names)
{
	unsigned char id[BUILD_ID_MAX];
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	uint64_t base = (uintptr_t)getauxval(AT_PHDR) - sizeof(ElfW(Ehdr)), named = 0;
	struct event_mmap *map;
	struct stat st;
	int fd, size;

	CHECK(n > 0);
	path[n] = 0;
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && !fstat(fd, &st));
	size = build_id_read(fd, id);
	close(fd);
	begin();
	map = event(EVENT_mmap, sizeof(*map) + (size_t)n, 1, 100);
	map->address = base;
	map->length = 1 << 30;
	map->inode = st.st_ino;
	map->major = major(st.st_dev);
	map->minor = minor(st.st_dev);
	map->protection = PROT_READ | PROT_EXEC;
	map->name_size = (uint32_t)n;
	memcpy(map + 1, path, (size_t)n);
	CHECK(files_map(rig.files, map, path, 0));
	files_settle(rig.files, UINT64_C(10000000000));
	CHECK_EQ(send_event(), 0);
	send_ip(1, 100, (uintptr_t)store_create + 1);
	CHECK_EQ(store_symbolize_all(rig.store, UINT64_C(60000000000)), 0);
	CHECK_EQ(store_symbolize_all(rig.store, UINT64_C(60000000000)),
		 0); /* nothing is named twice */
	finish();
	CHECK_EQ(seen.modules[1].build_id.size, size);
	CHECK(size <= 0 || !memcmp(seen.build_ids[1], id, (size_t)size));
	named = count(RECORD_symbol);
	CHECK_EQ(named, 1);
	CHECK_STR(seen.strings[nth(RECORD_symbol, 0)->symbol.name], "store_create");
}

/* A tick with one frame of the kernel and a copy of `bytes` bytes that says it has `told`. */
static struct event_copy *copied(size_t bytes, uint32_t told)
{
	size_t size = sizeof(struct event_cpu) + 8 + sizeof(struct event_copy) + bytes;
	struct event_cpu *cpu = event(EVENT_cpu, size, 1, 100);
	struct event_copy *copy = (void *)((uint64_t *)(cpu + 1) + 1);

	cpu->mode = CPU_MODE_KERNEL;
	cpu->stack = (struct event_stack){.n_kernel = 1, .quality = STACK_COPIED};
	*(uint64_t *)(cpu + 1) = 0xffffffff81000000;
	copy->address = 0x7ffd00000000;
	copy->size = told;
	copy->registers[6] = 0x7ffd00000010;
	copy->registers[7] = 0x7ffd00000000;
	copy->registers[16] = 0x401000;
	return copy;
}

/* The same of so many bytes, with frame pointers that lead to `outermost`. */
static void chain(size_t bytes, uint64_t outermost)
{
	uint64_t *words = (uint64_t *)(copied(bytes, (uint32_t)bytes) + 1);

	words[2] = 0x7ffd00000020;
	words[3] = 0x402001;
	words[4] = 0;
	words[5] = outermost;
}

TEST(copies_of_stacks_are_walked)
{
	begin();
	/* No file says how to unwind: by frame pointers then, and not without saying so. */
	chain(64, 0x403001);
	CHECK_EQ(send_event(), 0);
	finish();
	CHECK_EQ(count(RECORD_cpu), 1);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "m0:403000 m0:402000 m0:401000 k4");
	CHECK(nth(RECORD_cpu, 0)->cpu.quality & STACK_USER_GUESSED);
	CHECK(!(nth(RECORD_cpu, 0)->cpu.quality & STACK_COPIED));
}

TEST(more_copies_than_can_wait_are_stored_without_being_walked)
{
	enum { BYTES = 30 << 10, COUNT = 2400 };
	struct delayed *delayed;

	begin();
	CHECK_EQ(delayed_create(rig.store, NULL, &delayed), 0);
	for (int i = 0; i < COUNT; i++) {
		chain(BYTES, 0x403001);
		CHECK_EQ(delayed_store(delayed, (const void *)rig.room), 0);
	}
	/* Those that came later are walked again, and none has what another one was asked for. */
	CHECK_EQ(delayed_turn(delayed, UINT64_MAX), 0);
	chain(BYTES, 0x404001);
	CHECK_EQ(delayed_store(delayed, (const void *)rig.room), 0);
	CHECK_EQ(delayed_turn(delayed, UINT64_MAX), 0);
	delayed_free(delayed);
	finish();
	CHECK_EQ(count(RECORD_cpu), COUNT + 1);
	CHECK_STR(stack_text(nth(RECORD_cpu, 0)->cpu.stack), "k1");
	CHECK(nth(RECORD_cpu, 0)->cpu.quality & STACK_USER_FAILED);
	CHECK_STR(stack_text(nth(RECORD_cpu, COUNT - 1)->cpu.stack),
		  "m0:403000 m0:402000 m0:401000 k1");
	CHECK_STR(stack_text(nth(RECORD_cpu, COUNT)->cpu.stack),
		  "m0:404000 m0:402000 m0:401000 k1");
}

TEST(copies_that_are_shorter_than_they_say_are_refused)
{
	begin();
	copied(64, 72);
	CHECK_EQ(send_event(), 0);
	copied(0, UINT32_MAX);
	CHECK_EQ(send_event(), 0);
	copied(0, 0);
	((struct event_header *)rig.room)->size -= 8;
	CHECK_EQ(send_event(), 0);
	CHECK_EQ(store_loss(rig.store, LOSS_BAD_EVENT), 3);
	finish();
	CHECK_EQ(count(RECORD_cpu), 0);
}
