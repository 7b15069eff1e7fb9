/* SPDX-License-Identifier: BSD-2-Clause */
/* collections.c: pauses by kind and reason, and cycles of concurrent collectors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../model/world/text.h"
#include "../util/plural.h"
#include "sections.h"
#include "../util/units.h"

enum { REASONS_SHOWN = 12 };

#define N_COLUMNS(columns) (sizeof(columns) / sizeof(*(columns)))

static void pause_row(const struct section *section, struct table *table, const char *name,
		      const struct model_pauses *pauses)
{
	double wall = (double)section->model->run.wall;

	table_cell(table, name);
	cell_count(table, pauses->count);
	cell_time(table, (double)pauses->total_ns);
	cell_share(table, (double)pauses->total_ns, wall);
	cell_time(table, (double)pauses->p50_ns);
	cell_time(table, (double)pauses->p99_ns);
	cell_time(table, (double)pauses->max_ns);
}

static void write_reason(FILE *out, uint64_t count, const char *name, const char *before)
{
	const char *quote = *before ? "\"" : "";

	if (count)
		fprintf(out, "%s%s %s%s%s%s", ftell(out) > 0 ? ", " : "", unit_count(count).text,
			before, quote, name, quote);
}

/* Lists the reasons of collections. */
static int describe_reasons(const struct section *section)
{
	static const char *const names[GC_REASONS] = {
		"for an unknown reason",
		"because the nursery was full",
		"because of large objects",
		"because the old generation had grown",
		"because the program asked",
		"because of a limit or memory outside the heap",
		"because a heap or a thread was closed",
	};
	const struct model_gc *gc = &section->model->gc;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	/*
	 * If a runtime names its pauses, the name is the reason, so unknown reasons are
	 * left out.
	 */
	for (size_t i = 1; i < GC_REASONS + !gc->n_named; i++)
		write_reason(out, gc->reasons[i % GC_REASONS].count, names[i % GC_REASONS], "");
	for (size_t i = 0; i < gc->n_named_reasons && i < REASONS_SHOWN; i++)
		write_reason(out, gc->named_reasons[i].count, gc->named_reasons[i].name, "for ");
	return page_written(section->page, out, &text);
}

/* Prints utilisation for windows of 10 ms, 100 ms and so on, as far as it is known. */
static void describe_utilisation(const struct section *section)
{
	const struct model_gc *gc = &section->model->gc;
	char text[240] = "";
	size_t used = 0;

	for (size_t i = 0; i < gc->n_utilisation; i += 3) {
		const struct model_utilisation *row = &gc->utilisation[i];

		if (used < sizeof(text))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%s of any %g %s",
				used ? ", " : "", unit_percent(row->minimum).text,
				row->window_ns < 1000000000 ? (double)row->window_ns / 1e6
							    : (double)row->window_ns / 1e9,
				row->window_ns < 1000000000 ? "ms" : "s");
	}
	if (used)
		page_paragraph(section->page, STYLE_PLAIN, 2, "at worst, pauses left %s %s",
			       gc->processes > 1 ? "a process" : "the program", text);
}

/* Page faults are not known for short pauses and for pauses of runtimes without gcprof's probes. */
static void describe_unknown_faults(const struct section *section, uint64_t all)
{
	const struct model_faults *faults = &section->model->faults;
	const char *major = unit_count(faults->major).text;

	page_paragraph(section->page, STYLE_PLAIN, 2,
		       "page faults: %s%s%s; the number in pauses is not known",
		       unit_count(all).text, faults->major ? ", major: " : "",
		       faults->major ? major : "");
}

/* Page faults show the cost of a nursery that exceeds the cache or is returned to the system. */
static void describe_faults(const struct section *section)
{
	const struct model_faults *faults = &section->model->faults;
	uint64_t all = faults->minor + faults->major,
		 gc = faults->in_minor_gc + faults->in_major_gc;
	char batched[96] = "";

	if (!faults->known)
		return;
	if (faults->unknown_gcs && !gc) {
		describe_unknown_faults(section, all);
		return;
	}
	if (faults->unknown_gcs)
		snprintf(batched, sizeof(batched), " or in %s pause%.1s with unknown counts",
			 unit_count(faults->unknown_gcs).text,
			 plural(faults->unknown_gcs, "[|s]").text);
	page_paragraph(
		section->page, STYLE_PLAIN, 2,
		"page faults: %s in minor collections, %s in major ones, %s elsewhere%s%s%s%s",
		unit_count(faults->in_minor_gc).text, unit_count(faults->in_major_gc).text,
		unit_count(all > gc ? all - gc : 0).text, batched, faults->major ? "; " : "",
		faults->major ? unit_count(faults->major).text : "",
		faults->major ? " of all were major" : "");
}

