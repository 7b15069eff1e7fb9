/* SPDX-License-Identifier: BSD-2-Clause */
/* unwind_spaces.c: tests of what the kernel is told of processes: which rows, for how long. */
#include "unwind_rig.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "record/machine/clock.h"
#include "record/unwind/unwinder.h"
#include "record/world/ahead.h"
#include "symbols/elf_file.h"

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define LINKER "/lib64/ld-linux-x86-64.so.2"

struct world {
	struct rig rig;
	struct rig_known known;
	struct unwind_modules *modules;
	struct unwind_spaces *spaces;
};

static void world_open(struct world *world)
{
	rig_open(&world->rig);
	rig_know(&world->known);
	CHECK_EQ(unwind_modules_create(world->rig.maps, world->known.files, &world->modules), 0);
	CHECK_EQ(unwind_spaces_create(world->rig.maps, world->modules, &world->spaces), 0);
}

static void world_close(struct world *world)
{
	unwind_spaces_free(world->spaces);
	unwind_modules_free(world->modules);
	rig_forget(&world->known);
	rig_close(&world->rig);
}

static size_t bytes(const struct world *world)
{
	return unwind_maps_bytes(world->rig.maps);
}

/* --- files ------------------------------------------------------------------------------ */

/* A file, where its code is in it, and its rows. */
struct code {
	const char *path;
	struct stat st;
	uint64_t offset, size; /* whole pages */
	struct unwind_file *file;
};

static void code_open(struct code *code, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	/* As the kernel names it, through no link. */
	code->path = realpath(path, NULL);
	CHECK(fd >= 0 && code->path);
	CHECK_EQ(fstat(fd, &code->st), 0);
	CHECK_EQ(unwind_read(fd, &code->file), 0);
	code->offset = code->file->segments[0].offset & ~UINT64_C(0xfff);
	code->size = (code->file->segments[0].size + 0x1fff) & ~UINT64_C(0xfff);
	close(fd);
}

static void code_close(struct code *code)
{
	unwind_free(code->file);
	free((char *)(uintptr_t)code->path);
}

static void open_both(struct world *world, struct code *libc, struct code *linker)
{
	world_open(world);
	code_open(libc, LIBC);
	code_open(linker, LINKER);
}

static void close_both(struct world *world, struct code *libc, struct code *linker)
{
	world_close(world);
	code_close(libc);
	code_close(linker);
}

