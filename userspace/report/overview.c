/* SPDX-License-Identifier: BSD-2-Clause */
/* overview.c: the overview in the text report: findings, advice, and figures over time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../model/world/timeline.h"
#include "../util/plural.h"
#include "advice.h"
#include "bars.h"
#include "sections.h"
#include "../util/units.h"

enum { COLUMNS_MAX = TIMELINE_WINDOWS, COLUMNS_MIN = 8, LABEL_WIDTH = 14, FIGURE_WIDTH = 26 };
enum { TICKS_MIN = 16 }; /* timer ticks per column on a busy CPU; with fewer, noise dominates */

static void print_finding(const struct section *section, const struct model_finding *finding)
{
	page_paragraph(section->page, STYLE_WARNING, 2, "%s%s%s", finding->text,
		       *finding->evidence ? " " : "", finding->evidence);
	if (*finding->remedy)
		page_paragraph(section->page, STYLE_PLAIN, 4, "%s", finding->remedy);
	if (*finding->command)
		page_paragraph(section->page, STYLE_DIM, 4, "%s", finding->command);
}

int section_advice(const struct section *section)
{
	const struct model *model = section->model;
	struct advice_list list = {.count = 0};
	/* The thresholds are meant for whole programs. */
	int error = model->filter ? 0 : advice_find(model, &list);

	if (!error && (list.count || model->n_findings))
		page_heading(section->page, "What stands out");
	for (size_t i = 0; i < model->n_findings && !error; i++)
		print_finding(section, &model->findings[i]);
	for (size_t i = 0; i < list.count && !error; i++) {
		page_paragraph(section->page, STYLE_WARNING, 2, "%s", list.items[i].evidence);
		if (*list.items[i].remedy)
			page_paragraph(section->page, STYLE_PLAIN, 4, "%s", list.items[i].remedy);
	}
	advice_free(&list);
	return error;
}

/* Windows of the model, merged until they fit the page and exceed the noise. */
struct chart {
	struct window columns[COLUMNS_MAX];
	size_t count;
	double step_s;
	double cpus; /* of the machine; HUGE_VAL: unknown, or several machines */
};

static double cpus_of(const struct model_run *run)
{
	double cpus = run->cpus && !run->files ? strtod(run->cpus, NULL) : 0;

	return cpus >= 1 ? cpus : HUGE_VAL;
}

static void make_chart(const struct section *section, struct chart *chart)
{
	const struct timeline *timeline = section->model->timeline;
	const struct model_cpu *cpu = &section->model->cpu;
	int room = section->page->width - 2 - LABEL_WIDTH - FIGURE_WIDTH;
	double sampled_ns = (double)(cpu->on_cpu_ns - cpu->no_samples_ns);
	double tick_ns = sampled_ns > 0 ? cpu->squares / sampled_ns : 0;
	double least = fmax((double)timeline->count / room,
			    TICKS_MIN * tick_ns / (double)timeline->step_ns);
	size_t together = least < (double)timeline->count ? (size_t)ceil(least) : timeline->count;

	for (size_t i = 0; i < timeline->count; i++) {
		struct window *column = &chart->columns[i / together];

		window_merge(column, &timeline->windows[i]);
		chart->count = i / together + 1;
	}
	chart->step_s = (double)timeline->step_ns * (double)together / 1e9;
	chart->cpus = cpus_of(&section->model->run);
}

/* A line of the chart; `text` prints the maximum. A line without values is left out. */
struct line {
	const char *label, *stream;
	double (*value)(const struct window *window, const struct chart *chart);
	void (*print)(double most, char *out, size_t size);
	bool lasts; /* a state that lasts until the next value: heap, memory */
};

static double alloc_rate(const struct window *window, const struct chart *chart)
{
	return window->alloc.value / chart->step_s;
}

/* A short window has few timer samples, which may happen to stand for more than all CPUs. */
static double cpus(const struct window *window, const struct chart *chart)
{
	return fmin((double)window->cpu_ns / 1e9 / chart->step_s, chart->cpus);
}

