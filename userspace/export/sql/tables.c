/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: rows of the model's results. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../model/figures.h"
#include "../../model/world/allocating.h"
#include "../../profile/status.h"
#include "../../util/buffer.h"
#include "sql.h"

enum { BUILD_ID_SHOWN = 64 };

static double tick_of(const struct world *world)
{
	uint64_t frequency = world->model->run.frequency;

	return frequency ? 1e9 / (double)frequency : 0;
}

/* --- rows of the model ---------------------------------------------------------------------- */

enum { COLUMNS_MAX = 64, NAMES_SIZE = 1024 };

static struct cell cell_if(bool known, struct cell cell)
{
	return known ? cell : nothing();
}

/* Writes the cells of a figure; returns how many. `names` holds the text of one. */
static size_t put_cells(const struct model *model, unsigned figure, const void *row, char *names,
			struct cell *out)
{
	const struct figure_value value = figure_read(model, figure, row);

	if (figure_list[figure].joined)
		return 0;
	switch (figure_list[figure].kind) {
	case FIGURE_SHOWN:
		return 0;
	case FIGURE_NAME:
	case FIGURE_RUNTIME:
		*out = text(value.text);
		return 1;
	case FIGURE_NAMES:
		figure_join(value.names, names, NAMES_SIZE);
		*out = text(names);
		return 1;
	case FIGURE_FLAG:
	case FIGURE_REF:
	case FIGURE_ID:
	case FIGURE_COUNT:
	case FIGURE_NS:
	case FIGURE_SIZE:
		*out = cell_if(value.known, integer(value.count));
		return 1;
	case FIGURE_ROUGH:
	case FIGURE_SHARE:
	case FIGURE_TIME:
	case FIGURE_BYTES:
		*out = cell_if(value.known, real(value.real));
		return 1;
	case FIGURE_TIME_OF:
	case FIGURE_BYTES_OF:
	case FIGURE_COUNT_OF:
	case FIGURE_SHARE_OF:
		break;
	}
	out[0] = cell_if(value.known, real(value.estimate->value));
	out[1] = cell_if(value.known, real(value.estimate->low));
	out[2] = cell_if(value.known, real(value.estimate->high));
	return 3;
}

static int put_row(struct sql *sql, const struct world *world, enum row_kind rows, uint64_t id,
		   const void *row)
{
	static const enum sql_table tables[] = {
#define ROWS(row, rows, count, sql, doc) [ROWS_##row] = TABLE_##sql,
#define SQL_END
#include "../../model/rows.def"
	};
	struct cell cells[COLUMNS_MAX] = {integer(id)};
	char names[NAMES_SIZE];
	size_t n = 1;

	for (unsigned i = figure_tables[rows].first; i < figure_tables[rows].end; i++)
		n += put_cells(world->model, i, row, names, &cells[n]);
	return database_put(sql->database, tables[rows], cells);
}

static int put_rows(struct sql *sql, const struct world *world, enum row_kind rows)
{
	size_t count, size = figure_tables[rows].size;
	const char *row = figure_rows(world->model, rows, &count);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++)
		error = put_row(sql, world, rows, i + 1, row + i * size);
	return error;
}

/* Events refer to threads by their ids. */
static int put_threads(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_threads && !error; i++)
		error = put_row(sql, world, ROWS_thread, model->threads[i].id, &model->threads[i]);
	return error;
}

/* --- the recording ---------------------------------------------------------------------- */

