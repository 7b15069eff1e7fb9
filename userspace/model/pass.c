/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.c: the one pass over a profile's records: hands each to the part that it concerns. */
#include "pass.h"

#include <errno.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../util/map.h"
#include "entries.h"
#include "faults.h"
#include "functions.h"
#include "program_rows.h"
#include "sites.h"
#include "text.h"
#include "thread_rows.h"

enum { COMMAND_WORDS_MAX = 4096 };

int pass_init(struct pass *pass, struct model *model)
{
	memset(pass, 0, sizeof(*pass));
	pass->model = model;
	tasks_init(&pass->tasks);
	if (tree_init(&pass->tree, model->arena) < 0 || type_table_init(&pass->types) < 0 ||
	    samples_init(&pass->samples) < 0 || gc_names_init(&pass->gc_names) < 0 ||
	    syscalls_init(&pass->syscalls) < 0 || waits_init(&pass->waits) < 0 ||
	    wakers_init(&pass->wakers) < 0)
		return -ENOMEM;
	return 0;
}

void pass_free(struct pass *pass)
{
	tree_free(&pass->tree);
	tasks_free(&pass->tasks);
	type_table_free(&pass->types);
	samples_free(&pass->samples);
	cycles_free(&pass->cycles);
	gc_names_free(&pass->gc_names);
	gc_cycles_free(&pass->gc_cycles);
	runtimes_free(&pass->runtimes);
	fibers_free(&pass->fibers);
	heap_sites_free(&pass->heap_sites);
	syscalls_free(&pass->syscalls);
	waits_free(&pass->waits);
	wakers_free(&pass->wakers);
	pauses_free(&pass->pauses);
	functions_free(&pass->functions);
	buffer_free(&pass->command_line);
}

static bool is_key(struct bytes key, const char *name)
{
	return key.size == strlen(name) && memcmp(key.data, name, key.size) == 0;
}

static int take_meta(struct pass *pass, const struct record_meta *record)
{
	struct model_run *run = &pass->model->run;
	const struct {
		const char *key;
		const char **value;
	} known[] = {
		{"tool", &run->tool},           {"host", &run->host},
		{"kernel", &run->kernel},       {"attached", &run->attached},
		{"machine", &run->machine},     {"cpus", &run->cpus},
		{"cpu_model", &run->cpu_model},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (!is_key(record->key, known[i].key))
			continue;
		*known[i].value = name_clean(pass->model->arena, record->value);
		if (!*known[i].value)
			return -ENOMEM;
	}
	return 0;
}

/* Words that are empty or blank do not show. */
static int extend_command_line(struct pass *pass, struct bytes text)
{
	const char *word = line_clean(pass->model->arena, text);
	struct buffer *line = &pass->command_line;
	int error = 0;

	if (!word)
		return -ENOMEM;
	if (!*word)
		return 0;
	if (line->size)
		error = buffer_append(line, " ", 1);
	return error ? error : buffer_append(line, word, strlen(word));
}

static int take_argument(struct pass *pass, const struct record_argument *record)
{
	struct model_run *run = &pass->model->run;
	const char *word;

	if (run->n_command >= COMMAND_WORDS_MAX)
		return -EBADMSG;
	word = name_clean(pass->model->arena, record->text);
	if (!word || array_reserve(&run->command, &pass->command_capacity, run->n_command,
				   sizeof(*run->command)) < 0)
		return -ENOMEM;
	run->command[run->n_command++] = word;
	return extend_command_line(pass, record->text);
}

static void take_recording(struct pass *pass, const struct record_recording *record)
{
	pass->model->run.start = record->start;
	if (!pass->timeline.step_ns)
		timeline_begin(&pass->timeline, record->start);
	pass->model->run.frequency = record->frequency;
	pass->model->run.syscall_rate = record->syscall_rate;
	pass->model->run.part = record->part;
	pass->syscalls.arguments = record->arguments;
	if (record->period)
		pass->model->alloc.period = record->period;
}

