/* SPDX-License-Identifier: BSD-2-Clause */
/* sql_tables.c: rows of the model's results. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../model/world/allocating.h"
#include "../profile/status.h"
#include "../util/buffer.h"
#include "sql.h"

enum { BUILD_ID_SHOWN = 64 };

static double tick_of(const struct world *world)
{
	uint64_t frequency = world->model->run.frequency;

	return frequency ? 1e9 / (double)frequency : 0;
}

/* --- the recording ---------------------------------------------------------------------- */

static int put_recording(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	const struct model_run *run = &model->run;
	const struct model_alloc *alloc = &model->alloc;
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
		.alloc_samples = integer(alloc->samples),
		.alloc_bytes = real(alloc->bytes.value),
		.alloc_bytes_low = real(alloc->bytes.low),
		.alloc_bytes_high = real(alloc->bytes.high),
		.alloc_objects = real(alloc->objects.value),
		.alloc_objects_low = real(alloc->objects.low),
		.alloc_objects_high = real(alloc->objects.high),
		.live_bytes = real(alloc->live_bytes),
		.cpu_samples = integer(model->cpu.samples),
		.on_cpu_ns = integer(model->cpu.on_cpu_ns),
		.in_gc_ns = integer(model->cpu.in_gc_ns),
		.collector_ns = integer((uint64_t)model_collector_ns(&model->cpu)),
		.compiler_ns = integer(model->cpu.work_ns[WORK_COMPILER]),
		.recording_ns = integer(model->cpu.recording_ns),
		.no_samples_ns = integer(model->cpu.no_samples_ns),
		.gc_fixed_ns = real(model->gc.fixed_ns),
		.gc_ns_per_byte = real(model->gc.copy_ns_per_byte),
	};

	if (run->frequency)
		row.tick_ns = real(tick_of(world));
	if (run->end_reason == END_EXITED)
		row.exit_status = integer(end_exit_status(run->end_reason, run->status));
	return database_put(sql->database, TABLE_recording, &row);
}

static int put_streams(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_streams && !error; i++) {
		const struct model_stream *stream = &model->streams[i];
		struct row_streams row = {
			.id = integer(i + 1),
			.name = text(stream->name),
			.attached = integer(stream->attached),
			.why_not = text(stream->why_not),
			.events = integer(stream->events),
			.lost = integer(stream->lost),
			.cut = integer(stream->cut),
			.held = integer(stream->held),
		};

		error = database_put(sql->database, TABLE_streams, &row);
	}
	return error;
}

static int put_losses(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_losses && !error; i++) {
		const struct model_loss *loss = &model->losses[i];
		struct row_losses row = {
			.id = integer(i + 1),
			.stream = text(loss->stream),
			.name = text(loss->name),
			.severity = text(severity_name(loss->severity)),
			.count = integer(loss->count),
			.unit = text(loss->unit),
			.text = text(loss->text),
		};

		error = database_put(sql->database, TABLE_losses, &row);
	}
	return error;
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

/* The kernel's figures for a thread; known once the thread or the recording has ended. */
static void add_usage(struct row_threads *row, const struct world *world,
		      const struct thread *thread)
{
	uint64_t off_cpu_ns = 0;

	if (!thread->ended)
		return;
	for (int i = 0; i < WAIT_KINDS; i++)
		off_cpu_ns += thread->wait_ns[i];
	row->wall_ns = integer(tasks_wall_ns(&world->tasks, &world->model->run, thread));
	row->queued_ns = thread->queue_known ? integer(thread->queued_ns) : nothing();
	row->off_cpu_ns = thread->waits_known ? integer(off_cpu_ns) : nothing();
	row->minor_faults = integer(thread->minor_faults);
	row->major_faults = integer(thread->major_faults);
}

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

