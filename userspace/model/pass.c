/* SPDX-License-Identifier: BSD-2-Clause */
/* pass.c: the one pass over a profile's records; passes each to the parts that need it. */
#include "pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../bpf/events.h"
#include "../profile/codes.h"
#include "../util/map.h"
#include "findings/findings.h"
#include "gc/charges.h"
#include "rows/functions.h"
#include "rows/sites.h"
#include "rows/thread_rows.h"
#include "select/selection.h"
#include "system/syscalls.h"
#include "system/waits.h"
#include "world/syscall_text.h"
#include "world/world.h"

int pass_init(struct pass *pass, struct model *model, const struct selection *selection)
{
	*pass = (struct pass){.selection = selection, .run.selection = selection};
	cycles_init(&pass->cycles, &pass->world, &pass->pauses.open);
	if (model_world_init(&pass->world, model) < 0 ||
	    samples_init(&pass->samples, &pass->world, &pass->pauses) < 0 ||
	    syscalls_init(&pass->syscalls, selection) < 0 || waits_init(&pass->waits) < 0 ||
	    wakers_init(&pass->wakers) < 0 || areas_init(&pass->areas) < 0 ||
	    own_places_init(&pass->places) < 0)
		return -ENOMEM;
	pass->world.filtered = selection != NULL;
	return 0;
}

void pass_free(struct pass *pass)
{
	model_world_free(&pass->world);
	samples_free(&pass->samples);
	cycles_free(&pass->cycles);
	gc_cycles_free(&pass->gc_cycles);
	areas_free(&pass->areas);
	fibers_free(&pass->fibers);
	heap_sites_free(&pass->heap_sites);
	syscalls_free(&pass->syscalls);
	waits_free(&pass->waits);
	wakers_free(&pass->wakers);
	own_places_free(&pass->places);
	pauses_free(&pass->pauses);
	run_free(&pass->run);
	thread_time_free(&pass->time);
}

static int take_period(struct pass *pass, const struct record_period *record)
{
	struct model_alloc *alloc = &pass->world.model->alloc;

	if (!alloc->period)
		alloc->period = record->new_period;
	alloc->period_changes += record->reason == GCPROF_PERIOD_CEILING;
	return 0;
}

static int take_loss(struct pass *pass, const struct record_loss *record)
{
	int err = streams_loss(&pass->world.streams, record);

	if (err || pass->world.streams.losses[record->kind].severity != SEVERITY_LOST ||
	    !loss_counts_events(record->kind))
		return err;
	if (!pass->world.timeline.step_ns)
		timeline_begin(&pass->world.timeline, record->time);
	timeline_at(&pass->world.timeline, record->time)->lost += record->count;
	return 0;
}

static int take_paused(struct pass *pass, const struct record_paused *record)
{
	struct paused *paused = &pass->run.paused;
	int err = paused_add(paused, record);
	size_t count;

	return err > 0 ? call_windows_skip(&pass->syscalls.windows,
					   paused_times(paused, &count) + count - 1)
		       : err;
}

/* Recordings that end while they are paused. */
static int end_pauses(struct pass *pass)
{
	int err = 0;

	for (struct window_set *set = pass->syscalls.windows.sets; set && !err; set = set->next)
		if (set->recording_end)
			err = take_paused(pass,
					  &(struct record_paused){.time = set->recording_end,
								  .recording = set->recording});
	return err;
}

static int take_end(struct pass *pass, const struct record_end *record)
{
	pass->world.model->run.end_reason = record->reason;
	pass->world.model->run.status = record->status;
	pass->run.end = record->time;
	/* In a merged profile each recording has its own end. */
	return record->reason == END_MERGED
		       ? 0
		       : call_windows_end(&pass->syscalls.windows, 0, record->time);
}

static int take_source(struct pass *pass, const struct record_source *record)
{
	struct model_run *run = &pass->world.model->run;

	run->files++;
	run->incomplete += record->state != 0;
	if (record->recording > run->recordings)
		run->recordings = record->recording;
	return call_windows_end(&pass->syscalls.windows, record->recording, record->end);
}

