/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_time.c: the table of where the wall time of threads went. */
#include <stdio.h>
#include <string.h>

#include "../util/plural.h"
#include "sections.h"
#include "../util/units.h"

enum { WHERE_SIZE = 400 };

static const char *const words[TIME_PARTS] = {
#define TIME_PART(NAME, name, idle, words, doc) words,
#include "../model/time/time_parts.def"
};

/* The largest of the parts that are not `taken`; TIME_PARTS: none is 0.5 % of all. */
static unsigned largest(const uint64_t parts[TIME_PARTS], uint64_t all, unsigned taken)
{
	unsigned found = TIME_PARTS;

	for (unsigned i = 0; i < TIME_PARTS; i++)
		if (!(taken & 1U << i) && parts[i] >= all / 200 && parts[i] &&
		    (found == TIME_PARTS || parts[i] > parts[found]))
			found = i;
	return found;
}

/* "locks 43.1%, own code 30.0%": the parts, without the smallest, by their size. */
static void write_parts(const uint64_t parts[TIME_PARTS], char *out, size_t size)
{
	uint64_t all = 0;
	unsigned taken = 0;
	size_t used = 0;

	*out = '\0';
	for (int i = 0; i < TIME_PARTS; i++)
		all += parts[i];
	for (unsigned i; (i = largest(parts, all, taken)) < TIME_PARTS && used < size;) {
		used += (size_t)snprintf(out + used, size - used, "%s%s %s", used ? ", " : "",
					 words[i],
					 unit_percent((double)parts[i] / (double)all).text);
		taken |= 1U << i;
	}
}

static void print_group(const struct section *section, const struct model_time_group *group)
{
	bool other = strcmp(group->name, group->program) != 0;
	char where[WHERE_SIZE];

	write_parts(group->time, where, sizeof(where));
	page_paragraph(section->page, STYLE_PLAIN, 2, "%s%s%s%s: %s thread%s, %s%s", group->name,
		       other ? " (" : "", other ? group->program : "", other ? ")" : "",
		       unit_count(group->threads).text, plural(group->threads, "[|s]").text,
		       unit_time((double)group->wall_ns).text,
		       group->serving ? "" : "; of the runtime, or idle");
	page_paragraph(section->page, STYLE_PLAIN, 4, "%s", where);
}

void section_write_time(const struct section *section, FILE *out)
{
	const struct model *model = section->model;
	uint64_t parts[TIME_PARTS] = {0}, threads = 0, wall = 0;
	char where[WHERE_SIZE];

	for (size_t i = 0; i < model->n_threads; i++) {
		const struct model_thread *thread = &model->threads[i];

		if (!thread->ended || !thread->serves)
			continue;
		threads++;
		wall += thread->wall_ns;
		for (int part = 0; part < TIME_PARTS; part++)
			parts[part] += thread->time[part];
	}
	if (!threads || !model_has(model, NEEDS_SCHED))
		return;
	write_parts(parts, where, sizeof(where));
	fprintf(out, " %s thread%s the program's work spent %s: %s (report --time).",
		unit_count(threads).text, plural(threads, "[ that does|s that do]").text,
		unit_time((double)wall).text, where);
}

/* Is most of the time off the CPU unknown? */
static bool lacks_waits(const struct model *model)
{
	uint64_t wall = 0, unrecorded = 0;

	for (size_t i = 0; i < model->n_time_groups; i++) {
		wall += model->time_groups[i].wall_ns;
		unrecorded += model->time_groups[i].time[TIME_UNRECORDED];
	}
	return unrecorded > wall / 20;
}

int section_time(const struct section *section)
{
	const struct model *model = section->model;
	const struct model_stream *sched = section_stream(section, "sched");

	section_title(section, ROWS_time_group, "Wall time of threads", model->n_time_groups,
		      "those that do the program's work first");
	if (model->filter) {
		page_paragraph(section->page, STYLE_DIM, 2,
			       "A filter cannot divide the time of threads.");
		return 0;
	}
	for (size_t i = 0; i < section_rows(section, model->n_time_groups); i++)
		print_group(section, &model->time_groups[i]);
	if (!lacks_waits(model))
		return 0;
	page_paragraph(section->page, STYLE_DIM, 2, "not recorded: %s",
		       sched && !sched->attached && sched->why_not
			       ? sched->why_not
			       : "threads that waited before the recording began, and lost waits.");
	return 0;
}
