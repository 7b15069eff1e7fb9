// SPDX-License-Identifier: BSD-2-Clause
/* profile_format.c: tests that FORMAT.md, golden files and the code agree. Run from the top folder.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include "profile_make.h"

#define FORMAT_FILE   "userspace/profile/FORMAT.md"
#define GOLDEN_FILE   "tests/golden/profile.gcprof"
#define GOLDEN_OUTPUT "tests/golden/profile.jsonl"

/* A whole file as a string that ends with a zero. */
static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	char *text = malloc(1 << 20);

	if (!file || !text) {
		printf("%s: %s\n", path, strerror(errno));
		abort();
	}
	*size = fread(text, 1, (1 << 20) - 1, file);
	text[*size] = 0;
	fclose(file);
	return text;
}

static void check_field(const struct record_info *info, const char *name, size_t size)
{
	for (size_t i = 0; info && i < info->n_fields; i++)
		if (strlen(info->fields[i].name) == size &&
		    !memcmp(info->fields[i].name, name, size))
			return;
	test_fail(__FILE__, __LINE__, "%s has no field %.*s", info ? info->name : "nothing",
		  (int)size, name);
}

/* records.def has every record and field; of some of them FORMAT.md says more. */
TEST(format_explains_only_records_and_fields_that_exist)
{
	const struct record_info *info = NULL;
	unsigned fields = 0;
	size_t size;
	char *format = read_file(FORMAT_FILE, &size);
	char *line = strstr(format, "\n## 5. ");

	if (!line)
		abort();
	for (line++; strncmp(line, "## 6. ", 6); line = strchr(line, '\n') + 1) {
		char name[32];
		unsigned code;

		if (sscanf(line, "`%31[a-z_]` (%u)", name, &code) == 2) {
			info = code < RECORD_CODES ? record_info(code) : NULL;
			if (!info || strcmp(info->name, name))
				test_fail(__FILE__, __LINE__, "there is no record %s (%u)", name,
					  code);
		}
		/* The names before the colon. */
		for (char *at = line; (*at == '-' || *at == ',') && at[2] == '`'; fields++) {
			size_t n = strcspn(at + 3, "`");

			check_field(info, at + 3, n);
			at += 3 + n + 1;
		}
	}
	CHECK(fields >= 50);
	free(format);
}

/* The bytes of the example: two hexadecimal digits each, up to the words beside them. */
static size_t parse_example(const char *text, unsigned char *out, size_t max)
{
	size_t n = 0;

	for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
		const char *at = line + 2;

		if (line[1] != '\t')
			continue;
		while (isxdigit((unsigned char)at[0]) && isxdigit((unsigned char)at[1]) &&
		       (at[2] == ' ' || at[2] == '\n')) {
			CHECK(n < max);
			out[n++] = (unsigned char)strtoul(at, NULL, 16);
			at += 3;
		}
	}
	return n;
}

