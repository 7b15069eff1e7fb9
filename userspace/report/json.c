/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c: the report for programs. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>

#include "report.h"

/* JSON numbers are read as doubles by many: still, print whole numbers as such. */
static json_t *whole(double value)
{
	if (!(value > 0))
		return json_integer(0);
	return json_integer(value < 9.2e18 ? (json_int_t)llround(value) : INT64_MAX);
}

static json_t *count(uint64_t value)
{
	return json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX);
}

static json_t *text(const char *value)
{
	return value ? json_string(value) : json_null();
}

/* Not known where there was nothing to learn it from. */
static json_t *whole_if(bool known, double value)
{
	return known ? whole(value) : json_null();
}

/* Every value is handed over; a NULL among them, from lack of memory, is told by the result. */
static int put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value);
}

static json_t *estimate(const struct estimate *estimate, bool known)
{
	json_t *object = json_object();

	put(object, "estimate", whole_if(known, estimate->value));
	put(object, "low", whole_if(known, floor(estimate->low)));
	put(object, "high", whole_if(known, ceil(estimate->high)));
	return object;
}

static const struct model_stream *stream_of(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_streams; i++)
		if (strcmp(model->streams[i].name, name) == 0)
			return &model->streams[i];
	return NULL;
}

static bool attached(const struct model *model, const char *name)
{
	const struct model_stream *stream = stream_of(model, name);

	return stream && stream->attached;
}

static json_t *streams(const struct model *model)
{
	json_t *object = json_object();

	for (size_t i = 0; i < model->n_streams; i++) {
		const struct model_stream *stream = &model->streams[i];
		json_t *row = json_object();

		put(row, "attached", json_boolean(stream->attached));
		put(row, "why_not", text(stream->why_not));
		put(row, "events", count(stream->events));
		put(row, "lost", count(stream->lost));
		put(row, "cut", count(stream->cut));
		put(row, "held", count(stream->held));
		put(object, stream->name, row);
	}
	return object;
}

static json_t *share(double value)
{
	return value >= 0 ? json_real(value) : json_null();
}

