/* SPDX-License-Identifier: BSD-2-Clause */
/* functions.c: the tables of functions, sources, resources and strings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/path_base.h"
#include "../../util/source_text.h"
#include "firefox.h"
#include "rows.h"

static const struct {
	const char *name;
	enum category category;
} pseudos[PSEUDOS] = {
	[PSEUDO_NO_STACK] = {"(no stack)", CATEGORY_OTHER},
	[PSEUDO_MINOR] = {"(freed by a minor collection)", CATEGORY_GC},
	[PSEUDO_MAJOR] = {"(freed by a major collection)", CATEGORY_GC},
	[PSEUDO_FREED] = {"(freed by the program)", CATEGORY_OTHER},
	[PSEUDO_UNKNOWN] = {"(outcome unknown)", CATEGORY_UNKNOWN},
	[PSEUDO_DIED] = {"(died young)", CATEGORY_DIED},
	[PSEUDO_LIVED] = {"(survived)", CATEGORY_LIVED},
	[PSEUDO_IDLE] = {"(nothing)", CATEGORY_IDLE},
	[PSEUDO_WAIT + WAIT_CALL] = {"(waiting in a system call)", CATEGORY_IDLE},
	[PSEUDO_WAIT + WAIT_FAULT] = {"(waiting for a page)", CATEGORY_IDLE},
	[PSEUDO_WAIT + WAIT_PREEMPTED] = {"(preempted)", CATEGORY_IDLE},
	[PSEUDO_WAIT + WAIT_STOPPED] = {"(stopped)", CATEGORY_IDLE},
};

enum category firefox_pseudo_category(enum pseudo pseudo)
{
	return pseudos[pseudo].category;
}

uint32_t firefox_string(struct firefox *firefox, const char *text)
{
	bool added;
	uint64_t *index = map_put_string(firefox->string_index, text, strlen(text), &added);

	if (!index || array_reserve(&firefox->strings, &firefox->strings_capacity,
				    firefox->n_strings, sizeof(*firefox->strings)) < 0) {
		output_fail(firefox->job.output, -ENOMEM);
		return 0;
	}
	if (added) {
		*index = firefox->n_strings;
		firefox->strings[firefox->n_strings++] = text;
	}
	return (uint32_t)*index;
}

void firefox_put_strings(struct firefox *firefox)
{
	struct column column = {firefox->job.output, false};

	output_text(column.output, "\"stringArray\":[");
	for (size_t i = 0; i < firefox->n_strings; i++)
		output_string(column_cell(&column), firefox->strings[i]);
	output_text(column.output, "]");
}

/* The model's function for a row of the table; NULL: a pseudo function or a type. */
static const struct model_function *function_of(const struct firefox *firefox, uint32_t row)
{
	uint32_t fixed = PSEUDOS + firefox->layout.n_types;

	return row < fixed ? NULL : &firefox->world->functions.rows[row - fixed];
}

static void put_number_or(struct output *output, int64_t number, const char *otherwise)
{
	if (number >= 0)
		output_integer(output, number);
	else
		output_text(output, otherwise);
}

static void put_name(struct firefox *firefox, struct output *output, uint32_t row)
{
	const struct model_function *function = function_of(firefox, row);
	const char *name = row < PSEUDOS ? pseudos[row].name : NULL;

	if (!name)
		name = function ? function->name : firefox->layout.type_names[row - PSEUDOS];
	output_number(output, firefox_string(firefox, name));
}

static void put_is_script(struct firefox *firefox, struct output *output, uint32_t row)
{
	const struct model_function *function = function_of(firefox, row);
	bool script = function && function->runtime == RUNTIME_MANAGED;

	output_text(output, script ? "true" : "false");
}

/*
 * If only managed code is shown, types and outcomes stay visible. With a single kind of
 * code, everything does.
 */
static void put_is_relevant(struct firefox *firefox, struct output *output, uint32_t row)
{
	bool mixed = firefox->layout.managed && firefox->layout.native;

	output_text(output, mixed && function_of(firefox, row) ? "false" : "true");
}

/* Resource 0 belongs to types and distinguishes a type from a function of the same name. */
static void put_resource(struct firefox *firefox, struct output *output, uint32_t row)
{
	uint32_t fixed = PSEUDOS + firefox->layout.n_types;
	int64_t module = -1;

	if (row >= fixed)
		module = firefox->layout.module_of[row - fixed];
	if (row >= PSEUDOS && row < fixed)
		output_text(output, "0");
	else
		put_number_or(output, module < 0 ? -1 : module + 1, "-1");
}

static void put_source(struct firefox *firefox, struct output *output, uint32_t row)
{
	uint32_t fixed = PSEUDOS + firefox->layout.n_types;

	put_number_or(output, row < fixed ? -1 : firefox->layout.source_of[row - fixed], "null");
}