static void take_clock(struct pass *pass, const struct record_clock *record)
{
	if (pass->clock_realtime || record->after < record->before)
		return;
	pass->clock_monotonic = record->before + (record->after - record->before) / 2;
	pass->clock_realtime = record->realtime;
}

static int take_period(struct pass *pass, const struct record_period *record)
{
	struct model_alloc *alloc = &pass->model->alloc;

	if (!alloc->period)
		alloc->period = record->new_period;
	alloc->period_changes += record->reason == GCPROF_PERIOD_CEILING;
	return 0;
}

/* Counts are running totals. */
static int take_loss(struct pass *pass, const struct record_loss *record)
{
	const struct loss_state *state;
	uint64_t before;
	int err;

	if (record->kind >= LOSS_MAX)
		return -EBADMSG;
	state = &pass->streams.losses[record->kind];
	before = state->count;
	err = streams_loss(&pass->streams, record);
	if (err || state->severity != SEVERITY_LOST || record->count <= before)
		return err;
	if (!pass->timeline.step_ns)
		timeline_begin(&pass->timeline, record->time);
	timeline_at(&pass->timeline, record->time)->lost += record->count - before;
	return 0;
}

static int take_end(struct pass *pass, const struct record_end *record)
{
	pass->model->run.end_reason = record->reason;
	pass->model->run.status = record->status;
	/* In a merged profile of several each has an end of its own. */
	return record->reason == END_MERGED
		       ? 0
		       : call_windows_end(&pass->syscalls.windows, 0, record->time);
}

static int take_source(struct pass *pass, const struct record_source *record)
{
	struct model_run *run = &pass->model->run;

	run->files++;
	run->incomplete += record->state != 0;
	if (record->recording > run->recordings)
		run->recordings = record->recording;
	return call_windows_end(&pass->syscalls.windows, record->recording, record->end);
}

/* Why stacks are not whole. */
static void take_quality(struct pass *pass, uint64_t stack, uint64_t quality)
{
	static const uint64_t bits[STACK_REASONS] = {
		[REASON_USER_FAILED] = STACK_USER_FAILED,
		[REASON_USER_CUT] = STACK_USER_CUT,
		[REASON_KERNEL_FAILED] = STACK_KERNEL_FAILED,
		[REASON_KERNEL_CUT] = STACK_KERNEL_CUT,
		[REASON_MANAGED_TORN] = STACK_MANAGED_TORN,
		[REASON_MANAGED_CUT] = STACK_MANAGED_CUT,
		[REASON_USER_END] = STACK_USER_END,
		[REASON_USER_GUESSED] = STACK_USER_GUESSED,
		[REASON_LOST] = STACK_LOST,
		[REASON_JAVA_END] = STACK_JAVA_END,
		[REASON_JAVA_FROZEN] = STACK_JAVA_FROZEN,
	};
	struct model_stacks *stacks = &pass->model->stacks;

	if ((!stack && !quality) || !pass->selected)
		return;
	stacks->samples++;
	if (quality & STACK_USER_END && tree_begins_properly(&pass->tree, stack))
		quality &= ~(uint64_t)STACK_USER_END;
	if (!quality)
		stacks->complete++;
	for (int i = 0; quality && i < STACK_REASONS; i++)
		stacks->reasons[i] += (quality & bits[i]) != 0;
}

static void note_time(struct pass *pass, uint64_t time)
{
	if (!pass->timeline.step_ns)
		timeline_begin(&pass->timeline, time);
	if (!pass->first_time || time < pass->first_time)
		pass->first_time = time;
	if (time > pass->last_time)
		pass->last_time = time;
}

