/* SPDX-License-Identifier: BSD-2-Clause */
/* diff_print.c: prints a difference of profiles as text and JSON. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util/plural.h"
#include "../../bpf/events.h"
#include "diff.h"
#include "json_parts.h"
#include "page.h"
#include "sections.h"
#include "../util/units.h"

enum { ROWS_DEFAULT = 10 };

static struct unit_text amount(double value, enum diff_unit unit)
{
	/* A small part of one, per unit of work. */
	if (value < 99.5 && value > 0 && value != floor(value)) {
		static const char *const names[] = {" ns", " B", ""};
		struct unit_text out;

		snprintf(out.text, sizeof(out.text), "%#.3g%s", value, names[unit]);
		return out;
	}
	switch (unit) {
	case DIFF_TIME:
		return unit_time(value);
	case DIFF_BYTES:
		return unit_bytes(value);
	default:
		return value < 1e6 ? unit_count((uint64_t)llround(fmax(value, 0)))
				   : unit_rough(value);
	}
}

/* In percent, or as a factor from some size on: "x12" is easier to read than "+1106%". */
static void cell_relation(struct table *table, const struct diff_row *row)
{
	double before = row->before.value, change = row->change.value;
	char text[48];

	if (change >= 9.95 * before)
		snprintf(text, sizeof(text), "x%.0f", fmin(row->after.value / before, 1e9));
	else
		snprintf(text, sizeof(text), "%+.*f%%", fabs(change) < 0.0995 * before ? 1 : 0,
			 100 * change / before);
	table_cell(table, before > 0 && change != 0 ? text : NULL);
}

static void cell_change(struct table *table, const struct diff_row *row)
{
	double change = row->change.value;
	char text[48];

	snprintf(text, sizeof(text), "%s%s", change > 0 ? "+" : "-",
		 amount(fabs(change), row->unit).text);
	table_cell(table, change != 0 ? text : "same");
	cell_relation(table, row);
}

static const char *verdict_text(const struct diff_row *row)
{
	if (row->before.value == row->after.value)
		return "";
	if (row->verdict == DIFF_NOISE)
		return "may be noise";
	if (row->verdict == DIFF_EXACT)
		return "as measured";
	if (row->before.value <= 0)
		return "new";
	return row->after.value <= 0 ? "gone" : row->change.value > 0 ? "more" : "less";
}

static int print_rows(const struct page *page, const struct diff_table *rows, size_t top,
		      const char *title)
{
	const struct column columns[] = {
		{NULL, "before", false, 0, 0}, {NULL, "after", false, 0, 0},
		{NULL, "change", false, 0, 0}, {NULL, "%", false, 1, 0},
		{NULL, "", true, 0, 0},        {NULL, title, true, 0, 20},
	};
	struct table *table = table_create(columns, sizeof(columns) / sizeof(*columns));
	int error;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count && i < top; i++) {
		const struct diff_row *row = &rows->rows[i];

		if (row->before.high <= 0 && row->after.high <= 0)
			continue;
		table_cell(table, row->before.value > 0 ? amount(row->before.value, row->unit).text
							: NULL);
		table_cell(table,
			   row->after.value > 0 ? amount(row->after.value, row->unit).text : NULL);
		cell_change(table, row);
		table_cell(table, verdict_text(row));
		table_cell(table, row->name);
	}
	error = table_print(table, page);
	table_free(table);
	return error;
}

/* Prints the certain changes and the number of others. */
static int print_table(const struct page *page, const struct diff_table *rows, size_t top,
		       const char *heading, const char *title)
{
	size_t certain = 0;

	if (!rows->count)
		return 0;
	for (size_t i = 0; i < rows->count; i++)
		certain += rows->rows[i].verdict != DIFF_NOISE;
	page_heading(page, heading);
	if (certain && print_rows(page, rows, certain < top ? certain : top, title) < 0)
		return -ENOMEM;
	if (certain > top)
		page_paragraph(page, STYLE_DIM, 2, "%zu more", certain - top);
	if (rows->count > certain)
		page_paragraph(page, STYLE_DIM, 2, "%s%zu differ%s by no more than possible noise.",
			       certain            ? "The other "
			       : rows->count == 1 ? "The only "
						  : "All ",
			       rows->count - certain, plural(rows->count - certain, "[s|]").text);
	return 0;
}

static void print_side(const struct page *page, const char *label, const struct model *model)
{
	page_paragraph(page, STYLE_HEADING, 0, "%s: %s", label, model->file);
	section_command(page, STYLE_PLAIN, 2, &model->run);
}

/* A figure of one side only is no change. */
static void print_missing(const struct page *page, const struct diff *diff, unsigned stream)
{
	const struct model *only = diff_only_in(diff, stream);

	if (only && !diff->per_cpu)
		page_paragraph(page, STYLE_WARNING, 2, "not compared: %s (%s), recorded only %s",
			       stream_name(stream), stream_meaning(stream),
			       only == diff->before ? "before" : "after");
}

