/* SPDX-License-Identifier: BSD-2-Clause */
/* json_gc.c: names, reasons and cycles of collectors as JSON. */
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
