/* SPDX-License-Identifier: BSD-2-Clause */
/* place.c: where a person is: a profile or a part of it, or a function of it. */
#include "place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../report/calls.h"
#include "../report/source.h"

/* Pages that are no table of the report. */
static const struct report_page answer = {0, "answer", 'a', NULL}, all = {0, "all", 'A', NULL};
static const struct report_page functions[] = {
	{0, "callers", 'r', NULL}, {0, "callees", 'd', NULL}, {0, "source", 'n', NULL}};

enum { N_FUNCTIONS = sizeof(functions) / sizeof(*functions), N_TREES = 2, TOP = 1 << 30 };

/* --- rows ---------------------------------------------------------------------------------------
 */

/* What the rows of tables name, and what opens. */
static const struct subject {
	enum row_kind rows;
	unsigned figure;  /* its name */
	const char *term; /* of a filter; NULL: the name is that of a function */
	const char *tab;
} subjects[] = {
	{ROWS_finding, FIGURE_finding_function, NULL, "callers"},
	{ROWS_function, FIGURE_function_name, NULL, "callers"},
	{ROWS_site, FIGURE_site_functions, NULL, "callers"},
	{ROWS_heap_row, FIGURE_heap_row_name, NULL, "callers"},
	{ROWS_entry, FIGURE_entry_name, NULL, "callees"},
	{ROWS_type, FIGURE_type_name, "type=", "sites"},
	{ROWS_thread, FIGURE_thread_tid, "thread=", "functions"},
	{ROWS_waker, FIGURE_waker_tid, "thread=", "functions"},
	{ROWS_slow_call, FIGURE_slow_call_tid, "thread=", "functions"},
	{ROWS_program, FIGURE_program_name, "process=", "functions"},
	{ROWS_syscall, FIGURE_syscall_name, "during=syscall:", "functions"},
	{ROWS_wait, FIGURE_wait_reason, "reason=", "functions"},
};

static const struct subject *subject_of(const struct report_row *row)
{
	for (size_t i = 0; row->row && i < sizeof(subjects) / sizeof(*subjects); i++)
		if (subjects[i].rows == (enum row_kind)row->kind)
			return &subjects[i];
	return NULL;
}

/* The name that a row begins with; false: it has none. */
static bool row_name(const struct model *model, const struct report_row *row, char *out)
{
	const struct subject *subject = subject_of(row);
	const struct call_node *node = row->kind == ROWS_END ? row->row : NULL;
	struct figure_value value = {.text = node ? node->name : NULL};

	*out = '\0';
	if (subject)
		value = figure_read(model, subject->figure, row->row);
	if (value.names)
		value.text = value.names[0];
	if (value.text)
		snprintf(out, PLACE_TEXT, "%s", value.text);
	else if (subject && value.known)
		snprintf(out, PLACE_TEXT, "%" PRIu64, value.count);
	return *out;
}

/* A filter has no way to write a bar that separates no alternatives. */
static void make_pattern(char *name)
{
	for (; *name; name++)
		if (*name == '|')
			*name = '*';
}

bool place_enter(const struct place *place, struct opened *out)
{
	const struct report_row *row = &place->lines.rows[place->sight.row];
	const struct subject *subject;
	char name[PLACE_TEXT];

	*out = (struct opened){.tab = "callers"};
	if (place->sight.row >= place->lines.n_rows || !row_name(place->model, row, name))
		return false;
	make_pattern(name);
	subject = subject_of(row);
	out->tab = subject ? subject->tab : place->tabs[place->tab]->name;
	if (subject && subject->term)
		snprintf(out->term, sizeof(out->term), "%s%.480s", subject->term, name);
	else
		snprintf(out->function, sizeof(out->function), "%s", name);
	return true;
}

/* Before the rows are others. */
static void save_key(struct place *place)
{
	if (!place->lost && place->sight.row < place->lines.n_rows)
		row_name(place->model, &place->lines.rows[place->sight.row], place->key);
}

/* Selects the row of the name that was selected, the nearest if there are several. */
static void find_selected(struct place *place)
{
	size_t at = place->sight.row, count = place->lines.n_rows;
	char name[PLACE_TEXT];

	for (size_t distance = 0; *place->key && distance <= count + at; distance++)
		for (int side = 0; side < 2; side++) {
			size_t row = side ? at + distance : at - distance;

			if (row >= count ||
			    !row_name(place->model, &place->lines.rows[row], name) ||
			    strcmp(name, place->key) != 0)
				continue;
			place->sight.row = row;
			place->lost = false;
			return;
		}
	place->lost = *place->key;
}

/* --- loading ------------------------------------------------------------------------------------
 */

static int calls_finish(struct model_observer *observer, const struct world *world)
{
	struct calls *calls = (struct calls *)observer;
	int err = calls->callers.observer.finish(&calls->callers.observer, world);

	err = err ? err : calls->callees.observer.finish(&calls->callees.observer, world);
	return err ? err : calls->source.observer.finish(&calls->source.observer, world);
}

static int calls_record(struct model_observer *observer, const struct world *world,
			const struct event *event)
{
	(void)observer, (void)world, (void)event;
	return 0;
}

