/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sources.c: tests of the text of source files in exports for the Firefox Profiler. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "export_rig.h"

#define RECORDED UINT64_C(1700000000000000000) /* ns since 1970 */

static char folder[] = "/tmp/gcprof-test-XXXXXX";

/* Writes a file of the test's folder, which was changed so many ns after the recording began. */
static void put_file(const char *name, const char *text, size_t size, int64_t after)
{
	const uint64_t time = RECORDED + (uint64_t)after;
	const struct timespec times[2] = {
		{.tv_nsec = UTIME_NOW},
		{.tv_sec = (time_t)(time / 1000000000), .tv_nsec = (long)(time % 1000000000)}};
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, size), size);
	CHECK_EQ(futimens(fd, times), 0);
	close(fd);
}

/* A profile of functions of these files; without a slash they are those of the test's folder. */
static void record(struct synthetic *synthetic, const char *host, const char *const *files)
{
	struct utsname system;

	CHECK_EQ(uname(&system), 0);
	synthetic_begin(synthetic);
	PUT(synthetic, meta, .key = bytes_of("host"),
	    .value = bytes_of(host ? host : system.nodename));
	PUT(synthetic, clock, .before = 1000, .after = 1000, .realtime = RECORDED);
	synthetic_process(synthetic, 1000);
	for (uint64_t i = 1; *files; i++, files++) {
		uint64_t frame = synthetic_function(synthetic, "app", i, NULL), file;
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", folder, *files);
		file = synthetic_string(synthetic, **files == '/' ? *files + 1 : path);
		PUT(synthetic, symbol, .frame = frame, .name = file, .file = file, .line = 1);
		PUT(synthetic, cpu, .time = 1000 + i, .thread = 1, .mode = 1,
		    .stack = synthetic_stack(synthetic, (uint64_t[]){frame, 0}));
	}
	synthetic_end(synthetic, 9000);
}

/* Exports the profile, and returns the texts as an object by file name. */
static json_t *texts_of(const struct synthetic *synthetic, const struct export_options *options,
			struct export_result *result)
{
	struct exported exported;
	json_t *object, *sources, *name, *texts = json_object();
	size_t i;

	CHECK_EQ(try_export(synthetic, "firefox", options, &exported), 0);
	check_firefox(&exported);
	object = parse_json(&exported);
	sources = json_at(object, "shared.sources");
	json_array_foreach(json_object_get(sources, "filename"), i, name)
	{
		json_t *text = json_array_get(json_object_get(sources, "content"), i);
		const char *path = json_string_value(json_array_get(
			json_at(object, "shared.stringArray"), (size_t)json_integer_value(name)));
		const char *slash = strrchr(path, '/');

		if (json_is_string(text))
			json_object_set(texts, slash ? slash + 1 : path, text);
	}
	*result = exported.result;
	json_decref(object);
	free(exported.data);
	return texts;
}

static void begin(void)
{
	CHECK(mkdtemp(folder) && !chmod(folder, 0755));
}

static void finish(struct synthetic *synthetic)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	synthetic_free(synthetic);
}

TEST(unchanged_source_files_are_embedded_and_nothing_else)
{
	static const char text[] = "int main(void) { return '\\\"'; }\n\t/* \xc3\xa9\xff */\n";
	static const char *const files[] = {
		"old.c",  "same.py", "new.c",    "zero.c",    "large.c", "shadow",  "notes.txt",
		"link.c", "pipe.c",  "folder.c", "missing.c", "/old.c",  "empty.c", NULL};
	static char large[(1 << 20) + 1];
	struct synthetic synthetic;
	struct export_result result;
	char path[64], target[64];
	json_t *texts;

	begin();
	memset(large, ' ', sizeof(large));
	put_file("old.c", text, sizeof(text) - 1, -1000000000);
	put_file("same.py", "pass", 4, 0);
	put_file("new.c", "changed", 7, 1);
	put_file("zero.c", "a\0b", 3, -1);
	put_file("large.c", large, sizeof(large), -1);
	put_file("shadow", "root:*:", 7, -1);
	put_file("notes.txt", "secret", 6, -1);
	put_file("empty.c", "", 0, -1);
	snprintf(path, sizeof(path), "%s/link.c", folder);
	snprintf(target, sizeof(target), "%s/notes.txt", folder);
	CHECK_EQ(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/pipe.c", folder);
	CHECK_EQ(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/folder.c", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	record(&synthetic, NULL, files);
	texts = texts_of(&synthetic, &(struct export_options){0}, &result);
	CHECK_EQ(json_object_size(texts), 3);
	CHECK_STR(json_string_value(json_object_get(texts, "old.c")),
		  "int main(void) { return '\\\"'; }\n\t/* \xc3\xa9\xef\xbf\xbd */\n");
	CHECK_STR(json_string_value(json_object_get(texts, "same.py")), "pass");
	CHECK_STR(json_string_value(json_object_get(texts, "empty.c")), "");
	CHECK(strstr(result.info, "3 source files; --no-sources leaves them out"));
	json_decref(texts);
	texts = texts_of(&synthetic, &(struct export_options){.no_sources = true}, &result);
	CHECK_EQ(json_object_size(texts), 0);
	CHECK_STR(result.info, "");
	json_decref(texts);
	finish(&synthetic);
}

TEST(source_files_of_other_hosts_are_left_out)
{
	struct synthetic synthetic;
	struct export_result result;
	json_t *texts;

	begin();
	put_file("old.c", "int x;", 6, -1);
	record(&synthetic, "elsewhere", (const char *const[]){"old.c", NULL});
	texts = texts_of(&synthetic, &(struct export_options){0}, &result);
	CHECK_EQ(json_object_size(texts), 0);
	json_decref(texts);
	finish(&synthetic);
}

TEST(source_files_take_a_quarter_of_the_limit_at_most)
{
	static const char *const files[] = {"a.c", "b.c", "c.c", NULL};
	static char quotes[120 << 10];
	struct synthetic synthetic;
	struct export_result result;
	json_t *texts;

	begin();
	memset(quotes, '"', sizeof(quotes));
	put_file("a.c", quotes, 60 << 10, -1);
	put_file("b.c", quotes, sizeof(quotes), -1);
	put_file("c.c", "int x;", 6, -1);
	record(&synthetic, NULL, files);
	/* Each quote takes two bytes: one file of 120 KiB fits, and not another one of 240. */
	texts = texts_of(&synthetic, &(struct export_options){.limit = 600 << 10}, &result);
	CHECK(json_object_get(texts, "a.c") && json_object_get(texts, "c.c"));
	CHECK_EQ(json_object_size(texts), 2);
	json_decref(texts);
	finish(&synthetic);
}
