/* SPDX-License-Identifier: BSD-2-Clause */
/* unwinder.c: tests of the thread that makes unwind rows, beside the one that knows the files. */
#include "unwind_rig.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "record/machine/clock.h"
#include "record/unwind/unwind_modules.h"
#include "record/unwind/unwinder.h"
#include "record/world/ahead.h"

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define LINKER "/lib64/ld-linux-x86-64.so.2"

#define HERE UINT64_C(0x7f1200000000)
#define SIZE UINT64_C(0x1000000)

struct all {
	struct rig rig;
	struct rig_known known;
	struct unwinder *unwinder;
};

static void all_open(struct all *all)
{
	rig_open(&all->rig);
	rig_know(&all->known);
	CHECK_EQ(unwinder_create(all->known.files, all->known.processes, &all->unwinder), 0);
	CHECK_EQ(unwinder_connect(all->unwinder, &all->rig.fds), 0);
}

static void all_close(struct all *all)
{
	unwinder_free(all->unwinder);
	rig_forget(&all->known);
	rig_close(&all->rig);
}

static const struct file *read_file(struct all *all, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const struct file *file = files_read(all->known.files, fd, 0);

	CHECK(file && file->state == FILE_KNOWN);
	close(fd);
	return file;
}

/* A process maps all code of a file. */
static void map(struct all *all, uint32_t pid, const struct file *file, uint64_t address)
{
	struct process *process = processes_meet(all->known.processes, pid, pid, 1);
	const struct mapping mapping = {
		.start = address,
		.end = address + SIZE,
		.offset = file->facts.segments[0].offset & ~UINT64_C(0xfff),
		.time = clock_now(),
		.file = file->id,
	};

	CHECK_EQ(ahead_map(all->known.processes, process, &mapping), 0);
	unwinder_remap(all->unwinder, process);
}

/* Waits until the kernel side has so many mappings of a process. */
static void wait_for(struct all *all, uint32_t pid, uint32_t count)
{
	static struct unwind_table table;
	uint64_t end = clock_now() + UINT64_C(60000000000);

	table.count = 0;
	while ((!rig_table(&all->rig, pid, &table) || table.count != count) && clock_now() < end) {
		/* As in each round: what the thread could not take yet it takes now. */
		unwinder_flush(all->unwinder);
		sched_yield();
	}
	CHECK_EQ(table.count, count);
}

TEST(rows_come_when_a_process_has_mapped_files)
{
	const struct file *libc, *linker;
	struct all all;

	all_open(&all);
	libc = read_file(&all, LIBC);
	linker = read_file(&all, LINKER);
	unwinder_expect(all.unwinder, libc->id);
	map(&all, 1, libc, HERE);
	map(&all, 2, linker, HERE);
	unwinder_flush(all.unwinder);
	wait_for(&all, 1, 1);
	wait_for(&all, 2, 1);
	map(&all, 1, linker, HERE + SIZE);
	unwinder_flush(all.unwinder);
	wait_for(&all, 1, 2);
	CHECK_EQ(unwinder_refused(all.unwinder), 0);
	all_close(&all);
}

/* Its end was reported before what it had mapped was sent. */
TEST(a_process_that_has_ended_gets_no_table)
{
	static struct unwind_table table;
	const struct file *libc;
	struct all all;

	all_open(&all);
	libc = read_file(&all, LIBC);
	map(&all, 1, libc, HERE);
	map(&all, 2, libc, HERE);
	processes_end(processes_find(all.known.processes, 1), clock_now());
	unwinder_flush(all.unwinder);
	wait_for(&all, 2, 1);
	CHECK_EQ(rig_table(&all.rig, 1, &table), 0);
	all_close(&all);
}

/* Of a program that is another user's, while files that were expected are read for everybody. */
TEST(rows_have_a_place_before_anybody_needs_them)
{
	const struct file *libc;
	struct all all;

	rig_open(&all.rig);
	rig_know(&all.known);
	CHECK_EQ(unwinder_create(all.known.files, all.known.processes, &all.unwinder), 0);
	libc = read_file(&all, LIBC);
	unwinder_expect(all.unwinder, libc->id);
	processes_meet(all.known.processes, 1, 1, 1)->user = 1000;
	map(&all, 1, libc, HERE);
	CHECK_EQ(unwinder_connect(all.unwinder, &all.rig.fds), 0);
	wait_for(&all, 1, 1);
	all_close(&all);
}

/* Files come and go while the thread opens them. */
TEST(files_may_be_forgotten_before_their_rows_are_made)
{
	uint64_t limit = test_descriptors(100);
	char path[64], name[] = "/tmp/gcprof-unwinder-XXXXXX";
	const struct file *file;
	struct all all;

	all_open(&all);
	CHECK(mkdtemp(name));
	for (uint32_t i = 0; i < 200; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%u", name, i);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		CHECK(fd >= 0);
		map(&all, 1, files_read(all.known.files, fd, 0), HERE + i * SIZE);
		close(fd);
		unlink(path);
		unwinder_flush(all.unwinder);
	}
	rmdir(name);
	file = read_file(&all, LIBC);
	map(&all, 1, file, HERE + 300 * SIZE);
	unwinder_flush(all.unwinder);
	wait_for(&all, 1, 1);
	all_close(&all);
	test_descriptors(limit);
}

/* Nothing is freed that was not read: of a recorder that cannot load its BPF programs. */
TEST(files_may_be_expected_when_it_is_over)
{
	struct unwind_modules *modules;
	struct rig_known known;

	rig_know(&known);
	CHECK_EQ(unwind_modules_create(NULL, known.files, &modules), 0);
	unwind_modules_abandon(modules);
	unwind_modules_expect(modules, FILE_VDSO);
	unwind_modules_free(modules);
	rig_forget(&known);
}