/* The type's number is part of the question. It is found in the same order in every pass. */
static bool select_event(struct pass *pass, const struct record *record)
{
	const struct thread *thread = tasks_find_thread(&pass->tasks, record->alloc.thread);
	int64_t type = 0;

	switch (record->kind) {
	case RECORD_alloc:
		if (thread)
			type = type_table_number(&pass->types, thread->process, record->alloc.type);
		pass->event_type = type > 0 ? (uint64_t)type : 0;
		break;
	case RECORD_cpu:
	case RECORD_fault:
	case RECORD_syscall:
	case RECORD_wait:
	case RECORD_gc_end:
	case RECORD_gc_cycle:
	case RECORD_gc_summary:
	case RECORD_heap_site:
		break;
	default:
		return true;
	}
	return selection_admits(pass->selection, pass, record);
}

/* The scheduler charges the thread with what recording takes of it: so do totals, but no function
 * has it. */
static int take_recording_tick(struct pass *pass, const struct record_cpu *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);

	if (!thread)
		return -EBADMSG;
	if (!pass->selected)
		return PASS_LEFT_OUT;
	pass->model->cpu.recording_ns += record->ns;
	pass->model->cpu.on_cpu_ns += record->ns;
	thread->cpu_ns += record->ns;
	timeline_at(&pass->timeline, record->time)->cpu_ns += record->ns;
	return PASS_LEFT_OUT;
}

/* Of the system call that the thread was in. */
static int note_call_cpu(struct pass *pass, const struct record_cpu *record)
{
	uint64_t number = record->call - 1, *ns;

	if (!pass->selected || !record->call)
		return 0;
	ns = map_put(pass->syscalls.cpu, &number, NULL);
	if (!ns)
		return -ENOMEM;
	*ns += record->ns;
	return 0;
}

static int take_tick(struct pass *pass, const struct record_cpu *record)
{
	if (record->recording && !pass->recording)
		return take_recording_tick(pass, record);
	if (note_call_cpu(pass, record))
		return -ENOMEM;
	return cycles_cpu(pass, record);
}

/* What no timer sample of a chunk stands for lies somewhere in it. */
static void spread_unsampled(struct pass *pass)
{
	int64_t ns = pass->unsampled - pass->unsampled_spread;

	if (ns > 0 && pass->timeline.step_ns) {
		timeline_cpu(&pass->timeline, pass->chunk_time, pass->last_time, (uint64_t)ns);
		pass->unsampled_spread = pass->unsampled;
	}
	pass->chunk_time = pass->last_time;
}

/* The scheduler's account of a thread, and what of it the timer samples do not stand for. */
static int take_cpu_time(struct pass *pass, const struct record_cpu_time *record)
{
	struct thread *thread = tasks_find_thread(&pass->tasks, record->thread);

	if (!thread)
		return -EBADMSG;
	if (pass->selection && !selection_admits_thread(pass->selection, record->thread))
		return 0;
	pass->model->cpu.exact = true;
	thread->accounted = true;
	thread->used_ns += (uint64_t)record->used;
	pass->unsampled =
		(int64_t)((uint64_t)pass->unsampled + (uint64_t)record->used - record->ns);
	return 0;
}

/* What names processes and threads. */
static int take_task(struct pass *pass, const struct record *record)
{
	switch (record->kind) {
	case RECORD_fork:
		tasks_begin(&pass->tasks, &record->fork);
		return 0;
	case RECORD_exit:
		cycles_leave(pass, record->exit.thread, UINT64_MAX);
		return 0;
	case RECORD_exec:
		return thread_rows_exec(pass, &record->exec);
	case RECORD_comm:
		return thread_rows_comm(pass, &record->comm);
	case RECORD_title:
		return thread_rows_title(pass, &record->title);
	default:
		return 0;
	}
}

/* 0 or -ENOMEM. */
static int take_selection(struct pass *pass, const struct record *record)
{
	pass->selected = !pass->selection || select_event(pass, record);
	return pass->selected ? fibers_record(pass, record) : 0;
}

