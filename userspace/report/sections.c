/* SPDX-License-Identifier: BSD-2-Clause */
/* sections.c: tables of the text report. */
#include "sections.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../util/map.h"
#include "../util/path_base.h"
#include "../util/plural.h"
#include "units.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

/* Counts the visible rows per name. NULL: no memory. */
static struct map *count_names(const struct section *section)
{
	const struct model *model = section->model;
	struct map *names = map_create(MAP_STRING_KEYS);

	for (size_t i = 0; names && i < section_rows(section, model->n_functions); i++) {
		const char *name = model->functions[i].name;
		uint64_t *count = map_put_string(names, name, strlen(name), NULL);

		if (!count) {
			map_free(names);
			return NULL;
		}
		++*count;
	}
	return names;
}

/* Adds the module to a name that is not unique. */
static void name_cell(struct table *table, const struct map *names,
		      const struct model_function *row)
{
	const uint64_t *count = map_get_string(names, row->name, strlen(row->name));
	char name[1024];

	if (row->module && count && *count > 1) {
		snprintf(name, sizeof(name), "%.760s (%.240s)", row->name, path_base(row->module));
		table_cell(table, name);
		return;
	}
	table_cell(table, row->name);
}

static void function_row(const struct section *section, struct table *table,
			 const struct map *names, const struct model_function *row)
{
	double wall = (double)section->model->run.wall / 1e9;
	double cpu = (double)section->model->cpu.on_cpu_ns;
	char place[512];

	cell_time(table, row->cpu_self_ns);
	cell_share(table, row->cpu_self_ns, cpu);
	cell_time(table, row->cpu_total_ns);
	cell_bytes(table, row->alloc_self_bytes);
	cell_bytes(table, row->alloc_total_bytes);
	cell_bytes(table, wall > 0 ? row->alloc_self_bytes / wall : 0);
	cell_survived(table, &row->survived);
	cell_time(table, row->gc_self_ns);
	cell_time(table, row->gc_ns);
	cell_time(table, row->syscall_ns);
	cell_time(table, row->off_cpu_ns);
	name_cell(table, names, row);
	if (row->file && row->line) {
		snprintf(place, sizeof(place), "%.480s:%" PRIu64, path_base(row->file), row->line);
		table_cell(table, place);
		return;
	}
	table_cell(table, row->module ? path_base(row->module) : "");
}

enum { FUNCTION_SURVIVED = 6, FUNCTION_GC_SELF, FUNCTION_GC, FUNCTION_SYSCALLS };

/* Explains the visible columns. */
static int print_functions(const struct section *section, struct table *table)
{
	bool survival = table_shows(table, section->page, FUNCTION_SURVIVED);
	bool gc = table_shows(table, section->page, FUNCTION_GC_SELF) ||
		  table_shows(table, section->page, FUNCTION_GC);
	bool calls = section->model->syscall_stack_ns &&
		     table_shows(table, section->page, FUNCTION_SYSCALLS);

	if (section_table(section, table) < 0)
		return -ENOMEM;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "self: the function alone; total: including its callees.%s%s%s",
		       survival ? " surv: share of the bytes that survived their first collection."
				: "",
		       gc ? " GC caused: collection time charged to these allocations." : "",
		       calls ? " system calls: those with a stack (the long ones), including "
			       "callees."
			     : "");
	return 0;
}