TEST(example_of_the_format_reads_as_it_says)
{
	unsigned char plain[256];
	char packed[512], *format, *example;
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	size_t size;

	format = read_file(FORMAT_FILE, &size);
	example = strstr(format, "\n## 8. An example\n");
	if (!example)
		abort();
	size = parse_example(example + 1, plain, sizeof(plain));
	size = ZSTD_compress(packed, sizeof(packed), plain, size, 1);
	CHECK(!ZSTD_isError(size));
	CHECK_EQ(source_memory_open(packed, size, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(profile_reader_next(reader, &record), 1);
	CHECK_EQ(record.kind, RECORD_argument);
	CHECK(record.argument.text.size == 3 && !memcmp(record.argument.text.data, "app", 3));
	CHECK_EQ(profile_reader_next(reader, &record), 1);
	CHECK_EQ(record.process.pid, 7);
	CHECK_EQ(record.process.time, 10010);
	CHECK_EQ(profile_reader_next(reader, &record), 1);
	CHECK_EQ(record.thread.tid, 7);
	CHECK_EQ(profile_reader_next(reader, &record), 1);
	CHECK_EQ(record.kind, RECORD_cpu);
	CHECK_EQ(record.cpu.time, 10020);
	CHECK_EQ(record.cpu.cpu, 2);
	CHECK_EQ(record.cpu.mode, 1);
	CHECK_EQ(record.cpu.quality, 0);
	CHECK_EQ(profile_reader_next(reader, &record), 1);
	CHECK_EQ(record.end.time, 10040);
	CHECK_EQ(record.end.reason, 1);
	CHECK_EQ(profile_reader_next(reader, &record), 0);
	profile_reader_close(reader);
	free(format);
}

/* Some of every record that the current version has, the same each time. */
static void write_golden(const char *path)
{
	static const char text[EXTREME_TEXT] = "text with \xc3\xa4, \" and \xff, then zeroes";
	struct profile_writer *writer;
	uint64_t random = 1;
	struct record record;
	struct sink *sink;

	CHECK_EQ(sink_file_adopt(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), &sink), 0);
	CHECK_EQ(profile_writer_create(sink, &writer), 0);
	for (int round = 0; round < 3; round++) {
		for (unsigned kind = RECORD_meta; kind < RECORD_CODES; kind++) {
			if (!record_info(kind))
				continue;
			extreme_record(&record, kind, &random, text);
			CHECK_EQ(profile_writer_put(writer, &record), 0);
		}
		CHECK_EQ(profile_writer_flush(writer), 0);
	}
	CHECK_EQ(profile_writer_close(writer), 0);
}

static char *golden_as_json(const char *path)
{
	struct profile_reader *reader;
	struct source *source;
	struct record record;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	CHECK_EQ(source_file_open(path, &source), 0);
	CHECK_EQ(profile_reader_open(source, &reader), 0);
	while (profile_reader_next(reader, &record) > 0) {
		record_json(out, &record);
		putc('\n', out);
	}
	profile_reader_close(reader);
	fclose(out);
	return text;
}

static void make_golden(void)
{
	FILE *file = fopen(GOLDEN_OUTPUT, "w");
	char *now;

	if (!file)
		abort();
	write_golden(GOLDEN_FILE);
	now = golden_as_json(GOLDEN_FILE);
	fputs(now, file);
	fclose(file);
	free(now);
}

/* Fails with the first line that differs. */
static void compare_lines(const char *now, const char *then)
{
	while (*now && !strncmp(now, then, strcspn(now, "\n") + 1)) {
		now = strchr(now, '\n') + 1;
		then = strchr(then, '\n') + 1;
	}
	if (!*now && !*then)
		return;
	test_fail(
		__FILE__, __LINE__,
		"not as it was: %.*s\nRead %s, section 3, raise FORMAT_NUMBER if that says so, and "
		"set GCPROF_WRITE_GOLDEN=1",
		(int)strcspn(now, "\n"), now, FORMAT_FILE);
}

/* A table that has changed fails, too, so that somebody decides whether older readers are right. */
TEST(golden_file_has_every_record_and_reads_as_it_always_did)
{
	char *now, *then, name[64];
	size_t size;

	if (getenv("GCPROF_WRITE_GOLDEN"))
		make_golden();
	now = golden_as_json(GOLDEN_FILE);
	then = read_file(GOLDEN_OUTPUT, &size);
	compare_lines(now, then);
	for (unsigned kind = RECORD_header; kind < RECORD_CODES; kind++) {
		/* Readers of the first segment skip what others repeat. */
		if (!record_info(kind) || kind == RECORD_again)
			continue;
		snprintf(name, sizeof(name), "\"record\":\"%s\"", record_info(kind)->name);
		if (!strstr(now, name))
			test_fail(__FILE__, __LINE__, "the golden file lacks %s", name);
	}
	free(now);
	free(then);
}