static void describe_size(const struct section *section)
{
	const struct model_gc *gc = &section->model->gc;
	bool generations = gc->promoted_bytes ||
			   (!gc->n_named && (gc->minor.count || gc->major.count));
	const struct unit_text heap = unit_bytes((double)gc->heap_peak_bytes);

	/*
	 * Runtimes and allocators report only part of these figures. Those without gcprof's
	 * probes name their kinds of pauses.
	 */
	if (!gc->heap_peak_bytes) {
		if (gc->promoted_bytes)
			page_paragraph(section->page, STYLE_PLAIN, 2, "promoted %s",
				       unit_bytes((double)gc->promoted_bytes).text);
		return;
	}
	if (!generations) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "peak heap %s%s%s", heap.text,
			       gc->freed_bytes ? "; pauses freed " : "",
			       gc->freed_bytes ? unit_bytes((double)gc->freed_bytes).text : "");
		return;
	}
	page_paragraph(section->page, STYLE_PLAIN, 2,
		       "promoted %s; peak heap %s%s%s; %s major collection%s",
		       unit_bytes((double)gc->promoted_bytes).text, heap.text,
		       gc->rss_peak_bytes ? ", peak process size " : "",
		       gc->rss_peak_bytes ? unit_bytes((double)gc->rss_peak_bytes).text : "",
		       gc->major.cycles ? unit_count(gc->major.cycles).text : "no",
		       plural(gc->major.cycles, "[|s]").text);
}

/* What is charged to no object, and why. */
static void describe_unattributed(const struct section *section)
{
	static const char *const words[UNATTRIBUTED] = {
#define WHY(NAME, key, words) words,
#include "../model/world/unattributed.def"
#undef WHY
	};
	const struct model_gc *gc = &section->model->gc;
	char text[400] = "";
	size_t used = 0;

	for (int why = 0; why < UNATTRIBUTED; why++)
		if (gc->unattributed[why] >= 1 && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s",
						 used ? ", " : "",
						 unit_time(gc->unattributed[why]).text, words[why]);
	if (used)
		page_paragraph(
			section->page, STYLE_PLAIN, 2, "%s of %s is charged to no object: %s",
			unit_time(gc->unattributed_ns).text,
			gc->pauses_charged ? "the pauses" : "the collectors' CPU time", text);
}

/* The CPU time of the collector's parts. */
static void describe_parts(const struct section *section)
{
	static const char *const names[] = {
#define PART(NAME, name, words) words,
#include "../../bpf/gc_parts.def"
#undef PART
	};
	const struct model_gc *gc = &section->model->gc;
	char text[240] = "";
	size_t used = 0;
	double all = 0;

	for (int part = 0; part < GC_PARTS; part++)
		all += (double)gc->parts_ns[part];
	for (int part = 0; part < GC_PARTS; part++)
		if (gc->parts_ns[part] && used < sizeof(text))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%s for %s", used ? ", " : "",
				unit_percent((double)gc->parts_ns[part] / all).text, names[part]);
	if (used)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "CPU time of the collector, by %s sample%.1s: %s",
			       unit_count(gc->parts_samples).text,
			       plural(gc->parts_samples, "[|s]").text, text);
}

static void describe_heap(const struct section *section)
{
	const struct model_gc *gc = &section->model->gc;

	describe_size(section);
	if (gc->copy_ns_per_byte > 0)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "a minor collection takes about %s%s%s for each MiB promoted",
			       gc->fixed_ns >= 1 ? unit_time(gc->fixed_ns).text : "",
			       gc->fixed_ns >= 1 ? ", plus " : "",
			       unit_time(gc->copy_ns_per_byte * 1048576).text);
	describe_parts(section);
	if (gc->stop_max_ns)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "stopping the threads took %s of the pauses, at most %s",
			       unit_time((double)gc->stop_ns).text,
			       unit_time((double)gc->stop_max_ns).text);
	describe_unattributed(section);
	if (gc->unreachable)
		page_paragraph(section->page, STYLE_PLAIN, 2, "%s object%s found to be unreachable",
			       unit_count(gc->unreachable).text,
			       plural(gc->unreachable, "[ was|s were]").text);
	describe_faults(section);
	if (gc->unpaired)
		page_paragraph(section->page, STYLE_WARNING, 2,
			       "%" PRIu64 " pause%s only a beginning or an end", gc->unpaired,
			       plural(gc->unpaired, "[ has|s have]").text);
}

