/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c: the tables on time off the CPU and on page faults. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "../util/units.h"
#include "../util/path_base.h"
#include "../util/plural.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

static bool slow_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	uint64_t start = rows->section->model->run.start;
	const struct model_slow_call *call = row;

	if (figure != FIGURE_slow_call_at)
		return false;
	cell_time(table, call->start_ns > start ? (double)(call->start_ns - start) : 0);
	return true;
}

int section_slow_calls(const struct section *section)
{
	const struct row_table rows = {section, ROWS_slow_call, slow_cell, NULL};
	const struct model *model = section->model;

	if (!model->n_slow_calls)
		return 0;
	page_heading(section->page, "Longest system calls");
	return section_print_rows(&rows, model->slow_calls, model->n_slow_calls);
}

static bool wait_cell(const struct row_table *rows, struct table *table, unsigned figure,
		      const void *row)
{
	const struct model_wait *wait = row;
	double total = (double)wait->total_ns;

	switch (figure) {
	case FIGURE_wait_share:
		cell_share(table, total, (double)rows->section->model->wait_ns);
		return true;
	case FIGURE_wait_mean:
		cell_time(table, wait->count ? total / (double)wait->count : 0);
		return true;
	default:
		return false;
	}
}

static int print_reasons(const struct section *section)
{
	const struct row_table rows = {section, ROWS_wait, wait_cell, NULL};

	return section_print_rows(&rows, section->model->waits, section->model->n_waits);
}

static bool waker_cell(const struct row_table *rows, struct table *table, unsigned figure,
		       const void *row)
{
	const struct model_waker *waker = row;

	(void)rows;
	if (figure != FIGURE_waker_name)
		return false;
	table_cell(table, waker->name ? waker->name : "?");
	return true;
}

static int print_wakers(const struct section *section)
{
	const struct row_table rows = {section, ROWS_waker, waker_cell, NULL};
	const struct model *model = section->model;

	if (!model->n_wakers)
		return 0;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "Waits for locks and conditions (futex), by the thread that ended them: it "
		       "held the lock, or had to act first.");
	return section_print_rows(&rows, model->wakers, model->n_wakers);
}

static void thread_row(struct table *table, const struct model_thread *row)
{
	cell_id(table, row->tid);
	cell_time(table, (double)row->wall_ns);
	/* By the accounting of the scheduler: a wait that began before its tracing is missing. */
	cell_time(table, row->cpu_ns);
	cell_time(table, (double)row->off_cpu_ns);
	for (int i = 0; i < WAIT_KINDS; i++)
		cell_time(table, (double)row->wait_ns[i]);
	table_cell(table, row->name ? row->name : "?");
}

/* Prints where each thread's time went, in the order of the table of threads. */
static int print_threads(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "tid", false, 0, 0},          {NULL, "wall", false, 0, 0},
		{NULL, "on CPU", false, 0, 0},       {NULL, "off CPU", false, 0, 0},
		{"in system", "calls", false, 0, 0}, {"page", "faults", false, 0, 0},
		{NULL, "preempted", false, 0, 0},    {NULL, "stopped", false, 0, 0},
		{NULL, "thread", true, 0, 12},
	};
	const struct model *model = section->model;
	struct table *table = table_create(columns, N_COLUMNS(columns));
	size_t shown = 0, rows = section_rows(section, model->n_threads);

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < model->n_threads && shown < rows; i++) {
		if (!model->threads[i].waits_known)
			continue;
		thread_row(table, &model->threads[i]);
		shown++;
	}
	return section_table(section, table);
}

/* Waits that are too short to be recorded are in the totals, but not in any function. */
static void tell_stacks(const struct section *section)
{
	const struct model *model = section->model;
	double share = (double)model->wait_stack_ns / (double)model->wait_ns;

	if (share > 0.99)
		return;
	page_paragraph(
		section->page, STYLE_DIM, 2,
		"%s of these %s, %s, have a stack and are shown by function. The rest are "
		"mostly shorter waits, which are only counted; gcprof record --off-cpu-min 0 "
		"records each.",
		unit_time((double)model->wait_stack_ns).text,
		unit_time((double)model->wait_ns).text, unit_percent(share).text);
}