static void take_quality(struct pass *pass, uint64_t stack, uint64_t quality)
{
	if (pass->event.selected)
		quality_count(&pass->world, stack, quality,
			      pass->world.last_time - pass->run.first_time);
}

static void note_time(struct pass *pass, uint64_t time)
{
	if (!pass->world.timeline.step_ns)
		timeline_begin(&pass->world.timeline, time);
	if (!pass->run.first_time || time < pass->run.first_time)
		pass->run.first_time = time;
	if (time > pass->world.last_time)
		pass->world.last_time = time;
}

/* Adds what is known when the record is read. Types get the same numbers in every pass. */
static struct event join(struct pass *pass, const struct record *record)
{
	struct event event = {.record = record, .selected = true};
	const struct thread *thread;
	int64_t type;

	switch (record->kind) {
	case RECORD_alloc:
		thread = tasks_find_thread(&pass->world.tasks, record->alloc.thread);
		type = thread ? type_table_number(&pass->world.types, thread->process,
						  record->alloc.type)
			      : 0;
		event.type = type > 0 ? (uint64_t)type : 0;
		break;
	case RECORD_cpu:
		cycles_find(&pass->cycles, record->cpu.thread, record->cpu.time, &event);
		break;
	case RECORD_fault:
		cycles_find(&pass->cycles, record->fault.thread, record->fault.time, &event);
		break;
	case RECORD_wait:
		cycles_find(&pass->cycles, record->wait.thread, record->wait.time, &event);
		break;
	case RECORD_syscall:
		if (record->syscall.gc_ns)
			event.gc_kind = cycles_last_kind(&pass->cycles, record->syscall.thread);
		break;
	default:
		break;
	}
	return event;
}

/*
 * The scheduler charges the recorder's overhead to the thread. Totals therefore include it, but
 * no function does.
 */
static int take_recording_tick(struct pass *pass, const struct record_cpu *record)
{
	struct thread *thread = tasks_find_thread(&pass->world.tasks, record->thread);

	if (!thread)
		return -EBADMSG;
	if (!pass->event.selected)
		return PASS_LEFT_OUT;
	pass->world.model->cpu.recording_ns += record->ns;
	pass->world.model->cpu.on_cpu_ns += record->ns;
	thread->cpu_ns += record->ns;
	timeline_at(&pass->world.timeline, record->time)->cpu_ns += record->ns;
	return PASS_LEFT_OUT;
}

static int take_tick(struct pass *pass, const struct record_cpu *record)
{
	int err;

	if (record->recording && !pass->recording) {
		err = thread_time_cpu(&pass->world, &pass->event);
		return err ? err : take_recording_tick(pass, record);
	}
	err = syscalls_cpu(&pass->syscalls, &pass->event);
	err = err ? err : thread_time_cpu(&pass->world, &pass->event);
	err = err ? err : cycles_cpu(&pass->cycles, &pass->event);
	if (!err && pass->event.selected)
		pauses_cpu(&pass->pauses, &pass->world, record);
	return err;
}

/* Records about processes and threads. */
static int take_task(struct pass *pass, const struct record *record)
{
	switch (record->kind) {
	case RECORD_fork:
		tasks_begin(&pass->world.tasks, &record->fork);
		return 0;
	case RECORD_exit:
		cycles_leave(&pass->cycles, record->exit.thread, UINT64_MAX);
		return 0;
	case RECORD_exec:
		return thread_rows_exec(&pass->world, &record->exec);
	case RECORD_comm:
		return thread_rows_comm(&pass->world, &record->comm);
	case RECORD_title:
		return thread_rows_title(&pass->world, &record->title);
	case RECORD_quota:
		run_quota(&pass->world, &record->quota);
		return 0;
	default:
		return 0;
	}
}

static int take_alloc(struct pass *pass, const struct record_alloc *record)
{
	take_quality(pass, record->stack, record->quality);
	/* A collector may call malloc(), which has samples of its own. */
	if (record->kind < GCPROF_SAMPLE_FOREIGN)
		cycles_leave(&pass->cycles, record->thread, record->time);
	return samples_alloc(&pass->samples, &pass->event);
}