int section_functions(const struct section *section)
{
	static const struct column columns[] = {
		{"CPU", "self", false, 0, 0},
		{"", "%", false, 5, 0},
		{"CPU", "total", false, 0, 0},
		{"allocated", "self", false, 0, 0},
		{"allocated", "total", false, 3, 0},
		{"", "per s", false, 6, 0},
		{"", "surv", false, 0, 0},
		[FUNCTION_GC_SELF] = {"GC caused", "self", false, 1, 0},
		{"GC caused", "total", false, 4, 0},
		[FUNCTION_SYSCALLS] = {"system", "calls", false, 2, 0},
		{"off", "CPU", false, 0, 0},
		{NULL, "function", true, 0, 22},
		{NULL, "module or source", true, 7, 16},
	};
	const struct model *model = section->model;
	struct table *table;
	struct map *names;

	section_title(section, TABLE_FUNCTIONS, "Functions", model->n_functions,
		      "most CPU, allocation and collection time first");
	if (!model->n_functions) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "No samples.");
		return 0;
	}
	if (model->frames != MODEL_FRAMES_ALL)
		page_paragraph(
			section->page, STYLE_PLAIN, 2,
			"Only %s frames are shown; each includes the cost of the hidden frames "
			"below it.",
			model_frames_name(model->frames));
	table = table_create(columns, N_COLUMNS(columns));
	names = count_names(section);
	if (!table || !names) {
		table_free(table);
		map_free(names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < section_rows(section, model->n_functions); i++)
		function_row(section, table, names, &model->functions[i]);
	map_free(names);
	return print_functions(section, table);
}

/* Explains how selected calls were counted. */
static void note_selection(const struct section *section)
{
	const struct model *model = section->model;

	if (model->tracing.estimated)
		page_paragraph(
			section->page, STYLE_PLAIN, 2,
			"~ marks an estimate: the share of the exact total that the calls with "
			"their own records represent. ± shows how far the count may be off.");
	if (model->calls_stackless > 0)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "%s %s no stack, since only long calls get one: whether they are "
			       "of these functions is unknown.",
			       unit_count((uint64_t)model->calls_stackless).text,
			       plural((uint64_t)model->calls_stackless, "call[ has|s have]").text);
	if (model->calls_untraced)
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "In a part of the selected time no system calls were traced "
			       "(--max-overhead): their number is unknown.");
	else if (model->calls_left_out > 0)
		page_paragraph(
			section->page, STYLE_WARNING, 2,
			"%s more %s left out, since it is unknown how many are selected: too "
			"few have their own records, or this profile does not say what "
			"these stand for.",
			unit_count((uint64_t)model->calls_left_out).text,
			plural((uint64_t)model->calls_left_out, "call[ is|s are]").text);
}

/* Reports how long calls were traced, unless it was always. */
static void note_tracing(const struct section *section)
{
	const struct model_tracing *tracing = &section->model->tracing;

	if (section->model->filter)
		note_selection(section);
	if (!tracing->gaps || section->model->filter)
		return;
	page_paragraph(section->page, STYLE_WARNING, 2,
		       "System calls were traced for %s of %s (%s), to limit the cost of recording "
		       "(--max-overhead). %s",
		       unit_time((double)tracing->traced_ns).text,
		       unit_time((double)tracing->traced_ns + (double)tracing->untraced_ns).text,
		       unit_percent(model_coverage(tracing)).text,
		       !section->model->n_syscalls ? ""
		       : tracing->estimated
			       ? "~ marks estimates for the whole time, ± shows how far the count "
				 "may be off; p50, p99 and max cover the traced calls."
			       : "A profile of this old version does not allow estimates: only the "
				 "traced calls are counted.");
}

static void call_count(struct table *table, bool estimated, uint64_t count)
{
	char text[40];

	snprintf(text, sizeof(text), "~%s", unit_rough((double)count).text);
	if (estimated && count)
		table_cell(table, text);
	else
		cell_count(table, count);
}

static void call_time(struct table *table, bool estimated, uint64_t ns)
{
	char text[40];

	snprintf(text, sizeof(text), "~%s", unit_time((double)ns).text);
	if (estimated && ns)
		table_cell(table, text);
	else
		cell_time(table, (double)ns);
}

static void call_margin(struct table *table, const struct model_syscall *row)
{
	if (row->estimated)
		cell_margin(table, &row->calls);
	else
		table_cell(table, NULL);
}