static double gc_cpus(const struct window *window, const struct chart *chart)
{
	return fmin((double)window->gc_cpu_ns / 1e9 / chart->step_s, chart->cpus);
}

static double pause_share(const struct window *window, const struct chart *chart)
{
	/*
	 * The position of collections that are known only as sums is unknown, so a share
	 * may exceed 1.
	 */
	return fmin((double)window->pause_ns / 1e9 / chart->step_s, 1);
}

static double promotion(const struct window *window, const struct chart *chart)
{
	return (double)window->promoted_bytes / chart->step_s;
}

#define STATE(field)                                                                \
	static double field(const struct window *window, const struct chart *chart) \
	{                                                                           \
		(void)chart;                                                        \
		return (double)window->field;                                       \
	}
STATE(heap_bytes)
STATE(live_bytes)
STATE(rss_bytes)
STATE(unfreed_bytes)

static double losses(const struct window *window, const struct chart *chart)
{
	(void)chart;
	return (double)window->lost;
}

static void print_losses(double most, char *out, size_t size)
{
	snprintf(out, size, "up to %s event%s", unit_count((uint64_t)most).text,
		 plural((uint64_t)most, "[|s]").text);
}

static void print_rate(double most, char *out, size_t size)
{
	snprintf(out, size, "up to %s/s", unit_bytes(most).text);
}

static void print_size(double most, char *out, size_t size)
{
	snprintf(out, size, "up to %s", unit_bytes(most).text);
}

static void print_cpus(double most, char *out, size_t size)
{
	snprintf(out, size, "up to %.2f CPUs", most);
}

static void print_share(double most, char *out, size_t size)
{
	snprintf(out, size, "up to %s of the time", unit_percent(most).text);
}

static const struct line lines[] = {
	{"CPU", "cpu", cpus, print_cpus, false},
	{"  in pauses", "cpu", gc_cpus, print_cpus, false},
	{"pauses", "gc", pause_share, print_share, false},
	{"allocated", "alloc", alloc_rate, print_rate, false},
	{"promoted", "gc", promotion, print_rate, false},
	{"old objects", "gc", live_bytes, print_size, true},
	{"heap after GC", "gc", heap_bytes, print_size, true},
	{"not freed", "alloc", unfreed_bytes, print_size, true},
	{"process", "gc", rss_bytes, print_size, true},
	{"lost", "process", losses, print_losses, false},
};

static void print_line(const struct section *section, const struct chart *chart,
		       const struct line *line)
{
	double values[COLUMNS_MAX], most = 0, last = 0;
	char spark[BAR_SIZE(COLUMNS_MAX)], figure[64];

	for (size_t i = 0; i < chart->count; i++) {
		values[i] = line->value(&chart->columns[i], chart);
		if (line->lasts && values[i] <= 0)
			values[i] = last;
		last = values[i];
		most = fmax(most, values[i]);
	}
	if (most <= 0)
		return;
	spark_draw(values, chart->count, most, spark);
	line->print(most, figure, sizeof(figure));
	fprintf(section->page->out, "  %-*s%s  %s\n", LABEL_WIDTH, line->label, spark, figure);
}

int section_timeline(const struct section *section)
{
	const struct timeline *timeline = section->model->timeline;
	struct chart chart = {.count = 0};

	if (!timeline || !timeline->step_ns)
		return 0;
	/* Too few columns show nothing. */
	if (section->page->width < 2 + LABEL_WIDTH + COLUMNS_MIN + FIGURE_WIDTH)
		return 0;
	make_chart(section, &chart);
	if (chart.count < COLUMNS_MIN)
		return 0;
	page_heading(section->page, "Over time");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (section_stream(section, lines[i].stream) &&
		    section_stream(section, lines[i].stream)->attached)
			print_line(section, &chart, &lines[i]);
	page_paragraph(section->page, STYLE_DIM, 2, "each character is %s",
		       unit_time(chart.step_s * 1e9).text);
	return 0;
}