static int take_syscall(struct pass *pass, const struct record_syscall *record)
{
	int err;

	take_quality(pass, record->stack, record->quality);
	err = syscalls_record(&pass->syscalls, &pass->world, &pass->event);
	if (!err && pass->event.selected)
		pauses_call(&pass->pauses, &pass->world, record);
	return err;
}

static int take_syscall_total(struct pass *pass, const struct record_syscall_total *record)
{
	int err = syscalls_total(&pass->syscalls, &pass->world, record);

	return err ? err : thread_time_total(&pass->time, record);
}

static int take_wait(struct pass *pass, const struct record_wait *record)
{
	int err;

	take_quality(pass, record->stack, record->quality);
	err = waits_record(&pass->waits, &pass->world, &pass->event);
	err = err ? err
		  : thread_time_wait(&pass->time, &pass->world, &pass->event, &pass->pauses.open);
	if (err || !pass->event.selected)
		return err;
	pauses_wait(&pass->pauses, &pass->world, record);
	return wakers_record(&pass->wakers, &pass->world, record);
}

static int take_usage(struct pass *pass, const struct record_usage *record)
{
	int err = waits_usage(&pass->world, record);

	if (!err && !pass->selection)
		faults_usage(&pass->world, record);
	/* What has no record of its own is known only when the thread or the profile ends. */
	return !err && record->flags & USAGE_GOES_ON ? PASS_LEFT_OUT : err;
}

/* A pause must get its causes before its samples are charged. */
static int take_gc_end(struct pass *pass, const struct record_gc_end *record)
{
	const struct long_pause *pause;
	struct causes *copied = NULL;
	struct ended_gc ended;
	int err = cycles_end(&pass->cycles, &pass->event, &ended);

	pause = &ended.pause;
	pass->event.closed = (struct closed_gc){ended.paired,    pause->thread, pause->begin,
						pause->pause_ns, pause->reason, pause->name};
	if (!err && ended.paired)
		err = stops_add(&pass->time.stops, pause->process, pause->begin, record->time);
	areas_pause(&pass->areas, &pass->event, ended.collection.process);
	if (!err && ended.paired && pass->event.selected)
		err = pauses_end(&pass->pauses, &pass->world, record, pause, &copied);
	else
		free(ended.pause.events);
	if (!err && copied)
		err = samples_pending(&pass->samples, pause->process, copied);
	/* A stop without a collection, or of an unknown kind, is not caused by any object. */
	if (err || record->kind > GCPROF_GC_FULL)
		return err;
	return samples_collected(&pass->samples, &ended.collection);
}

static int take_gc_summary(struct pass *pass)
{
	struct collection together;
	int err = cycles_summary(&pass->cycles, &pass->event, &together);

	return err || !together.count ? err : samples_collected(&pass->samples, &together);
}

static int take_gc_cycle(struct pass *pass, const struct record_gc_cycle *record)
{
	int err = gc_cycles_record(&pass->gc_cycles, &pass->world, &pass->event);

	if (!err)
		areas_cycle(&pass->areas, &pass->event, pass->gc_cycles.count);
	if (!err && !record->unfinished)
		err = samples_cycle_over(&pass->samples, record);
	return err;
}

static int take_heap(struct pass *pass, const struct record *record)
{
	if (record->kind == RECORD_gc_cycle)
		return take_gc_cycle(pass, &record->gc_cycle);
	if (record->kind == RECORD_heap_area)
		return areas_record(&pass->areas, &pass->world, &pass->event);
	return pass->event.selected
		       ? heap_sites_record(&pass->heap_sites, &pass->world, &record->heap_site)
		       : 0;
}

/* The call that has executed a program, with the path from the exec record; or the record itself.
 */
static const struct record *with_path(struct pass *pass, const struct record *record)
{
	struct record_syscall *call = &pass->executed.syscall;
	struct thread *thread =
		record->kind == RECORD_syscall
			? tasks_find_thread(&pass->world.tasks, record->syscall.thread)
			: NULL;

	if (!thread || !thread->executed)
		return record;
	pass->executed = *record;
	if (!call->path && pass->world.arguments && syscall_executes(pass->world.model, call))
		call->path = thread->executed;
	thread->executed = 0;
	return &pass->executed;
}

