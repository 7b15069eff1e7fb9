/* SPDX-License-Identifier: BSD-2-Clause */
/* json_waits.c: time off the CPU and page faults, as JSON. */
#include "json_parts.h"
#include "json_values.h"

json_t *json_off_cpu(const struct model *model, size_t top)
{
	json_t *object = json_object();

	(void)top;
	json_put(object, "total_ns", json_count(model->wait_ns));
	json_put(object, "with_stack_ns", json_count(model->wait_stack_ns));
	return json_if(model_has(model, NEEDS_SCHED), object);
}

json_t *json_faults(const struct model *model, size_t top)
{
	const struct model_faults *faults = &model->faults;
	bool known = model_has(model, NEEDS_FAULT);
	json_t *object = json_object();

	(void)top;
	json_put(object, "minor", faults->known ? json_count(faults->minor) : json_null());
	json_put(object, "major", faults->known ? json_count(faults->major) : json_null());
	json_put(object, "in_minor_gc", json_count(faults->in_minor_gc));
	json_put(object, "in_major_gc", json_count(faults->in_major_gc));
	json_put(object, "unknown_gcs", json_count(faults->unknown_gcs));
	json_put(object, "recorded", json_if(known, json_count(faults->recorded)));
	json_put(object, "recorded_major", json_if(known, json_count(faults->recorded_major)));
	json_put(object, "recorded_in_gc", json_if(known, json_count(faults->recorded_in_gc)));
	return object;
}

json_t *json_thread_waits(const struct model_thread *thread)
{
	json_t *reasons = thread->waits_known ? json_object() : json_null();

	for (unsigned i = 0; thread->waits_known && i < WAIT_KINDS; i++) {
		json_t *reason = json_object();

		json_put(reason, "count", json_count(thread->waits[i]));
		json_put(reason, "ns", json_count(thread->wait_ns[i]));
		json_put(reasons, wait_reason_name(i), reason);
	}
	return reasons;
}