/* Describes short collections that were recorded only as sums. */
static void describe_summed(const struct section *section)
{
	const struct model_gc *gc = &section->model->gc;
	uint64_t summed = gc->minor.summed + gc->major.summed;

	if (summed)
		page_paragraph(
			section->page, STYLE_PLAIN, 2,
			"%s %s in all totals, and accurate to an eighth in p50 and p99; "
			"system calls and waits do not count as in a collection because of %s",
			unit_count(summed).text,
			plural(summed,
			       "short one[|s] came too quickly to be recorded individually: "
			       "[it is|they are]")
				.text,
			plural(summed, "[it|them]").text);
}

/* A row for a kind of pauses, followed by rows for those to which a runtime gives names. */
static void kind_rows(const struct section *section, struct table *table, const char *kind,
		      const struct model_pauses *pauses, unsigned first, unsigned last)
{
	const struct model_gc *gc = &section->model->gc;
	char name[NAME_SIZE_MAX + 3];

	if (!pauses->count)
		return;
	pause_row(section, table, kind, pauses);
	for (size_t i = 0; i < gc->n_named; i++) {
		if (gc->named[i].kind < first || gc->named[i].kind > last)
			continue;
		snprintf(name, sizeof(name), "  %s", gc->named[i].name);
		pause_row(section, table, name, &gc->named[i].pauses);
	}
}

int section_collections(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "kind", true, 0, 12},  {NULL, "pauses", false, 0, 0},
		{NULL, "total", false, 0, 0}, {NULL, "of wall", false, 0, 0},
		{NULL, "p50", false, 0, 0},   {NULL, "p99", false, 0, 0},
		{NULL, "max", false, 0, 0},
	};
	const struct model_gc *gc = &section->model->gc;
	struct table *table;

	if (!section_recorded(section, "gc", "Collections"))
		return 0;
	page_heading(section->page, "Collections");
	if (!model_gc_count(gc)) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "None began or ended.");
		return 0;
	}
	table = table_create(columns, N_COLUMNS(columns));
	if (!table)
		return -ENOMEM;
	kind_rows(section, table, "minor", &gc->minor, GCPROF_GC_MINOR, GCPROF_GC_MINOR);
	kind_rows(section, table, "major", &gc->major, GCPROF_GC_STEP, GCPROF_GC_FULL);
	kind_rows(section, table, "other stops", &gc->others, GCPROF_GC_STOP, GCPROF_GC_STOP);
	if (gc->around.count)
		pause_row(section, table, "rest of the stops", &gc->around);
	if (gc->stops.count && gc->stops.count != model_gc_count(gc))
		pause_row(section, table, "all, as stops", &gc->stops);
	if (section_table(section, table) < 0)
		return -ENOMEM;
	describe_summed(section);
	if (describe_reasons(section) < 0)
		return -ENOMEM;
	describe_utilisation(section);
	if (gc->overlap)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "pauses of several threads overlap: each counts in totals and their "
			       "shares; at least one was in progress for %s",
			       unit_time((double)gc->any_ns).text);
	describe_heap(section);
	return section_areas(section);
}

static int longest_first(const void *a, const void *b)
{
	const struct model_gc_cycle *x = *(const struct model_gc_cycle *const *)a;
	const struct model_gc_cycle *y = *(const struct model_gc_cycle *const *)b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? 1 : -1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void cycle_row(const struct section *section, struct table *table,
		      const struct model_gc_cycle *cycle)
{
	uint64_t start = section->model->run.start;
	char pauses[160];

	cell_time(table, cycle->start_ns > start ? (double)(cycle->start_ns - start) : 0);
	cell_time(table, (double)cycle->duration_ns);
	cell_count(table, cycle->cycle);
	table_cell(table, cycle->name);
	table_cell(table, cycle->named_reason ? cycle->named_reason
					      : section_reason((unsigned)cycle->reason));
	cell_bytes(table, (double)cycle->heap_before_bytes);
	cell_bytes(table, (double)cycle->heap_after_bytes);
	cell_bytes(table, (double)cycle->live_bytes);
	snprintf(pauses, sizeof(pauses), "%s, %s", unit_count(cycle->pauses).text,
		 unit_time((double)cycle->pause_ns).text);
	table_cell(table, cycle->pauses ? pauses : NULL);
}

/* Lists the longest cycles. */
static int list_cycles(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "at", false, 0, 0},      {NULL, "took", false, 0, 0},
		{NULL, "cycle", false, 2, 0},   {NULL, "name", true, 0, 12},
		{NULL, "because", true, 1, 12}, {"heap", "before", false, 0, 0},
		{"heap", "after", false, 0, 0}, {NULL, "live", false, 0, 0},
		{NULL, "pauses", false, 0, 0},
	};
	const struct model *model = section->model;
	size_t count = model->n_gc_cycles;
	const struct model_gc_cycle **order = calloc(count + 1, sizeof(*order));
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!order || !table) {
		free(order);
		table_free(table);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = &model->gc_cycles[i];
	qsort(order, count, sizeof(*order), longest_first);
	for (size_t i = 0; i < section_rows(section, count); i++)
		cycle_row(section, table, order[i]);
	free(order);
	return section_table(section, table);
}

