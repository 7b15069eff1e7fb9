/* SPDX-License-Identifier: BSD-2-Clause */
/* report_names.c: tests of names that a report finds itself, since the recorder was killed. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "symbols_rig.h"
#include "symbols/elf_file.h"
#include "synthetic.h"

enum { FRAMES = 700 }; /* of one function: more than a request has places */

static const char *const program[] = {
	"__attribute__((noipa)) void find_me(void) { __asm__ volatile(\".skip 1000, 0x90\"); }",
	"int main(void) { find_me(); return 0; }",
	NULL,
};

static const char *host(void)
{
	static struct utsname system;

	CHECK_EQ(uname(&system), 0);
	return system.nodename;
}

static uint64_t add_module(struct synthetic *synthetic, const char *name)
{
	unsigned char id[BUILD_ID_MAX];
	char path[4096];
	int fd = open(name, O_RDONLY | O_CLOEXEC), size = build_id_read(fd, id);

	CHECK(fd >= 0 && size > 0);
	close(fd);
	CHECK(realpath(name, path) != NULL);
	return profile_writer_module(synthetic->writer, path, id, (size_t)size, NULL);
}

/* Begins the profile of a recorder that is killed before it has named anything. */
static void begin(struct synthetic *synthetic, const char *where)
{
	synthetic_begin(synthetic);
	PUT(synthetic, meta, .key = bytes_of("host"), .value = bytes_of(where));
	synthetic_process(synthetic, 1000);
}

/* A timer sample at each of `n` places of a module. */
static void add_samples(struct synthetic *synthetic, uint64_t module, uint64_t offset, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t frame = profile_writer_native(synthetic->writer, module, offset + i);

		PUT(synthetic, cpu, .time = 2000 + i, .thread = 1, .mode = 1,
		    .stack = synthetic_stack(synthetic, (uint64_t[]){frame, 0}));
	}
}

static struct model *end(struct synthetic *synthetic)
{
	struct model *model;

	CHECK_EQ(profile_writer_close(synthetic->writer), 0);
	model = synthetic_load(synthetic, synthetic->size);
	CHECK(model->state != PROFILE_COMPLETE);
	synthetic_free(synthetic);
	return model;
}

static size_t count_called(const struct model *model, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < model->n_functions; i++)
		n += strstr(model->functions[i].name, name) != NULL;
	return n;
}

TEST(frames_of_several_files_are_named_in_as_many_requests_as_it_takes)
{
	struct synthetic synthetic;
	uint64_t offsets[2], modules[2];
	struct model *model;

	rig_enter();
	rig_write("program.c", program);
	rig_run("gcc -g -O1 program.c -o program && gcc -g -O2 -Dfind_me=other program.c -o other");
	offsets[0] = rig_offset("program", "find_me");
	offsets[1] = rig_offset("other", "other");
	begin(&synthetic, host());
	modules[0] = add_module(&synthetic, "program");
	modules[1] = add_module(&synthetic, "other");
	/* In turn, as they come. */
	for (uint64_t i = 0; i < FRAMES; i++)
		add_samples(&synthetic, modules[i % 2], offsets[i % 2] + i, 1);
	add_samples(&synthetic, modules[0], UINT64_C(1) << 40, 1);
	model = end(&synthetic);
	CHECK_EQ(find_function(model, "find_me")->cpu_samples, FRAMES / 2);
	CHECK_EQ(find_function(model, "other")->cpu_samples, FRAMES / 2);
	CHECK(strstr(find_function(model, "other")->file, "program.c"));
	CHECK_EQ(find_function(model, "other")->line, 1);
	CHECK_EQ(find_function(model, "program+0x10000000000")->cpu_samples, 1);
	CHECK_EQ(model->n_functions, 3);
	model_free(model);
	rig_leave();
}

TEST(stripped_functions_are_called_as_the_recorder_would)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t offset;
	char name[64];

	rig_enter();
	rig_write("program.c", program);
	rig_run("gcc -O1 program.c -o program");
	offset = rig_offset("program", "find_me");
	rig_run("strip program");
	begin(&synthetic, host());
	add_samples(&synthetic, add_module(&synthetic, "program"), offset + 4, 3);
	model = end(&synthetic);
	snprintf(name, sizeof(name), "program+0x%" PRIx64, offset);
	CHECK_EQ(find_function(model, name)->cpu_samples, 3);
	model_free(model);
	rig_leave();
}