/* The many: samples, collections, system calls. Every one of them begins with its time. */
static int take_event(struct pass *pass, const struct record *record)
{
	streams_count(&pass->streams, record->kind);
	note_time(pass, record->cpu.time);
	if (take_selection(pass, record))
		return -ENOMEM;
	switch (record->kind) {
	case RECORD_alloc:
		take_quality(pass, record->alloc.stack, record->alloc.quality);
		/* A collector may call malloc(), which has samples of its own. */
		if (record->alloc.kind < GCPROF_SAMPLE_FOREIGN)
			cycles_leave(pass, record->alloc.thread, record->alloc.time);
		return samples_alloc(pass, &record->alloc);
	case RECORD_fate:
		return samples_fate(pass, &record->fate);
	case RECORD_gc_begin:
		return cycles_begin(pass, &record->gc_begin);
	case RECORD_gc_end:
		return cycles_end(pass, &record->gc_end);
	case RECORD_gc_summary:
		return cycles_summary(pass, &record->gc_summary);
	case RECORD_collections:
		return streams_unread(&pass->streams, pass->model->arena,
				      record->collections.count);
	case RECORD_heap_site:
		return pass->selected ? heap_sites_record(pass, &record->heap_site) : 0;
	case RECORD_gc_cycle:
		return gc_cycles_record(pass, &record->gc_cycle);
	case RECORD_phase:
		return cycles_phase(pass, &record->phase);
	case RECORD_period:
		return take_period(pass, &record->period);
	case RECORD_cpu:
		take_quality(pass, record->cpu.stack, record->cpu.quality);
		return take_tick(pass, &record->cpu);
	case RECORD_syscall:
		take_quality(pass, record->syscall.stack, record->syscall.quality);
		return syscalls_record(pass, &record->syscall);
	case RECORD_syscall_total:
		return syscalls_total(pass, &record->syscall_total);
	case RECORD_call_cpu:
		return syscalls_cpu(pass, &record->call_cpu);
	case RECORD_call_window:
		pauses_window(pass, &record->call_window);
		return syscalls_window(pass, &record->call_window);
	case RECORD_wait:
		take_quality(pass, record->wait.stack, record->wait.quality);
		return waits_record(pass, &record->wait);
	case RECORD_fault:
		take_quality(pass, record->fault.stack, record->fault.quality);
		return faults_record(pass, &record->fault);
	case RECORD_usage:
		return waits_usage(pass, &record->usage);
	case RECORD_loss:
		return take_loss(pass, &record->loss);
	case RECORD_source:
		return take_source(pass, &record->source);
	case RECORD_end:
		return take_end(pass, &record->end);
	default:
		return take_task(pass, record);
	}
}

/* Definitions of what events refer to. */
static int take_definition(struct pass *pass, const struct record *record)
{
	const char *name;

	switch (record->kind) {
	case RECORD_string:
		return tree_string(&pass->tree, &record->string);
	case RECORD_module:
		return tree_module(&pass->tree, &record->module);
	case RECORD_process:
		return tasks_process(&pass->tasks, &record->process);
	case RECORD_thread:
		return tasks_thread(&pass->tasks, &record->thread);
	case RECORD_native_frame:
		return tree_native(&pass->tree, &record->native_frame);
	case RECORD_kernel_frame:
		return tree_kernel(&pass->tree, &record->kernel_frame);
	case RECORD_managed_frame:
		return tree_managed(&pass->tree, &record->managed_frame);
	case RECORD_stack:
		return tree_stack(&pass->tree, &record->stack);
	case RECORD_type:
		name = tree_text(&pass->tree, record->type.name);
		return type_table_name(&pass->types, record->type.process, record->type.type, name);
	case RECORD_code:
		return tree_code(&pass->tree, &record->code);
	case RECORD_symbol:
		return tree_symbol(&pass->tree, &record->symbol);
	case RECORD_runtime:
		return runtimes_record(pass, &record->runtime);
	case RECORD_gc_name:
		name = tree_text(&pass->tree, record->gc_name.name);
		return gc_names_define(&pass->gc_names, &record->gc_name, name);
	default:
		return 0;
	}
}

