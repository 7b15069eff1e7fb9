/* SPDX-License-Identifier: BSD-2-Clause */
/* server_time.c: gcprof report --from --timeline. */
#include "report.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "../../fleet/timeline.h"
#include "../../report/bars.h"
#include "../../report/page.h"
#include "../../util/units.h"
#include "../../util/plural.h"

enum { WINDOWS_MAX = FLEET_WINDOWS_MAX, LABEL_WIDTH = 14, FIGURE_WIDTH = 26 };

/* A line of the chart: a sum per second. */
static const struct {
	const char *label, *key;
	bool bytes;       /* otherwise ns: how many at a time */
	const char *unit; /* of ns */
} lines[] = {
	{"CPU", "cpu_ns", false, "CPUs"},
	{"pauses", "pause_ns", false, "at a time"},
	{"allocated", "alloc", true, NULL},
	{"promoted", "promoted_bytes", true, NULL},
	{"system calls", "syscall_ns", false, "at a time"},
	{"waits", "off_cpu_ns", false, "at a time"},
};

/* Windows of the server, merged until they fit the page. */
struct chart {
	const json_t *windows;
	double start, step; /* s; of the first window, and of a column */
	size_t columns;
};

static double number(const json_t *row, const char *key)
{
	const json_t *value = json_object_get(row, key);

	return json_number_value(json_is_object(value) ? json_object_get(value, "estimate")
						       : value);
}

static struct chart make_chart(const json_t *answer, int room)
{
	const json_t *windows = json_object_get(answer, "windows");
	size_t rows = json_array_size(windows);
	double step = number(answer, "step_ns") / 1e9;
	double start = number(json_array_get(windows, 0), "time");
	double end = number(json_array_get(windows, rows ? rows - 1 : 0), "time") + step;
	double together = fmax(1, ceil((end - start) / step / room));

	return (struct chart){windows, start, step * together,
			      (size_t)fmin(ceil((end - start) / step / together), room)};
}

static void print_line(const struct chart *chart, size_t line, const struct page *page)
{
	double values[WINDOWS_MAX] = {0}, most = 0;
	char spark[BAR_SIZE(WINDOWS_MAX)], figure[64];
	const json_t *row;
	size_t i;

	json_array_foreach(chart->windows, i, row)
	{
		double place = floor((number(row, "time") - chart->start) / chart->step);

		if (place < 0 || place >= (double)chart->columns)
			continue;
		values[(size_t)place] += fmax(0, number(row, lines[line].key)) / chart->step;
		most = fmax(most, values[(size_t)place]);
	}
	if (most <= 0)
		return;
	if (lines[line].bytes)
		snprintf(figure, sizeof(figure), "up to %s/s", unit_bytes(most).text);
	else
		snprintf(figure, sizeof(figure), "up to %.2f %s", most / 1e9, lines[line].unit);
	spark_draw(values, chart->columns, most, spark);
	fprintf(page->out, "  %-*s%s  %s\n", LABEL_WIDTH, lines[line].label, spark, figure);
}

static void print_chart(const json_t *answer, const struct page *page)
{
	int room = page->width - 2 - LABEL_WIDTH - FIGURE_WIDTH;
	struct chart chart = make_chart(answer, room < WINDOWS_MAX ? room : WINDOWS_MAX);
	time_t start = (time_t)chart.start;
	struct tm tm = {0};
	char text[32];

	page_heading(page, "Over time");
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		print_line(&chart, i, page);
	gmtime_r(&start, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	page_paragraph(page, STYLE_DIM, 2, "from %s UTC on; each character is %s", text,
		       unit_time(chart.step * 1e9).text);
}

int report_server_timeline(const struct server_report *report, const struct where *where,
			   struct http *http, struct http_problem *problem)
{
	struct page page = {stdout, report->options->width, report->options->colour, NULL};
	json_t *answer = NULL;
	uint64_t profiles;
	int err = fleet_timeline(http, where, &answer, problem);

	if (err)
		return err;
	if (report->json) {
		err = json_dumpf(answer, stdout, JSON_INDENT(1)) ? -ENOMEM : 0;
		putchar('\n');
	} else {
		profiles = (uint64_t)number(answer, "profiles");
		page_paragraph(&page, STYLE_PLAIN, 0, "%s profile%s", unit_count(profiles).text,
			       plural(profiles, "[|s]").text);
		if (json_array_size(json_object_get(answer, "windows")))
			print_chart(answer, &page);
	}
	json_decref(answer);
	return err;
}