/* Fills the file with the content of another one. */
static void code_write(const char *path, const struct code *code)
{
	int from = open(code->path, O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	char block[65536];
	ssize_t size;

	CHECK(from >= 0 && to >= 0);
	while ((size = read(from, block, sizeof(block))) > 0)
		CHECK_EQ(write(to, block, (size_t)size), size);
	close(from);
	close(to);
}

/* Writes the build-id of another file over that of the file. */
static void code_claim(const char *path, const struct code *code)
{
	unsigned char theirs[BUILD_ID_MAX], own[BUILD_ID_MAX];
	int from = open(code->path, O_RDONLY | O_CLOEXEC), to = open(path, O_RDWR | O_CLOEXEC);
	static char content[1 << 20];
	ssize_t size = read(to, content, sizeof(content));
	int bytes = build_id_read(to, own);
	char *place;

	CHECK(size > 0 && bytes > 0 && build_id_read(from, theirs) == bytes);
	place = memmem(content, (size_t)size, own, (size_t)bytes);
	CHECK(place && pwrite(to, theirs, (size_t)bytes, place - content) == bytes);
	CHECK(build_id_read(to, own) == bytes && !memcmp(own, theirs, (size_t)bytes));
	close(from);
	close(to);
}

/* Another file with the same content; its name is in `path`. */
static void code_copy(struct code *copy, const struct code *code, char *path)
{
	int to = mkstemp(path);

	CHECK(to >= 0);
	close(to);
	code_write(path, code);
	code_open(copy, path);
}

/* As a process of this user maps it. */
static uint32_t file_of(struct world *world, const struct code *code, uint32_t user)
{
	int fd = open(code->path, O_RDONLY | O_CLOEXEC);
	const struct file *file = files_read(world->known.files, fd, user);

	CHECK(file);
	close(fd);
	return file->id;
}

static struct unwind_module *module_of(struct world *world, const struct code *code)
{
	return unwind_modules_find(world->modules, file_of(world, code, 0));
}

/* A process has the same number everywhere. */
static struct process *process_of(struct world *world, uint32_t pid)
{
	return processes_meet(world->known.processes, pid, pid, 1);
}

static void map_code(struct world *world, uint64_t time, uint32_t pid, const struct code *code,
		     uint64_t address)
{
	struct process *process = process_of(world, pid);
	const struct mapping mapping = {.start = address,
					.end = address + code->size,
					.offset = code->offset,
					.time = time,
					.file = file_of(world, code, 0)};

	CHECK_EQ(ahead_map(world->known.processes, process, &mapping), 0);
	process->remapped = true;
}

static void exec_program(struct world *world, uint64_t time, uint32_t pid)
{
	process_of(world, pid)->program = time;
	process_of(world, pid)->remapped = true;
}

/* Tables of processes that changed, as the unwinder writes them. */
static void publish(struct world *world)
{
	for (uint32_t pid = 1; pid < 10; pid++) {
		struct process *process = processes_find(world->known.processes, pid);
		static struct mapping copy[UNWIND_PARTS * UNWIND_MAPPINGS + 100];
		struct mappings *view;
		const struct mapping *all;
		size_t n;

		if (!process || !process->remapped)
			continue;
		process->remapped = false;
		CHECK_EQ(ahead_view(world->known.processes, process, &view), 0);
		all = mappings_all(view, &n);
		for (size_t i = 0; i < n; i++)
			copy[i] = all[i];
		mappings_release(view);
		CHECK_EQ(unwind_spaces_map(world->spaces, clock_now(), pid, process->program, copy,
					   n),
			 0);
	}
}

/* How many of some places have the rules that the file says; all if it is mapped there. */
static unsigned found(const struct world *world, uint32_t pid, const struct code *code,
		      uint64_t address)
{
	unsigned right = 0;

	for (uint64_t i = 0; i < 100; i++) {
		uint64_t offset = code->file->segments[0].size / 100 * i + 1, at = 0;

		CHECK(unwind_address(code->file->segments, code->file->n_segments,
				     code->file->segments[0].offset + offset, &at));
		right += rig_same(
			rig_rule(&world->rig, pid,
				 address + offset + code->file->segments[0].offset - code->offset),
			*unwind_find(code->file, at));
	}
	return right;
}

static uint32_t table_of(const struct world *world, uint32_t pid)
{
	static struct unwind_table table;

	return rig_table(&world->rig, pid, &table);
}

/* --- processes -------------------------------------------------------------------------- */

#define HERE  UINT64_C(0x7f1200000000)
#define THERE UINT64_C(0x7f3400000000)

TEST(a_process_has_the_rows_of_what_it_maps)
{
	struct code libc, linker;
	struct world world;

	open_both(&world, &libc, &linker);
	map_code(&world, 10, 1, &libc, THERE);
	map_code(&world, 11, 1, &linker, HERE);
	map_code(&world, 12, 2, &libc, HERE);
	CHECK_EQ(table_of(&world, 1), 0);
	publish(&world);
	CHECK_EQ(found(&world, 1, &libc, THERE), 100);
	CHECK_EQ(found(&world, 1, &linker, HERE), 100);
	CHECK_EQ(found(&world, 2, &libc, HERE), 100);
	CHECK(found(&world, 2, &libc, THERE) < 50);
	CHECK(table_of(&world, 1) != table_of(&world, 2));
	CHECK_EQ(unwind_spaces_refused(world.spaces), 0);
	close_both(&world, &libc, &linker);
}

TEST(a_mapping_takes_the_place_of_those_below_it)
{
	struct code libc, linker;
	struct world world;

	open_both(&world, &libc, &linker);
	map_code(&world, 10, 1, &libc, HERE);
	map_code(&world, 11, 1, &linker, HERE + 0x4000);
	publish(&world);
	CHECK_EQ(found(&world, 1, &linker, HERE + 0x4000), 100);
	CHECK(found(&world, 1, &libc, HERE) < 100);
	/* Below it the library is still there. */
	CHECK(rig_rule(&world.rig, 1, HERE + 0x3ff0).cfa != UNWIND_CFA_NONE);
	map_code(&world, 12, 1, &libc, HERE);
	publish(&world);
	CHECK_EQ(found(&world, 1, &libc, HERE), 100);
	CHECK_EQ(rig_count(world.rig.fds.tables), 1);
	close_both(&world, &libc, &linker);
}

TEST(a_child_has_its_parents_table_until_one_of_them_maps)
{
	struct code libc, linker;
	struct world world;
	uint32_t shared;

	open_both(&world, &libc, &linker);
	map_code(&world, 10, 1, &libc, HERE);
	publish(&world);
	shared = table_of(&world, 1);
	CHECK_EQ(unwind_spaces_fork(world.spaces, 20, 2, 1), 0);
	publish(&world);
	CHECK_EQ(table_of(&world, 2), shared);
	map_code(&world, 30, 1, &linker, THERE);
	publish(&world);
	CHECK(table_of(&world, 1) != shared);
	CHECK_EQ(table_of(&world, 2), shared);
	CHECK_EQ(found(&world, 1, &linker, THERE), 100);
	CHECK_EQ(found(&world, 2, &libc, HERE), 100);
	CHECK(found(&world, 2, &linker, THERE) < 50);
	unwind_spaces_exit(world.spaces, 40, 2);
	CHECK_EQ(rig_count(world.rig.fds.tables), 1);
	CHECK_EQ(rig_count(world.rig.fds.of), 1);
	CHECK_EQ(found(&world, 1, &libc, HERE), 100);
	close_both(&world, &libc, &linker);
}

TEST(another_program_has_none_of_the_old_ones_mappings)
{
	struct code libc, linker;
	struct unwind_of of;
	struct world world;
	uint32_t pid = 1;

	open_both(&world, &libc, &linker);
	map_code(&world, 10, pid, &libc, HERE);
	/* Notes of the new program's mappings may come before that of its begin. */
	map_code(&world, 21, pid, &linker, THERE);
	exec_program(&world, 20, pid);
	publish(&world);
	CHECK(found(&world, pid, &libc, HERE) < 50);
	CHECK_EQ(found(&world, pid, &linker, THERE), 100);
	CHECK_EQ(bpf_map_lookup_elem(world.rig.fds.of, &pid, &of), 0);
	CHECK_EQ(of.since, 20);
	/* A mapping of the old program that is told late. */
	map_code(&world, 19, pid, &libc, HERE);
	publish(&world);
	CHECK(found(&world, pid, &libc, HERE) < 50);
	/* So is the end of one that had the number before. */
	unwind_spaces_exit(world.spaces, 15, pid);
	CHECK_EQ(found(&world, pid, &linker, THERE), 100);
	close_both(&world, &libc, &linker);
}

TEST(more_mappings_than_tables_hold_are_counted)
{
	const uint64_t most = UNWIND_PARTS * UNWIND_MAPPINGS;
	struct code linker;
	struct world world;

	world_open(&world);
	code_open(&linker, LINKER);
	for (uint64_t i = 0; i < most + 3; i++)
		map_code(&world, 10 + i, 1, &linker, HERE + i * 0x100000);
	publish(&world);
	CHECK_EQ(unwind_spaces_refused(world.spaces), 3);
	for (uint64_t at = 0; at < most; at += UNWIND_MAPPINGS / 2)
		CHECK_EQ(found(&world, 1, &linker, HERE + at * 0x100000), 100);
	CHECK_EQ(found(&world, 1, &linker, HERE + (most - 1) * 0x100000), 100);
	CHECK(found(&world, 1, &linker, HERE + most * 0x100000) < 50);
	world_close(&world);
	code_close(&linker);
}

/* --- rows -------------------------------------------------------------------------------- */

TEST(rows_are_dropped_when_nobody_has_them_mapped)
{
	struct code libc;
	struct world world;
	uint64_t now = clock_now();

	world_open(&world);
	code_open(&libc, LIBC);
	map_code(&world, now, 1, &libc, HERE);
	publish(&world);
	CHECK_EQ(unwind_spaces_fork(world.spaces, now + 1, 2, 1), 0);
	CHECK_EQ(bytes(&world), RIG_CHUNK_BYTES);
	unwind_spaces_exit(world.spaces, now + 2, 1);
	unwind_modules_sweep(world.modules, UINT64_MAX);
	CHECK_EQ(found(&world, 2, &libc, HERE), 100);
	unwind_spaces_exit(world.spaces, now + 1000, 2);
	/* Not at once: the next program probably maps it, too. */
	unwind_modules_sweep(world.modules, now + 1000);
	CHECK_EQ(bytes(&world), RIG_CHUNK_BYTES);
	unwind_modules_sweep(world.modules, now + 1001);
	CHECK_EQ(bytes(&world), 0);
	CHECK_EQ(rig_count(world.rig.fds.tables), 0);
	CHECK_EQ(rig_count(world.rig.fds.of), 0);
	/* And are made again. */
	map_code(&world, now + 2000, 3, &libc, THERE);
	publish(&world);
	CHECK_EQ(found(&world, 3, &libc, THERE), 100);
	world_close(&world);
	code_close(&libc);
}

TEST(files_with_the_same_rows_share_them)
{
	char path[] = "/tmp/gcprof-unwind-XXXXXX";
	struct code libc, copy;
	struct world world;
	struct unwind_module *module;

	world_open(&world);
	code_open(&libc, LIBC);
	code_copy(&copy, &libc, path);
	CHECK(copy.st.st_ino != libc.st.st_ino || copy.st.st_dev != libc.st.st_dev);
	map_code(&world, 10, 1, &libc, HERE);
	map_code(&world, 11, 2, &copy, THERE);
	module = module_of(&world, &libc);
	CHECK(module && module->count);
	CHECK(module_of(&world, &copy) == module);
	unlink(path);
	publish(&world);
	CHECK_EQ(bytes(&world), RIG_CHUNK_BYTES);
	CHECK_EQ(found(&world, 1, &libc, HERE), 100);
	/* They stay as long as one of both is mapped. */
	unwind_spaces_exit(world.spaces, 20, 1);
	unwind_modules_sweep(world.modules, UINT64_MAX);
	CHECK_EQ(found(&world, 2, &copy, THERE), 100);
	unwind_spaces_exit(world.spaces, 30, 2);
	unwind_modules_sweep(world.modules, UINT64_MAX);
	CHECK_EQ(bytes(&world), 0);
	world_close(&world);
	code_close(&libc);
	code_close(&copy);
}

/* A program that says it is libc, and one that says so in libc's place, get what they have. */
TEST(a_build_id_is_no_proof_of_what_a_file_is)
{
	char path[] = "/tmp/gcprof-unwind-XXXXXX";
	const struct unwind_module *real, *liar;
	struct code libc, linker, copy;
	struct world world;

	open_both(&world, &libc, &linker);
	code_copy(&copy, &linker, path);
	code_claim(path, &libc);
	liar = module_of(&world, &copy);
	CHECK(liar && liar->count);
	real = module_of(&world, &libc);
	CHECK(real && real->count == libc.file->n_pages && real != liar);
	unlink(path);
	close_both(&world, &libc, &linker);
	code_close(&copy);
}

/* An inode may get another content, and be used again for another file. */
TEST(a_file_that_was_written_anew_is_another_one)
{
	char path[] = "/tmp/gcprof-unwind-XXXXXX";
	const struct unwind_module *module;
	struct code libc, linker, copy;
	struct world world;

	open_both(&world, &libc, &linker);
	code_copy(&copy, &linker, path);
	module = module_of(&world, &copy);
	CHECK(module && module->count == linker.file->n_pages);
	code_write(path, &libc);
	module = module_of(&world, &copy);
	CHECK(module && module->count == libc.file->n_pages);
	unlink(path);
	close_both(&world, &libc, &linker);
	code_close(&copy);
}

/* Pages of the kernel's map that nothing else can have then; all but so many. */
static void fill_pages(struct world *world, size_t but)
{
	static uint32_t starts[UNWIND_FILE_PAGES_MAX];
	static struct unwind_page pages[UNWIND_FILE_PAGES_MAX];
	static unwind_row rows[UNWIND_FILE_PAGES_MAX];
	static struct unwind_rule rule;
	struct unwind_file file = {
		.pages = pages, .starts = starts, .rows = rows, .rules = &rule, .n_rules = 1};
	size_t left = UNWIND_PAGES_MAX - but;
	uint32_t first;

	for (uint32_t i = 0; i < UNWIND_FILE_PAGES_MAX; i++) {
		starts[i] = i;
		pages[i].count = 1;
	}
	for (; left; left -= file.n_pages) {
		file.n_pages = left < UNWIND_FILE_PAGES_MAX ? left : UNWIND_FILE_PAGES_MAX;
		file.n_rows = file.n_pages;
		CHECK_EQ(unwind_maps_add(world->rig.maps, &file, &first), 0);
	}
}

TEST(where_there_is_no_room_what_is_unused_goes_first)
{
	struct unwind_module *module;
	struct code libc, linker;
	struct world world;

	open_both(&world, &libc, &linker);
	fill_pages(&world, libc.file->n_pages);
	module = module_of(&world, &linker);
	CHECK(module && module->count);
	module = module_of(&world, &libc);
	CHECK(module && module->count);
	/* It is known from now on. */
	CHECK(module_of(&world, &libc) == module);
	map_code(&world, 10, 1, &libc, THERE);
	/* What is in use stays: there is no room for another one. */
	map_code(&world, 11, 1, &linker, HERE);
	publish(&world);
	CHECK_EQ(found(&world, 1, &libc, THERE), 100);
	CHECK(found(&world, 1, &linker, HERE) < 50);
	CHECK_EQ(unwind_modules_refused(world.modules), 1);
	close_both(&world, &libc, &linker);
}

/* The pages that a user's library gets where so many are left, and root's. */
static void share_pages(size_t left, const struct code *libc, uint32_t *user, uint32_t *root)
{
	char path[] = "/tmp/gcprof-share-XXXXXX";
	const struct unwind_module *module;
	struct world world;
	struct code copy;

	world_open(&world);
	fill_pages(&world, left);
	code_copy(&copy, libc, path);
	module = unwind_modules_find(world.modules, file_of(&world, &copy, 1001));
	CHECK(module);
	*user = module->count;
	module = module_of(&world, libc);
	CHECK(module);
	*root = module->count;
	/* If others map it as well, it is not that user's alone. */
	unwind_modules_sweep(world.modules, UINT64_MAX);
	module = unwind_modules_find(world.modules, file_of(&world, &copy, 1001));
	CHECK(module && module->count == *user);
	module = module_of(&world, &copy);
	CHECK(module && module->count);
	unlink(path);
	code_close(&copy);
	world_close(&world);
}

TEST(files_of_one_user_take_no_more_room_than_they_leave)
{
	struct code libc;
	uint32_t user, root;
	size_t pages;

	code_open(&libc, LIBC);
	pages = libc.file->n_pages;
	share_pages(2 * pages, &libc, &user, &root);
	CHECK_EQ(user, pages);
	CHECK_EQ(root, pages);
	share_pages(2 * pages - 1, &libc, &user, &root);
	CHECK_EQ(user, 0);
	CHECK_EQ(root, pages);
	code_close(&libc);
}

/* Users take turns, and the pid was another user's. */
TEST(a_late_fork_changes_nothing_for_a_later_program)
{
	struct mapping mapping = {.start = HERE, .end = HERE + 0x100000, .file = 77};
	struct world world;
	uint32_t table;

	world_open(&world);
	CHECK_EQ(unwind_spaces_map(world.spaces, 10, 1, 0, &mapping, 1), 0);
	CHECK_EQ(unwind_spaces_map(world.spaces, 60, 2, 50, &mapping, 1), 0);
	table = table_of(&world, 2);
	CHECK_EQ(unwind_spaces_fork(world.spaces, 20, 2, 1), 0);
	CHECK_EQ(table_of(&world, 2), table);
	world_close(&world);
}

TEST(files_that_are_not_known_have_no_rows)
{
	struct code linker;
	struct world world;
	struct mapping mapping = {.start = HERE, .end = HERE + 0x100000, .file = 77};

	world_open(&world);
	code_open(&linker, LINKER);
	CHECK(!unwind_modules_find(world.modules, mapping.file));
	CHECK_EQ(unwind_spaces_map(world.spaces, 10, 1, 0, &mapping, 1), 0);
	CHECK(found(&world, 1, &linker, HERE) < 50);
	world_close(&world);
	code_close(&linker);
}