static void calls_free(struct calls *calls)
{
	for (size_t i = 0; i < N_TREES; i++)
		call_tree_free(&calls->trees[i]);
	line_sums_free(&calls->lines);
}

/* Is there anything on a page? Whatever was not recorded says so there. */
static bool prints_something(const struct model *model, unsigned part)
{
	const struct report_options options = {.width = 80, .top = 1, .parts = part, .bare = true};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return false;
	(void)report_text(model, &options, out);
	(void)fclose(out);
	free(text);
	return size > 0;
}

/* The answer, every table that has contents, and all in one. */
static void find_tables(struct place *place, const struct report_page *chosen)
{
	const struct report_page *table = report_pages;

	place->tabs[place->n_tabs++] = &answer;
	for (; table->name && place->n_tabs < PLACE_TABS - 1; table++)
		if (table == chosen || prints_something(place->model, table->part))
			place->tabs[place->n_tabs++] = table;
	place->tabs[place->n_tabs++] = &all;
}

static void find_tabs(struct place *place)
{
	const struct report_page *chosen = place->n_tabs ? place->tabs[place->tab] : NULL;

	place->n_tabs = 0;
	if (*place->opened.function)
		for (size_t i = 0; i < N_FUNCTIONS; i++)
			place->tabs[place->n_tabs++] = &functions[i];
	else
		find_tables(place, chosen);
	place->tab = 0;
	for (size_t i = 0; i < place->n_tabs; i++)
		if (place->tabs[i] == chosen)
			place->tab = i;
}

int place_load(struct place *place, struct browse_host *host, const struct browse_terms *terms)
{
	bool is_function = *place->opened.function;
	struct model *model = NULL;
	struct calls calls = {.observer = {calls_record, calls_finish, NULL}};
	int err;

	call_builder_init(&calls.callers, CALLS_CALLERS, place->opened.function, &calls.trees[0]);
	call_builder_init(&calls.callees, CALLS_CALLEES, place->opened.function, &calls.trees[1]);
	line_builder_init(&calls.source, place->opened.function, &calls.lines);
	err = host->load(host, terms, is_function ? &calls.observer : NULL, &model);
	if (err) {
		calls_free(&calls);
		return err;
	}
	save_key(place);
	lines_free(&place->lines);
	model_free(place->model);
	calls_free(&place->calls);
	place->model = model;
	place->calls = calls;
	place->sorted = NULL;
	find_tabs(place);
	return 0;
}

void place_free(struct place *place)
{
	model_free(place->model);
	calls_free(&place->calls);
	lines_free(&place->lines);
	*place = (struct place){.n_tabs = 0};
}

void place_turn(struct place *place, size_t tab)
{
	if (tab == place->tab)
		return;
	place->tab = tab;
	place->sight = (struct sight){0};
	*place->key = '\0';
	place->lost = false;
	lines_free(&place->lines);
}

bool place_choose(struct place *place, const char *name, int key)
{
	for (size_t i = 0; i < place->n_tabs; i++) {
		if (name ? strcmp(name, place->tabs[i]->name) : key != place->tabs[i]->key)
			continue;
		place_turn(place, i);
		return true;
	}
	return false;
}

/* --- pages --------------------------------------------------------------------------------------
 */

static int print_calls(struct place *place, const struct report_options *options, FILE *out)
{
	size_t which = (size_t)(place->tabs[place->tab] - functions);
	struct call_tree *tree = &place->calls.trees[which < N_TREES ? which : 0];
	struct calls_request request = {which ? CALLS_CALLEES : CALLS_CALLERS,
					place->opened.function,
					CALLS_CPU,
					false,
					0,
					false};
	int err;

	if (which == N_TREES)
		return source_text(place->model, &place->calls.lines, options, out);
	if (calls_measure(tree, options->sort, &request.measure) < 0)
		(void)calls_measure(tree, NULL, &request.measure);
	err = call_tree_sort(tree, request.measure);
	return err ? err : calls_text(place->model, tree, &request, options, out);
}

static int print_page(struct place *place, const struct report_options *options, FILE *out)
{
	return *place->opened.function ? print_calls(place, options, out)
				       : report_text(place->model, options, out);
}

int place_print(struct place *place, const struct place_style *style)
{
	const struct report_page *table = place->tabs[place->tab];
	bool single = table->part || *place->opened.function;
	struct report_rows rows = {.match = place->match};
	const struct report_options options = {
		.width = style->width,
		.colour = style->colour,
		.bare = single,
		.brief = table != &all,
		.top = single ? TOP : 0,
		.parts = table->part,
		.sort = style->sort,
		.rows = &rows,
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? 0 : -ENOMEM;

	save_key(place);
	if (!err && style->sort && style->sort != place->sorted)
		err = report_sort(place->model, style->sort);
	place->sorted = style->sort;
	err = err ? err : print_page(place, &options, out);
	if (out && fclose(out))
		err = -ENOMEM;
	lines_free(&place->lines);
	err = lines_take(&place->lines, text, &rows) ? -ENOMEM : err;
	find_selected(place);
	return err;
}