TEST(names_come_from_debug_files)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t offset;

	rig_enter();
	rig_write("program.c", program);
	rig_run("gcc -g -O1 program.c -o program");
	offset = rig_offset("program", "find_me");
	rig_run("objcopy --only-keep-debug program program.debug && strip program && "
		"objcopy --add-gnu-debuglink=program.debug program && chmod 644 program.debug");
	begin(&synthetic, host());
	add_samples(&synthetic, add_module(&synthetic, "program"), offset, 3);
	model = end(&synthetic);
	CHECK_EQ(find_function(model, "find_me")->cpu_samples, 3);
	model_free(model);
	rig_leave();
}

/* A module as the recorder defines it, from a file in this folder. */
static uint64_t add_file(struct synthetic *synthetic, const char *name)
{
	unsigned char id[BUILD_ID_MAX];
	char path[4096];
	struct stat st;
	int fd = open(name, O_RDONLY | O_CLOEXEC), size = build_id_read(fd, id);

	CHECK(fd >= 0 && !fstat(fd, &st) && realpath(name, path));
	close(fd);
	return profile_writer_file(
		synthetic->writer,
		&(struct module_file){
			.path = path,
			.build_id = {(const char *)id, size > 0 ? (size_t)size : 0},
			.stamp = {st.st_dev, st.st_ino, (uint64_t)st.st_size,
				  file_stamp_time(st.st_ctim.tv_sec, (uint32_t)st.st_ctim.tv_nsec)},
		});
}

/* Whoever makes a file chooses its build-id. */
TEST(a_file_names_functions_as_long_as_it_is_unchanged_whatever_its_build_id)
{
	static const char *const ids[] = {"none", "0x0123456789abcdef"};
	static const char *const after[] = {
		":", "touch program",
		"cp -p program copy && mv copy program", /* with the same size and st_mtim */
		"gcc -g -O1 -Wl,--build-id=%s -Dfind_me=no_name program.c -o program"};
	struct synthetic synthetic;
	struct model *model;
	char command[256];
	uint64_t offset;

	for (size_t i = 0; i < 2 * sizeof(after) / sizeof(*after); i++) {
		rig_enter();
		rig_write("program.c", program);
		snprintf(command, sizeof(command),
			 "gcc -g -O1 -Wl,--build-id=%s program.c -o program", ids[i % 2]);
		rig_run(command);
		offset = rig_offset("program", "find_me");
		begin(&synthetic, host());
		add_samples(&synthetic, add_file(&synthetic, "program"), offset, 3);
		snprintf(command, sizeof(command), after[i / 2], ids[i % 2]);
		rig_run(command);
		model = end(&synthetic);
		CHECK_EQ(count_called(model, "find_me"), i < 2);
		CHECK_EQ(model->n_functions, i < 2 ? 1 : 3);
		model_free(model);
		rig_leave();
	}
}

/* On another machine the path means another file; and this one may have been replaced, or be no
 * file that can be read. */
TEST(files_that_are_not_what_was_recorded_name_nothing)
{
	struct synthetic synthetic;
	struct model *model;
	uint64_t offset;

	for (int i = 0; i < 4; i++) {
		static const char *const after[] = {
			":",
			"gcc -O1 -Dfind_me=no_name program.c -o program",
			"rm program",
			"rm program && mkfifo program",
		};

		rig_enter();
		rig_write("program.c", program);
		rig_run("gcc -g -O1 program.c -o program");
		offset = rig_offset("program", "find_me");
		begin(&synthetic, i ? host() : "elsewhere");
		add_samples(&synthetic, add_module(&synthetic, "program"), offset, 3);
		rig_run(after[i]);
		model = end(&synthetic);
		CHECK_EQ(count_called(model, "program+0x"), 3);
		CHECK_EQ(model->n_functions, 3);
		model_free(model);
		rig_leave();
	}
}