/* Frequent records: samples, collections, system calls. All begin with their time. */
static int take_event(struct pass *pass, const struct record *record)
{
	struct event *event = &pass->event;

	record = with_path(pass, record);
	streams_count(&pass->world.streams, record);
	note_time(pass, record->cpu.time);
	*event = join(pass, record);
	if (pass->selection)
		event->selected = selection_admits(pass->selection, &pass->world, event);
	if ((event->selected && fibers_record(&pass->fibers, &pass->world, record)) ||
	    own_places_record(&pass->places, &pass->world, event) < 0)
		return -ENOMEM;
	switch (record->kind) {
	case RECORD_alloc:
		return take_alloc(pass, &record->alloc);
	case RECORD_fate:
		return samples_fate(&pass->samples, &record->fate);
	case RECORD_gc_begin:
		return cycles_begin(&pass->cycles, &record->gc_begin);
	case RECORD_gc_end:
		return take_gc_end(pass, &record->gc_end);
	case RECORD_gc_summary:
		return take_gc_summary(pass);
	case RECORD_heap_site:
	case RECORD_heap_area:
	case RECORD_gc_cycle:
		return take_heap(pass, record);
	case RECORD_phase:
		return cycles_phase(&pass->cycles, &record->phase);
	case RECORD_period:
		return take_period(pass, &record->period);
	case RECORD_cpu:
		take_quality(pass, record->cpu.stack, record->cpu.quality);
		return take_tick(pass, &record->cpu);
	case RECORD_syscall:
		return take_syscall(pass, &record->syscall);
	case RECORD_syscall_total:
		return take_syscall_total(pass, &record->syscall_total);
	case RECORD_call_cpu:
		return syscalls_call_cpu(&pass->syscalls, &pass->world, &record->call_cpu);
	case RECORD_call_window:
		pauses_window(&pass->pauses, &pass->world, &record->call_window);
		timeline_traced(&pass->world.timeline, record->call_window.begin,
				record->call_window.end);
		return syscalls_window(&pass->syscalls, &pass->world, &record->call_window);
	case RECORD_wait:
		return take_wait(pass, &record->wait);
	case RECORD_fault:
		take_quality(pass, record->fault.stack, record->fault.quality);
		return faults_record(&pass->world, event);
	case RECORD_usage:
		return take_usage(pass, &record->usage);
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
		return tree_string(&pass->world.tree, &record->string);
	case RECORD_module:
		return tree_module(&pass->world.tree, &record->module);
	case RECORD_process:
		return tasks_process(&pass->world.tasks, &record->process);
	case RECORD_thread:
		return tasks_thread(&pass->world.tasks, &record->thread);
	case RECORD_native_frame:
		return tree_native(&pass->world.tree, &record->native_frame);
	case RECORD_kernel_frame:
		return tree_kernel(&pass->world.tree, &record->kernel_frame);
	case RECORD_managed_frame:
		return tree_managed(&pass->world.tree, &record->managed_frame);
	case RECORD_stack:
		return tree_stack(&pass->world.tree, &record->stack);
	case RECORD_type:
		name = tree_text(&pass->world.tree, record->type.name);
		return type_table_name(&pass->world.types, &record->type, name);
	case RECORD_code:
		return tree_code(&pass->world.tree, &record->code);
	case RECORD_symbol:
		return tree_symbol(&pass->world.tree, &record->symbol);
	case RECORD_runtime:
		return runtimes_record(&pass->world.runtimes, &pass->world.tasks, &pass->world.tree,
				       &record->runtime);
	case RECORD_gc_name:
		name = tree_text(&pass->world.tree, record->gc_name.name);
		return gc_names_define(&pass->world.gc_names, &record->gc_name, name);
	default:
		return 0;
	}
}

