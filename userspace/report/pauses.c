/* SPDX-License-Identifier: BSD-2-Clause */
/* pauses.c: the longest pauses: what caused them and what they delayed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../util/plural.h"
#include "sections.h"
#include "../util/units.h"

enum { SITES_SHOWN = 3, CALLS_SHOWN = 3, TICKS_LEAST = 8 };

/* A site with a smaller share of a collection's work is not shown as its cause. */
#define SHARE_SHOWN 0.05

static const char *kind_name(unsigned kind)
{
	static const char *const names[] = {
		[GCPROF_GC_MINOR] = "minor",
		[GCPROF_GC_STEP] = "major step",
		[GCPROF_GC_FULL] = "full",
		[GCPROF_GC_STOP] = "stop",
	};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "?";
}

const char *section_reason(unsigned reason)
{
	static const char *const names[GC_REASONS] = {
		NULL,        "nursery full", "large objects",         "old generation grew",
		"asked for", "memory limit", "heap or thread closed",
	};

	return reason < GC_REASONS ? names[reason] : NULL;
}

static void write_sites(FILE *out, const struct model_pause *pause)
{
	for (size_t i = 0; i < pause->n_sites && i < SITES_SHOWN; i++) {
		const struct pause_site *site = &pause->sites[i];

		if (i && pause_site_share(pause, site) < SHARE_SHOWN)
			return;
		fprintf(out, "%s %s %.60s of ", i ? ";" : "",
			unit_percent(pause_site_share(pause, site)).text, site->type);
		for (int j = 0; j < SITE_FUNCTIONS && site->functions[j]; j++)
			fprintf(out, "%s%.60s", j ? " < " : "", site->functions[j]);
	}
}

static void write_cause(FILE *out, const struct model_pause *pause)
{
	uint64_t samples = pause->kept_bytes > 0 ? pause->kept_samples : pause->samples;

	if (pause->kind == GCPROF_GC_STOP)
		return;
	if (!samples) {
		fprintf(out, "None of the objects that it processed was sampled.");
		return;
	}
	if (pause->walked)
		fprintf(out, "Old objects then");
	else if (pause->kept_bytes > 0)
		fprintf(out, "Objects it kept");
	else
		fprintf(out, "%s; objects allocated before it",
			pause->fates ? "It kept no sampled object" : "What it kept is not known");
	fprintf(out, " (%s sample%s):", unit_count(samples).text, plural(samples, "[|s]").text);
	write_sites(out, pause);
	fputc('.', out);
}

static void write_thread(FILE *out, const char *name, uint64_t tid)
{
	fprintf(out, "%.32s (%" PRIu64 ")", name ? name : "thread", tid);
}

static void write_call(FILE *out, const struct pause_call *call)
{
	write_thread(out, call->thread, call->tid);
	fprintf(out, " %s %.100s for %s", call->is_call ? "in" : "off the CPU:", call->text,
		unit_time((double)call->overlap_ns).text);
	if (call->duration_ns > call->overlap_ns)
		fprintf(out, " of its %s", unit_time((double)call->duration_ns).text);
}

/* The separator before an item of the list. */
static const char *item(FILE *out)
{
	return ftell(out) > 0 ? "; " : "During the pause: ";
}

/* Lists calls that overlap a good part of the pause; returns their number. */
static uint64_t write_calls(FILE *out, const struct model_pause *pause)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < pause->n_longest && i < CALLS_SHOWN; i++) {
		const struct pause_call *call = &pause->longest[i];

		if ((double)call->overlap_ns < SHARE_SHOWN * (double)pause->pause_ns)
			break;
		fputs(item(out), out);
		write_call(out, call);
		calls += call->is_call;
	}
	return calls;
}

/* Lists the activity and the delays of other threads. */
static void write_other_threads(FILE *out, const struct model_pause *pause)
{
	uint64_t rest = pause->sums.calls - pause->sums.futex_calls - write_calls(out, pause);

	if (rest)
		fprintf(out, "%s%s shorter call%s", item(out), unit_count(rest).text,
			plural(rest, "[|s]").text);
	if (pause->sums.futex_calls)
		fprintf(out, "%sother threads waiting in futex, %s together", item(out),
			unit_time((double)pause->sums.futex_ns).text);
	if (pause->cpu_ns > 0)
		fprintf(out, "%sother threads on CPUs for %s", item(out),
			unit_time(pause->cpu_ns).text);
	if (ftell(out) > 0)
		fputc('.', out);
}

/* The reason of a wait in words. */
static const char *why(const struct pause_call *wait)
{
	static const char *const words[][2] = {
		{"call", "it waited in a system call"},
		{"fault", "it waited for a page"},
		{"preempted", "it was preempted"},
		{"stopped", "it was stopped"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i][0], wait->text) == 0)
			return words[i][1];
	return wait->text;
}

/* "41.4 ms", or "41.4 ms, at most 8.51 ms at a time" for several spans. */
static void write_span(FILE *out, uint64_t all, uint64_t longest)
{
	fprintf(out, "%s", unit_time((double)all).text);
	if (longest < all - all / 20)
		fprintf(out, ", at most %s at a time", unit_time((double)longest).text);
}

