/* SPDX-License-Identifier: BSD-2-Clause */
/* json_gc.c: names, reasons and cycles of collectors, and the longest pauses, as JSON. */
#include "../../bpf/events.h"
#include "json_parts.h"

static const char *const kinds[] = {"unknown", "minor", "step", "full", "unknown", "stop"};

const char *json_kind_name(unsigned kind)
{
	return kinds[kind < sizeof(kinds) / sizeof(*kinds) ? kind : 0];
}

static json_t *known_bytes(uint64_t bytes)
{
	return bytes ? json_count(bytes) : json_null();
}

static void json_put_heap(json_t *row, uint64_t before, uint64_t after)
{
	json_put(row, "heap_before_bytes", known_bytes(before));
	json_put(row, "heap_after_bytes", known_bytes(after));
}

static void cycle_reason(json_t *object, const void *row)
{
	const struct model_gc_cycle *cycle = row;

	json_put(object, "reason",
		 cycle->named_reason ? json_name(cycle->named_reason)
				     : json_string(json_reason_name((unsigned)cycle->reason)));
}

json_t *json_cycles(const struct model *model, size_t top)
{
	json_t *object = json_durations(&model->gc.concurrent);
	double wall = (double)model->run.wall;

	json_put(object, "of_wall",
		 wall > 0 ? json_real((double)model->gc.concurrent.total_ns / wall) : json_null());
	json_put(object, "rows", json_rows(model, ROWS_gc_cycle, top, cycle_reason));
	return object;
}

json_t *json_parts(const struct model *model)
{
	const struct model_gc *gc = &model->gc;
	json_t *object = json_object();

	json_put(object, "samples", json_count(gc->parts_samples));
#define PART(NAME, name, words) json_put(object, #name "_ns", json_count(gc->parts_ns[GC_##NAME]));
#include "../../bpf/gc_parts.def"
#undef PART
	return json_if(model_has(model, NEEDS_CPU) && gc->parts_samples, object);
}

json_t *json_unattributed(const struct model *model)
{
	json_t *object = json_object();

#define WHY(NAME, key, words) \
	json_put(object, #key "_ns", json_whole(model->gc.unattributed[UNATTRIBUTED_##NAME]));
#include "../model/world/unattributed.def"
#undef WHY
	return json_if(!model->filter, object);
}

json_t *json_named(const struct model_gc *gc)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gc->n_named; i++) {
		json_t *row = json_durations(&gc->named[i].pauses);

		json_put(row, "name", json_name(gc->named[i].name));
		json_put(row, "kind", json_string(json_kind_name(gc->named[i].kind)));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_named_reasons(const struct model_gc *gc)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gc->n_named_reasons; i++) {
		json_t *row = json_object();

		json_put(row, "name", json_name(gc->named_reasons[i].name));
		json_put(row, "count", json_count(gc->named_reasons[i].count));
		json_put(row, "total_ns", json_count(gc->named_reasons[i].total_ns));
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *site_json(const struct pause_site *site)
{
	json_t *row = json_object(), *functions = json_array();

	for (int i = 0; i < SITE_FUNCTIONS && site->functions[i]; i++)
		json_array_append_new(functions, json_name(site->functions[i]));
	json_put(row, "functions", functions);
	json_put(row, "type", json_name(site->type));
	json_put(row, "samples", json_count(site->samples));
	json_put(row, "bytes", json_whole(site->bytes));
	json_put(row, "kept_bytes", json_whole(site->kept_bytes));
	return row;
}

static json_t *call_json(const struct pause_call *call)
{
	json_t *row = json_object();

	json_put(row, "text", json_name(call->text));
	json_put(row, "syscall", json_boolean(call->is_call));
	json_put(row, "tid", json_count(call->tid));
	json_put(row, "thread", json_name(call->thread));
	json_put(row, "start_ns", json_count(call->start));
	json_put(row, "duration_ns", json_count(call->duration_ns));
	json_put(row, "in_pause_ns", json_count(call->overlap_ns));
	return row;
}

static void put_figures(json_t *row, const struct model_pause *pause)
{
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		{"promoted_bytes", pause->promoted_bytes},
		{"promoted_objects", pause->promoted_objects},
		{"nursery_bytes", pause->nursery_bytes},
		{"live_bytes", pause->live_bytes},
		{"stop_ns", pause->stop_ns},
	};

	json_put(row, "start_ns", json_count(pause->start));
	json_put(row, "pause_ns", json_count(pause->pause_ns));
	json_put(row, "kind", json_string(json_kind_name(pause->kind)));
	json_put(row, "name", json_name(pause->name));
	json_put(row, "reason",
		 pause->named_reason ? json_name(pause->named_reason)
				     : json_string(json_reason_name(pause->reason)));
	json_put_heap(row, pause->heap_before, pause->heap_after);
	json_put(row, "heap_size_bytes",
		 pause->heap_size ? json_count(pause->heap_size) : json_null());
	json_put(row, "cycle", json_count(pause->cycle));
	json_put(row, "tid", json_count(pause->tid));
	json_put(row, "pid", json_count(pause->pid));
	json_put(row, "thread", json_name(pause->thread));
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		json_put(row, figures[i].key,
			 pause->has_stats ? json_count(figures[i].value) : json_null());
}

static json_t *pause_json(const struct model_pause *pause, bool gaps)
{
	json_t *row = json_object(), *sites = json_array(), *calls = json_array();

	put_figures(row, pause);
	json_put(row, "walked_old", json_boolean(pause->walked));
	json_put(row, "samples", json_count(pause->samples));
	json_put(row, "kept_samples", json_count(pause->kept_samples));
	json_put(row, "sampled_bytes", json_whole(pause->sampled_bytes));
	json_put(row, "kept_bytes", json_whole(pause->kept_bytes));
	for (size_t i = 0; i < pause->n_sites; i++)
		json_array_append_new(sites, site_json(&pause->sites[i]));
	json_put(row, "sites", sites);
	json_put(row, "syscalls", json_count(pause->sums.calls));
	json_put(row, "syscall_ns", json_count(pause->sums.call_ns));
	json_put(row, "futex_calls", json_count(pause->sums.futex_calls));
	json_put(row, "futex_ns", json_count(pause->sums.futex_ns));
	json_put(row, "own_syscall_ns", json_count(pause->sums.own_call_ns));
	json_put(row, "own_longest",
		 pause->own_call.text ? call_json(&pause->own_call) : json_null());
	json_put(row, "own_longest_off_cpu",
		 pause->own_wait.text ? call_json(&pause->own_wait) : json_null());
	json_put(row, "syscall_traced_ns",
		 json_count(gaps ? pause->sums.traced_ns : pause->pause_ns));
	json_put(row, "off_cpu_ns", json_count(pause->sums.wait_ns));
	json_put(row, "own_off_cpu_ns", json_count(pause->sums.own_wait_ns));
	json_put(row, "cpu_ns", json_whole(pause->cpu_ns));
	json_put(row, "own_cpu_ns", json_whole(pause->own_cpu_ns));
	json_put(row, "ready_ns", json_count(pause->sums.ready_ns));
	json_put(row, "workers", json_count(pause->workers));
	for (size_t i = 0; i < pause->n_longest; i++)
		json_array_append_new(calls, call_json(&pause->longest[i]));
	json_put(row, "longest", calls);
	return row;
}

json_t *json_pauses(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_pauses && i < top; i++)
		json_array_append_new(array, pause_json(&model->pauses[i], model->tracing.gaps));
	return array;
}
