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

TEST(format_names_every_record_and_field)
{
	size_t size;
	char *format = read_file(FORMAT_FILE, &size);

	for (unsigned code = 0; code < RECORD_CODES; code++) {
		const struct record_info *info = record_info(code);
		char heading[64], *start, *end;

		if (!info)
			continue;
		snprintf(heading, sizeof(heading), "\n`%s` (%u)", info->name, code);
		start = strstr(format, heading);
		if (!start) {
			printf("no heading %s\n", heading + 1);
			abort();
		}
		end = strstr(start + 1, "\n\n");
		if (!end)
			abort();
		*end = 0;
		for (size_t i = 0; i < info->n_fields; i++) {
			char word[64];

			snprintf(word, sizeof(word), "`%s`", info->fields[i].name);
			if (!strstr(start + strlen(heading), word))
				test_fail(__FILE__, __LINE__, "%s: no field %s", heading + 1, word);
		}
		*end = '\n';
	}
	free(format);
}

/* The type of a field as FORMAT.md gives it, behind its name. */
TEST(format_gives_the_type_of_every_field)
{
	static const char *const types[] = {"", " INT", " TIME", " DELTA", " BACK", " BYTES"};
	size_t size;
	char *format = read_file(FORMAT_FILE, &size);

	for (unsigned code = 0; code < RECORD_CODES; code++) {
		const struct record_info *info = record_info(code);
		char heading[64], *start, *end;

		if (!info)
			continue;
		snprintf(heading, sizeof(heading), "\n`%s` (%u)", info->name, code);
		start = strstr(format, heading) + strlen(heading);
		end = strstr(start, "\n\n");
		*end = 0;
		for (size_t i = 0; i < info->n_fields; i++) {
			char word[64];
			bool other = false;

			for (int kind = FIELD_INT; kind <= FIELD_BYTES; kind++) {
				snprintf(word, sizeof(word), "- `%s`%s", info->fields[i].name,
					 types[kind]);
				if (!strstr(start, word))
					continue;
				other = true;
				if (kind != (int)info->fields[i].kind)
					test_fail(__FILE__, __LINE__, "%s: %s", info->name, word);
			}
			if (!other && info->fields[i].kind != FIELD_UINT)
				test_fail(__FILE__, __LINE__, "%s.%s has no type", info->name,
					  info->fields[i].name);
		}
		*end = '\n';
	}
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
