/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.c: the table of a thread's timer samples and waits. */
/*
 * The weight of a timer sample is the time that it stands for. A wait is two rows with the
 * same stack: the first has its weight, the second, of weight 0, ends it in the graphs.
 * Their innermost function has the category that the profiler regards as idle: it draws no
 * activity there, and can hide them.
 *
 * threadCPUDelta is the CPU time since the previous row, never more than the time that passed,
 * or the graph would overflow. The CPU time of a timer sample may need more room than there is,
 * because ticks come at random times: what does not fit moves to later rows, and at the end to
 * earlier ones. The sum is the CPU time that the kernel counted for the thread, from which that
 * of its samples may differ a little. The viewer ignores the CPU time of the first row, so a row
 * of weight 0 marks where the thread begins.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "firefox.h"

/* A row of the table. */
struct sample_cell {
	uint64_t time;
	uint32_t stack;
	uint64_t weight_ns, cpu_ns;
	uint64_t elapsed, idle_ns; /* since the previous row: all time, and time off the CPU */
};

typedef void visit_sample(struct output *output, const struct sample_cell *cell);

/* A traversal of the samples and waits of a thread. */
struct walk {
	struct firefox *firefox;
	const struct ff_thread *thread;
	struct sample_cell *cells; /* owned */
	size_t count, capacity;
	uint64_t ticks, waits;   /* visited so far */
	uint64_t skipped_cpu_ns; /* of samples left out since the last visible one */
	uint64_t skipped_ns;     /* of waits left out since the last visible one */
	uint64_t cpu_ns;         /* of all rows */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int append(struct walk *walk, const struct sample_cell *cell)
{
	if (array_reserve(&walk->cells, &walk->capacity, walk->count, sizeof(*cell)) < 0)
		return -ENOMEM;
	walk->cells[walk->count++] = *cell;
	return 0;
}

/* `cell` has the time of the event. */
static int put_cell(struct walk *walk, struct sample_cell cell)
{
	uint64_t begin = walk->thread->registered, latest;

	cell.time = firefox_time(walk->firefox, cell.time);
	if (!walk->count) {
		begin = begin ? firefox_time(walk->firefox, begin) : 0;
		struct sample_cell first = {.time = smaller(begin, cell.time), .stack = cell.stack};

		if (append(walk, &first) < 0)
			return -ENOMEM;
	}
	latest = walk->cells[walk->count - 1].time;
	/* [order] Some events arrive late. */
	if (cell.time < latest)
		cell.time = latest;
	cell.elapsed = cell.time - latest;
	cell.idle_ns = smaller(cell.idle_ns, cell.elapsed);
	walk->cpu_ns += cell.cpu_ns;
	return append(walk, &cell);
}

static int walk_tick(struct walk *walk, const struct cpu_row *row)
{
	uint64_t at = ++walk->ticks;
	struct sample_cell cell = {.time = row->time};

	walk->skipped_cpu_ns += row->ns;
	if (at % walk->firefox->thin.cpu_keep && at != walk->thread->cpu.rows)
		return 0;
	cell.stack = firefox_stack(walk->firefox, row->stack);
	cell.weight_ns = cell.cpu_ns = walk->skipped_cpu_ns;
	walk->skipped_cpu_ns = 0;
	return put_cell(walk, cell);
}

/*
 * A visible wait also stands for those left out before it. The last wait of a thread is
 * always visible.
 */
static int walk_wait(struct walk *walk, const struct wait_row *row)
{
	uint64_t at = ++walk->waits;
	struct sample_cell cell = {.time = row->end - row->duration,
				   .stack = firefox_wait_stack(walk->firefox, row->wait)};

	walk->skipped_ns += row->duration + row->held_ns;
	if (at % walk->firefox->thin.wait_keep && at != walk->thread->waits.rows)
		return 0;
	cell.weight_ns = walk->skipped_ns;
	cell.idle_ns = walk->skipped_ns - row->duration;
	walk->skipped_ns = 0;
	if (put_cell(walk, cell) < 0)
		return -ENOMEM;
	cell.weight_ns = 0;
	cell.idle_ns = UINT64_MAX;
	cell.time = row->end;
	return put_cell(walk, cell);
}

/* Moves CPU time of `rest` into the row, as far as there is room; returns what is left of it. */
static uint64_t fill(struct sample_cell *cell, uint64_t room, uint64_t rest)
{
	uint64_t moved = smaller(rest, room - smaller(room, cell->cpu_ns));

	cell->cpu_ns += moved;
	return rest - moved;
}

/*
 * Waits are the last resort: they draw no activity, but the CPU time counts in the sums. `rest` is
 * more than 0 at the end only if the thread had more CPU time than time.
 */
static void fill_back(struct walk *walk, uint64_t rest)
{
	for (size_t i = walk->count; i-- > 1 && rest;) {
		struct sample_cell *cell = &walk->cells[i];

		rest = fill(cell, cell->elapsed - cell->idle_ns, rest);
	}
	for (size_t i = walk->count; i-- > 1 && rest;)
		rest = fill(&walk->cells[i], walk->cells[i].elapsed, rest);
}

/*
 * Makes the CPU time of the rows `used` in all, and limits it to the time since the previous
 * rows.
 */
static int spread(struct walk *walk, uint64_t used)
{
	double factor = walk->cpu_ns ? (double)used / (double)walk->cpu_ns : 0;
	uint64_t end = walk->thread->unregistered, rest = 0;

	for (size_t i = 1; i < walk->count; i++) {
		struct sample_cell *cell = &walk->cells[i];
		uint64_t cpu_ns = (uint64_t)((double)cell->cpu_ns * factor + 0.5) + rest;

		cell->cpu_ns = 0;
		rest = fill(cell, cell->elapsed - cell->idle_ns, cpu_ns);
	}
	if (!rest)
		return 0;
	/* The last sample may have been taken long before the thread's end. */
	struct sample_cell last = {.time = end ? end : UINT64_MAX,
				   .stack = walk->cells[walk->count - 1].stack};

	if (put_cell(walk, last) < 0)
		return -ENOMEM;
	fill_back(walk,
		  fill(&walk->cells[walk->count - 1], walk->cells[walk->count - 1].elapsed, rest));
	return 0;
}

/* Gathers all rows in order. The limit of the file's size also limits their number. */
static int gather(struct walk *walk)
{
	struct spool *spool = walk->firefox->spool;
	struct spool_cursor ticks, waits;
	const struct cpu_row *tick;
	const struct wait_row *wait;
	int error = 0;

	spool_rewind(&ticks, &walk->thread->cpu, sizeof(*tick));
	spool_rewind(&waits, &walk->thread->waits, sizeof(*wait));
	tick = spool_next(spool, &ticks);
	wait = spool_next(spool, &waits);
	while ((tick || wait) && !error) {
		if (tick && (!wait || tick->time <= wait->end - wait->duration)) {
			error = walk_tick(walk, tick);
			tick = spool_next(spool, &ticks);
		} else {
			error = walk_wait(walk, wait);
			wait = spool_next(spool, &waits);
		}
	}
	return error;
}

static void put_column(const struct walk *walk, const char *name, visit_sample *visit)
{
	struct column column = {walk->firefox->job.output, false};

	output_format(column.output, "\"%s\":[", name);
	for (size_t i = 0; i < walk->count; i++)
		visit(column_cell(&column), &walk->cells[i]);
	output_text(column.output, "],\n");
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

int firefox_put_samples(struct firefox *firefox, uint64_t thread)
{
	static const struct ff_thread none;
	const struct thread *task = tasks_find_thread(&firefox->world->tasks, thread);
	struct walk walk = {.firefox = firefox, .thread = task ? &firefox->threads[thread] : &none};
	int error = gather(&walk);

	if (!error)
		error = spread(&walk, task ? tasks_cpu_ns(task) : 0);
	if (!error) {
		output_text(firefox->job.output, "\"samples\":{\n");
		put_column(&walk, "stack", put_stack);
		put_column(&walk, "time", put_time);
		put_column(&walk, "weight", put_weight);
		put_column(&walk, "threadCPUDelta", put_delta);
		output_format(firefox->job.output,
			      "\"weightType\":\"tracing-ms\",\"length\":%zu},\n", walk.count);
	}
	free(walk.cells);
	return error;
}
