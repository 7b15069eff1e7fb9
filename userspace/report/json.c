/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c: the report as JSON. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "../profile/status.h"
#include "json_parts.h"
#include "report.h"

static json_t *streams(const struct model *model)
{
	json_t *object = json_object();

	for (size_t i = 0; i < model->n_streams; i++)
		json_put(object, model->streams[i].name,
			 json_row(model, ROWS_stream, &model->streams[i]));
	return object;
}

/* --- what rows have beside their figures -------------------------------------------------- */

static void type_ages(json_t *object, const void *row)
{
	json_put(object, "ages", json_ages(&((const struct model_type *)row)->life));
}

static void finding_where(json_t *object, const void *row)
{
	const struct model_finding *finding = row;
	json_t *where = json_object();

	json_put(where, "function", json_name(finding->function));
	json_put(where, "called_by", json_name(finding->called_by));
	json_put(object, "where", where);
}

static void site_ages(json_t *object, const void *row)
{
	json_put(object, "ages", json_ages(&((const struct model_site *)row)->life));
}

static void call_durations(json_t *object, const void *row)
{
	json_put(object, "histogram",
		 json_histogram(((const struct model_syscall *)row)->histogram));
}

static void thread_waits(json_t *object, const void *row)
{
	json_put(object, "off_cpu", json_thread_waits(row));
}

/* ------------------------------------------------------------------------------------------ */

static json_t *alloc(const struct model *model, size_t top)
{
	const struct model_alloc *alloc = &model->alloc;
	bool known = model_has(model, NEEDS_ALLOC);
	json_t *object = json_object();

	json_put(object, "samples", json_if(known, json_count(alloc->samples)));
	json_put(object, "period", alloc->period ? json_count(alloc->period) : json_null());
	json_put(object, "period_min",
		 alloc->samples ? json_count(alloc->period_min) : json_null());
	json_put(object, "period_max",
		 alloc->samples ? json_count(alloc->period_max) : json_null());
	json_put(object, "period_changes", json_count(alloc->period_changes));
	json_put(object, "lost_fates", json_count(alloc->lost_fates));
	json_put(object, "bytes", json_estimate(&alloc->bytes, known));
	json_put(object, "objects", json_estimate(&alloc->objects, known));
	json_put(object, "live_bytes",
		 json_whole_if(known && alloc->live_known, alloc->live_bytes));
	json_put(object, "live", json_estimate(&alloc->live, known && alloc->live_known));
	json_put(object, "types", json_rows(model, ROWS_type, top, type_ages));
	json_put(object, "sites", json_count(model->n_sites_found));
	return object;
}

json_t *json_durations(const struct model_pauses *pauses)
{
	json_t *object = json_object();
	bool known = pauses->count > 0;

	json_put(object, "count", json_count(pauses->count));
	json_put(object, "summed", json_count(pauses->summed));
	json_put(object, "total_ns", json_count(pauses->total_ns));
	json_put(object, "p50_ns", known ? json_count(pauses->p50_ns) : json_null());
	json_put(object, "p99_ns", known ? json_count(pauses->p99_ns) : json_null());
	json_put(object, "max_ns", known ? json_count(pauses->max_ns) : json_null());
	return object;
}

/* A count that was perhaps not recorded. */
static json_t *known(uint64_t count, bool is_known)
{
	return is_known ? json_count(count) : json_null();
}

static json_t *gc(const struct model *model, size_t top)
{
	const struct model_gc *gc = &model->gc;
	json_t *object = json_object(), *major = json_durations(&gc->major), *fit = json_object();

	json_put(major, "cycles", json_count(gc->major.cycles));
	json_put(object, "minor", json_durations(&gc->minor));
	json_put(object, "major", major);
	json_put(object, "stops", json_durations(&gc->stops));
	json_put(object, "other_stops", json_durations(&gc->others));
	json_put(object, "around", json_durations(&gc->around));
	json_put(object, "cycles", json_cycles(model, top));
	json_put(object, "named", json_named(gc));
	json_put(object, "processes", json_count(gc->processes));
	json_put(object, "promoted_bytes", known(gc->promoted_bytes, gc->promoted_known));
	json_put(object, "heap_peak_bytes", known(gc->heap_peak_bytes, gc->heap_peak_bytes));
	json_put(object, "freed_bytes", known(gc->freed_bytes, gc->freed_bytes));
	json_put(object, "rss_peak_bytes", known(gc->rss_peak_bytes, gc->rss_peak_bytes));
	json_put(object, "stop_ns", json_count(gc->stop_ns));
	json_put(object, "stop_max_ns", json_count(gc->stop_max_ns));
	json_put(object, "unpaired", json_count(gc->unpaired));
	json_put(object, "gc_unattributed_ns",
		 model->filter ? json_null() : json_whole(gc->unattributed_ns));
	json_put(object, "unattributed", json_unattributed(model));
	json_put(fit, "fixed_ns", json_real(gc->fixed_ns));
	json_put(fit, "ns_per_promoted_byte", json_real(gc->copy_ns_per_byte));
	json_put(object, "minor_cost", fit);
	json_put(object, "parts", json_parts(model));
	/* Some runtimes report bytes only. */
	json_put(object, "promoted_objects",
		 known(gc->promoted_objects,
		       gc->promoted_known && (gc->promoted_objects || !gc->promoted_bytes)));
	json_put(object, "unreachable_objects", json_count(gc->unreachable));
	json_put(object, "nursery_bytes", known(gc->nursery_bytes, gc->nursery_bytes));
	json_put(object, "reasons", json_reasons(gc));
	json_put(object, "requests", gc->requests_missing ? json_null() : json_count(gc->requests));
	json_put(object, "named_reasons", json_named_reasons(gc));
	json_put(object, "areas", json_rows(model, ROWS_heap_area, SIZE_MAX, NULL));
	json_put(object, "utilisation", json_utilisation(gc));
	json_put(object, "any_ns", json_count(gc->any_ns));
	return json_if(model_has(model, NEEDS_GC), object);
}

