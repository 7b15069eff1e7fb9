/* SPDX-License-Identifier: BSD-2-Clause */
/* rates.c: a process's tracks of allocations and page faults: weighted samples. */
/*
 * These tracks are no threads and use no CPU time, so they have no column threadCPUDelta: the
 * viewer would add it to the CPU time of the process. Without it, a graph is full wherever there
 * is a sample. Each sample lasts to the middles of the times to its neighbours. So rows of weight
 * 0 that count as idle stand between them, as far away as the height of the graph needs: a rate,
 * relative to the highest one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "firefox.h"

enum { RATE_BINS = 256 };

struct rate_cell {
	uint64_t time;
	uint32_t stack;
	double weight;
};

struct rates {
	struct firefox *firefox;
	struct rate_cell *cells; /* owned */
	size_t count, capacity;
	double peak; /* the highest rate, in weight per ns */
	double due;  /* time in ns that the graph is still to be full; below 0: it was too long */
};

typedef void visit_rate(struct output *output, const struct rate_cell *cell);

/* The maximum over bins and not over single rows, because two samples may be arbitrarily close. */
static double peak_rate(struct firefox *firefox, const struct spool_stream *stream, size_t row_size,
			double (*amount)(const void *row))
{
	double bins[RATE_BINS + 1] = {0}, peak = 0;
	uint64_t width = firefox->world->model->run.duration / RATE_BINS + 1;
	struct spool_cursor cursor;
	const void *row;

	spool_rewind(&cursor, stream, row_size);
	while ((row = spool_next(firefox->spool, &cursor)))
		bins[firefox_time(firefox, *(const uint64_t *)row) / width] += amount(row);
	for (int i = 0; i <= RATE_BINS; i++)
		peak = bins[i] > peak ? bins[i] : peak;
	return peak / (double)width;
}

static int append(struct rates *rates, uint64_t time, uint32_t stack, double weight)
{
	if (array_reserve(&rates->cells, &rates->capacity, rates->count, sizeof(*rates->cells)) < 0)
		return -ENOMEM;
	rates->cells[rates->count++] = (struct rate_cell){time, stack, weight};
	return 0;
}

/* Makes the graph full for the due time between the last row and `time`, idle for the rest. */
static int gap(struct rates *rates, uint64_t time)
{
	uint64_t from = rates->cells[rates->count - 1].time, elapsed = time - from;
	double due = fmax(rates->due, 0);
	int error;

	if (due * 2 < (double)elapsed) {
		/* Half of each of these distances belongs to a sample. */
		error = append(rates, from + (uint64_t)due, STACK_IDLE, 0);
		if (!error)
			error = append(rates, time - (uint64_t)due, STACK_IDLE, 0);
		rates->due -= due;
	} else if (due * 4 < (double)elapsed * 3) {
		error = append(rates, from + elapsed / 2, STACK_IDLE, 0);
		rates->due -= (double)elapsed / 2;
	} else {
		error = 0;
		rates->due -= (double)elapsed;
	}
	return error;
}

static int put_sample(struct rates *rates, uint64_t time, uint32_t stack, double weight)
{
	uint64_t latest;
	int error = 0;

	if (!rates->count)
		error = append(rates, 0, STACK_IDLE, 0);
	if (error)
		return error;
	time = firefox_time(rates->firefox, time);
	latest = rates->cells[rates->count - 1].time;
	/* [order] Some events arrive late. */
	if (time < latest)
		time = latest;
	rates->due += rates->peak > 0 ? weight / rates->peak : 0;
	error = gap(rates, time);
	return error ? error : append(rates, time, stack, weight);
}

static void put_stack(struct output *output, const struct rate_cell *cell)
{
	output_number(output, cell->stack);
}

static void put_time(struct output *output, const struct rate_cell *cell)
{
	output_milliseconds(output, cell->time);
}

static void put_weight(struct output *output, const struct rate_cell *cell)
{
	output_rounded(output, cell->weight);
}

static void put_column(const struct rates *rates, const char *name, visit_rate *visit)
{
	struct column column = {rates->firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (size_t i = 0; i < rates->count; i++)
		visit(column_cell(&column), &rates->cells[i]);
	output_text(column.output, "],\n");
}

/* Writes the table and frees the rows. */
static int put_table(struct rates *rates, const char *unit, int error)
{
	struct output *output = rates->firefox->job.output;

	if (!error && rates->count) {
		/* The last sample does not last to the end of the recording. */
		error = gap(rates, rates->firefox->world->model->run.duration);
	}
	if (!error) {
		output_text(output, "\"samples\":{\n");
		put_column(rates, "stack", put_stack);
		put_column(rates, "time", put_time);
		put_column(rates, "weight", put_weight);
		output_format(output, "\"weightType\":\"%s\",\"length\":%zu},\n", unit,
			      rates->count);
	}
	free(rates->cells);
	return error;
}

static double count_of(const void *row)
{
	return (double)((const struct fault_row *)row)->count;
}

/*
 * A visible record stands for those left out before it. The last record is always visible.
 */
int firefox_put_faults(struct firefox *firefox, uint64_t process)
{
	const struct spool_stream *stream = &firefox->processes[process].faults;
	struct rates rates = {
		firefox, .peak = peak_rate(firefox, stream, sizeof(struct fault_row), count_of)};
	const struct fault_row *row;
	struct spool_cursor cursor;
	uint64_t at = 0, count = 0;
	int error = 0;

	spool_rewind(&cursor, stream, sizeof(*row));
	while (!error && (row = spool_next(firefox->spool, &cursor))) {
		count += row->count;
		if (++at % firefox->thin.fault_keep && at != stream->rows)
			continue;
		error = put_sample(&rates, row->time, firefox_stack(firefox, row->stack),
				   (double)count);
		count = 0;
	}
	return put_table(&rates, "samples", error);
}

static double bytes_of(const void *row)
{
	return ((const struct alloc_row *)row)->bytes;
}

/* Those that are kept stand for those that are not. */
int firefox_put_allocated(struct firefox *firefox, uint64_t process)
{
	const struct spool_stream *stream = &firefox->processes[process].allocs;
	struct rates rates = {
		firefox, .peak = peak_rate(firefox, stream, sizeof(struct alloc_row), bytes_of)};
	const struct alloc_row *row;
	struct spool_cursor cursor;
	int error = 0;

	spool_rewind(&cursor, stream, sizeof(*row));
	while (!error && (row = spool_next(firefox->spool, &cursor))) {
		enum survival survival = (enum survival)firefox->survivals[row->object];

		if (firefox_keeps_object(firefox, row->object))
			error = put_sample(&rates, row->time,
					   firefox_survival_stack(firefox, row->combo, survival),
					   firefox_alloc_bytes(firefox, row));
	}
	return put_table(&rates, "bytes", error);
}
