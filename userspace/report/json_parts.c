/* SPDX-License-Identifier: BSD-2-Clause */
/* json_parts.c: lifetimes, the timeline, waits, faults and advice as JSON. */
#include "../../bpf/events.h"
#include "json_parts.h"

#include "../model/world/timeline.h"
#include "advice.h"

json_t *json_ages(const struct life *life)
{
	json_t *ages = json_array();

	for (unsigned i = 0; i < AGE_CLASSES; i++) {
		json_t *class;

		if (life->ages[i] <= 0)
			continue;
		class = json_object();
		/* The last class has no upper bound. */
		json_put(class, "below_bytes",
			 i + 1 < AGE_CLASSES ? json_count(age_limit(i)) : json_null());
		json_put(class, "died_bytes", json_whole((double)life->ages[i]));
		json_array_append_new(ages, class);
	}
	return ages;
}

/* How long system calls were traced in a window. */
static uint64_t traced_ns(const struct model *model, const struct window *window)
{
	uint64_t step = model->timeline->step_ns;

	return !model->tracing.gaps || window->traced_ns > step ? step : window->traced_ns;
}

static json_t *window(const struct model *model, size_t i)
{
	const struct window *window = &model->timeline->windows[i];
	struct estimate bytes = tally_estimate(&window->alloc);
	uint64_t traced = traced_ns(model, window);
	const struct {
		const char *key;
		uint64_t value;
		uint32_t needs;
		bool known;
	} figures[] = {
		{"cpu_ns", window->cpu_ns, NEEDS_CPU, true},
		{"gc_cpu_ns", window->gc_cpu_ns, NEEDS_CPU | NEEDS_GC, true},
		{"minor", window->minor, NEEDS_GC, true},
		{"major", window->major, NEEDS_GC, true},
		{"pause_ns", window->pause_ns, NEEDS_GC, true},
		{"pause_max_ns", window->pause_max_ns, NEEDS_GC, true},
		{"off_cpu_records_ns", window->wait_ns, NEEDS_SCHED, true},
		{"promoted_bytes", window->promoted_bytes, NEEDS_GC, true},
		{"heap_bytes", window->heap_bytes, 0, window->heap_bytes},
		{"live_bytes", window->live_bytes, 0, window->live_bytes},
		{"rss_bytes", window->rss_bytes, 0, window->rss_bytes},
		{"unfreed_bytes", window->unfreed_bytes, 0, window->unfreed_bytes},
		{"lost", window->lost, 0, true},
		{"syscall_traced_ns", traced, NEEDS_SYSCALL, true},
		{"syscall_records", window->syscalls, NEEDS_SYSCALL, traced},
		{"syscall_records_ns", window->syscall_ns, NEEDS_SYSCALL, traced},
	};
	json_t *row = json_object();

	json_put(row, "time_ns", json_count(model->timeline->step_ns * i));
	json_put(row, "alloc", json_estimate(&bytes, model_has(model, NEEDS_ALLOC)));
	for (size_t j = 0; j < sizeof(figures) / sizeof(*figures); j++)
		json_put(row, figures[j].key,
			 json_if(figures[j].known && model_has(model, figures[j].needs),
				 json_count(figures[j].value)));
	return row;
}

json_t *json_timeline(const struct model *model, size_t top)
{
	const struct timeline *timeline = model->timeline;
	json_t *object = json_object(), *rows = json_array();

	(void)top;
	json_put(object, "step_ns", json_count(timeline->step_ns));
	for (size_t i = 0; i < timeline->count; i++)
		json_array_append_new(rows, window(model, i));
	json_put(object, "windows", rows);
	return object;
}

json_t *json_warnings(const struct model *model, size_t top)
{
	struct advice_list list = {.count = 0};
	json_t *array = json_array();
	int error = model->filter ? 0 : advice_find(model, &list);

	for (size_t i = 0; i < list.count && i < top; i++) {
		json_t *row = json_object();

		json_put(row, "name", json_name(list.items[i].name));
		json_put(row, "evidence", json_name(list.items[i].evidence));
		json_put(row, "remedy", json_name(list.items[i].remedy));
		json_array_append_new(array, row);
	}
	advice_free(&list);
	if (!error)
		return array;
	json_decref(array);
	return NULL;
}

const char *json_reason_name(unsigned reason)
{
	static const char *const names[GC_REASONS] = {"unknown",  "nursery",  "large", "threshold",
						      "explicit", "pressure", "finish"};

	return names[reason < GC_REASONS ? reason : 0];
}

json_t *json_reasons(const struct model_gc *gc)
{
	json_t *object = json_object();

	for (int i = 0; i < GC_REASONS; i++) {
		json_t *row;

		if (!gc->reasons[i].count)
			continue;
		row = json_object();
		json_put(row, "count", json_count(gc->reasons[i].count));
		json_put(row, "total_ns", json_count(gc->reasons[i].total_ns));
		json_put(object, json_reason_name((unsigned)i), row);
	}
	return object;
}

json_t *json_utilisation(const struct model_gc *gc)
{
	json_t *array = json_array();

	for (size_t i = 0; i < gc->n_utilisation; i++) {
		json_t *row = json_object();

		json_put(row, "window_ns", json_count(gc->utilisation[i].window_ns));
		json_put(row, "minimum", json_real(gc->utilisation[i].minimum));
		json_array_append_new(array, row);
	}
	return array;
}

json_t *json_histogram(const uint64_t *histogram)
{
	json_t *array = json_array();

	for (uint32_t i = 0; histogram && i < SYSCALL_BUCKETS; i++) {
		json_t *row = histogram[i] ? json_object() : NULL;

		if (!row)
			continue;
		json_put(row, "from_ns", json_count(syscall_bucket_floor(i)));
		json_put(row, "to_ns",
			 i + 1 < SYSCALL_BUCKETS ? json_count(syscall_bucket_floor(i + 1))
						 : json_null());
		json_put(row, "count", json_count(histogram[i]));
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