static json_t *cpu(const struct model *model)
{
	const struct model_cpu *cpu = &model->cpu;
	bool known = model_has(model, NEEDS_CPU) && model->run.frequency;
	json_t *object = json_object();

	json_put(object, "samples", json_if(known, json_count(cpu->samples)));
	json_put(object, "frequency_hz", json_count(model->run.frequency));
	json_put(object, "on_cpu_ns", known ? json_count(cpu->on_cpu_ns) : json_null());
	json_put(object, "in_gc_ns", known ? json_count(cpu->in_gc_ns) : json_null());
	json_put(object, "collector_ns", known ? json_whole(cpu->collector_ns) : json_null());
	json_put(object, "compiler_ns",
		 known ? json_count(cpu->work_ns[WORK_COMPILER]) : json_null());
	json_put(object, "queued_ns", cpu->queue_known ? json_count(cpu->queued_ns) : json_null());
	json_put(object, "quota_ns",
		 json_if(cpu->quota_known && !model->filter, json_count(cpu->quota_ns)));
	json_put(object, "quota_cpus",
		 json_if(cpu->quota_milli_cpus, json_real((double)cpu->quota_milli_cpus / 1000)));
	json_put(object, "memory_limit_bytes",
		 json_if(model->run.memory_limit, json_count(model->run.memory_limit)));
	json_put(object, "memory_used_bytes",
		 json_if(model->run.memory_limit, json_count(model->run.memory_used)));
	json_put(object, "recording_ns", known ? json_count(cpu->recording_ns) : json_null());
	json_put(object, "user_ns", known ? json_count(cpu->user_ns) : json_null());
	json_put(object, "kernel_ns", known ? json_count(cpu->kernel_ns) : json_null());
	json_put(object, "no_samples_ns", known ? json_count(cpu->no_samples_ns) : json_null());
	return object;
}

static json_t *stacks(const struct model *model)
{
	const struct model_stacks *stacks = &model->stacks;
	json_t *object = json_object(), *unfinished = json_object();
	double part = stacks->samples ? (double)stacks->complete / (double)stacks->samples : -1;

	json_put(object, "samples", json_count(stacks->samples));
	json_put(object, "complete", json_share(part));
	for (int i = 0; i < STACK_REASONS; i++)
		if (stacks->reasons[i])
			json_put(unfinished, stack_reason_name(i), json_count(stacks->reasons[i]));
	json_put(object, "unfinished", unfinished);
	return object;
}

/* As a shell shows it; null if the end of the program was not recorded. */
static json_t *exit_status(const struct model_run *run)
{
	int status = end_exit_status(run->end_reason, run->status);

	return status < 0 ? json_null() : json_integer(status);
}

static json_t *merged(const struct model_run *run)
{
	json_t *object;

	if (!run->files)
		return json_null();
	object = json_object();
	json_put(object, "files", json_count(run->files));
	json_put(object, "recordings", json_count(run->recordings));
	json_put(object, "incomplete", json_count(run->incomplete));
	return object;
}

static json_t *paused(const struct model_run *run)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < run->n_paused; i++) {
		json_t *row = json_object();

		json_put(row, "recording", json_count(run->paused[i].recording));
		json_put(row, "start_ns", json_count(run->paused[i].begin));
		json_put(row, "duration_ns", json_count(run->paused[i].end - run->paused[i].begin));
		json_array_append_new(rows, row);
	}
	return rows;
}

