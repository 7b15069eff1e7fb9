/* SPDX-License-Identifier: BSD-2-Clause */
/* files.c: tests of the registry of files: what is known again, what is forgotten, modules. */
/* Plain: workers have their limits only without sanitizers. */
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "gc.h"
#include "profile/intern.h"
#include "profile/writer.h"
#include "reader/worker.h"
#include "record/world/files.h"

struct rig {
	struct opener *opener;
	struct files *files;
	struct profile_writer *writer;
	char *data;
	size_t size;
	char path[64];
};

static void begin(struct rig *rig)
{
	struct sink *sink;

	*rig = (struct rig){.path = "/tmp/gcprof-files-XXXXXX"};
	CHECK(mkdtemp(rig->path));
	CHECK_EQ(opener_create(false, &rig->opener), 0);
	CHECK_EQ(files_create(rig->opener, &rig->files), 0);
	CHECK_EQ(sink_memory_create(&rig->data, &rig->size, &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &rig->writer), 0);
}

static void finish(struct rig *rig)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", rig->path);
	CHECK_EQ(system(command), 0);
	files_free(rig->files);
	opener_free(rig->opener);
	CHECK_EQ(profile_writer_close(rig->writer), 0);
	free(rig->data);
}

/* A file of this number, with another content each time it is written, as a process of this user
 * maps it. */
static struct file *read_as(struct rig *rig, unsigned number, const char *content, uint32_t user)
{
	struct file *file;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%u", rig->path, number);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	if (content)
		CHECK_EQ(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	file = files_read(rig->files, fd, user);
	close(fd);
	CHECK(file && file->state == FILE_KNOWN && !strcmp(file->path, path));
	return file;
}

static struct file *read_number(struct rig *rig, unsigned number, const char *content)
{
	return read_as(rig, number, content, 0);
}

static struct module_place place_of(const struct file *file, const char *path)
{
	struct stat st;

