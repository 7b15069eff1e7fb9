/* SPDX-License-Identifier: BSD-2-Clause */
/* json_parts.c: sites, lifetimes, the timeline and advice as JSON. */
#include "../../bpf/events.h"
#include "json_parts.h"

#include "../model/world/timeline.h"
#include "advice.h"
#include "json_values.h"

void json_put_life(json_t *row, const struct life *life)
{
	json_t *ages = json_array();
	uint64_t median = life_median_age(life);

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
	json_put(row, "promoted_bytes", json_whole(life->promoted_bytes));
	json_put(row, "promoted_then_died_bytes", json_whole(life->premature_bytes));
	json_put(row, "died_old_bytes", json_whole(life->old_bytes));
	json_put(row, "median_age_below_bytes", median ? json_count(median) : json_null());
	json_put(row, "ages", ages);
}

json_t *json_sites(const struct model *model, size_t top)
{
	json_t *array = json_array();

	for (size_t i = 0; i < model->n_sites && i < top; i++) {
		const struct model_site *site = &model->sites[i];
		json_t *row = json_object(), *names = json_array();

		for (int j = 0; j < SITE_FUNCTIONS && site->functions[j]; j++)
			json_array_append_new(names, json_name(site->functions[j]));
		json_put(row, "functions", names);
		json_put(row, "file", json_name(site->file));
		json_put(row, "line", site->line ? json_count(site->line) : json_null());
		json_put(row, "type", json_name(site->type));
		json_put(row, "samples", json_count(site->life.samples));
		json_put(row, "gc_ns", json_whole(site->gc_ns));
		json_put(row, "bytes", json_estimate(&site->bytes, true));
		json_put(row, "survived", json_share(site->survived.value));
		json_put(row, "survived_low", json_real(site->survived.low));
		json_put(row, "survived_high", json_real(site->survived.high));
		json_put(row, "live_bytes", json_whole(life_live_bytes(&site->life)));
		json_put_life(row, &site->life);
		json_array_append_new(array, row);
	}
	return array;
}

static json_t *window(const struct timeline *timeline, size_t i)
{
	const struct window *window = &timeline->windows[i];
	struct estimate bytes = tally_estimate(&window->alloc);
	json_t *row = json_object();

	json_put(row, "time_ns", json_count(timeline->step_ns * i));
	json_put(row, "cpu_ns", json_count(window->cpu_ns));
	json_put(row, "gc_cpu_ns", json_count(window->gc_cpu_ns));
	json_put(row, "alloc", json_estimate(&bytes, true));
	json_put(row, "minor", json_count(window->minor));
	json_put(row, "major", json_count(window->major));
	json_put(row, "pause_ns", json_count(window->pause_ns));
	json_put(row, "pause_max_ns", json_count(window->pause_max_ns));
	json_put(row, "off_cpu_records_ns", json_count(window->wait_ns));
	json_put(row, "promoted_bytes", json_count(window->promoted_bytes));
	json_put(row, "heap_bytes",
		 window->heap_bytes ? json_count(window->heap_bytes) : json_null());
	json_put(row, "live_bytes",
		 window->live_bytes ? json_count(window->live_bytes) : json_null());
	json_put(row, "rss_bytes", window->rss_bytes ? json_count(window->rss_bytes) : json_null());
	json_put(row, "unfreed_bytes",
		 window->unfreed_bytes ? json_count(window->unfreed_bytes) : json_null());
	json_put(row, "lost", json_count(window->lost));
	json_put(row, "syscall_records", json_count(window->syscalls));
	json_put(row, "syscall_records_ns", json_count(window->syscall_ns));
	return row;
}

json_t *json_timeline(const struct model *model, size_t top)
{
	const struct timeline *timeline = model->timeline;
	json_t *object = json_object(), *rows = json_array();

	(void)top;
	json_put(object, "step_ns", json_count(timeline->step_ns));
	for (size_t i = 0; i < timeline->count; i++)
		json_array_append_new(rows, window(timeline, i));
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
