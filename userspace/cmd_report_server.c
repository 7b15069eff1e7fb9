/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_report_server.c: gcprof report --from: reports on the profiles in a ClickHouse server. */
#include "cmd_report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/calls.h"
#include "fleet/report.h"
#include "model/world/text.h"
#include "report/page.h"
#include "report/report.h"
#include "report/units.h"
#include "util/log.h"
#include "util/options.h"
#include "util/plural.h"

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

static enum runtime runtime_of(const char *name)
{
	for (enum runtime r = RUNTIME_NATIVE; r <= RUNTIME_KERNEL; r++)
		if (name && !strcmp(name, runtime_name(r)))
			return r;
	return RUNTIME_NATIVE;
}

static void fill_function(struct model_function *out, const json_t *row)
{
	*out = (struct model_function){
		.name = text(row, "name") ? text(row, "name") : "(unknown)",
		.module = text(row, "module"),
		.file = text(row, "file"),
		.line = whole(row, "line"),
		.runtime = runtime_of(text(row, "runtime")),
		.cpu_samples = whole(row, "cpu_samples"),
		.cpu_self_ns = number(row, "cpu_self_ns"),
		.cpu_total_ns = number(row, "cpu_total_ns"),
		.alloc_self_bytes = number(row, "alloc_self_bytes"),
		.alloc_total_bytes = number(row, "alloc_total_bytes"),
		.survived_bytes = number(row, "survived_bytes"),
		.survived_total_bytes = number(row, "survived_total_bytes"),
		.known_bytes = number(row, "fate_known_bytes"),
		.known_total_bytes = number(row, "fate_known_total_bytes"),
		.gc_self_ns = number(row, "gc_self_ns"),
		.gc_ns = number(row, "gc_ns"),
		.syscall_ns = number(row, "syscall_ns"),
		.syscall_self_ns = number(row, "syscall_self_ns"),
		.off_cpu_ns = number(row, "off_cpu_ns"),
		.off_cpu_self_ns = number(row, "off_cpu_self_ns"),
		.alloc_self = interval(row, "alloc_self"),
		.alloc_total = interval(row, "alloc_total"),
		.survived = survived(row),
	};
}

static void fill_site(struct model_site *out, const json_t *row)
{
	const json_t *functions = json_object_get(row, "functions");

	*out = (struct model_site){.type = text(row, "type"),
				   .gc_ns = number(row, "gc_ns"),
				   .bytes = interval(row, "bytes"),
				   .survived = survived(row)};
	for (size_t i = 0; i < SITE_FUNCTIONS && i < json_array_size(functions); i++)
		out->functions[i] = json_string_value(json_array_get(functions, i));
	if (!out->functions[0])
		out->functions[0] = "(unknown)";
}

static void fill_call(struct model_syscall *out, const json_t *row)
{
	*out = (struct model_syscall){
		.name = text(row, "name") ? text(row, "name") : "(unknown)",
		.count = whole(row, "count"),
		.errors = whole(row, "errors"),
		.total_ns = whole(row, "total_ns"),
		.max_ns = whole(row, "max_ns"),
		.in_gc_ns = whole(row, "in_gc_ns"),
	};
}

/* Fills the tables of a model from the server's sums; texts are borrowed from `report`. */
static int fill_model(struct model *model, const json_t *report)
{
	const json_t *functions = json_object_get(report, "functions");
	const json_t *sites = json_object_get(report, "sites");
	const json_t *calls = json_object_get(report, "syscalls");
	const json_t *totals = json_object_get(report, "totals");

	model->n_functions = json_array_size(functions);
	model->n_sites = model->n_sites_found = json_array_size(sites);
	model->n_syscalls = json_array_size(calls);
	model->functions = calloc(model->n_functions + 1, sizeof(*model->functions));
	model->sites = calloc(model->n_sites + 1, sizeof(*model->sites));
	model->syscalls = calloc(model->n_syscalls + 1, sizeof(*model->syscalls));
	if (!model->functions || !model->sites || !model->syscalls)
		return -ENOMEM;
	for (size_t i = 0; i < model->n_functions; i++)
		fill_function(&model->functions[i], json_array_get(functions, i));
	for (size_t i = 0; i < model->n_sites; i++)
		fill_site(&model->sites[i], json_array_get(sites, i));
	for (size_t i = 0; i < model->n_syscalls; i++)
		fill_call(&model->syscalls[i], json_array_get(calls, i));
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
	struct page page = {stdout, options->width, options->colour};
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
