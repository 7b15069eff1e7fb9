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
#include "../util/units.h"

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

static void place_cell(struct table *table, const struct model_function *row)
{
	char place[512];

	if (row->file && row->line) {
		snprintf(place, sizeof(place), "%.480s:%" PRIu64, path_base(row->file), row->line);
		table_cell(table, place);
		return;
	}
	table_cell(table, row->module ? path_base(row->module) : "");
}

static bool function_cell(const struct row_table *rows, struct table *table, unsigned figure,
			  const void *row)
{
	const struct model *model = rows->section->model;
	const struct model_function *function = row;
	double wall = (double)model->run.wall / 1e9;

	switch (figure) {
	case FIGURE_function_cpu_share:
		cell_share(table, function->cpu_self_ns, (double)model->cpu.on_cpu_ns);
		return true;
	case FIGURE_function_alloc_rate:
		cell_bytes(table, wall > 0 ? function->alloc_self_bytes / wall : 0);
		return true;
	case FIGURE_function_name:
		name_cell(table, rows->context, function);
		return true;
	case FIGURE_function_module:
		place_cell(table, function);
		return true;
	default:
		return false;
	}
}

/* Explains the visible columns. */
static int print_functions(const struct row_table *rows, struct table *table)
{
	const struct section *section = rows->section;
	bool survival = rows_show(rows, table, FIGURE_function_survived);
	bool gc = rows_show(rows, table, FIGURE_function_gc_self_ns) ||
		  rows_show(rows, table, FIGURE_function_gc_ns);
	bool calls = section->model->syscall_stack_ns &&
		     rows_show(rows, table, FIGURE_function_syscall_ns);

	if (section_table(section, table) < 0)
		return -ENOMEM;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "self: the function alone; total: including its callees.%s%s%s",
		       survival ? " surv: share of the bytes that survived their first collection."
				: "",
		       gc ? " GC caused: CPU time of collectors charged to these allocations." : "",
		       calls ? " system calls: those with a stack (the long ones), including "
			       "callees."
			     : "");
	return 0;
}

int section_functions(const struct section *section)
{
	const struct model *model = section->model;
	struct map *names;
	struct row_table rows;
	struct table *table;

	section_title(section, ROWS_function, "Functions", model->n_functions,
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
	names = count_names(section);
	rows = (struct row_table){section, ROWS_function, function_cell, names};
	table = names ? rows_table(&rows, model->functions, model->n_functions) : NULL;
	map_free(names);
	return table ? print_functions(&rows, table) : -ENOMEM;
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
				 "may be off, ≥ that at least so many were made; p50, p99 and max "
				 "cover the traced calls."
			       : "A profile of this old version does not allow estimates: only the "
				 "traced calls are counted.");
}

