/* SPDX-License-Identifier: BSD-2-Clause */
/* server.c: gcprof report --from: reports on the profiles in a ClickHouse server. */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../fleet/calls.h"
#include "../../fleet/report.h"
#include "../../model/world/text.h"
#include "../../report/page.h"
#include "../../report/report.h"
#include "../../util/units.h"
#include "../../util/log.h"
#include "../../util/options.h"
#include "../../util/plural.h"

enum { TOP_DEFAULT = 1000 };

static double number(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* A sum; at most what fits, for times 584 years. */
static uint64_t whole(const json_t *row, const char *key)
{
	return (uint64_t)fmax(0, fmin(number(row, key), 1.8e19));
}

/* Borrowed; NULL for an empty text. */
static const char *text(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value && *value ? value : NULL;
}

static struct estimate interval(const json_t *row, const char *key)
{
	const json_t *object = json_object_get(row, key);

	return (struct estimate){number(object, "estimate"), number(object, "low"),
				 number(object, "high")};
}

static struct estimate survived(const json_t *row)
{
	const json_t *share = json_object_get(row, "survived");

	return (struct estimate){json_is_null(share) ? -1 : json_number_value(share),
				 number(row, "survived_low"), number(row, "survived_high")};
}

/* Makes the rows of a table from the server's; texts are borrowed. NULL: no memory. */
static void *make_rows(const json_t *report, enum row_kind table, size_t *count)
{
	const json_t *rows = json_object_get(report, figure_tables[table].name);
	json_t *row;
	char *made = calloc(json_array_size(rows) + 1, figure_tables[table].size);
	size_t i;

	*count = made ? json_array_size(rows) : 0;
	if (!made)
		return NULL;
	json_array_foreach(rows, i, row)
		json_to_row(row, table, made + i * figure_tables[table].size);
	return made;
}

/* Fills the tables of a model from the server's sums. */
static int fill_model(struct model *model, const json_t *report)
{
	const json_t *totals = json_object_get(report, "totals");

	model->recorded = UINT32_MAX;
	model->functions = make_rows(report, ROWS_function, &model->n_functions);
	model->sites = make_rows(report, ROWS_site, &model->n_sites);
	model->syscalls = make_rows(report, ROWS_syscall, &model->n_syscalls);
	if (!model->functions || !model->sites || !model->syscalls)
		return -ENOMEM;
	for (size_t i = 0; i < model->n_functions; i++)
		if (!model->functions[i].name)
			model->functions[i].name = "(unknown)";
	for (size_t i = 0; i < model->n_sites; i++)
		if (!model->sites[i].functions[0])
			model->sites[i].functions[0] = "(unknown)";
	model->n_sites_found = model->n_sites;
	model->cpu.on_cpu_ns = whole(totals, "cpu_ns");
	model->syscall_stack_ns = whole(totals, "syscall_ns");
	model->wait_stack_ns = whole(totals, "off_cpu_ns");
	model->gc.minor.total_ns = whole(totals, "gc_ns");
	return 0;
}

static void print_pauses(const json_t *report, const struct page *page)
{
	static const struct column columns[] = {
		{NULL, "count", false, 0, 0},   {NULL, "total", false, 0, 0},
		{NULL, "p50", false, 0, 0},     {NULL, "p99", false, 0, 0},
		{NULL, "longest", false, 0, 0}, {NULL, "pauses", true, 0, 10}};
	static const char *const keys[] = {"total_ns", "p50_ns", "p99_ns", "max_ns"};
	const json_t *rows = json_object_get(report, "pauses"), *row;
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t i;

	if (!table || !json_array_size(rows)) {
		table_free(table);
		return;
	}
	page_heading(page, "Pauses");
	json_array_foreach(rows, i, row)
	{
		table_cell(table, unit_count(whole(row, "count")).text);
		for (size_t j = 0; j < sizeof(keys) / sizeof(*keys); j++)
			table_cell(table, unit_time(number(row, keys[j])).text);
		table_cell(table, text(row, "kind"));
	}
	table_print(table, page);
	table_free(table);
}

/* The server's tables have no counts of objects. */
static void print_types(const json_t *report, const struct report_options *options,
			const struct page *page)
{
	static const struct column columns[] = {
		{NULL, "allocated", false, 0, 0},  {"95 %", "from", false, 0, 0},
		{"confidence", "to", false, 0, 0}, {NULL, "surv", false, 0, 0},
		{NULL, "GC caused", false, 0, 0},  {NULL, "samples", false, 0, 0},
		{NULL, "type", true, 0, 10}};
	const json_t *rows = json_object_get(report, "types"), *row;
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t i, top = options->top ? options->top : 20;

	if (!table || !json_array_size(rows)) {
		table_free(table);
		return;
	}
	page_heading(page, "Types (most allocation first)");
	json_array_foreach(rows, i, row)
	{
		const struct estimate bytes = interval(row, "bytes");
		double share = survived(row).value;

		if (i >= top)
			break;
		table_cell(table, unit_bytes(bytes.value).text);
		table_cell(table, unit_bytes(bytes.low).text);
		table_cell(table, unit_bytes(bytes.high).text);
		table_cell(table, share < 0 ? "-" : unit_percent(share).text);
		table_cell(table, unit_time(number(row, "gc_ns")).text);
		table_cell(table, unit_count(whole(row, "samples")).text);
		table_cell(table, text(row, "name") ? text(row, "name") : "(unknown)");
	}
	table_print(table, page);
	table_free(table);
}

static void print_threads(const json_t *report, const struct report_options *options,
			  const struct page *page)
{
	static const struct column columns[] = {
		{NULL, "threads", false, 0, 0},       {NULL, "CPU", false, 0, 0},
		{"waited for", "a CPU", false, 0, 0}, {NULL, "allocated", false, 0, 0},
		{NULL, "process", true, 0, 10},       {NULL, "thread", true, 0, 10}};
	const json_t *rows = json_object_get(report, "threads"), *row;
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	size_t i, top = options->top ? options->top : 20;

	if (!table || !json_array_size(rows)) {
		table_free(table);
		return;
	}
	page_heading(page, "Threads by name (most CPU time first)");
	json_array_foreach(rows, i, row)
	{
		double waited = number(row, "queued_ns"), bytes = number(row, "alloc_bytes");

		if (i >= top)
			break;
		table_cell(table, unit_count(whole(row, "threads")).text);
		table_cell(table, unit_time(number(row, "cpu_ns")).text);
		table_cell(table, waited > 0 ? unit_time(waited).text : "-");
		table_cell(table, bytes > 0 ? unit_bytes(bytes).text : "-");
		table_cell(table, text(row, "process") ? text(row, "process") : "(unknown)");
		table_cell(table, text(row, "name") ? text(row, "name") : "(unknown)");
	}
	table_print(table, page);
	table_free(table);
}

static int print_text(const json_t *report, const struct report_options *options)
{
	struct report_options shown = *options;
	struct model model = {.frames = MODEL_FRAMES_ALL};
	struct page page = {stdout, options->width, options->colour, NULL};
	uint64_t profiles = whole(report, "profiles");
	unsigned parts = options->parts ? options->parts
					: PART_FUNCTIONS | PART_SITES | PART_TYPES | PART_SYSCALLS |
						  PART_GC | PART_THREADS;
	int err = fill_model(&model, report);

	shown.bare = true;
	shown.parts = parts & ~(unsigned)(PART_GC | PART_TYPES | PART_THREADS);
	if (!err)
		err = report_sort(&model, options->sort);
	if (!err) {
		page_paragraph(&page, STYLE_PLAIN, 0, "%s profile%s", unit_count(profiles).text,
			       plural(profiles, "[|s]").text);
		if (parts & PART_GC)
			print_pauses(report, &page);
		if (parts & PART_TYPES)
			print_types(report, options, &page);
		if (shown.parts)
			err = report_text(&model, &shown, stdout);
		if (parts & PART_THREADS)
			print_threads(report, options, &page);
	}
	free(model.functions);
	free(model.sites);
	free(model.syscalls);
	return err;
}

/* Asks for the tables and prints them; `http` is borrowed. */
static int report_tables(const struct server_report *report, const struct where *where,
			 struct http *http, struct http_problem *problem)
{
	const struct report_options *options = report->options;
	json_t *answer = NULL;
	int err = fleet_report(http, where, options->top ? options->top : TOP_DEFAULT, &answer,
			       problem);

	if (!err)
		err = server_clean(answer);
	if (!err && report->json)
		err = json_dumpf(answer, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ? -ENOMEM
											  : 0;
	else if (!err)
		err = print_text(answer, options);
	if (!err && report->json)
		putchar('\n');
	json_decref(answer);
	return err;
}

static int report_calls(const struct server_report *report, const struct where *where,
			struct http *http, struct http_problem *problem)
{
	struct calls_request request = *report->calls;
	struct fleet_calls calls = {
		.kind = request.kind,
		.pattern = request.pattern,
		.measure = report->options->sort ? request.measure : CALLS_MEASURES,
	};
	struct call_tree tree = {.count = 0};
	int err = fleet_calls(http, where, &calls, problem);

	if (!err)
		err = server_clean(calls.answer);
	if (!err)
		err = fleet_calls_tree(calls.answer, &tree);
	if (!err)
		err = call_tree_sort(&tree, calls.measure);
	request.measure = calls.measure;
	request.from_server = true;
	request.profiles = calls.profiles;
	request.cut = tree.count > FLEET_CALLS_MAX;
	if (!err)
		err = report->json ? calls_json(NULL, &tree, &request, stdout)
				   : calls_text(NULL, &tree, &request, report->options, stdout);
	call_tree_free(&tree);
	json_decref(calls.answer);
	return err;
}

int report_from_server(const struct server_report *report)
{
	static struct where where;
	struct http_problem problem = {0};
	struct http *http = NULL;
	char fault[200];
	int err, status;

	if (where_parse(report->where ? report->where : "", (uint64_t)time(NULL), &where, fault,
			sizeof(fault))) {
		log_error("--where: %s", fault);
		return EXIT_USAGE;
	}
	status = server_open(report->server, true, &http);
	if (status)
		return status;
	if (report->calls)
		err = report_calls(report, &where, http, &problem);
	else if (report->options->parts == PART_TIMELINE)
		err = report_server_timeline(report, &where, http, &problem);
	else
		err = report_tables(report, &where, http, &problem);
	if (err)
		log_error("%s: %s", http_name(http),
			  err == -EBADMSG ? "the server's answer is invalid"
			  : *problem.text ? problem.text
					  : strerror(-err));
	http_free(http);
	return err ? EXIT_FAILURE : 0;
}