/* Explains a pause in which several threads collected: the one that began it waits for the rest. */
static void write_workers(FILE *out, const struct model_pause *pause)
{
	fprintf(out, "The collector's %s threads were on CPUs for %s, together",
		unit_count(pause->workers + 1).text, unit_time(pause->own_cpu_ns).text);
	if ((double)pause->sums.ready_ns >= SHARE_SHOWN * (double)pause->pause_ns)
		fprintf(out, ", and ready to run but without a CPU for %s",
			unit_time((double)pause->sums.ready_ns).text);
	fputc('.', out);
}

/* Explains a pause in which the collecting thread did little work. */
static void write_own(FILE *out, const struct model_pause *pause)
{
	double least = SHARE_SHOWN * (double)pause->pause_ns;
	bool calls = (double)pause->sums.own_call_ns >= least;
	bool waits = (double)pause->sums.own_wait_ns >= least;

	if (pause->workers) {
		write_workers(out, pause);
		return;
	}
	if (calls) {
		fprintf(out, "The collecting thread was in system calls for ");
		write_span(out, pause->sums.own_call_ns, pause->own_call.overlap_ns);
		fprintf(out, " in %.100s%s", pause->own_call.text, waits ? "; " : ".");
	}
	if (waits) {
		fprintf(out, "%s off the CPU for ", calls ? "it was" : "The collecting thread was");
		write_span(out, pause->sums.own_wait_ns, pause->own_wait.overlap_ns);
		fprintf(out, ": %s.", why(&pause->own_wait));
	}
}

/* Without tracing, an empty list of system calls means little. */
static void write_untraced(FILE *out, const struct model_pause *pause)
{
	double untraced = (double)pause->pause_ns - (double)pause->sums.traced_ns;

	if (untraced >= SHARE_SHOWN * (double)pause->pause_ns)
		fprintf(out, "System calls were not traced for %s of it (--max-overhead).",
			unit_time(untraced).text);
}

/* Adds a note below the row if `write` prints anything. */
static int note(struct table *table, const struct model_pause *pause,
		void (*write)(FILE *out, const struct model_pause *pause))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error = 0;

	if (!out)
		return -ENOMEM;
	write(out, pause);
	if (fclose(out) != 0)
		error = -ENOMEM;
	else if (*text)
		table_note(table, text);
	free(text);
	return error;
}

static void pause_row(const struct section *section, struct table *table,
		      const struct model_pause *pause)
{
	uint64_t start = section->model->run.start;
	char thread[64];

	cell_time(table, pause->start > start ? (double)(pause->start - start) : 0);
	cell_time(table, (double)pause->pause_ns);
	table_cell(table, pause->name ? pause->name : kind_name(pause->kind));
	table_cell(table,
		   pause->named_reason ? pause->named_reason : section_reason(pause->reason));
	cell_bytes(table, (double)pause->heap_before);
	cell_bytes(table, (double)pause->heap_after);
	cell_bytes(table, (double)pause->promoted_bytes);
	cell_time(table, (double)pause->stop_ns);
	cell_time(table, pause->own_cpu_ns);
	snprintf(thread, sizeof(thread), "%.32s (%" PRIu64 ")",
		 pause->thread ? pause->thread : "thread", pause->tid);
	table_cell(table, thread);
}

/* Points out pauses that were mostly not work, according to the timer. */
static void explain(const struct section *section, size_t rows)
{
	size_t idle = 0;

	for (size_t i = 0; i < rows; i++) {
		const struct model_pause *pause = &section->model->pauses[i];

		idle += pause->ticks >= TICKS_LEAST && !pause->sums.own_wait_ns &&
			pause->own_cpu_ns < (double)pause->pause_ns / 2;
	}
	if (idle)
		page_paragraph(section->page, STYLE_DIM, 2,
			       "In %zu of these the collecting thread was on a CPU for less than "
			       "half of the time: it was preempted, or it waited. gcprof record "
			       "--off-cpu shows which.",
			       idle);
}

int section_pauses(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "at", false, 0, 0},        {NULL, "took", false, 0, 0},
		{NULL, "kind", true, 0, 12},      {NULL, "because", true, 2, 12},
		{"heap", "before", false, 5, 0},  {"heap", "after", false, 4, 0},
		{NULL, "promoted", false, 0, 0},  {"to stop", "threads", false, 3, 0},
		{"its CPU", "time", false, 1, 0}, {NULL, "thread", true, 0, 12},
	};
	const struct model *model = section->model;
	size_t rows = section_rows(section, model->n_pauses);
	struct table *table;
	char title[96];
	int error = 0;

	if (!rows)
		return 0;
	snprintf(title, sizeof(title), "Longest pauses (%zu of %s)", rows,
		 unit_count(model_gc_count(&model->gc)).text);
	page_heading(section->page, title);
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < rows; i++) {
		pause_row(section, table, &model->pauses[i]);
		/* Without samples there is none of any pause. */
		if (model->alloc.samples)
			error |= note(table, &model->pauses[i], write_cause);
		error |= note(table, &model->pauses[i], write_other_threads);
		error |= note(table, &model->pauses[i], write_own);
		if (model->tracing.gaps)
			error |= note(table, &model->pauses[i], write_untraced);
	}
	if (error) {
		table_free(table);
		return -ENOMEM;
	}
	error = section_table(section, table);
	explain(section, rows);
	return error;
}