	CHECK_EQ(fstat(file->fd, &st), 0);
	return (struct module_place){
		.path = path,
		.inode = st.st_ino,
		.major = major(st.st_dev),
		.minor = minor(st.st_dev),
	};
}

static const struct file *find(struct rig *rig, const struct module_place *place)
{
	return files_find(rig->files, place->major, place->minor, place->inode);
}

TEST(a_file_is_the_same_until_its_content_changes)
{
	struct file *file;
	struct rig rig;
	uint32_t id;

	begin(&rig);
	file = read_number(&rig, 1, "one");
	id = file->id;
	CHECK(read_number(&rig, 1, NULL) == file);
	/* While it is being attached it stays the same. */
	file->attaching++;
	CHECK(read_number(&rig, 1, "other") == file);
	file->attaching--;
	CHECK(read_number(&rig, 1, NULL)->id != id);
	finish(&rig);
}

/* With so few descriptors some 16 files are kept. */
TEST(what_was_not_needed_for_long_is_forgotten_unless_it_is_being_attached)
{
	uint64_t limit = test_descriptors(60);
	struct module_place attaching, other, used;
	struct rig rig;

	begin(&rig);
	attaching = place_of(read_number(&rig, 1, "1"), "");
	read_number(&rig, 1, NULL)->attaching++;
	other = place_of(read_number(&rig, 2, "2"), "");
	used = place_of(read_number(&rig, 3, "3"), "");
	for (unsigned i = 4; i < 40; i++) {
		read_number(&rig, i, "more");
		CHECK(find(&rig, &used));
	}
	CHECK(find(&rig, &attaching));
	CHECK(!find(&rig, &other));
	finish(&rig);
	test_descriptors(limit);
}

/* The number of the process that has read the files. */
static pid_t reader_of(void)
{
	char path[64], command[32] = "";
	pid_t pid, found = 0;
	FILE *children;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	CHECK(children);
	while (fscanf(children, "%d", &pid) == 1) {
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (file && fscanf(file, "%31s", command) == 1 && !strcmp(command, WORKER_READER))
			found = pid;
		if (file)
			fclose(file);
	}
	fclose(children);
	return found;
}

/* A copy of this program, which has probes, or of nothing. The process that has read it. */
static pid_t read_copy(struct rig *rig, const char *name, bool probes, uid_t user, mode_t mode)
{
	char path[96], command[256];
	struct file *file;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", rig->path, name);
	snprintf(command, sizeof(command), "cp %s %s", probes ? "/proc/$PPID/exe" : "/bin/true",
		 path);
	CHECK_EQ(system(command), 0);
	CHECK(!chown(path, user, 0) && !chmod(path, mode));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	file = files_read(rig->files, fd, 0);
	close(fd);
	CHECK(file && file->state == FILE_KNOWN && !probes == !file->facts.n_sites);
	return reader_of();
}

/* Another user's file may have taken the reader over. */
TEST(places_in_programs_are_believed_from_a_process_that_has_read_no_others_files)
{
	struct gc_heap *heap;
	struct rig rig;
	pid_t first;

	if (geteuid())
		test_skip("only root makes files of others");
	CHECK_EQ(gc_heap_create(NULL, &heap), 0); /* so that this program has probes */
	gc_heap_destroy(heap);
	begin(&rig);
	first = read_copy(&rig, "root", true, 0, 0755);
	CHECK(first);
	CHECK_EQ(read_copy(&rig, "one", true, 1001, 0755), first);
	CHECK_EQ(read_copy(&rig, "same", true, 1001, 0755), first);
	CHECK_EQ(read_copy(&rig, "plain", false, 0, 0755), first);
	CHECK(read_copy(&rig, "two", true, 1002, 0755) != first);
	first = reader_of();
	CHECK(read_copy(&rig, "again", true, 0, 0755) != first);
	first = reader_of();
	/* What others may write is theirs. */
	CHECK_EQ(read_copy(&rig, "writable", false, 0, 0777), first);
	CHECK(read_copy(&rig, "last", true, 0, 0755) != first);
	finish(&rig);
}

/* With so few descriptors some 16 files are kept. */
TEST(a_user_who_maps_without_end_evicts_no_file_that_others_use)
{
	uint64_t limit = test_descriptors(60);
	struct module_place root, other, common;
	struct rig rig;

	begin(&rig);
	root = place_of(read_as(&rig, 1, "1", 0), "");
	other = place_of(read_as(&rig, 2, "2", 1002), "");
	common = place_of(read_as(&rig, 3, "3", 1001), "");
	read_as(&rig, 3, NULL, 1002);
	for (unsigned i = 4; i < 60; i++)
		read_as(&rig, i, "more", 1001);
	CHECK(find(&rig, &root) && find(&rig, &other) && find(&rig, &common));
	finish(&rig);
	test_descriptors(limit);
}

TEST(a_module_leads_to_its_file_while_that_is_known)
{
	struct module_place place, vdso = {.path = "[vdso]"};
	uint64_t module, generated;
	const struct file *file;
	struct rig rig;

	begin(&rig);
	file = read_number(&rig, 1, "one");
	place = place_of(file, file->path);
	module = files_module(rig.files, rig.writer, &place);
	CHECK(module && files_by_module(rig.files, module) == file);
	/* Under another name it is the same file. */
	place.path = "/linked";
	CHECK_EQ(files_module(rig.files, rig.writer, &place), module);
	generated = files_generated(rig.files, rig.writer, 5, 0);
	CHECK_EQ(files_by_module(rig.files, generated)->process, 5);
	CHECK_EQ(files_generated(rig.files, rig.writer, 5, 0), generated);
	CHECK(files_generated(rig.files, rig.writer, 6, 0) != generated);
	module = files_module(rig.files, rig.writer, &vdso);
	CHECK_STR(files_by_module(rig.files, module)->path, "[vdso]");
	CHECK_EQ(files_module(rig.files, rig.writer, &vdso), module);
	/* A file that was never met has a module all the same. */
	place.inode = 1;
	module = files_module(rig.files, rig.writer, &place);
	CHECK(module && !files_by_module(rig.files, module));
	finish(&rig);
}

/* Two files with the same path, size and build-id: each in its user's mount namespace, say. */
TEST(files_of_one_path_stay_apart_and_a_users_path_is_that_users)
{
	struct module_place mine, theirs, linked;
	uint64_t module;
	struct rig rig;

	begin(&rig);
	mine = place_of(read_as(&rig, 1, "one", 0), "/usr/bin/app");
	theirs = place_of(read_as(&rig, 2, "one", 1001), "/usr/bin/app");
	theirs.user = 1001;
	module = files_module(rig.files, rig.writer, &mine);
	CHECK(module && files_module(rig.files, rig.writer, &theirs) != module);
	/* The same file under a path of another user's choice, before and after. */
	linked = mine;
	linked.path = "/tmp/evil";
	linked.user = 1001;
	CHECK(files_module(rig.files, rig.writer, &linked) != module);
	CHECK_EQ(files_module(rig.files, rig.writer, &mine), module);
	linked = theirs;
	linked.path = "/usr/bin/true";
	linked.user = 0;
	CHECK(files_module(rig.files, rig.writer, &linked) !=
	      files_module(rig.files, rig.writer, &theirs));
	CHECK(files_by_module(rig.files, files_module(rig.files, rig.writer, &linked)) ==
	      find(&rig, &theirs));
	finish(&rig);
}

/* Their mappings wait two seconds for that, not longer. */
TEST(files_of_one_path_that_are_not_known_yet_stay_apart)
{
	struct {
		struct event_mmap event;
		char path[32];
	} map[2] = {0};
	uint64_t modules[2];
	struct rig rig;

	begin(&rig);
	for (uint32_t i = 0; i < 2; i++) {
		struct module_place place = {
			.path = "/usr/bin/app", .inode = 77, .minor = i, .user = 1001 * i};

		map[i].event.inode = place.inode;
		map[i].event.minor = place.minor;
		strcpy(map[i].path, place.path);
		CHECK(files_map(rig.files, &map[i].event, map[i].path, place.user));
		modules[i] = files_module(rig.files, rig.writer, &place);
		CHECK(files_by_module(rig.files, modules[i]) == find(&rig, &place));
	}
	CHECK(modules[0] != modules[1]);
	finish(&rig);
}

/* A copy of /bin/true with another byte at its end; a process of this user maps it. */
static struct module_place copy_true(struct rig *rig, unsigned number, char last, uint32_t user)
{
	struct module_place place;
	char path[96], command[256];
	int fd;