static int put_threads(struct sql *sql, const struct world *world)
{
	int error = 0;

	for (uint64_t id = 1; id < world->tasks.threads.limit && !error; id++) {
		const struct thread *thread = tasks_find_thread(&world->tasks, id);
		struct row_threads row;

		if (!thread)
			continue;
		row = (struct row_threads){
			.id = integer(id),
			.process = integer(thread->process),
			.tid = integer(thread->tid),
			.name = text(thread->name),
			.cpu_samples = integer(thread->cpu_samples),
			.cpu_ns = real((double)tasks_cpu_ns(thread)),
			.gc_samples = integer(thread->gc_samples),
			.alloc_samples = integer(thread->alloc_samples),
			.alloc_bytes = real(thread->alloc_bytes),
		};
		add_usage(&row, world, thread);
		error = database_put(sql->database, TABLE_threads, &row);
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

static int put_type_totals(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_types && !error; i++) {
		const struct model_type *type = &model->types[i];
		struct row_type_totals row = {
			.id = integer(i + 1),
			.name = text(type->name),
			.samples = integer(type->samples),
			.bytes = real(type->bytes.value),
			.bytes_low = real(type->bytes.low),
			.bytes_high = real(type->bytes.high),
			.objects = real(type->objects.value),
			.objects_low = real(type->objects.low),
			.objects_high = real(type->objects.high),
			.live_bytes = real(type->live_bytes),
			.gc_ns = real(type->gc_ns),
		};

		if (type->survived.value >= 0) {
			row.survived = real(type->survived.value);
			row.survived_low = real(type->survived.low);
			row.survived_high = real(type->survived.high);
		}
		error = database_put(sql->database, TABLE_type_totals, &row);
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

static int put_function(struct sql *sql, uint64_t id, const struct model_function *function)
{
	struct row_functions row = {
		.id = integer(id),
		.name = text(function->name),
		.runtime = text(runtime_name(function->runtime)),
		.module = text(function->module),
		.file = text(function->file),
		.line = reference(function->line),
		.cpu_samples = integer(function->cpu_samples),
		.cpu_self_ns = real(function->cpu_self_ns),
		.cpu_total_ns = real(function->cpu_total_ns),
		.alloc_self_bytes = real(function->alloc_self_bytes),
		.alloc_total_bytes = real(function->alloc_total_bytes),
		.known_bytes = real(function->known_bytes),
		.survived_bytes = real(function->survived_bytes),
		.gc_self_ns = real(function->gc_self_ns),
		.gc_ns = real(function->gc_ns),
		.syscall_self_ns = real(function->syscall_self_ns),
		.syscall_ns = real(function->syscall_ns),
		.off_cpu_self_ns = real(function->off_cpu_self_ns),
		.off_cpu_ns = real(function->off_cpu_ns),
		.faults_self = integer(function->faults_self),
		.faults = integer(function->faults),
	};

	return database_put(sql->database, TABLE_functions, &row);
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
		error = put_function(sql, i + 1, &functions->rows[i]);
	for (size_t i = 0; i < model->n_functions && !error; i++)
		if (is_rest(&model->functions[i]))
			error = put_function(sql, ++id, &model->functions[i]);
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

static int put_syscall_totals(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_syscalls && !error; i++) {
		const struct model_syscall *call = &model->syscalls[i];
		struct row_syscall_totals row = {
			.id = integer(i + 1),
			.name = text(call->name),
			.number = integer(call->number),
			.count = integer(call->count),
			.errors = integer(call->errors),
			.total_ns = integer(call->total_ns),
			.p50_ns = integer(call->p50_ns),
			.p99_ns = integer(call->p99_ns),
			.max_ns = integer(call->max_ns),
			.in_gc_count = integer(call->in_gc_count),
			.in_gc_ns = integer(call->in_gc_ns),
			.waits = integer(call->waits),
			.wait_ns = integer(call->wait_ns),
			.cpu_ns = integer(call->cpu_ns),
			.estimated = integer(call->estimated),
			.traced = integer(call->traced),
			.count_low = real(call->calls.low),
			.count_high = real(call->calls.high),
			.total_low_ns = real(call->time.low),
			.total_high_ns = real(call->time.high),
		};

		error = database_put(sql->database, TABLE_syscall_totals, &row);
	}
	return error;
}

static int put_wait_totals(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_waits && !error; i++) {
		const struct model_wait *wait = &model->waits[i];
		struct row_wait_totals row = {
			.id = integer(i + 1),
			.name = text(wait->name),
			.reason = text(wait->reason),
			.count = integer(wait->count),
			.total_ns = integer(wait->total_ns),
			.max_ns = reference(wait->max_ns),
			.queued_ns = integer(wait->queued_ns),
		};

		error = database_put(sql->database, TABLE_wait_totals, &row);
	}
	return error;
}

static int put_runtimes(struct sql *sql, const struct world *world)
{
	const struct model *model = world->model;
	int error = 0;

	for (size_t i = 0; i < model->n_runtimes && !error; i++) {
		const struct model_runtime *runtime = &model->runtimes[i];
		struct row_runtimes row = {
			.id = integer(i + 1),
			.process = integer(runtime->process),
			.name = text(runtime->name),
			.version = text(runtime->version),
			.note = text(runtime->note),
			.provider = integer(runtime->provider),
			.unsampled = integer(runtime->unsampled),
		};

		error = database_put(sql->database, TABLE_runtimes, &row);
	}
	return error;
}

int sql_tables(struct sql *sql, const struct world *world)
{
	static int (*const puts[])(struct sql *, const struct world *) = {
		put_recording, put_pauses,         put_streams,     put_losses,
		put_processes, put_threads,        put_types,       put_type_totals,
		put_modules,   put_functions,      put_frames,      put_stacks,
		put_costs,     put_syscall_totals, put_wait_totals, put_runtimes,
	};
	int error = 0;

	for (size_t i = 0; i < sizeof(puts) / sizeof(*puts) && !error; i++)
		error = puts[i](sql, world);
	return error;
}
