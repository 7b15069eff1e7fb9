/* SPDX-License-Identifier: BSD-2-Clause */
/* condition.c: conditions on what changed between two profiles, and division by work. */
#include "diff.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../util/options.h"

/* Tables with a row for each name of a figure. */
static const struct {
	size_t table;     /* of struct diff; 0: there is none */
	const char *what; /* a row is one of these */
	const char *work; /* as of a total, before the name */
} rows_of[DIFF_FIGURES] = {
	[DIFF_FIGURE_cpu] = {offsetof(struct diff, functions), "function", NULL},
	[DIFF_FIGURE_alloc] = {offsetof(struct diff, types), "type", NULL},
	[DIFF_FIGURE_calls] = {offsetof(struct diff, calls), "system call", "call of"},
	[DIFF_FIGURE_call_time] = {offsetof(struct diff, syscalls), "system call", NULL},
};

/* How a change is written. */
static const struct {
	int (*parse)(const char *text, uint64_t *out);
	const char *example;
} units[] = {
	[DIFF_TIME] = {parse_time, "+20ms"},
	[DIFF_BYTES] = {parse_size, "+1MiB"},
	[DIFF_COUNT] = {parse_number, "+100"},
};

static __attribute__((format(printf, 3, 4))) int fail(struct condition_fault *fault, int error,
						      const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(fault->text, sizeof(fault->text), format, arguments);
	va_end(arguments);
	return error;
}

/* Says which figures there are: all, or those to divide by. */
static int fail_key(struct condition_fault *fault, bool work)
{
	size_t size = sizeof(fault->text), used;
	const char *comma = "";

	fail(fault, 0, "%s are ",
	     work ? "figures are not divided by this; those to divide by"
		  : "no figure has this name; they");
	for (size_t i = 0; i < DIFF_FIGURES; i++) {
		used = strlen(fault->text);
		if (work && !diff_figures[i].work)
			continue;
		snprintf(fault->text + used, size - used, "%s%s", comma, diff_figures[i].key);
		comma = ", ";
	}
	return -EINVAL;
}

static int fail_name(struct condition_fault *fault, const struct term *term)
{
	const char *what = rows_of[term->figure - diff_figures].what;

	if (what)
		return fail(fault, -EINVAL, "after %s: comes the name of a %s", term->figure->key,
			    what);
	return fail(fault, -EINVAL, "%s is compared as a whole, without a name", term->figure->key);
}

/* 0, -EINVAL (no such figure), -ENOENT (no such rows). */
static int parse_term(const char *text, size_t length, struct term *out)
{
	const char *colon = memchr(text, ':', length);
	size_t key = colon ? (size_t)(colon - text) : length;

	*out = (struct term){NULL, colon ? colon + 1 : NULL, colon ? (int)(length - key - 1) : 0};
	for (size_t i = 0; i < DIFF_FIGURES; i++)
		if (strlen(diff_figures[i].key) == key &&
		    memcmp(diff_figures[i].key, text, key) == 0)
			out->figure = &diff_figures[i];
	if (!out->figure || !colon)
		return out->figure ? 0 : -EINVAL;
	return rows_of[out->figure - diff_figures].table && out->length ? 0 : -ENOENT;
}

/* The last one: names of functions may have others. */
static const char *find_operator(const char *text)
{
	const char *found = NULL;

	while ((text = strpbrk(text, "<>")))
		found = text++;
	return found;
}

/* "+5%", or "+20ms" by the unit of the figure. */
static int parse_change(const char *text, struct condition *out)
{
	double sign = *text == '-' ? -1 : 1;
	uint64_t number;
	size_t digits;
	char *end;

	if ((*text != '-' && *text != '+') || text[1] < '0' || text[1] > '9')
		return -EINVAL;
	text++;
	digits = strspn(text, "0123456789.");
	out->relative = strcmp(text + digits, "%") == 0;
	if (out->relative) {
		out->amount = sign * strtod(text, &end) / 100;
		return end == text + digits ? 0 : -EINVAL;
	}
	if (units[out->term.figure->unit].parse(text, &number))
		return -EINVAL;
	out->amount = sign * (double)number;
	return 0;
}

