/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c: prints call trees. */
#include "calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/plural.h"
#include "../util/units.h"
#include "json_parts.h"
#include "sections.h"

enum { ROWS_DEFAULT = 100, INDENT_MAX = 40 };

static const struct {
	const char *key, *title, *json;
} measures[] = {
	[CALLS_CPU] = {"cpu", "CPU time", "cpu_ns"},
	[CALLS_ALLOC] = {"alloc", "allocated bytes", "alloc_bytes"},
	[CALLS_GC] = {"gc", "collection time caused", "gc_ns"},
	[CALLS_SYSCALLS] = {"syscalls", "time in system calls", "syscall_ns"},
	[CALLS_OFF_CPU] = {"off-cpu", "time off the CPU", "off_cpu_ns"},
	[CALLS_SURVIVED] = {"survived", "surviving bytes", "survived_bytes"},
	[CALLS_LIVE] = {"live", "bytes alive at the end", "live_bytes"},
};

enum { MEASURES = sizeof(measures) / sizeof(*measures) };

int calls_measure(const struct call_tree *tree, const char *key, enum call_measure *out)
{
	for (int i = 0; i < MEASURES; i++) {
		if (key ? strcmp(key, measures[i].key) != 0
			: call_value(&tree->nodes[0].total, (enum call_measure)i) <= 0)
			continue;
		*out = (enum call_measure)i;
		return 0;
	}
	*out = CALLS_CPU;
	return key ? -EINVAL : 0;
}

struct printer {
	const struct call_tree *tree;
	const struct calls_request *request;
	struct table *table;
	double whole, least;
	size_t rows, most_rows, left_out;
};

static double value_of(const struct printer *printer, uint32_t node)
{
	return call_value(&printer->tree->nodes[node].total, printer->request->measure);
}

static void print_node(struct printer *printer, uint32_t number, int indent, bool branch)
{
	const struct call_node *node = &printer->tree->nodes[number];
	const struct call_cost *total = &node->total;
	char text[512];

	table_shows_row(printer->table, ROWS_END, node);
	cell_share(printer->table, value_of(printer, number), printer->whole);
	cell_time(printer->table, total->cpu_ns);
	cell_bytes(printer->table, total->alloc_bytes);
	cell_bytes(printer->table, total->live_bytes);
	cell_time(printer->table, total->gc_ns);
	cell_time(printer->table, total->syscall_ns);
	cell_time(printer->table, total->off_cpu_ns);
	snprintf(text, sizeof(text), "%*s%s%.400s", indent < INDENT_MAX ? indent : INDENT_MAX, "",
		 branch ? "+ " : "", node->name);
	table_cell(printer->table, text);
	printer->rows++;
}

static bool is_shown(const struct printer *printer, uint32_t number)
{
	return number && value_of(printer, number) >= printer->least &&
	       value_of(printer, number) > 0;
}

/* A chain of single calls is not indented further; only branches are, each with a mark. */
static void print_children(struct printer *printer, uint32_t parent, int indent)
{
	const struct call_node *nodes = printer->tree->nodes;
	uint32_t first = nodes[parent].first_child;
	bool branches = first && is_shown(printer, nodes[first].next);

	for (uint32_t at = first; at; at = nodes[at].next) {
		if (!is_shown(printer, at) || printer->rows >= printer->most_rows) {
			printer->left_out++;
			continue;
		}
		print_node(printer, at, indent, branches);
		print_children(printer, at, indent + (branches ? 2 : 0));
	}
}

static void print_title(const struct page *page, const struct calls_request *request)
{
	static const char *const titles[] = {
		[CALLS_TREE] = "Call tree, from the outermost function",
		[CALLS_CALLERS] = "Callers of",
		[CALLS_CALLEES] = "Callees of",
	};
	char title[256];

	snprintf(title, sizeof(title), "%s%s%.100s (by %s)", titles[request->kind],
		 request->pattern ? " " : "", request->pattern ? request->pattern : "",
		 measures[request->measure].title);
	page_heading(page, title);
}

