/* SPDX-License-Identifier: BSD-2-Clause */
/* export_folded.c: tests of folded stacks, of what is written and of errors while writing. */
#include <math.h>

#include "export/firefox/rows.h"
#include "export/folded/lines.h"
#include "export/output.h"
#include "export_rig.h"
#include "util/map.h"

static double sum_of_lines(const char *text)
{
	double sum = 0;

	for (const char *line = text, *next; *line; line = next + 1) {
		const char *space;

		next = strchr(line, '\n');
		CHECK(next);
		space = memrchr(line, ' ', (size_t)(next - line));
		sum += space && space > line ? strtod(space, NULL) : NAN;
	}
	return sum;
}

TEST(every_measure_adds_up_to_the_report)
{
	struct app app;
	struct model *model;
	struct exported exported;

	synthetic_app(&app, 100, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	exported = export_as(&app.synthetic, "folded", NULL);
	CHECK(is_near(sum_of_lines(exported.data), (double)model->cpu.on_cpu_ns, 100));
	CHECK(strstr(exported.data, "__libc_start_main;main;(index-file path);walk_directory "));
	free(exported.data);
	exported = export_as(&app.synthetic, "folded", "bytes");
	CHECK(is_near(sum_of_lines(exported.data), model->alloc.bytes.value, 100));
	free(exported.data);
	exported = export_as(&app.synthetic, "folded", "gc");
	CHECK(is_near(sum_of_lines(exported.data), model->cpu.collector_ns, 100));
	free(exported.data);
	exported = export_as(&app.synthetic, "folded", "syscall");
	CHECK(is_near(sum_of_lines(exported.data), (double)model->syscall_stack_ns, 100));
	free(exported.data);
	synthetic_close(&app.synthetic, model);
}

TEST(it_says_why_nothing_is_there)
{
	struct app app;
	struct exported exported;

	synthetic_app(&app, 100, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	exported = export_as(&app.synthetic, "folded", "off-cpu");
	CHECK_EQ(exported.size, 0);
	CHECK(strstr(exported.result.note, "off-cpu: not recorded, not asked for"));
	free(exported.data);
	exported = export_as(&app.synthetic, "folded", "cpu");
	CHECK_EQ(*exported.result.note, 0);
	free(exported.data);
	synthetic_free(&app.synthetic);
}

TEST(a_name_cannot_break_a_line)
{
	struct synthetic synthetic;
	struct exported exported;
	int lines = 0;

	hostile_profile(&synthetic);
	exported = export_as(&synthetic, "folded", "cpu");
	for (const char *line = exported.data; (line = strchr(line, '\n')); line++)
		lines++;
	CHECK_EQ(lines, HOSTILE_TEXTS);
	CHECK(is_near(sum_of_lines(exported.data), HOSTILE_TEXTS * 1e6, 10));
	CHECK(!strstr(exported.data, "; semicolon"));
	free(exported.data);
	synthetic_free(&synthetic);
}

/* Many stacks are the same but for the place in a function, so there are more of them than lines.
 */
TEST(each_path_has_one_line)
{
	struct map *paths = map_create(MAP_STRING_KEYS);
	struct app app;
	struct exported exported;

	synthetic_app(&app, 100, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	exported = export_as(&app.synthetic, "folded", NULL);
	for (const char *line = exported.data, *end; *line; line = end + 1) {
		bool added;

		end = strchr(line, '\n');
		CHECK(map_put_string(
			paths, line,
			(size_t)((char *)memrchr(line, ' ', (size_t)(end - line)) - line), &added));
		CHECK(added);
	}
	CHECK(map_count(paths) > 3);
	map_free(paths);
	free(exported.data);
	synthetic_free(&app.synthetic);
}

TEST(values_of_the_same_path_are_added)
{
	static const char *const texts[] = {"inner", "outer", "other", "inner"};
	struct folded_lines *lines;
	struct output *output;
	uint32_t names[4];
	struct sink *sink;
	char *data;
	size_t size;

	CHECK_EQ(folded_lines_create(&lines), 0);
	for (int i = 0; i < 4; i++)
		names[i] = folded_lines_name(lines, texts[i], strlen(texts[i]));
	CHECK_EQ(names[3], names[0]);
	CHECK_EQ(folded_lines_add(lines, names, 2, 1), 0);
	CHECK_EQ(folded_lines_add(lines, names, 1, 20), 0);
	CHECK_EQ(folded_lines_add(lines, names, 2, 2.4), 0);
	CHECK_EQ(folded_lines_add(lines, names + 1, 1, 300), 0);
	CHECK_EQ(folded_lines_add(lines, names, 3, 0.2), 0);
	CHECK_EQ(folded_lines_add(lines, names + 1, 2, 0.3), 0);
	CHECK_EQ(folded_lines_add(lines, names + 1, 2, 0.3), 0);
	CHECK_EQ(sink_memory_create(&data, &size, &sink), 0);
	CHECK_EQ(output_create(sink, false, &output), 0);
	folded_lines_write(lines, output);
	CHECK_EQ(output_close(output), 0);
	CHECK_EQ(size, strlen("outer 300\nouter;inner 3\ninner 20\nother;outer 1\n"));
	CHECK(!memcmp(data, "outer 300\nouter;inner 3\ninner 20\nother;outer 1\n", size));
	free(data);
	folded_lines_free(lines);
}

/* A disk that gets full. */
struct full_sink {
	struct sink sink;
	size_t room;
	bool *closed;
};

static int full_write(struct sink *sink, const void *data, size_t size)
{
	struct full_sink *full = (struct full_sink *)sink;

	(void)data;
	if (size > full->room)
		return -ENOSPC;
	full->room -= size;
	return 0;
}

static int full_close(struct sink *sink)
{
	*((struct full_sink *)sink)->closed = true;
	return 0;
}

TEST(a_full_disk_is_an_error)
{
	static const char *const names[] = {"firefox", "pprof", "folded", "perfetto"};
	struct app app;

	synthetic_app(&app, 100, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	for (size_t i = 0; i < 4; i++) {
		bool closed = false;
		struct full_sink full = {{full_write, full_close}, 100, &closed};
		struct export_request request = {exporter_find(names[i]), {0}, "x", NULL};
		struct export_result result;
		struct source *source;

		CHECK_EQ(source_memory_open(app.synthetic.data, app.synthetic.size, &source), 0);
		CHECK_EQ(export_run(&request, (struct source *[2]){source}, &full.sink, &result),
			 -ENOSPC);
		CHECK(closed);
	}
	synthetic_free(&app.synthetic);
}

TEST(what_is_no_profile_is_refused)
{
	struct synthetic synthetic = {.data = strdup("not a profile"), .size = 13};
	struct export_options options = {0};
	struct exported exported;

	CHECK_EQ(try_export(&synthetic, "firefox", &options, &exported), -EBADMSG);
	free(exported.data);
	synthetic_free(&synthetic);
}

TEST(the_spool_gives_rows_back_in_order)
{
	enum { ROWS = 20000, ROW = 72 };
	struct spool_stream streams[2] = {0};
	struct spool_cursor *cursor = malloc(sizeof(*cursor));
	struct spool *spool;
	uint64_t row[ROW / 8] = {0};
	const uint64_t *found;

	CHECK_EQ(spool_create(&spool), 0);
	for (uint64_t i = 0; i < ROWS; i++) {
		row[0] = row[ROW / 8 - 1] = i;
		CHECK_EQ(spool_append(spool, &streams[0], row, ROW), 0);
		if (i % 3 == 0)
			CHECK_EQ(spool_append(spool, &streams[1], row, 8), 0);
	}
	for (int pass = 0; pass < 2; pass++) {
		uint64_t i = 0;

		spool_rewind(cursor, &streams[0], ROW);
		for (; (found = spool_next(spool, cursor)); i++)
			CHECK(found[0] == i && found[ROW / 8 - 1] == i);
		CHECK_EQ(i, ROWS);
		spool_rewind(cursor, &streams[1], 8);
		for (i = 0; (found = spool_next(spool, cursor)); i++)
			CHECK_EQ(found[0], 3 * i);
		CHECK_EQ(i, streams[1].rows);
	}
	CHECK_EQ(spool_error(spool), 0);
	spool_stream_free(&streams[0]);
	spool_stream_free(&streams[1]);
	spool_free(spool);
	free(cursor);
}

TEST(numbers_are_spelt_exactly)
{
	struct sink *sink;
	struct output *output;
	char *data;
	size_t size;

	CHECK_EQ(sink_memory_create(&data, &size, &sink), 0);
	CHECK_EQ(output_create(sink, false, &output), 0);
	output_milliseconds(output, 0);
	output_text(output, " ");
	output_milliseconds(output, 1);
	output_text(output, " ");
	output_milliseconds(output, 1234500000);
	output_text(output, " ");
	output_integer(output, INT64_MIN);
	output_text(output, " ");
	output_number(output, UINT64_MAX);
	CHECK_EQ(output_size(output), 59);
	CHECK_EQ(output_close(output), 0);
	CHECK_EQ(size, 59);
	CHECK_EQ(memcmp(data, "0 0.000001 1234.5 -9223372036854775808 18446744073709551615", 59),
		 0);
	free(data);
}
