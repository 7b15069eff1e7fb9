/* SPDX-License-Identifier: BSD-2-Clause */
/* json_waits.c: time off the CPU and page faults, as JSON. */
#include "json_parts.h"
#include "json_values.h"

json_t *json_waits(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_waits && i < top; i++) {
		const struct model_wait *wait = &model->waits[i];
		json_t *row = json_object();

		json_put(row, "name", json_name(wait->name));
		json_put(row, "reason", json_string(wait->reason));
		json_put(row, "count", json_count(wait->count));
		json_put(row, "total_ns", json_count(wait->total_ns));
		json_put(row, "max_ns", wait->max_ns ? json_count(wait->max_ns) : json_null());
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_off_cpu(const struct model *model, size_t top)
{
	json_t *object = json_object();

	(void)top;
	json_put(object, "total_ns", json_count(model->wait_ns));
	json_put(object, "with_stack_ns", json_count(model->wait_stack_ns));
	return object;
}

json_t *json_slow_calls(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_slow_calls && i < top; i++) {
		const struct model_slow_call *call = &model->slow_calls[i];
		json_t *row = json_object();

		json_put(row, "text", json_name(call->text));
		json_put(row, "tid", json_count(call->tid));
		json_put(row, "thread", json_name(call->thread));
		json_put(row, "start_ns", json_count(call->start));
		json_put(row, "duration_ns", json_count(call->duration_ns));
		json_put(row, "gc_ns", json_count(call->gc_ns));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_faults(const struct model *model, size_t top)
{
	const struct model_faults *faults = &model->faults;
	json_t *object = json_object();

	(void)top;
	json_put(object, "minor", faults->known ? json_count(faults->minor) : json_null());
	json_put(object, "major", faults->known ? json_count(faults->major) : json_null());
	json_put(object, "in_minor_gc", json_count(faults->in_minor_gc));
	json_put(object, "in_major_gc", json_count(faults->in_major_gc));
	json_put(object, "unknown_gcs", json_count(faults->unknown_gcs));
	json_put(object, "recorded", json_count(faults->recorded));
	json_put(object, "recorded_major", json_count(faults->recorded_major));
	json_put(object, "recorded_in_gc", json_count(faults->recorded_in_gc));
	return object;
}

void json_put_usage(json_t *row, const struct model_thread *thread)
{
	json_t *reasons = thread->waits_known ? json_object() : json_null();
	uint64_t on_cpu_ns = thread->wall_ns - thread->off_cpu_ns;

	for (unsigned i = 0; thread->waits_known && i < WAIT_KINDS; i++) {
		json_t *reason = json_object();

		json_put(reason, "count", json_count(thread->waits[i]));
		json_put(reason, "ns", json_count(thread->wait_ns[i]));
		json_put(reasons, wait_reason_name(i), reason);
	}
	json_put(row, "wall_ns", thread->ended ? json_count(thread->wall_ns) : json_null());
	json_put(row, "on_cpu_ns", thread->waits_known ? json_count(on_cpu_ns) : json_null());
	json_put(row, "off_cpu_ns",
		 thread->waits_known ? json_count(thread->off_cpu_ns) : json_null());
	json_put(row, "off_cpu", reasons);
	json_put(row, "queued_ns",
		 thread->queue_known ? json_count(thread->queued_ns) : json_null());
	json_put(row, "minor_faults",
		 thread->ended ? json_count(thread->minor_faults) : json_null());
	json_put(row, "major_faults",
		 thread->ended ? json_count(thread->major_faults) : json_null());
}
