/* SPDX-License-Identifier: BSD-2-Clause */
/* report_torn.c: tests of reports and exports of a profile that is cut off at any byte. */
#include "export_rig.h"
#include "report/report.h"

/* A small profile in many chunks: each second of a recording is one. */
static void chunked_profile(struct synthetic *synthetic)
{
	struct app app = {.random = 42, .time = UINT64_C(5000000000)};

	synthetic_begin(&app.synthetic);
	app_head(&app);
	CHECK_EQ(profile_writer_flush(app.synthetic.writer), 0);
	app_stacks(&app);
	CHECK_EQ(profile_writer_flush(app.synthetic.writer), 0);
	for (int i = 0; i < 4; i++) {
		app_cycle(&app);
		PUT(&app.synthetic, wait, .time = app.time + 10, .thread = 1, .duration = 5000,
		    .flags = 1, .stack = app.stacks[0]);
		CHECK_EQ(profile_writer_flush(app.synthetic.writer), 0);
	}
	synthetic_end(&app.synthetic, app.time + 1000);
	*synthetic = app.synthetic;
}

static struct model *load(const struct synthetic *synthetic, size_t size, int *error)
{
	struct source *source;
	struct model *model = NULL;

	CHECK_EQ(source_memory_open(synthetic->data, size, &source), 0);
	*error = model_load(source, "cut", &model);
	return model;
}

/* How much there is: more of a file never tells less. */
static uint64_t events_of(const struct model *model)
{
	uint64_t events = 0;

	for (size_t i = 0; i < model->n_streams; i++)
		events += model->streams[i].events;
	return events;
}

/* A report for people that says that the end is missing, and a valid one for programs. */
static void check_reports(const struct model *model)
{
	struct report_options options = {.width = 80};
	struct exported json = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *object;

	CHECK(out);
	CHECK_EQ(report_text(model, &options, out), 0);
	CHECK_EQ(fclose(out), 0);
	CHECK((strstr(text, "the end is missing") == NULL) == (model->state == PROFILE_COMPLETE));
	/* Before the first event there is no time that it could be about. */
	CHECK(!strstr(text, "first 0 ns") && !strstr(text, "  0 ns "));
	CHECK((strstr(text, "has no event of the program") == NULL) == (model->run.duration > 0));
	free(text);
	out = open_memstream(&json.data, &json.size);
	CHECK(out);
	CHECK_EQ(report_json(model, &options, out), 0);
	CHECK_EQ(fclose(out), 0);
	object = parse_json(&json);
	CHECK_EQ(json_integer_value(json_at(object, "cpu.samples")), model->cpu.samples);
	json_decref(object);
	free(json.data);
}

TEST(a_profile_cut_off_at_any_byte_is_reported)
{
	struct synthetic synthetic;
	uint64_t chunks = 0, events = 0, bytes = 0;
	enum profile_state state = PROFILE_DAMAGED;

	chunked_profile(&synthetic);
	printf("%zu bytes\n", synthetic.size);
	for (size_t size = 0; size <= synthetic.size; size++) {
		int error;
		struct model *model = load(&synthetic, size, &error);

		/* Only a file without a whole header tells nothing. */
		CHECK(model ? !error : error == -ENODATA && !chunks);
		if (!model)
			continue;
		CHECK((size == synthetic.size) == (model->state == PROFILE_COMPLETE));
		CHECK((size == model->status.bytes) == (model->state != PROFILE_TORN));
		CHECK(model->state != PROFILE_DAMAGED);
		CHECK(model->status.bytes <= size && model->status.bytes >= bytes);
		/* What it tells changes with whole chunks, and with nothing else. */
		CHECK(model->status.bytes == bytes ? events_of(model) == events
						   : events_of(model) >= events);
		if (model->status.bytes != bytes || model->state != state)
			check_reports(model);
		state = model->state;
		chunks += model->status.bytes != bytes;
		bytes = model->status.bytes;
		events = events_of(model);
		model_free(model);
	}
	CHECK(chunks >= 7);
	CHECK(events > 80);
	synthetic_free(&synthetic);
}

/* Every format, behind each chunk and a few bytes further. */
TEST(a_profile_cut_off_behind_any_chunk_is_exported)
{
	struct synthetic synthetic;
	uint64_t bytes = 0;
	size_t whole;

	chunked_profile(&synthetic);
	whole = synthetic.size;
	for (size_t size = 0; size <= whole; size++) {
		int error;
		struct model *model = load(&synthetic, size, &error);
		bool new_chunk = model && model->status.bytes != bytes;

		bytes = model ? model->status.bytes : bytes;
		model_free(model);
		if (!new_chunk)
			continue;
		synthetic.size = size + 5 < whole ? size + 5 : whole;
		for (const struct exporter *const *exporter = exporters; *exporter; exporter++) {
			struct exported exported = export_as(&synthetic, (*exporter)->name, NULL);

			CHECK((exported.result.state == PROFILE_COMPLETE) ==
			      (synthetic.size == whole));
			if (*exporter == &exporter_firefox)
				check_firefox(&exported);
			free(exported.data);
		}
	}
	CHECK_EQ(synthetic.size, whole);
	synthetic_free(&synthetic);
}
