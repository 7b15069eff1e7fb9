/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_samples.c: the table of a thread's timer samples and waits. */
/*
 * The weight of a timer sample is the time that it stands for. A wait is two rows with the
 * same stack: the first has its weight, the second, of weight 0, ends it in the graphs.
 * Their innermost function has the category that the profiler regards as idle: it draws no
 * activity there, and can hide them.
 *
 * threadCPUDelta is the CPU time since the previous row. Two consecutive timer samples are
 * a full tick apart and fill the graph; fewer samples leave it low; a wait uses no CPU
 * time.
 */
#include <inttypes.h>

#include "firefox.h"

/* A row of the table. */
struct sample_cell {
	uint64_t time;
	uint32_t stack;
	uint64_t weight_ns, cpu_ns;
};

typedef void visit_sample(struct output *output, const struct sample_cell *cell);

/* A traversal of the samples and waits of a thread. */
struct walk {
	struct firefox *firefox;
	struct column column;
	visit_sample *visit; /* NULL: only count */
	uint64_t rows, latest;
	uint64_t ticks, n_ticks; /* visited so far, and their total number */
	uint64_t skipped_cpu_ns; /* of samples left out since the last visible one */
	uint64_t waits, n_waits;
	uint64_t skipped_ns; /* of waits left out since the last visible one */
};

/* The mean time between two ticks. */
static uint64_t tick_ns(const struct firefox *firefox)
{
	uint64_t frequency = firefox->world->model->run.frequency;

	return frequency ? (uint64_t)(1e9 / (double)frequency + 0.5) : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* `cell` has the time of the event. CPU time is limited to the time since the previous row. */
static void put_cell(struct walk *walk, struct sample_cell cell)
{
	cell.time = firefox_time(walk->firefox, cell.time);
	/* [order] Some events arrive late. */
	if (cell.time < walk->latest)
		cell.time = walk->latest;
	cell.cpu_ns = smaller(cell.cpu_ns, cell.time - walk->latest);
	walk->latest = cell.time;
	walk->rows++;
	if (walk->visit)
		walk->visit(column_cell(&walk->column), &cell);
}

static void walk_tick(struct walk *walk, const struct cpu_row *row)
{
	uint64_t at = ++walk->ticks;
	struct sample_cell cell = {.time = row->time};

	walk->skipped_cpu_ns += row->ns;
	if (at % walk->firefox->thin.cpu_keep && at != walk->n_ticks)
		return;
	cell.stack = firefox_stack(walk->firefox, row->stack);
	cell.weight_ns = cell.cpu_ns = walk->skipped_cpu_ns;
	walk->skipped_cpu_ns = 0;
	put_cell(walk, cell);
}

/*
 * A visible wait also stands for those left out before it. The last wait of a thread is
 * always visible.
 */
static void walk_wait(struct walk *walk, const struct wait_row *row)
{
	uint64_t tick = tick_ns(walk->firefox), at = ++walk->waits;
	struct sample_cell cell = {.time = row->end - row->duration,
				   .stack = firefox_wait_stack(walk->firefox, row->wait)};

	walk->skipped_ns += row->duration + row->held_ns;
	if (at % walk->firefox->thin.wait_keep && at != walk->n_waits)
		return;
	cell.weight_ns = walk->skipped_ns;
	cell.cpu_ns = row->held_ns < tick ? tick - row->held_ns : 0;
	put_cell(walk, cell);
	walk->skipped_ns = cell.weight_ns = cell.cpu_ns = 0;
	cell.time = row->end;
	put_cell(walk, cell);
}

/* Passes all rows in order to `visit`; returns their number. */
static uint64_t walk_thread(struct firefox *firefox, const struct ff_thread *thread,
			    visit_sample *visit)
{
	struct walk walk = {.firefox = firefox,
			    .column = {firefox->job.output, false},
			    .visit = visit,
			    .n_ticks = thread->cpu.rows,
			    .n_waits = thread->waits.rows};
	struct spool_cursor ticks, waits;
	const struct cpu_row *tick;
	const struct wait_row *wait;

	spool_rewind(&ticks, &thread->cpu, sizeof(*tick));
	spool_rewind(&waits, &thread->waits, sizeof(*wait));
	tick = spool_next(firefox->spool, &ticks);
	wait = spool_next(firefox->spool, &waits);
	while (tick || wait) {
		if (tick && (!wait || tick->time <= wait->end - wait->duration)) {
			walk_tick(&walk, tick);
			tick = spool_next(firefox->spool, &ticks);
		} else {
			walk_wait(&walk, wait);
			wait = spool_next(firefox->spool, &waits);
		}
	}
	return walk.rows;
}

static void put_column(struct firefox *firefox, const struct ff_thread *thread, const char *name,
		       visit_sample *visit)
{
	output_format(firefox->job.output, "\"%s\":[", name);
	walk_thread(firefox, thread, visit);
	output_text(firefox->job.output, "],\n");
}

static void put_stack(struct output *output, const struct sample_cell *cell)
{
	output_number(output, cell->stack);
}

static void put_time(struct output *output, const struct sample_cell *cell)
{
	output_milliseconds(output, cell->time);
}

static void put_weight(struct output *output, const struct sample_cell *cell)
{
	output_milliseconds(output, cell->weight_ns);
}

static void put_delta(struct output *output, const struct sample_cell *cell)
{
	output_number(output, cell->cpu_ns);
}

void firefox_put_samples(struct firefox *firefox, const struct ff_thread *thread)
{
	output_text(firefox->job.output, "\"samples\":{\n");
	put_column(firefox, thread, "stack", put_stack);
	put_column(firefox, thread, "time", put_time);
	put_column(firefox, thread, "weight", put_weight);
	put_column(firefox, thread, "threadCPUDelta", put_delta);
	output_format(firefox->job.output,
		      "\"weightType\":\"tracing-ms\",\"length\":%" PRIu64 "},\n",
		      walk_thread(firefox, thread, NULL));
}