/* "on average the heap had 12.0 MiB before and 7.00 MiB after them, 4.00 MiB of it alive" */
static void describe_cycle_heap(const struct section *section)
{
	const struct model *model = section->model;
	double before = 0, after = 0, live = 0, known = 0, alive = 0;

	for (size_t i = 0; i < model->n_gc_cycles; i++) {
		const struct model_gc_cycle *cycle = &model->gc_cycles[i];

		if (cycle->unfinished || !cycle->heap_before_bytes || !cycle->heap_after_bytes)
			continue;
		known++;
		before += (double)cycle->heap_before_bytes;
		after += (double)cycle->heap_after_bytes;
		live += (double)cycle->live_bytes;
		alive += cycle->live_bytes != 0;
	}
	if (known > 0)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "on average the heap had %s before and %s after them%s%s%s",
			       unit_bytes(before / known).text, unit_bytes(after / known).text,
			       alive > 0 ? ", " : "",
			       alive > 0 ? unit_bytes(live / alive).text : "",
			       alive > 0 ? " of it alive" : "");
}

struct cause {
	const char *name;
	uint64_t count;
};

static int most_first(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The causes of cycles, as far as they are known: at most REASONS_SHOWN different ones. */
static size_t count_causes(const struct model *model, struct cause causes[REASONS_SHOWN])
{
	size_t n = 0;

	for (size_t i = 0; i < model->n_gc_cycles; i++) {
		const struct model_gc_cycle *cycle = &model->gc_cycles[i];
		const char *name = cycle->named_reason ? cycle->named_reason
						       : section_reason((unsigned)cycle->reason);
		size_t at = 0;

		while (name && at < n && strcmp(causes[at].name, name) != 0)
			at++;
		if (!name || at == REASONS_SHOWN)
			continue;
		if (at == n)
			causes[n++] = (struct cause){.name = name};
		causes[at].count++;
	}
	qsort(causes, n, sizeof(*causes), most_first);
	return n;
}

/* "12 for "heap size", 3 for "runtime.GC()"" */
static int describe_causes(const struct section *section)
{
	struct cause causes[REASONS_SHOWN] = {{0}};
	size_t n = count_causes(section->model, causes), size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		write_reason(out, causes[i].count, causes[i].name, "for ");
	return page_written(section->page, out, &text);
}

static int print_cycles(const struct section *section)
{
	static const struct column columns[] = {
		{NULL, "cycles", false, 0, 0},  {NULL, "total", false, 0, 0},
		{NULL, "of wall", false, 0, 0}, {NULL, "p50", false, 0, 0},
		{NULL, "p99", false, 0, 0},     {NULL, "longest", false, 0, 0},
	};
	const struct model_pauses *all = &section->model->gc.concurrent;
	struct table *table = table_create(columns, N_COLUMNS(columns));

	if (!table)
		return -ENOMEM;
	cell_count(table, all->count);
	cell_time(table, (double)all->total_ns);
	cell_share(table, (double)all->total_ns, (double)section->model->run.wall);
	cell_time(table, (double)all->p50_ns);
	cell_time(table, (double)all->p99_ns);
	cell_time(table, (double)all->max_ns);
	return section_table(section, table);
}

int section_cycles(const struct section *section)
{
	const struct model *model = section->model;
	uint64_t open = model->n_gc_cycles - model->gc.concurrent.count;

	if (!model->n_gc_cycles)
		return 0;
	page_heading(section->page, "Concurrent cycles");
	if (model->gc.concurrent.count && print_cycles(section) < 0)
		return -ENOMEM;
	if (open)
		page_paragraph(section->page, STYLE_PLAIN, 2,
			       "%s had not ended when the recording ended", unit_count(open).text);
	if (describe_causes(section) < 0)
		return -ENOMEM;
	describe_cycle_heap(section);
	page_paragraph(section->page, STYLE_DIM, 2,
		       "The program runs during a cycle; what stopped it is among the pauses.");
	return section->parts & PART_GC ? list_cycles(section) : 0;
}