int section_syscalls(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "count", false, 0, 0},   {NULL, "±", false, 0, 0},
		{NULL, "errors", false, 0, 0},  {NULL, "total", false, 0, 0},
		{NULL, "p50", false, 2, 0},     {NULL, "p99", false, 0, 0},
		{NULL, "max", false, 1, 0},     {NULL, "in GC", false, 0, 0},
		{NULL, "for", false, 0, 0},     {NULL, "CPU", false, 3, 0},
		{NULL, "off CPU", false, 0, 0}, {NULL, "call", true, 0, 12},
	};
	const struct model *model = section->model;
	struct table *table;

	if (!section_recorded(section, "syscall", "System calls"))
		return 0;
	section_title(section, TABLE_SYSCALLS, "System calls", model->n_syscalls,
		      "longest in total first");
	note_tracing(section);
	if (!model->n_syscalls) {
		if (model->calls_left_out <= 0)
			page_paragraph(section->page, STYLE_PLAIN, 2, "%s",
				       model_calls_unknown(model) ? "None was made then."
								  : "None.");
		return 0;
	}
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_syscalls); i++) {
		const struct model_syscall *row = &model->syscalls[i];

		if (row->count)
			call_count(table, row->estimated, row->count);
		else
			table_cell(table, "0 ended");
		call_margin(table, row);
		call_count(table, row->estimated, row->errors);
		call_time(table, row->estimated, row->total_ns);
		cell_time(table, (double)row->p50_ns);
		cell_time(table, (double)row->p99_ns);
		cell_time(table, (double)row->max_ns);
		call_count(table, row->estimated, row->in_gc_count);
		call_time(table, row->estimated, row->in_gc_ns);
		cell_time(table, (double)row->cpu_ns);
		call_time(table, row->estimated, row->wait_ns);
		table_cell(table, row->name);
	}
	return section_table(section, table);
}

/* With a filter, the threads with selected samples; they come first in any order. */
static size_t count_threads(const struct model *model)
{
	size_t count = model->n_threads;

	while (model->filter && count && !model->threads[count - 1].cpu_samples &&
	       !model->threads[count - 1].alloc_samples)
		count--;
	return count;
}

static bool is_one_of_several(const struct model *model, const char *program)
{
	for (size_t i = 0; i < model->n_programs; i++)
		if (model->programs[i].name && !strcmp(model->programs[i].name, program))
			return model->programs[i].processes > 1;
	return false;
}

/* Command lines or titles distinguish processes of the same program. */
static void thread_name_cell(const struct section *section, struct table *table,
			     const struct model_thread *row)
{
	char text[320];

	if (row->tid == row->pid && row->name && row->title &&
	    is_one_of_several(section->model, row->name)) {
		snprintf(text, sizeof(text), "%s [%s]", row->name, row->title);
		table_cell(table, text);
	} else {
		table_cell(table, row->name ? row->name : "?");
	}
}

int section_threads(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "tid", false, 0, 0},           {NULL, "pid", false, 0, 0},
		{NULL, "CPU", false, 0, 0},           {"waited for", "a CPU", false, 3, 0},
		{NULL, "in GC", false, 0, 0},         {NULL, "allocated", false, 0, 0},
		{NULL, "timer samples", false, 2, 0}, {NULL, "alloc samples", false, 1, 0},
		{NULL, "thread", true, 0, 12},
	};
	const struct model *model = section->model;
	size_t count = count_threads(model);
	struct table *table;
	char number[24];

	section_title(section, TABLE_THREADS, "Threads", count, "most CPU time first");
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, count); i++) {
		const struct model_thread *row = &model->threads[i];

		snprintf(number, sizeof(number), "%" PRIu64, row->tid);
		table_cell(table, number);
		snprintf(number, sizeof(number), "%" PRIu64, row->pid);
		table_cell(table, number);
		cell_time(table, row->cpu_ns);
		cell_time(table, (double)row->queued_ns);
		cell_time(table, row->gc_cpu_ns);
		cell_bytes(table, row->alloc_bytes);
		cell_count(table, row->cpu_samples);
		cell_count(table, row->alloc_samples);
		thread_name_cell(section, table, row);
	}
	return section_table(section, table);
}