static void put_line(struct firefox *firefox, struct output *output, uint32_t row)
{
	const struct model_function *function = function_of(firefox, row);

	if (function && function->line)
		output_number(output, function->line);
	else
		output_text(output, "null");
}

static void put_source_name(struct firefox *firefox, struct output *output, uint32_t row)
{
	output_number(output, firefox_string(firefox, firefox->layout.sources[row]));
}

static void put_source_text(struct firefox *firefox, struct output *output, uint32_t row)
{
	output_string(output, firefox->sources.count ? firefox->sources.texts[row] : NULL);
}

/* The name in grey after a function: the file name without its directory. */
static void put_resource_name(struct firefox *firefox, struct output *output, uint32_t row)
{
	const char *path = row ? firefox->layout.modules[row - 1] : "type";

	output_number(output, firefox_string(firefox, path_base(path)));
}

typedef void put_cell(struct firefox *firefox, struct output *output, uint32_t row);

static void put_column(struct firefox *firefox, const char *name, uint32_t rows, put_cell *cell)
{
	struct column column = {firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (uint32_t row = 0; row < rows; row++)
		cell(firefox, column_cell(&column), row);
	output_text(column.output, "],\n");
}

void firefox_put_functions(struct firefox *firefox)
{
	const struct layout *layout = &firefox->layout;
	struct output *output = firefox->job.output;
	uint32_t rows = PSEUDOS + layout->n_types + (uint32_t)firefox->world->functions.n_rows;

	output_text(output, "\"funcTable\":{\n");
	put_column(firefox, "name", rows, put_name);
	put_column(firefox, "isJS", rows, put_is_script);
	put_column(firefox, "relevantForJS", rows, put_is_relevant);
	put_column(firefox, "resource", rows, put_resource);
	put_column(firefox, "source", rows, put_source);
	put_column(firefox, "lineNumber", rows, put_line);
	firefox_put_same(firefox, "columnNumber", "null", rows);
	firefox_put_same(firefox, "originalLocation", "null", rows);
	output_format(output, "\"length\":%u},\n\"resourceTable\":{\n", rows);
	put_column(firefox, "name", layout->n_modules + 1, put_resource_name);
	firefox_put_same(firefox, "host", "null", layout->n_modules + 1);
	firefox_put_same(firefox, "type", "1", layout->n_modules + 1);
	firefox_put_same(firefox, "lib", "null", layout->n_modules + 1);
	output_format(output, "\"length\":%u},\n", layout->n_modules + 1);
	output_text(output, "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
			    "\"functionSize\":[],\"length\":0},\n\"sources\":{\n");
	put_column(firefox, "filename", layout->n_sources, put_source_name);
	firefox_put_same(firefox, "id", "null", layout->n_sources);
	firefox_put_same(firefox, "startLine", "1", layout->n_sources);
	firefox_put_same(firefox, "startColumn", "1", layout->n_sources);
	firefox_put_same(firefox, "sourceMapURL", "null", layout->n_sources);
	put_column(firefox, "content", layout->n_sources, put_source_text);
	output_format(output, "\"length\":%u},\n", layout->n_sources);
	output_text(output, "\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],"
			    "\"length\":0},\n");
}

enum { ALL_MAX = 16 << 20 /* bytes of all files, as JSON */ };

/* Bytes that output_string() writes at most. */
static uint64_t json_size(const char *text)
{
	uint64_t size = sizeof("\"\",");

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x80)
			size += sizeof("\xef\xbf\xbd") - 1;
		else if (c == '"' || c == '\\' || c == '\n' || c == '\t' || c == '\r')
			size += 2;
		else
			size += c < ' ' || c == 0x7f ? sizeof("\\u0000") - 1 : 1;
	}
	return size;
}

int firefox_sources_read(struct sources *sources, const char *const *paths, uint32_t count,
			 const struct sources_wanted *wanted)
{
	uint64_t room = wanted->room < ALL_MAX ? wanted->room : ALL_MAX;

	sources->texts = calloc(count + 1, sizeof(*sources->texts));
	if (!sources->texts)
		return -ENOMEM;
	sources->count = count;
	for (uint32_t i = 0; i < count; i++) {
		char *text = source_text_read(paths[i], wanted->realtime, wanted->user);
		uint64_t size = text ? json_size(text) : 0;

		if (size > room - sources->size) {
			free(text);
			continue;
		}
		sources->texts[i] = text;
		sources->size += size;
		sources->embedded += text != NULL;
	}
	return 0;
}

void firefox_sources_free(struct sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++)
		free(sources->texts[i]);
	free(sources->texts);
}