/* A count of which little more is known than its least. */
static bool is_rough(const struct estimate *count)
{
	return count->high > 2 * count->value;
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

static void call_least(struct table *table, const struct estimate *count)
{
	char text[40];

	snprintf(text, sizeof(text), "≥ %s", unit_count((uint64_t)count->low).text);
	table_cell(table, text);
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

static bool call_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	const struct model_syscall *call = row;
	const struct figure_value value = figure_read(rows->section->model, figure, row);

	switch (figure) {
	case FIGURE_syscall_count:
		if (!call->count) {
			table_cell(table, "0 ended");
			return true;
		}
		if (call->estimated && is_rough(&call->calls))
			call_least(table, &call->calls);
		else
			call_count(table, call->estimated, call->count);
		return true;
	case FIGURE_syscall_count_margin:
		if (!call->estimated || is_rough(&call->calls))
			table_cell(table, NULL);
		else
			cell_margin(table, &call->calls);
		return true;
	case FIGURE_syscall_errors:
	case FIGURE_syscall_in_gc_count:
		call_count(table, call->estimated, value.count);
		return true;
	case FIGURE_syscall_total_ns:
	case FIGURE_syscall_in_gc_ns:
	case FIGURE_syscall_off_cpu_ns:
		call_time(table, call->estimated, value.known ? value.count : 0);
		return true;
	default:
		return false;
	}
}

int section_syscalls(const struct section *section)
{
	const struct row_table rows = {section, ROWS_syscall, call_cell, NULL};
	const struct model *model = section->model;

	if (!section_recorded(section, "syscall", "System calls"))
		return 0;
	section_title(section, ROWS_syscall, "System calls", model->n_syscalls,
		      "longest in total first");
	note_tracing(section);
	if (model->n_syscalls)
		return section_print_rows(&rows, model->syscalls, model->n_syscalls);
	if (model->calls_left_out <= 0)
		page_paragraph(section->page, STYLE_PLAIN, 2, "%s",
			       model_calls_unknown(model) ? "None was made then." : "None.");
	return 0;
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
static bool thread_cell(const struct row_table *rows, struct table *table, unsigned figure,
			const void *row)
{
	const struct model_thread *thread = row;
	char text[320];

	if (figure != FIGURE_thread_name)
		return false;
	if (thread->tid == thread->pid && thread->name && thread->title &&
	    is_one_of_several(rows->section->model, thread->name)) {
		snprintf(text, sizeof(text), "%s [%s]", thread->name, thread->title);
		table_cell(table, text);
	} else {
		table_cell(table, thread->name ? thread->name : "?");
	}
	return true;
}

int section_threads(const struct section *section)
{
	const struct row_table rows = {section, ROWS_thread, thread_cell, NULL};
	size_t count = count_threads(section->model);

	section_title(section, ROWS_thread, "Threads", count, "most CPU time first");
	return section_print_rows(&rows, section->model->threads, count);
}

static bool entry_cell(const struct row_table *rows, struct table *table, unsigned figure,
		       const void *row)
{
	const struct model_entry *entry = row;

	switch (figure) {
	case FIGURE_entry_cpu_share:
		cell_share(table, entry->cpu_ns, (double)rows->section->model->cpu.on_cpu_ns);
		return true;
	case FIGURE_entry_module:
		table_cell(table, entry->module ? path_base(entry->module) : "");
		return true;
	default:
		return false;
	}
}

/* By default, printed only if a runtime runs its threads on any system thread. */
int section_entries(const struct section *section)
{
	const struct row_table rows = {section, ROWS_entry, entry_cell, NULL};
	const struct model *model = section->model;
	size_t shown = section_rows(section, model->n_entries);
	char title[96] = "Entry functions";

	if (!shown || (!section->parts && !model->threads_move))
		return 0;
	if (shown < model->n_entries)
		snprintf(title, sizeof(title), "Entry functions (%zu of %zu, most CPU time first)",
			 shown, model->n_entries);
	page_heading(section->page, title);
	return section_print_rows(&rows, model->entries, model->n_entries);
}

/* If calls were not always traced, the figures of programs are estimates, too. */
static void calls_cell(const struct section *section, struct table *table, double calls)
{
	bool estimated = section->model->tracing.estimated;
	char text[40];

	snprintf(text, sizeof(text), "~%s", unit_rough(calls).text);
	if (estimated && calls > 0)
		table_cell(table, text);
	else
		cell_count(table, (uint64_t)fmin(calls + 0.5, 9e18));
}

static bool program_cell(const struct row_table *rows, struct table *table, unsigned figure,
			 const void *row)
{
	const struct model_program *program = row;

	switch (figure) {
	case FIGURE_program_cpu_share:
		cell_share(table, program->cpu_ns, (double)rows->section->model->cpu.on_cpu_ns);
		return true;
	case FIGURE_program_syscalls:
		calls_cell(rows->section, table, program->syscalls);
		return true;
	case FIGURE_program_name:
		table_cell(table, program->name ? program->name : "?");
		return true;
	default:
		return false;
	}
}

int section_programs(const struct section *section)
{
	const struct row_table rows = {section, ROWS_program, program_cell, NULL};
	const struct model *model = section->model;

	/* With a single program, the report already shows its figures. */
	if (model->n_programs < 2 && !section->parts)
		return 0;
	section_title(section, ROWS_program, "Programs", model->n_programs, "most CPU time first");
	return section_print_rows(&rows, model->programs, model->n_programs);
}