static int put_recording(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	const struct model_run *run = &model->run;
	const struct model_alloc *alloc = &model->alloc;
	bool alloc_known = model_has(model, NEEDS_ALLOC);
	bool cpu_known = model_has(model, NEEDS_CPU);
	bool gc_known = model_has(model, NEEDS_GC);
	struct row_recording row = {
		.id = integer(1),
		.file = text(model->file),
		.state = text(profile_state_name(model->state)),
		.command = text(run->command_line),
		.start = integer(run->start),
		.duration_ns = integer(run->duration),
		.realtime = reference(run->realtime),
		.frequency = reference(run->frequency),
		.period = reference(alloc->period),
		.tool = text(run->tool),
		.host = text(run->host),
		.kernel = text(run->kernel),
		.machine = text(run->machine),
		.alloc_samples = cell_if(alloc_known, integer(alloc->samples)),
		.alloc_bytes = cell_if(alloc_known, real(alloc->bytes.value)),
		.alloc_bytes_low = cell_if(alloc_known, real(alloc->bytes.low)),
		.alloc_bytes_high = cell_if(alloc_known, real(alloc->bytes.high)),
		.alloc_objects = cell_if(alloc_known, real(alloc->objects.value)),
		.alloc_objects_low = cell_if(alloc_known, real(alloc->objects.low)),
		.alloc_objects_high = cell_if(alloc_known, real(alloc->objects.high)),
		.live_bytes = cell_if(alloc_known && alloc->live_known, real(alloc->live_bytes)),
		.cpu_samples = cell_if(cpu_known, integer(model->cpu.samples)),
		.on_cpu_ns = cell_if(cpu_known, integer(model->cpu.on_cpu_ns)),
		.in_gc_ns = cell_if(cpu_known, integer(model->cpu.in_gc_ns)),
		.collector_ns = cell_if(cpu_known, integer((uint64_t)model->cpu.collector_ns)),
		.compiler_ns = cell_if(cpu_known, integer(model->cpu.work_ns[WORK_COMPILER])),
		.recording_ns = cell_if(cpu_known, integer(model->cpu.recording_ns)),
		.quota_ns = cell_if(model->cpu.quota_known && !model->filter,
				    integer(model->cpu.quota_ns)),
		.memory_limit_bytes = reference(model->run.memory_limit),
		.memory_used_bytes =
			cell_if(model->run.memory_limit, integer(model->run.memory_used)),
		.no_samples_ns = cell_if(cpu_known, integer(model->cpu.no_samples_ns)),
		.gc_unattributed_ns =
			cell_if(gc_known && !model->filter, real(model->gc.unattributed_ns)),
		.gc_fixed_ns = cell_if(gc_known, real(model->gc.fixed_ns)),
		.gc_ns_per_byte = cell_if(gc_known, real(model->gc.copy_ns_per_byte)),
	};

	if (run->frequency)
		row.tick_ns = real(tick_of(world));
	if (run->end_reason == END_EXITED)
		row.exit_status = integer(end_exit_status(run->end_reason, run->status));
	return database_put(sql->database, TABLE_recording, &row);
}

static int put_pauses(struct sql *sql, const struct world *world)
{
	const struct model_run *run = &world->model->run;
	int error = 0;

	for (size_t i = 0; i < run->n_paused && !error; i++) {
		const struct paused_time *pause = &run->paused[i];
		struct row_recording_pauses row = {
			.id = integer(i + 1),
			.recording = reference(pause->recording),
			.start = integer(pause->begin),
			.finish = integer(pause->end),
			.duration_ns = integer(pause->end - pause->begin),
		};

		error = database_put(sql->database, TABLE_recording_pauses, &row);
	}
	return error;
}

/* --- tasks and types ------------------------------------------------------------------------ */

static int put_processes(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (uint64_t id = 1; id < world->tasks.processes.limit && !error; id++) {
		const struct process *process = tasks_find_process(&world->tasks, id);
		struct row_processes row;

		if (!process)
			continue;
		row = (struct row_processes){
			.id = integer(id),
			.pid = integer(process->pid),
			.parent = reference(process->parent),
			.name = text(process->name),
			.time = integer(process->time),
			.title = text(process->title),
			.recording = reference(process->recording),
		};
		error = database_put(sql->database, TABLE_processes, &row);
	}
	return error;
}

static int put_types(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (size_t i = 1; i < world->types.count && !error; i++) {
		const struct type *type = &world->types.items[i];
		struct row_types row = {
			.id = integer(i),
			.process = reference(type->process),
			.number = integer(type->number),
			.name = text(type->name),
		};

		error = database_put(sql->database, TABLE_types, &row);
	}
	return error;
}

/* --- code ------------------------------------------------------------------------------------- */

static int put_modules(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (uint64_t id = 1; id < world->tree.modules.limit && !error; id++) {
		const struct module *module = dense_get(&world->tree.modules, id);
		char build_id[2 * BUILD_ID_SHOWN + 1] = "";
		struct row_modules row;

		if (!module->defined)
			continue;
		for (size_t i = 0; i < module->build_id_size && i < BUILD_ID_SHOWN; i++)
			snprintf(build_id + 2 * i, 3, "%02x", module->build_id[i]);
		row = (struct row_modules){.id = integer(id),
					   .path = text(module->path),
					   .build_id = text(*build_id ? build_id : NULL)};
		error = database_put(sql->database, TABLE_modules, &row);
	}
	return error;
}

/* Rows of the model without a frame: with them, every column adds up to the total. */
static bool is_rest(const struct model_function *function)
{
	return !function->module && function->name[0] == '(' &&
	       (strcmp(function->name, "(no stack)") == 0 ||
		strcmp(function->name, "(no samples)") == 0);
}

static int put_functions(struct sql *sql, const struct world *world)
{
	const struct functions *functions = &world->functions;
	const struct model *model = world->model;
	uint64_t id = functions->n_rows;
	int error = 0;

	for (size_t i = 0; i < functions->n_rows && !error; i++)
		error = put_row(sql, world, ROWS_function, i + 1, &functions->rows[i]);
	for (size_t i = 0; i < model->n_functions && !error; i++)
		if (is_rest(&model->functions[i]))
			error = put_row(sql, world, ROWS_function, ++id, &model->functions[i]);
	return error;
}

/* functions.id of the innermost function of a frame. */
static struct cell innermost(const struct world *world, const struct frame *frame)
{
	uint32_t last = frame->first_function + frame->n_functions - 1;