static void put_run(json_t *object, const struct model *model)
{
	const struct model_run *run = &model->run;
	json_t *command = json_array();

	for (size_t i = 0; i < run->n_command; i++)
		json_array_append_new(command, json_name(run->command[i]));
	json_put(object, "file", json_name(model->file));
	json_put(object, "state", json_string(profile_state_name(model->state)));
	json_put(object, "command", command);
	json_put(object, "attached", json_name(run->attached));
	json_put(object, "frames", json_string(model_frames_name(model->frames)));
	json_put(object, "clock", json_string("CLOCK_MONOTONIC"));
	json_put(object, "start_ns", json_count(run->start));
	json_put(object, "start_realtime_ns",
		 run->realtime ? json_count(run->realtime) : json_null());
	json_put(object, "duration_ns", json_count(run->duration));
	json_put(object, "paused_ns", json_count(run->paused_ns));
	json_put(object, "paused", paused(run));
	json_put(object, "merged", merged(run));
	json_put(object, "filter", json_name(model->filter));
	json_put(object, "selected_ns", json_count(run->wall));
	json_put(object, "exit_status", exit_status(run));
	json_put(object, "end_reason", json_name(end_reason_name(run->end_reason)));
	json_put(object, "syscall_coverage", json_real(model_coverage(&model->tracing)));
	json_put(object, "syscall_windows", json_count(model->tracing.windows));
	json_put(object, "syscall_traced_ns",
		 model->tracing.gaps ? json_count(model->tracing.traced_ns) : json_null());
	json_put(object, "syscall_untraced_ns", json_count(model->tracing.untraced_ns));
	json_put(object, "syscalls_left_out",
		 model->calls_left_out > 0    ? json_whole(model->calls_left_out)
		 : model_calls_unknown(model) ? json_null()
					      : json_count(0));
	json_put(object, "syscalls_without_stack",
		 model->calls_stackless > 0 ? json_whole(model->calls_stackless) : json_count(0));
	json_put(object, "syscalls_left_out_why",
		 !model_calls_unknown(model) && model->calls_left_out <= 0 ? json_null()
		 : model->calls_untraced || model->calls_left_out <= 0
			 ? json_string("not traced")
			 : json_string("not recorded individually"));
	json_put(object, "runtimes", json_rows(model, ROWS_runtime, SIZE_MAX, NULL));
	json_put(object, "snapshot", json_name(run->snapshot));
	json_put(object, "tool", json_name(run->tool));
	json_put(object, "host", json_name(run->host));
	json_put(object, "kernel", json_name(run->kernel));
	json_put(object, "machine", json_name(run->machine));
}

typedef json_t *make_part(const struct model *model, size_t top);

static json_t *cpu_part(const struct model *model, size_t top)
{
	(void)top;
	return cpu(model);
}

static json_t *stacks_part(const struct model *model, size_t top)
{
	(void)top;
	return stacks(model);
}

/*
 * Keys in their order. `part`: a key is also written if one of these parts is requested; 0:
 * only in the complete report. With `make`, an object of its own; otherwise the rows of a table.
 */
static const struct {
	const char *key;
	unsigned part;
	make_part *make;
	enum row_kind table;
	json_more *more;
} keys[] = {
	{"alloc", PART_TYPES | PART_LIVE, alloc, 0, NULL},
	{"gc", PART_GC, gc, 0, NULL},
	{"pauses", PART_GC, json_pauses, 0, NULL},
	{"cpu", 0, cpu_part, 0, NULL},
	{"programs", PART_PROGRAMS, NULL, ROWS_program, NULL},
	{"entries", PART_ENTRIES, NULL, ROWS_entry, NULL},
	{"live_heap", PART_LIVE, NULL, ROWS_heap_row, NULL},
	{"functions", PART_FUNCTIONS | PART_FAULTS, NULL, ROWS_function, NULL},
	{"sites", PART_SITES | PART_LIVE, NULL, ROWS_site, site_ages},
	{"syscalls", PART_SYSCALLS, NULL, ROWS_syscall, call_durations},
	{"waits", PART_OFF_CPU, NULL, ROWS_wait, NULL},
	{"wakers", PART_OFF_CPU, NULL, ROWS_waker, NULL},
	{"off_cpu", PART_OFF_CPU, json_off_cpu, 0, NULL},
	{"faults", PART_FAULTS, json_faults, 0, NULL},
	{"slow_calls", PART_SYSCALLS, NULL, ROWS_slow_call, NULL},
	{"threads", PART_THREADS | PART_OFF_CPU, NULL, ROWS_thread, thread_waits},
	{"time_groups", PART_TIME, NULL, ROWS_time_group, NULL},
	{"timeline", PART_TIMELINE, json_timeline, 0, NULL},
	{"findings", 0, NULL, ROWS_finding, finding_where},
	{"warnings", 0, json_warnings, 0, NULL},
	{"stacks", 0, stacks_part, 0, NULL},
	{"losses", 0, NULL, ROWS_loss, NULL},
};

json_t *report_object(const struct model *model, const struct report_options *options)
{
	size_t top = options->top ? options->top : SIZE_MAX;
	json_t *object = json_object();
	int error = 0;

	if (!object)
		return NULL;
	put_run(object, model);
	error |= json_put(object, "streams", streams(model));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!options->parts || keys[i].part & options->parts)
			error |= json_put(
				object, keys[i].key,
				keys[i].make ? keys[i].make(model, top)
					     : json_rows(model, keys[i].table, top, keys[i].more));
	error |= json_put(object, "refused_records", json_count(model->refused));
	if (!error)
		return object;
	json_decref(object);
	return NULL;
}

int report_json(const struct model *model, const struct report_options *options, FILE *out)
{
	json_t *object = report_object(model, options);

	if (object)
		json_dumpf(object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	json_decref(object);
	fputc('\n', out);
	return object ? 0 : -ENOMEM;
}