int calls_text(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, const struct report_options *options, FILE *out)
{
	static const struct column columns[] = {
		{NULL, "%", false, 0, 0},         {NULL, "CPU", false, 1, 0},
		{NULL, "allocated", false, 2, 0}, {NULL, "live", false, 6, 0},
		{NULL, "GC caused", false, 3, 0}, {"system", "calls", false, 4, 0},
		{"off the", "CPU", false, 5, 0},  {NULL, "function", true, 0, 30},
	};
	struct page page = {out, options->width, options->colour, options->rows};
	struct section section = {.model = model, .page = &page, .top = 1, .parts = 1};
	struct printer printer = {
		.tree = tree,
		.request = request,
		.whole = call_value(&tree->nodes[0].total, request->measure),
		.most_rows = options->top ? options->top : ROWS_DEFAULT,
	};
	int error = 0;

	if (request->from_server)
		page_paragraph(&page, STYLE_PLAIN, 0, "%s profile%s",
			       unit_count(request->profiles).text,
			       plural(request->profiles, "[|s]").text);
	else if (!options->bare)
		error = section_head(&section);
	printer.least = printer.whole / 100;
	if (error)
		return error;
	print_title(&page, request);
	if (!tree->nodes[0].first_child) {
		page_paragraph(&page, STYLE_PLAIN, 2,
			       "No sample has such a function on its stack.");
		return 0;
	}
	printer.table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!printer.table)
		return -ENOMEM;
	print_children(&printer, 0, 0);
	error = section_table(&section, printer.table);
	if (!error && printer.left_out)
		page_paragraph(&page, STYLE_DIM, 2,
			       "%s%zu branch%s of less than 1 %%%s %s left out",
			       request->cut ? "at least " : "", printer.left_out,
			       plural(printer.left_out, "[|es]").text,
			       printer.rows >= printer.most_rows ? ", or beyond --top," : "",
			       plural(printer.left_out, "[is|are]").text);
	return error;
}

static void put_cost(json_t *object, const char *prefix, const struct call_cost *cost,
		     const struct calls_request *request)
{
	char key[64];

	for (int i = 0; i < MEASURES; i++) {
		if (i == CALLS_LIVE && request->from_server)
			continue;
		snprintf(key, sizeof(key), "%s%s", prefix, measures[i].json);
		json_put(object, key, json_whole(call_value(cost, (enum call_measure)i)));
	}
}

static json_t *node_json(const struct call_tree *tree, const struct calls_request *request,
			 uint32_t number)
{
	const struct call_node *node = &tree->nodes[number];
	json_t *object = json_object(), *children = json_array();

	json_put(object, "name", json_name(node->name));
	json_put(object, "module", json_name(node->module));
	put_cost(object, "total_", &node->total, request);
	put_cost(object, "self_", &node->self, request);
	for (uint32_t at = node->first_child; at; at = tree->nodes[at].next)
		json_array_append_new(children, node_json(tree, request, at));
	json_put(object, "children", children);
	return object;
}

int calls_json(const struct model *model, const struct call_tree *tree,
	       const struct calls_request *request, FILE *out)
{
	static const char *const kinds[] = {"tree", "callers", "callees"};
	json_t *object = json_object();
	int error = 0;

	if (request->from_server) {
		error |= json_put(object, "profiles", json_count(request->profiles));
		error |= json_put(object, "cut", json_boolean(request->cut));
	} else {
		error |= json_put(object, "file", json_name(model->file));
		error |= json_put(object, "filter", json_name(model->filter));
	}
	error |= json_put(object, "kind", json_string(kinds[request->kind]));
	error |= json_put(object, "of", json_name(request->pattern));
	error |= json_put(object, "sorted_by", json_string(measures[request->measure].json));
	error |= json_put(object, "root", node_json(tree, request, 0));
	if (!error)
		json_dumpf(object, out, JSON_INDENT(1));
	json_decref(object);
	fputc('\n', out);
	return error ? -ENOMEM : 0;
}