/* "+6.1%" or "+12 ms". */
static struct unit_text change_text(const struct condition *condition, double value)
{
	struct unit_text out;

	if (isinf(value))
		snprintf(out.text, sizeof(out.text), "%+.0f", value);
	else if (condition->relative)
		snprintf(out.text, sizeof(out.text), "%+.*f%%", fabs(value) < 0.0995 ? 1 : 0,
			 100 * value);
	else
		snprintf(out.text, sizeof(out.text), "%c%.30s", value < 0 ? '-' : '+',
			 amount(fabs(value), condition->row.unit).text);
	return out;
}

static int print_conditions(const struct page *page, const struct diff *diff)
{
	const struct column columns[] = {
		{NULL, "before", false, 3, 0}, {NULL, "after", false, 3, 0},
		{NULL, "change", false, 1, 0}, {NULL, "95 % interval", false, 2, 0},
		{NULL, "", true, 0, 0},        {NULL, "condition", true, 0, 12},
	};
	struct table *table;
	int error;

	if (!diff->n_conditions)
		return 0;
	table = table_create(columns, sizeof(columns) / sizeof(*columns));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < diff->n_conditions; i++) {
		const struct condition *condition = &diff->conditions[i];
		const struct estimate *change = &condition->change;
		char interval[80];

		snprintf(interval, sizeof(interval), "%s to %s",
			 change_text(condition, change->low).text,
			 change_text(condition, change->high).text);
		table_cell(table, amount(condition->row.before.value, condition->row.unit).text);
		table_cell(table, amount(condition->row.after.value, condition->row.unit).text);
		table_cell(table, change_text(condition, change->value).text);
		table_cell(table, diff_is_exact(change) ? NULL : interval);
		table_cell(table, condition->met     ? "met"
				  : condition->noise ? "may be noise"
						     : "not met");
		table_cell(table, condition->text);
	}
	page_heading(page, "Conditions");
	error = table_print(table, page);
	table_free(table);
	return error;
}

static void print_work(const struct page *page, const struct diff_work *per)
{
	if (per->text)
		page_paragraph(page, STYLE_PLAIN, 0,
			       "Figures are per %s (%s before, %s after), but for the longest "
			       "pauses, the peak heap and what is alive.",
			       per->unit, amount(per->row.before.value, per->row.unit).text,
			       amount(per->row.after.value, per->row.unit).text);
}

/* What a reader must know before he trusts a difference. */
static void print_unlike(const struct page *page, const struct diff *diff)
{
	struct diff_unlike unlike;

	for (unsigned fact = 0; fact < DIFF_FACTS; fact++)
		if (diff_unlike(diff, fact, &unlike))
			page_paragraph(page, STYLE_WARNING, 2, "unlike: %s: %s before, %s after",
				       unlike.name, unlike.before.text, unlike.after.text);
	for (unsigned stream = 1; stream < STREAM_END; stream++)
		print_missing(page, diff, stream);
}

int diff_text(const struct diff *diff, const struct report_options *options, FILE *out)
{
	struct page page = {out, options->width, options->colour, NULL};
	size_t top = options->top ? options->top : ROWS_DEFAULT;
	int error;

	if (page.width < REPORT_WIDTH_MIN)
		page.width = REPORT_WIDTH_MIN;
	if (page.width > REPORT_WIDTH_MAX)
		page.width = REPORT_WIDTH_MAX;
	print_side(&page, "before", diff->before);
	print_side(&page, "after", diff->after);
	if (diff->per_cpu)
		page_paragraph(&page, STYLE_PLAIN, 0,
			       "All figures are per second of CPU time, so that unequal numbers of "
			       "profiles can be compared.");
	print_work(&page, &diff->per);
	print_unlike(&page, diff);
	page_heading(&page, "Totals");
	error = print_rows(&page, &diff->totals, SIZE_MAX, "");
	if (!error)
		error = print_table(&page, &diff->functions, top, "CPU time by function",
				    "function (self)");
	if (!error)
		error = print_table(&page, &diff->types, top, "Allocated by type", "type");
	if (!error)
		error = print_table(&page, &diff->sites, top, "Collection time caused, by site",
				    "allocated in < called by");
	if (!error)
		error = print_table(&page, &diff->pauses, top, "Pauses", "kind");
	if (!error)
		error = print_table(&page, &diff->syscalls, top, "Time in system calls", "call");
	if (!error)
		error = print_conditions(&page, diff);
	page_paragraph(&page, STYLE_PLAIN, 0, "%s", "");
	page_paragraph(
		&page, STYLE_DIM, 2,
		"may be noise: the intervals of the two figures allow for no change (95 %% "
		"confidence in totals; 99.9 %% in rows, since there are many). as measured: not "
		"sampled. Intervals cover sampling only: runs of the same program differ too, so "
		"record again before trusting a small change.");
	return error;
}