int pass_record(struct pass *pass, const struct record *record)
{
	struct arena *arena = pass->world.model->arena;

	pass->event = (struct event){.record = record, .selected = true};
	switch (record->kind) {
	case RECORD_meta:
		return run_meta(&pass->world, &record->meta);
	case RECORD_argument:
		return run_argument(&pass->run, &pass->world, &record->argument);
	case RECORD_recording:
		run_recording(&pass->world, &record->recording);
		return 0;
	case RECORD_paused:
		return take_paused(pass, &record->paused);
	case RECORD_clock:
		run_clock(&pass->run, &record->clock);
		return 0;
	case RECORD_stream:
		return streams_stream(&pass->world.streams, arena, &record->stream);
	case RECORD_loss_kind:
		return streams_loss_kind(&pass->world.streams, arena, &record->loss_kind);
	case RECORD_cpu_time:
		return run_cpu_time(&pass->run, &pass->world, &record->cpu_time);
	case RECORD_chunk:
		run_chunk(&pass->run, &pass->world);
		return 0;
	case RECORD_header:
	case RECORD_segment:
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

int pass_end_thread(struct pass *pass, const struct record *record)
{
	pass->event = join(pass, record);
	return take_usage(pass, &record->usage);
}

static int finish_timeline(struct pass *pass)
{
	struct timeline *timeline = arena_alloc(pass->world.model->arena, sizeof(*timeline));

	if (!timeline)
		return -ENOMEM;
	*timeline = pass->world.timeline;
	pass->world.model->timeline = timeline;
	return 0;
}

/* Everything that needs no names. */
static int finish_sums(struct pass *pass)
{
	struct world *world = &pass->world;
	int err;

	err = run_finish(&pass->run, world);
	tasks_name_processes(&world->tasks);
	/* Must come before overlapping pauses are merged. */
	err = err ? err : gc_cycles_finish(&pass->gc_cycles, &pass->cycles, world);
	err = err ? err : areas_finish(&pass->areas, world);
	err = err ? err : cycles_finish(&pass->cycles);
	if (!err)
		err = samples_finish(&pass->samples);
	if (!err)
		err = charges_finish(world);
	if (!err)
		err = runtimes_finish(&world->runtimes, &world->tasks, world->model);
	return err ? err : gc_names_finish(&world->gc_names, world->model);
}

static int finish_functions(struct pass *pass)
{
	struct world *world = &pass->world;
	int err = tree_show(&world->tree, world->model->frames);

	if (!err)
		err = symbolize_missing(world);
	if (!err)
		err = functions_finish(world);
	world->model->cpu.collector_ns =
		pass->selection ? (double)world->model->cpu.in_gc_ns +
					  (double)world->model->cpu.work_ns[WORK_COLLECTOR]
				: world->model->gc.spent_ns;
	if (!err)
		err = entries_finish(world, &pass->fibers);
	if (!err)
		err = heap_sites_finish(&pass->heap_sites, world);
	if (!err)
		err = type_table_finish(&world->types, &world->tasks, world->model);
	if (!err)
		err = sites_finish(world);
	return err ? err : pauses_finish(&pass->pauses, world);
}

static int finish_system(struct pass *pass)
{
	struct world *world = &pass->world;
	int err = syscalls_sum(&pass->syscalls, world);

	if (!err && pass->selection)
		err = divide_finish(&pass->syscalls, world);
	if (!err)
		err = syscalls_finish(&pass->syscalls, world);
	if (!err)
		err = waits_finish(&pass->waits, world);
	if (!err)
		err = wakers_finish(&pass->wakers, world);
	if (!err)
		err = thread_time_finish(&pass->time, world);
	if (!err)
		err = thread_rows_finish(world);
	if (!err)
		err = time_groups_finish(world);
	err = err ? err : program_rows_finish(world);
	return err ? err : findings_finish(&pass->places, world);
}

int pass_finish(struct pass *pass)
{
	int err = end_pauses(pass);

	err = err ? err : finish_sums(pass);
	tree_forget_unselected(&pass->world.tree);
	err = err ? err : finish_functions(pass);
	err = err ? err : finish_timeline(pass);
	err = err ? err : finish_system(pass);
	return err ? err : streams_finish(&pass->world.streams, pass->world.model);
}