	snprintf(path, sizeof(path), "%s/copy-%u", rig->path, number);
	snprintf(command, sizeof(command), "cp /bin/true %s && printf %c >>%s", path, last, path);
	CHECK_EQ(system(command), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	place = place_of(files_read(rig->files, fd, user), "");
	place.path = "/usr/bin/true";
	place.user = user;
	close(fd);
	return place;
}

/* Size and build-id are the same for all of them. */
TEST(files_are_one_module_if_their_content_is_the_same_and_one_user_brought_them_in)
{
	uint64_t limit = test_descriptors(60);
	struct module_place copies[5];
	uint64_t modules[5];
	struct rig rig;

	begin(&rig);
	for (unsigned i = 0; i < 3; i++)
		copies[i] = copy_true(&rig, i, 'a', 0);
	copies[3] = copy_true(&rig, 3, 'b', 0);
	copies[4] = copy_true(&rig, 4, 'a', 1001);
	for (unsigned i = 0; i < 5; i++)
		modules[i] = files_module(rig.files, rig.writer, &copies[i]);
	CHECK_EQ(modules[1], modules[0]);
	CHECK_EQ(modules[2], modules[0]);
	CHECK(modules[3] != modules[0] && modules[4] != modules[0] && modules[4] != modules[3]);
	/* The module outlives the first file. */
	for (unsigned i = 5; i < 60; i++) {
		CHECK(find(&rig, &copies[2]));
		read_number(&rig, i, "more");
	}
	CHECK(!find(&rig, &copies[0]));
	CHECK(files_by_module(rig.files, modules[0]) == find(&rig, &copies[2]));
	CHECK(!files_by_module(rig.files, modules[3]));
	finish(&rig);
	test_descriptors(limit);
}

/* Everything is defined again with another id at once, and a module's entry is evicted later. */
TEST(ids_of_modules_that_the_profile_forgot_lead_to_no_evicted_entry)
{
	uint64_t limit = test_descriptors(60);
	uint64_t first, again = 0, modules[40];
	struct rig rig;

	begin(&rig);
	intern_budget = 0;
	first = files_generated(rig.files, rig.writer, 5, 0);
	for (unsigned i = 1; i < 40; i++) {
		struct module_place place = place_of(read_number(&rig, i, "some"), "");

		modules[i] = files_module(rig.files, rig.writer, &place);
		CHECK(files_by_module(rig.files, modules[i]));
		again = files_generated(rig.files, rig.writer, 5, 0);
	}
	CHECK_EQ(files_by_module(rig.files, again)->process, 5);
	files_forget_generated(rig.files, 5);
	CHECK(!files_by_module(rig.files, first) && !files_by_module(rig.files, again));
	CHECK_EQ(again, first);
	/* A process with the same index is another one. */
	again = files_generated(rig.files, rig.writer, 5, 0);
	CHECK(again != first && !files_by_module(rig.files, first));
	CHECK_EQ(files_by_module(rig.files, again)->process, 5);
	CHECK(!files_by_module(rig.files, modules[1]));
	CHECK(files_by_module(rig.files, modules[39]));
	finish(&rig);
	test_descriptors(limit);
}