static json_t *not_compared_json(const struct diff *diff)
{
	json_t *array = json_array();

	for (unsigned stream = 1; stream < STREAM_END; stream++)
		if (diff_only_in(diff, stream))
			json_array_append_new(
				array,
				json_pack("{ssss}", "stream", stream_name(stream), "recorded_in",
					  diff_only_in(diff, stream) == diff->before ? "before"
										     : "after"));
	return array;
}

static json_t *unlike_json(const struct diff *diff)
{
	json_t *array = json_array();
	struct diff_unlike unlike;

	for (unsigned fact = 0; fact < DIFF_FACTS; fact++)
		if (diff_unlike(diff, fact, &unlike))
			json_array_append_new(array, json_pack("{ssssss}", "what", unlike.name,
							       "before", unlike.before.text,
							       "after", unlike.after.text));
	return array;
}

/* A figure that may be a small part of one, or unbounded. */
static json_t *part_json(const struct estimate *estimate)
{
	const double values[] = {estimate->value, estimate->low, estimate->high};
	static const char *const keys[] = {"estimate", "low", "high"};
	json_t *object = json_object();

	for (int i = 0; i < 3; i++)
		json_put(object, keys[i], isfinite(values[i]) ? json_real(values[i]) : json_null());
	return object;
}

static json_t *row_json(const struct diff_row *row)
{
	static const char *const units[] = {"ns", "bytes", "count"};
	json_t *object = json_object();

	json_put(object, "name", json_name(row->name));
	if (row->figure)
		json_put(object, "key", json_string(row->figure->key));
	json_put(object, "unit", json_string(units[row->unit]));
	json_put(object, "before",
		 row->divided ? part_json(&row->before) : json_estimate(&row->before, true));
	json_put(object, "after",
		 row->divided ? part_json(&row->after) : json_estimate(&row->after, true));
	json_put(object, "change", part_json(&row->change));
	json_put(object, "significant",
		 row->verdict == DIFF_EXACT ? json_null()
					    : json_boolean(row->verdict != DIFF_NOISE));
	return object;
}

static json_t *conditions_json(const struct diff *diff)
{
	json_t *array = json_array();

	for (size_t i = 0; i < diff->n_conditions; i++) {
		const struct condition *condition = &diff->conditions[i];
		const struct estimate *change = &condition->change;
		json_t *object = row_json(&condition->row);

		if (condition->relative)
			json_put(
				object, "change",
				part_json(&(struct estimate){100 * change->value, 100 * change->low,
							     100 * change->high}));
		json_put(object, "change_unit",
			 condition->relative ? json_string("percent")
					     : json_incref(json_object_get(object, "unit")));
		json_put(object, "condition", json_name(condition->text));
		json_put(object, "met", json_boolean(condition->met));
		json_object_del(object, "significant");
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *table_json(const struct diff_table *table, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < table->count && i < top; i++)
		json_array_append_new(array, row_json(&table->rows[i]));
	return array;
}

/* What a server's figures are sums of, and what they were divided by. */
static int put_sizes(json_t *object, const struct diff *diff)
{
	return json_put(object, "per", json_string("cpu_second")) |
	       json_put(object, "profiles",
			json_pack("[II]", (json_int_t)diff->before->run.recordings,
				  (json_int_t)diff->after->run.recordings)) |
	       json_put(object, "cpu_ns",
			json_pack("[oo]", json_count(diff->before->cpu.on_cpu_ns),
				  json_count(diff->after->cpu.on_cpu_ns)));
}

int diff_json(const struct diff *diff, const struct report_options *options, FILE *out)
{
	size_t top = options->top ? options->top : SIZE_MAX;
	json_t *object = json_object();
	int error = 0;

	error |= json_put(object, "before", json_name(diff->before->file));
	error |= json_put(object, "after", json_name(diff->after->file));
	if (diff->per_cpu)
		error |= put_sizes(object, diff);
	else
		error |= json_put(object, "not_compared", not_compared_json(diff)) |
			 json_put(object, "unlike", unlike_json(diff)) |
			 json_put(object, "conditions", conditions_json(diff));
	if (diff->per.text)
		error |= json_put(object, "per", json_name(diff->per.text)) |
			 json_put(object, "work", row_json(&diff->per.row));
	error |= json_put(object, "totals", table_json(&diff->totals, SIZE_MAX));
	error |= json_put(object, "functions", table_json(&diff->functions, top));
	error |= json_put(object, "types", table_json(&diff->types, top));
	error |= json_put(object, "sites", table_json(&diff->sites, top));
	if (diff->per_cpu)
		error |= json_put(object, "pauses", table_json(&diff->pauses, top));
	error |= json_put(object, "syscalls", table_json(&diff->syscalls, top));
	if (!diff->per_cpu)
		error |= json_put(object, "calls", table_json(&diff->calls, top));
	if (!error)
		json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(object);
	fputc('\n', out);
	return error ? -ENOMEM : 0;
}
