/* SPDX-License-Identifier: BSD-2-Clause */
/* json_gc.c: runtimes, entry functions, names and cycles of collectors as JSON. */
#include "json_parts.h"
#include "json_values.h"

static const char *const kinds[] = {"unknown", "minor", "step", "full", "unknown", "stop"};

const char *json_kind_name(unsigned kind)
{
	return kinds[kind < sizeof(kinds) / sizeof(*kinds) ? kind : 0];
}

static json_t *known_bytes(uint64_t bytes)
{
	return bytes ? json_count(bytes) : json_null();
}

void json_put_heap(json_t *row, uint64_t before, uint64_t after)
{
	json_put(row, "heap_before_bytes", known_bytes(before));
	json_put(row, "heap_after_bytes", known_bytes(after));
}

static json_t *cycle_json(const struct model_gc_cycle *cycle)
{
	json_t *row = json_object();

	json_put(row, "start_ns", json_count(cycle->start));
	json_put(row, "duration_ns", json_count(cycle->duration_ns));
	json_put(row, "pid", json_count(cycle->pid));
	json_put(row, "cycle", json_count(cycle->cycle));
	json_put(row, "name", json_name(cycle->name));
	json_put(row, "reason",
		 cycle->named_reason ? json_name(cycle->named_reason)
				     : json_string(json_reason_name((unsigned)cycle->reason)));
	json_put_heap(row, cycle->heap_before, cycle->heap_after);
	json_put(row, "live_bytes", known_bytes(cycle->live));
	json_put(row, "pauses", json_count(cycle->pauses));
	json_put(row, "pause_ns", json_count(cycle->pause_ns));
	json_put(row, "unfinished", json_boolean(cycle->unfinished));
	return row;
}

json_t *json_cycles(const struct model *model, size_t top)
{
	json_t *object = json_durations(&model->gc.concurrent), *rows = json_array();
	double wall = (double)model->run.wall;

	json_put(object, "of_wall",
		 wall > 0 ? json_real((double)model->gc.concurrent.total_ns / wall) : json_null());
	for (size_t i = 0; i < model->n_gc_cycles && i < top; i++)
		json_array_append_new(rows, cycle_json(&model->gc_cycles[i]));
	json_put(object, "rows", rows);
	return object;
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

json_t *json_areas(const struct model *model)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_heap_areas; i++) {
		const struct model_heap_area *area = &model->heap_areas[i];
		json_t *row = json_object();

		json_put(row, "pid", json_count(area->pid));
		json_put(row, "name", json_name(area->name));
		json_put(row, "in_heap", json_boolean(!area->beside));
		json_put(row, "collections", json_count(area->collections));
		json_put(row, "peak_bytes", json_count(area->peak));
		json_put(row, "used_bytes", json_count(area->used));
		json_put(row, "committed_bytes", json_count(area->size));
		json_put(row, "max_bytes", known_bytes(area->limit));
		json_put(row, "left_bytes", area->pauses ? json_count(area->left) : json_null());
		json_put(row, "came_bytes", area->pauses ? json_count(area->came) : json_null());
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_runtimes(const struct model *model)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_runtimes; i++) {
		const struct model_runtime *runtime = &model->runtimes[i];
		json_t *row = json_object();

		json_put(row, "pid", json_count(runtime->pid));
		json_put(row, "name", json_name(runtime->name));
		json_put(row, "version", json_name(runtime->version));
		json_put(row, "note", json_name(runtime->note));
		json_put(row, "names", json_name(runtime->names));
		json_put(row, "provider", json_count(runtime->provider));
		json_put(row, "period",
			 runtime->period ? json_count(runtime->period) : json_null());
		json_put(row, "unsampled", json_boolean(runtime->unsampled));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_entries(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_entries && i < top; i++) {
		const struct model_entry *entry = &model->entries[i];
		json_t *row = json_object();

		json_put(row, "name", json_name(entry->name));
		json_put(row, "module", json_name(entry->module));
		json_put(row, "fibers", json_count(entry->fibers));
		json_put(row, "cpu_samples", json_count(entry->cpu_samples));
		json_put(row, "cpu_ns", json_whole(entry->cpu_ns));
		json_put(row, "alloc_bytes", json_whole(entry->alloc_bytes));
		json_put(row, "gc_ns", json_whole(entry->gc_ns));
		json_put(row, "syscall_ns", json_whole(entry->syscall_ns));
		json_put(row, "off_cpu_ns", json_whole(entry->off_cpu_ns));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_live_heap(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->heap.n_rows && i < top; i++) {
		const struct model_heap_row *heap = &model->heap.rows[i];
		const struct estimate live = tally_estimate(&heap->live);
		json_t *row = json_object();

		json_put(row, "name", json_name(heap->name));
		json_put(row, "module", json_name(heap->module));
		json_put(row, "objects", json_whole(heap->objects));
		json_put(row, "bytes", json_whole(heap->bytes));
		json_put(row, "bytes_low", json_whole(live.low));
		json_put(row, "bytes_high", json_whole(live.high));
		json_put(row, "before_bytes", json_whole(heap->before));
		json_array_append_new(array, row);
	}
	return array;
}
