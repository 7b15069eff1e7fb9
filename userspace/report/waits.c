/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c: the tables on time off the CPU, and the figures on page faults. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "sections.h"
#include "units.h"

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

int section_slow_calls(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "at", false, 2, 0},    {NULL, "took", false, 0, 0},
		{NULL, "in GC", false, 1, 0}, {NULL, "tid", false, 0, 0},
		{NULL, "thread", true, 3, 0}, {NULL, "call", true, 0, 24},
	};
	const struct model *model = section->model;
	struct table *table;
	char number[24];

	if (!model->n_slow_calls)
		return 0;
	page_heading(section->page, "Longest system calls");
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_slow_calls); i++) {
		const struct model_slow_call *row = &model->slow_calls[i];

		cell_time(table, row->start > model->run.start
					 ? (double)(row->start - model->run.start)
					 : 0);
		cell_time(table, (double)row->duration_ns);
		cell_time(table, (double)row->gc_ns);
		snprintf(number, sizeof(number), "%" PRIu64, row->tid);
		table_cell(table, number);
		table_cell(table, row->thread);
		table_cell(table, row->text);
	}
	return section_table(section, table);
}

static int print_reasons(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "waits", false, 0, 0}, {NULL, "total", false, 0, 0},
		{NULL, "%", false, 0, 0},     {NULL, "mean", false, 1, 0},
		{NULL, "max", false, 0, 0},   {"of it for", "a CPU", false, 2, 0},
		{NULL, "for", true, 0, 12},
	};
	const struct model *model = section->model;
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_waits); i++) {
		const struct model_wait *row = &model->waits[i];

		cell_count(table, row->count);
		cell_time(table, (double)row->total_ns);
		cell_share(table, (double)row->total_ns, (double)model->wait_ns);
		cell_time(table, row->count ? (double)row->total_ns / (double)row->count : 0);
		cell_time(table, (double)row->max_ns);
		cell_time(table, (double)row->queued_ns);
		table_cell(table, row->name);
	}
	return section_table(section, table);
}

static int print_wakers(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "waits", false, 0, 0},    {NULL, "total", false, 0, 0},
		{NULL, "max", false, 0, 0},      {NULL, "tid", false, 0, 0},
		{NULL, "ended by", true, 0, 12},
	};
	const struct model *model = section->model;
	struct table *table;
	char number[24];

	if (!model->n_wakers)
		return 0;
	page_paragraph(section->page, STYLE_DIM, 2,
		       "Waits for locks and conditions (futex), by the thread that ended them: it "
		       "held the lock, or had to act first.");
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < section_rows(section, model->n_wakers); i++) {
		const struct model_waker *row = &model->wakers[i];

		cell_count(table, row->count);
		cell_time(table, (double)row->total_ns);
		cell_time(table, (double)row->max_ns);
		snprintf(number, sizeof(number), "%" PRIu64, row->tid);
		table_cell(table, number);
		table_cell(table, row->name ? row->name : "?");
	}
	return section_table(section, table);
}

static void thread_row(struct table *table, const struct model_thread *row)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, row->tid);
	table_cell(table, number);
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
