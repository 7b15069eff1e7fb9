/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_faults.c: the track of a process's page faults: samples weighted by their number. */
#include <inttypes.h>

#include "firefox.h"

struct fault_cell {
	uint64_t time, elapsed; /* since the previous cell */
	uint64_t stack;         /* of the profile */
	uint64_t count;
	double peak_rate; /* faults per ns, of the whole track */
};

typedef void visit_fault(struct firefox *firefox, struct output *output,
			 const struct fault_cell *cell);

/*
 * Calls `visit` for the visible records; returns their number. A visible record stands for
 * those left out before it. The last record is always visible.
 */
static uint64_t walk(struct firefox *firefox, const struct spool_stream *stream,
		     struct column *column, double peak_rate, visit_fault *visit)
{
	struct fault_cell cell = {.peak_rate = peak_rate};
	uint64_t rows = 0, at = 0, latest = 0;
	struct spool_cursor cursor;
	const struct fault_row *row;

	spool_rewind(&cursor, stream, sizeof(*row));
	while ((row = spool_next(firefox->spool, &cursor))) {
		cell.count += row->count;
		if (++at % firefox->thin.fault_keep && at != stream->rows)
			continue;
		rows++;
		cell.stack = row->stack;
		cell.time = firefox_time(firefox, row->time);
		/* [order] Some events arrive late. */
		if (cell.time < latest)
			cell.time = latest;
		cell.elapsed = cell.time - latest;
		latest = cell.time;
		if (visit)
			visit(firefox, column_cell(column), &cell);
		cell.count = 0;
	}
	return rows;
}

static void put_stack(struct firefox *firefox, struct output *output, const struct fault_cell *cell)
{
	output_number(output, firefox_stack(firefox, cell->stack));
}

static void put_time(struct firefox *firefox, struct output *output, const struct fault_cell *cell)
{
	(void)firefox;
	output_milliseconds(output, cell->time);
}

static void put_weight(struct firefox *firefox, struct output *output,
		       const struct fault_cell *cell)
{
	(void)firefox;
	output_number(output, cell->count);
}

static void put_delta(struct firefox *firefox, struct output *output, const struct fault_cell *cell)
{
	(void)firefox;
	firefox_put_rate(output, (double)cell->count, cell->peak_rate, cell->elapsed);
}

static double count_of(const void *row)
{
	return (double)((const struct fault_row *)row)->count;
}

void firefox_put_faults(struct firefox *firefox, uint64_t process)
{
	static const struct {
		const char *name;
		visit_fault *visit;
	} columns[] = {{"stack", put_stack},
		       {"time", put_time},
		       {"weight", put_weight},
		       {"threadCPUDelta", put_delta}};
	const struct spool_stream *stream = &firefox->processes[process].faults;
	double peak = firefox_peak_rate(firefox, stream, sizeof(struct fault_row), count_of);
	struct output *output = firefox->job.output;

	output_text(output, "\"samples\":{\n");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		struct column column = {output, false};

		output_format(output, "\"%s\":[", columns[i].name);
		walk(firefox, stream, &column, peak, columns[i].visit);
		output_text(output, "],\n");
	}
	output_format(output, "\"weightType\":\"samples\",\"length\":%" PRIu64 "},\n",
		      walk(firefox, stream, NULL, peak, NULL));
}