int pass_record(struct pass *pass, const struct record *record)
{
	struct arena *arena = pass->model->arena;

	switch (record->kind) {
	case RECORD_meta:
		return take_meta(pass, &record->meta);
	case RECORD_argument:
		return take_argument(pass, &record->argument);
	case RECORD_recording:
		take_recording(pass, &record->recording);
		return 0;
	case RECORD_clock:
		take_clock(pass, &record->clock);
		return 0;
	case RECORD_stream:
		return streams_stream(&pass->streams, arena, &record->stream);
	case RECORD_loss_kind:
		return streams_loss_kind(&pass->streams, arena, &record->loss_kind);
	case RECORD_cpu_time:
		return take_cpu_time(pass, &record->cpu_time);
	case RECORD_chunk:
		spread_unsampled(pass);
		return 0;
	case RECORD_header:
		return 0;
	default:
		break;
	}
	if (record->kind >= RECORD_string && record->kind <= RECORD_gc_name)
		return take_definition(pass, record);
	return record->kind == RECORD_loss || record->kind > RECORD_gc_name
		       ? take_event(pass, record)
		       : 0;
}

static void finish_run(struct pass *pass)
{
	struct model_run *run = &pass->model->run;
	struct model_cpu *cpu = &pass->model->cpu;

	spread_unsampled(pass);
	if (!run->start)
		run->start = pass->first_time;
	run->duration = pass->last_time > run->start ? pass->last_time - run->start : 0;
	run->wall = run->duration;
	if (pass->selection)
		run->wall = selection_time(pass->selection->filter, run->duration);
	if (pass->clock_realtime)
		run->realtime = pass->clock_realtime + (run->start - pass->clock_monotonic);
	/* Rounding, and samples of several threads that share their time. */
	if (pass->unsampled > 0)
		cpu->no_samples_ns = (uint64_t)pass->unsampled;
	cpu->on_cpu_ns += cpu->no_samples_ns;
}

static int finish_command_line(struct pass *pass)
{
	struct buffer *line = &pass->command_line;
	int error = buffer_append(line, "", 1);

	if (error)
		return error;
	pass->model->run.command_line = line->data;
	*line = (struct buffer){0};
	return 0;
}

static int finish_timeline(struct pass *pass)
{
	struct timeline *timeline = arena_alloc(pass->model->arena, sizeof(*timeline));

	if (!timeline)
		return -ENOMEM;
	*timeline = pass->timeline;
	pass->model->timeline = timeline;
	return 0;
}

int pass_finish(struct pass *pass)
{
	int error;

	finish_run(pass);
	tasks_name_processes(&pass->tasks);
	/* Before pauses that overlap are merged. */
	error = gc_cycles_finish(pass);
	cycles_finish(pass);
	if (!error)
		error = samples_finish(pass);
	if (!error)
		error = finish_command_line(pass);
	if (!error)
		error = runtimes_finish(pass);
	if (!error)
		error = gc_names_finish(pass);
	if (!error)
		error = tree_show(&pass->tree, pass->model->frames);
	if (!error)
		error = symbolize_missing(pass);
	if (!error)
		error = functions_finish(pass);
	if (!error)
		error = entries_finish(pass);
	if (!error)
		error = heap_sites_finish(pass);
	if (!error)
		error = type_table_finish(&pass->types, &pass->tasks, pass->model);
	if (!error)
		error = sites_finish(pass);
	if (!error)
		error = pauses_finish(pass);
	if (!error)
		error = finish_timeline(pass);
	if (!error)
		error = syscalls_finish(pass);
	if (!error)
		error = waits_finish(pass);
	if (!error)
		error = wakers_finish(pass);
	if (!error)
		error = thread_rows_finish(pass);
	if (!error)
		error = program_rows_finish(pass);
	if (!error)
		error = streams_finish(&pass->streams, pass->model);
	return error;
}