int section_off_cpu(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_stream *stream = section_stream(section, "sched");
	int error;

	/* Recording waits is optional: a default report does not mention missing ones. */
	if ((!stream || !stream->attached) && !section->parts)
		return 0;
	if (!section_recorded(section, "sched", "Off the CPU"))
		return 0;
	page_heading(section->page, "Off the CPU (longest in total first)");
	if (!model->n_waits) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "Never.");
		return 0;
	}
	error = print_reasons(section);
	error = error ? error : print_wakers(section);
	/* A filter cannot divide the kernel's totals of threads. */
	if (error || model->filter)
		return error;
	if (model->wait_ns)
		tell_stacks(section);
	fputc('\n', section->page->out);
	return print_threads(section);
}

static int by_faults(const void *a, const void *b)
{
	const struct model_function *const *x = a, *const *y = b;

	if ((*x)->faults_self != (*y)->faults_self)
		return (*x)->faults_self < (*y)->faults_self ? 1 : -1;
	if ((*x)->faults != (*y)->faults)
		return (*x)->faults < (*y)->faults ? 1 : -1;
	return strcmp((*x)->name, (*y)->name);
}

static void fault_row(const struct section *section, struct table *table,
		      const struct model_function *row)
{
	cell_count(table, row->faults_self);
	cell_share(table, (double)row->faults_self, (double)section->model->faults.recorded);
	cell_count(table, row->gc_faults_self);
	cell_count(table, row->faults);
	table_cell(table, row->name);
	table_cell(table, row->module ? path_base(row->module) : "");
}

/* Prints the first `count` functions with page faults, most faults first. */
static int print_functions(const struct section *section, const struct model_function *const *rows,
			   size_t count)
{
	static const struct column columns[] = {
		{"faults", "self", false, 0, 0},   {"", "%", false, 0, 0},
		{"of self", "in GC", false, 1, 0}, {"faults", "total", false, 0, 0},
		{NULL, "function", true, 0, 22},   {NULL, "module", true, 2, 16},
	};
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, count); i++)
		fault_row(section, table, rows[i]);
	return section_table(section, table);
}

static void print_sums(const struct section *section)
{
	const struct model_faults *faults = &section->model->faults;
	uint64_t gc = faults->recorded_in_gc;

	if (faults->unknown_gcs && !gc) {
		page_paragraph(
			section->page, STYLE_PLAIN, 2, "%s page fault%s; %s of all were major.",
			unit_count(faults->recorded).text, plural(faults->recorded, "[|s]").text,
			unit_count(faults->recorded_major).text);
		return;
	}
	page_paragraph(section->page, STYLE_PLAIN, 2,
		       "%s page fault%s: %s in collections, %s elsewhere; %s of all were major.",
		       unit_count(faults->recorded).text, plural(faults->recorded, "[|s]").text,
		       unit_count(gc).text, unit_count(faults->recorded - gc).text,
		       unit_count(faults->recorded_major).text);
}

int section_faults(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_stream *stream = section_stream(section, "fault");
	const struct model_function **rows;
	size_t count = 0;
	int error;

	/* Recording faults is optional: a default report does not mention missing ones. */
	if ((!stream || !stream->attached) && !section->parts)
		return 0;
	if (!section_recorded(section, "fault", "Page faults"))
		return 0;
	rows = calloc(model->n_functions + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < model->n_functions; i++)
		if (model->functions[i].faults)
			rows[count++] = &model->functions[i];
	qsort(rows, count, sizeof(*rows), by_faults);
	section_title(section, ROWS_function, "Page faults", count, "most first");
	print_sums(section);
	error = count ? print_functions(section, rows, count) : 0;
	free(rows);
	return error;
}