	return frame->n_functions ? integer(world->functions.of_frames[last] + UINT64_C(1))
				  : nothing();
}

/* Code made at run time is managed, also if it has native frames. */
static uint8_t runtime_of(const struct world *world, const struct frame *frame)
{
	const struct module *module = dense_get(&world->tree.modules, frame->module);

	return module && module->generated_by ? RUNTIME_MANAGED : frame->runtime;
}

/* The line of one of its functions, this many levels from the innermost one; 0: unknown. */
static uint64_t line_of(const struct world *world, const struct frame *frame, uint32_t level)
{
	uint32_t symbol = frame->first_symbol;

	if (!symbol)
		return frame->line;
	for (uint32_t i = level + 1; i < frame->n_functions && symbol; i++)
		symbol = world->tree.symbols[symbol].next;
	return symbol ? world->tree.symbols[symbol].line : 0;
}

static int put_inlined(struct sql *sql, const struct world *world, uint64_t id,
		       const struct frame *frame)
{
	int error = 0;

	for (uint32_t i = frame->n_functions, level = 0; i-- && !error; level++) {
		uint32_t function = world->functions.of_frames[frame->first_function + i];
		struct row_inlined row = {
			.id = integer(sql_next(sql, TABLE_inlined)),
			.frame = integer(id),
			.level = integer(level),
			.function = integer(function + UINT64_C(1)),
			.line = reference(line_of(world, frame, level)),
		};

		error = database_put(sql->database, TABLE_inlined, &row);
	}
	return error;
}

static int put_frames(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (uint64_t id = 1; id < world->tree.frames.limit && !error; id++) {
		const struct frame *frame = tree_frame(&world->tree, id);
		struct row_frames row;

		if (!frame)
			continue;
		row = (struct row_frames){
			.id = integer(id),
			.runtime = text(runtime_name(runtime_of(world, frame))),
			.module = reference(frame->runtime == RUNTIME_NATIVE ? frame->module : 0),
			.address = integer(frame->address),
			.line = reference(line_of(world, frame, 0)),
			.function = innermost(world, frame),
		};
		error = database_put(sql->database, TABLE_frames, &row);
		if (!error)
			error = put_inlined(sql, world, id, frame);
	}
	return error;
}

static int put_stacks(struct sql *sql, const struct world *world)
{
	const struct tree *tree = &world->tree;
	int error = 0;

	for (uint64_t id = 1; id < tree->nodes.limit && !error; id++) {
		const struct stack *node = tree_node(tree, id);
		struct row_stacks row;

		if (!node)
			continue;
		row = (struct row_stacks){
			.id = integer(id),
			.parent = reference(node->parent),
			.frame = integer(node->frame),
			.depth = integer(tree_depth(tree, id)),
			.function = innermost(world, tree_frame(tree, node->frame)),
		};
		if (node->cost) {
			uint32_t site = allocating_stack(&world->tree, (uint32_t)id);
			const struct stack *allocating = tree_node(tree, site);

			row.site = integer(site);
			row.site_function = innermost(world, tree_frame(tree, allocating->frame));
		}
		error = database_put(sql->database, TABLE_stacks, &row);
	}
	return error;
}

static int put_costs(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (size_t i = 0; i < world->tree.n_costs && !error; i++) {
		const struct cost *cost = &world->tree.costs[i];
		const struct stack_life *life = tree_life_of(&world->tree, cost);
		const struct cost_rest *rest = tree_rest_of(&world->tree, cost);
		struct row_costs row = {
			.id = integer(i + 1),
			.stack = reference(cost->stack),
			.cpu_samples = integer(cost->cpu_samples),
			.cpu_ns = real((double)cost->cpu_ns),
			.alloc_bytes = real(life->bytes.value),
			.known_bytes = real(life->survived.all),
			.survived_bytes = real(life->survived.some),
			.gc_ns = real(life->gc_ns),
			.syscall_ns = integer(rest->syscall_ns),
			.off_cpu_ns = integer(rest->off_cpu_ns),
			.faults = integer(rest->faults),
		};

		error = database_put(sql->database, TABLE_costs, &row);
	}
	return error;
}

int sql_tables(struct sql *sql, const struct world *world)
{
	static int (*const puts[])(struct sql *, const struct world *) = {
		put_recording, put_pauses,    put_processes, put_threads, put_types,
		put_modules,   put_functions, put_frames,    put_stacks,  put_costs,
	};
	static const enum row_kind rows[] = {
		ROWS_stream, ROWS_loss,       ROWS_runtime,  ROWS_program, ROWS_entry,
		ROWS_type,   ROWS_site,       ROWS_heap_row, ROWS_syscall, ROWS_wait,
		ROWS_waker,  ROWS_time_group, ROWS_finding,
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(puts) / sizeof(*puts) && !error; i++)
		error = puts[i](sql, world);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !error; i++)
		error = put_rows(sql, world, rows[i]);
	return error;
}
