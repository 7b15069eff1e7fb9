/* SPDX-License-Identifier: BSD-2-Clause */
/* report_hostile.c: tests of reports and comparisons of a profile whose every name is hostile. */
#include "export_rig.h"
#include "model/world/text.h"
#include "report/diff.h"
#include "report/report.h"

static struct model *hostile_model(void)
{
	struct synthetic synthetic;
	struct model *model;

	hostile_profile(&synthetic);
	model = synthetic_model(&synthetic);
	synthetic_free(&synthetic);
	return model;
}

enum form { REPORT_TEXT, REPORT_JSON, DIFF_TEXT, DIFF_JSON };

/* What is printed, which is the caller's. */
static char *print(const struct model *model, enum form form, unsigned width, size_t *size)
{
	struct report_options options = {.width = width, .verbose = true};
	struct diff diff = {0};
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	CHECK(out);
	CHECK_EQ(diff_make(model, model, &diff), 0);
	switch (form) {
	case REPORT_TEXT:
		CHECK_EQ(report_text(model, &options, out), 0);
		break;
	case REPORT_JSON:
		CHECK_EQ(report_json(model, &options, out), 0);
		break;
	case DIFF_TEXT:
		CHECK_EQ(diff_text(&diff, &options, out), 0);
		break;
	case DIFF_JSON:
		CHECK_EQ(diff_json(&diff, &options, out), 0);
		break;
	}
	diff_free(&diff);
	CHECK_EQ(fclose(out), 0);
	return text;
}

/* Nothing that a terminal obeys, nothing that is no text, and no line that is too long. */
static void check_text(const char *text, size_t size, size_t width)
{
	size_t column = 0;

	for (size_t at = 0; at < size;) {
		uint32_t character = 0;
		size_t length = utf8_decode(text + at, size - at, &character);

		CHECK(length);
		CHECK(character == '\n' || (character >= 0x20 && character != 0x7f));
		CHECK(character < 0x80 || character > 0x9f);
		CHECK(character < 0x202a || character > 0x202e); /* turns the writing round */
		column = character == '\n' ? 0 : column + 1;
		CHECK(column <= width);
		at += length;
	}
}

TEST(hostile_names_do_not_reach_the_terminal)
{
	static const unsigned widths[] = {80, 160};
	struct model *model = hostile_model();

	for (size_t i = 0; i < 2; i++) {
		for (int form = REPORT_TEXT; form <= DIFF_TEXT; form += DIFF_TEXT) {
			size_t size;
			char *text = print(model, (enum form)form, widths[i], &size);

			check_text(text, size, widths[i]);
			free(text);
		}
	}
	model_free(model);
}

TEST(hostile_names_stay_valid_json)
{
	struct model *model = hostile_model();

	for (int form = REPORT_JSON; form <= DIFF_JSON; form += DIFF_JSON - REPORT_JSON) {
		struct exported exported = {0};
		json_t *object;

		exported.data = print(model, (enum form)form, 100, &exported.size);
		object = parse_json(&exported);
		CHECK(json_is_object(object));
		if (form == REPORT_JSON) {
			CHECK(json_array_size(json_object_get(object, "functions")) >=
			      HOSTILE_TEXTS);
			CHECK_EQ(json_array_size(json_at(object, "alloc.types")), HOSTILE_TEXTS);
		}
		json_decref(object);
		free(exported.data);
	}
	model_free(model);
}

/* Ticks of an age each, of which no column can have as many as it should. */
TEST(ticks_that_stand_for_ages_do_not_keep_the_report)
{
	struct synthetic synthetic;
	struct model *model;
	size_t size;
	char *text;

	synthetic_begin(&synthetic);
	PUT(&synthetic, stream, .stream = 3, .name = bytes_of("cpu"), .attached = 1);
	synthetic_process(&synthetic, 1000);
	for (uint64_t i = 0; i < 100; i++)
		PUT(&synthetic, cpu, .time = 1000 + i * 1000000, .thread = 1, .mode = 1,
		    .ns = UINT64_MAX / 1000);
	model = synthetic_loaded(&synthetic, 200000000);
	alarm(20);
	text = print(model, REPORT_TEXT, 80, &size);
	alarm(0);
	check_text(text, size, 80);
	free(text);
	synthetic_close(&synthetic, model);
}