static json_t *types(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_types && i < top; i++) {
		const struct model_type *type = &model->types[i];
		json_t *row = json_object();

		put(row, "name", text(type->name));
		put(row, "samples", count(type->samples));
		put(row, "bytes", estimate(&type->bytes, true));
		put(row, "objects", estimate(&type->objects, true));
		put(row, "survived", share(type->survived.value));
		put(row, "survived_low", json_real(type->survived.low));
		put(row, "survived_high", json_real(type->survived.high));
		put(row, "fates", count(type->fates));
		put(row, "live_bytes", whole(type->live_bytes));
		put(row, "gc_ns", whole(type->gc_ns));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *alloc(const struct model *model, size_t top)
{
	const struct model_alloc *alloc = &model->alloc;
	bool known = attached(model, "alloc");
	json_t *object = json_object();

	put(object, "samples", count(alloc->samples));
	put(object, "period", alloc->period ? count(alloc->period) : json_null());
	put(object, "period_min", alloc->samples ? count(alloc->period_min) : json_null());
	put(object, "period_max", alloc->samples ? count(alloc->period_max) : json_null());
	put(object, "period_changes", count(alloc->period_changes));
	put(object, "bytes", estimate(&alloc->bytes, known));
	put(object, "objects", estimate(&alloc->objects, known));
	put(object, "live_bytes", whole_if(known, alloc->live_bytes));
	put(object, "types", types(model, top));
	return object;
}

static json_t *pauses(const struct model_pauses *pauses)
{
	json_t *object = json_object();
	bool known = pauses->count > 0;

	put(object, "count", count(pauses->count));
	put(object, "total_ns", count(pauses->total_ns));
	put(object, "p50_ns", known ? count(pauses->p50_ns) : json_null());
	put(object, "p99_ns", known ? count(pauses->p99_ns) : json_null());
	put(object, "max_ns", known ? count(pauses->max_ns) : json_null());
	return object;
}

static json_t *gc(const struct model *model)
{
	const struct model_gc *gc = &model->gc;
	json_t *object = json_object(), *major = pauses(&gc->major), *fit = json_object();

	put(major, "cycles", count(gc->major.cycles));
	put(object, "minor", pauses(&gc->minor));
	put(object, "major", major);
	put(object, "promoted_bytes", count(gc->promoted_bytes));
	put(object, "heap_peak_bytes", count(gc->heap_peak_bytes));
	put(object, "rss_peak_bytes", gc->rss_peak_bytes ? count(gc->rss_peak_bytes) : json_null());
	put(object, "stop_ns", count(gc->stop_ns));
	put(object, "stop_max_ns", count(gc->stop_max_ns));
	put(object, "unpaired", count(gc->unpaired));
	put(object, "no_samples_ns", whole(gc->no_samples_ns));
	put(fit, "fixed_ns", json_real(gc->fixed_ns));
	put(fit, "ns_per_promoted_byte", json_real(gc->copy_ns_per_byte));
	put(object, "minor_cost", fit);
	return object;
}

static json_t *cpu(const struct model *model)
{
	const struct model_cpu *cpu = &model->cpu;
	bool known = attached(model, "cpu") && model->run.frequency;
	json_t *object = json_object();

	put(object, "samples", count(cpu->samples));
	put(object, "frequency_hz", count(model->run.frequency));
	put(object, "on_cpu_ns", known ? count(cpu->on_cpu_ns) : json_null());
	put(object, "in_gc_ns", known ? count(cpu->in_gc_ns) : json_null());
	put(object, "user_ns", known ? count(cpu->user_ns) : json_null());
	put(object, "kernel_ns", known ? count(cpu->kernel_ns) : json_null());
	return object;
}

static json_t *functions(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_functions && i < top; i++) {
		const struct model_function *function = &model->functions[i];
		json_t *row = json_object();

		put(row, "name", text(function->name));
		put(row, "module", text(function->module));
		put(row, "runtime", json_string(runtime_name(function->runtime)));
		put(row, "file", text(function->file));
		put(row, "line", function->line ? count(function->line) : json_null());
		put(row, "cpu_samples", count(function->cpu_samples));
		put(row, "cpu_self_ns", whole(function->cpu_self_ns));
		put(row, "cpu_total_ns", whole(function->cpu_total_ns));
		put(row, "alloc_self_bytes", whole(function->alloc_self_bytes));
		put(row, "alloc_total_bytes", whole(function->alloc_total_bytes));
		put(row, "survived_bytes", whole(function->survived_bytes));
		put(row, "survived_total_bytes", whole(function->survived_total_bytes));
		put(row, "fate_known_bytes", whole(function->known_bytes));
		put(row, "fate_known_total_bytes", whole(function->known_total_bytes));
		put(row, "gc_ns", whole(function->gc_ns));
		put(row, "gc_self_ns", whole(function->gc_self_ns));
		put(row, "syscall_ns", whole(function->syscall_ns));
		put(row, "syscall_self_ns", whole(function->syscall_self_ns));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *syscalls(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_syscalls && i < top; i++) {
		const struct model_syscall *call = &model->syscalls[i];
		json_t *row = json_object();

		put(row, "name", text(call->name));
		put(row, "number", count(call->number));
		put(row, "count", count(call->count));
		put(row, "errors", count(call->errors));
		put(row, "total_ns", count(call->total_ns));
		put(row, "p50_ns", count(call->p50_ns));
		put(row, "p99_ns", count(call->p99_ns));
		put(row, "max_ns", count(call->max_ns));
		put(row, "in_gc_count", count(call->in_gc_count));
		put(row, "in_gc_ns", count(call->in_gc_ns));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *threads(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_threads && i < top; i++) {
		const struct model_thread *thread = &model->threads[i];
		double tick = thread->cpu_samples ? thread->cpu_ns / (double)thread->cpu_samples
						  : 0;
		json_t *row = json_object();

		put(row, "tid", count(thread->tid));
		put(row, "pid", count(thread->pid));
		put(row, "name", text(thread->name));
		put(row, "cpu_ns", whole(thread->cpu_ns));
		put(row, "gc_cpu_ns", whole((double)thread->gc_samples * tick));
		put(row, "alloc_bytes", whole(thread->alloc_bytes));
		put(row, "samples", count(thread->cpu_samples + thread->alloc_samples));
		put(row, "cpu_samples", count(thread->cpu_samples));
		put(row, "alloc_samples", count(thread->alloc_samples));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *stacks(const struct model *model)
{
	const struct model_stacks *stacks = &model->stacks;
	json_t *object = json_object(), *unfinished = json_object();
	double part = stacks->samples ? (double)stacks->complete / (double)stacks->samples : -1;

	put(object, "samples", count(stacks->samples));
	put(object, "complete", share(part));
	for (int i = 0; i < STACK_REASONS; i++)
		if (stacks->reasons[i])
			put(unfinished, stack_reason_name(i), count(stacks->reasons[i]));
	put(object, "unfinished", unfinished);
	return object;
}

static json_t *losses(const struct model *model)
{
	static const char *const severities[] = {"unknown", "lost", "cut", "held"};
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_losses; i++) {
		const struct model_loss *loss = &model->losses[i];
		json_t *row = json_object();

		put(row, "name", text(loss->name));
		put(row, "stream", text(loss->stream));
		put(row, "severity", json_string(severities[loss->severity & 3]));
		put(row, "count", count(loss->count));
		put(row, "text", text(loss->text));
		json_array_append_new(array, row);
	}
	return array;
}

/* As a shell shows it; not known unless the program's end was seen. */
static json_t *exit_status(const struct model_run *run)
{
	int status = (int)run->status;

	if (run->end_reason != 1)
		return json_null();
	return json_integer(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void put_run(json_t *object, const struct model *model)
{
	static const char *const states[] = {
		[PROFILE_COMPLETE] = "complete",
		[PROFILE_UNFINISHED] = "unfinished",
		[PROFILE_TORN] = "torn",
		[PROFILE_DAMAGED] = "damaged",
	};
	static const char *const ends[] = {NULL, "program ended", "interrupted", "duration over",
					   "error"};
	const struct model_run *run = &model->run;
	json_t *command = json_array();

	for (size_t i = 0; i < run->n_command; i++)
		json_array_append_new(command, text(run->command[i]));
	put(object, "file", text(model->file));
	put(object, "state", json_string(states[model->state]));
	put(object, "command", command);
	put(object, "clock", json_string("CLOCK_MONOTONIC"));
	put(object, "start_ns", count(run->start));
	put(object, "start_realtime_ns", run->realtime ? count(run->realtime) : json_null());
	put(object, "duration_ns", count(run->duration));
	put(object, "exit_status", exit_status(run));
	put(object, "end_reason", text(run->end_reason < 5 ? ends[run->end_reason] : NULL));
	put(object, "tool", text(run->tool));
	put(object, "host", text(run->host));
	put(object, "kernel", text(run->kernel));
	put(object, "machine", text(run->machine));
}

int report_json(const struct model *model, const struct report_options *options, FILE *out)
{
	size_t top = options->top ? options->top : SIZE_MAX;
	json_t *object = json_object();
	int error = 0;

	if (!object)
		return -ENOMEM;
	put_run(object, model);
	error |= put(object, "streams", streams(model));
	error |= put(object, "alloc", alloc(model, top));
	error |= put(object, "gc", gc(model));
	error |= put(object, "cpu", cpu(model));
	error |= put(object, "functions", functions(model, top));
	error |= put(object, "syscalls", syscalls(model, top));
	error |= put(object, "threads", threads(model, top));
	error |= put(object, "stacks", stacks(model));
	error |= put(object, "losses", losses(model));
	error |= put(object, "refused_records", count(model->refused));
	if (!error)
		json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(object);
	fputc('\n', out);
	return error ? -ENOMEM : 0;
}