int condition_parse(const char *text, struct condition *out, struct condition_fault *fault)
{
	const char *op = find_operator(text);
	size_t length = op ? (size_t)(op - text) : strlen(text);
	int error;

	*out = (struct condition){.text = text, .below = op && *op == '<'};
	while (length && text[length - 1] == ' ')
		length--;
	error = parse_term(text, length, &out->term);
	if (error)
		return error == -EINVAL ? fail_key(fault, false) : fail_name(fault, &out->term);
	if (op && parse_change(op + 1 + strspn(op + 1, " "), out) == 0)
		return 0;
	return fail(fault, -EINVAL,
		    "after the figure comes > or < and its change, such as >+5%% or >%s",
		    units[out->term.figure->unit].example);
}

int condition_parse_work(const char *text, struct term *out, struct condition_fault *fault)
{
	int error = parse_term(text, strlen(text), out);

	if (error == -ENOENT)
		return fail_name(fault, out);
	if (error || !(out->name ? rows_of[out->figure - diff_figures].work : out->figure->work))
		return fail_key(fault, true);
	return 0;
}

/* Why a stream is missing that a figure needs; NULL: none is, or that is not known. */
static const char *why_missing(const struct model *model, uint32_t needs)
{
	uint32_t missing = needs & ~model->recorded;

	for (unsigned stream = 1; stream < STREAM_END; stream++)
		for (size_t i = 0; missing & UINT32_C(1) << stream && i < model->n_streams; i++)
			if (strcmp(model->streams[i].name, stream_name(stream)) == 0)
				return model->streams[i].why_not;
	return NULL;
}

/* The row that a term names. */
static int find(const struct term *term, const struct diff *diff, struct diff_row *out,
		struct condition_fault *fault)
{
	const struct model *sides[] = {diff->before, diff->after};
	const struct diff_table *table = &diff->totals;
	size_t rows = rows_of[term->figure - diff_figures].table, length = (size_t)term->length;
	struct estimate value;

	for (int side = 0; side < 2; side++) {
		const char *why = why_missing(sides[side], term->figure->needs);

		if (!diff_read(term->figure, sides[side], &value))
			return fail(fault, -ENODATA, "%s: not recorded in %s%s%s%s",
				    term->figure->name, sides[side]->file, why ? " (" : "",
				    why ? why : "", why ? ")" : "");
	}
	if (term->name)
		table = (const void *)((const char *)diff + rows);
	for (size_t i = 0; i < table->count; i++) {
		*out = table->rows[i];
		if (term->name ? strncmp(out->name, term->name, length) == 0 && !out->name[length]
			       : out->figure == term->figure)
			return 0;
	}
	return fail(fault, -ENODATA, "neither profile has a %s of this name",
		    rows_of[term->figure - diff_figures].what);
}

int condition_divide(const struct term *work, struct diff *diff, struct condition_fault *fault)
{
	const char *unit = work->name ? rows_of[work->figure - diff_figures].work
				      : work->figure->work;
	struct estimate scale = diff_exactly(work->figure->unit == DIFF_BYTES ? 1024 * 1024 : 1);
	struct diff_work *per = &diff->per;
	int error = find(work, diff, &per->row, fault);

	if (error)
		return error;
	if (per->row.before.value <= 0 || per->row.after.value <= 0)
		return fail(fault, -ENODATA, "there is none in %s, so figures cannot be divided",
			    (per->row.before.value <= 0 ? diff->before : diff->after)->file);
	snprintf(per->unit, sizeof(per->unit), "%s%s%.*s", unit, work->name ? " " : "",
		 work->length, work->name ? work->name : "");
	per->of[0] = diff_ratio(&per->row.before, &scale);
	per->of[1] = diff_ratio(&per->row.after, &scale);
	diff_divide(diff);
	return 0;
}

int condition_judge(struct condition *condition, const struct diff *diff,
		    struct condition_fault *fault)
{
	struct estimate *change = &condition->change;
	double beyond = condition->below ? -1 : 1, near;
	int error = find(&condition->term, diff, &condition->row, fault);

	if (error)
		return error;
	*change = condition->row.change;
	if (condition->relative) {
		*change = diff_ratio(&condition->row.after, &condition->row.before);
		*change = (struct estimate){change->value - 1, change->low - 1, change->high - 1};
	}
	near = condition->below ? change->high : change->low;
	condition->met = beyond * near > beyond * condition->amount;
	condition->noise = !condition->met && beyond * change->value > beyond * condition->amount;
	return 0;
}
