/* SPDX-License-Identifier: BSD-2-Clause */
/* schema.c: constant parts of the Firefox export: categories and marker types. */
#include "firefox.h"

/* The front end has few colours; one category must be grey. */
static const struct {
	const char *name, *colour;
} categories[CATEGORIES] = {
	[CATEGORY_OTHER] = {"Other", "grey"},
	[CATEGORY_IDLE] = {"Idle", "transparent"},
	[CATEGORY_MANAGED] = {"Managed code", "yellow"},
	[CATEGORY_NATIVE] = {"Native code", "blue"},
	[CATEGORY_KERNEL] = {"Kernel", "orange"},
	[CATEGORY_GC] = {"Collector", "purple"},
	[CATEGORY_COMPILER] = {"Compiler", "magenta"},
	[CATEGORY_TYPE] = {"Type", "lightblue"},
	[CATEGORY_UNKNOWN] = {"Outcome unknown", "brown"},
	[CATEGORY_DIED] = {"Died young", "green"},
	[CATEGORY_LIVED] = {"Survived", "red"},
};

void firefox_put_categories(struct output *output)
{
	struct column column = {output, false};

	output_text(output, "\"categories\":[");
	for (int i = 0; i < CATEGORIES; i++)
		output_format(column_cell(&column),
			      "{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"]}",
			      categories[i].name, categories[i].colour);
	output_text(output, "],\n");
}

struct field {
	const char *key, *label, *format;
};

enum { FIELDS_MAX = 20 }; /* the last one is empty */

/* Names begin with Gcprof, because Gecko's own types would need Gecko's fields. */
static const struct schema {
	const char *name, *display, *tooltip, *table, *description, *graphs;
	struct field fields[FIELDS_MAX];
} schemas[] = {
	{
		"GcprofCollection",
		"\"marker-chart\",\"marker-table\",\"timeline-overview\",\"timeline-memory\"",
		"{marker.data.kind} collection {marker.data.cycle}",
		"{marker.data.kind}: {marker.data.gcReason}",
		"A collection, shown on the collecting thread.",
		NULL,
		{
			{"kind", "Kind", "string"},
			{"gcReason", "Reason", "string"},
			{"heap", "Heap", "integer"},
			{"cycle", "Collection number", "integer"},
			{"pause", "Pause without nested collections", "duration"},
			{"stopping", "Time until all threads had stopped", "duration"},
			{"promoted", "Promoted", "bytes"},
			{"promotedObjects", "Promoted objects", "integer"},
			{"nursery", "In the nursery before", "bytes"},
			{"live", "In old and large objects after", "bytes"},
			{"arenas", "Arenas", "bytes"},
			{"large", "Large objects", "bytes"},
			{"freed", "Freed by sweeping", "bytes"},
			{"phase", "Phase of the major collection", "string"},
			{"threads", "Mutator threads", "integer"},
			{"faults", "Page faults during it", "integer"},
			{"before", "Heap in use before", "bytes"},
			{"after", "Heap in use after", "bytes"},
			{"causedBy", "Caused by allocations in", "string"},
		},
	},
	{
		"GcprofCollections",
		"\"marker-chart\",\"marker-table\",\"timeline-memory\"",
		"{marker.data.count} {marker.data.kind} collections",
		"{marker.data.count} {marker.data.kind} collections",
		"Collections that came too quickly for a record of each; their sums.",
		NULL,
		{
			{"kind", "Kind", "string"},
			{"count", "Collections", "integer"},
			{"pause", "Sum of their pauses", "duration"},
			{"longest", "Longest pause", "duration"},
			{"promoted", "Promoted", "bytes"},
		},
	},
	{
		"GcprofCycle",
		"\"marker-chart\",\"marker-table\",\"timeline-overview\",\"timeline-memory\"",
		"{marker.data.kind} {marker.data.cycle}",
		"{marker.data.kind}: {marker.data.gcReason}",
		"A cycle of a concurrent collector; the program continues to run.",
		NULL,
		{
			{"kind", "Kind", "string"},
			{"gcReason", "Reason", "string"},
			{"cycle", "Cycle number", "integer"},
			{"before", "Heap in use before", "bytes"},
			{"after", "Heap in use after", "bytes"},
			{"live", "Live", "bytes"},
			{"causedBy", "Caused by allocations in", "string"},
		},
	},
	{
		"GcprofHeap",
		"",
		"{marker.data.used} used of {marker.data.committed}",
		"{marker.data.used} used of {marker.data.committed}",
		"The heap at collections and cycles.",
		"{\"key\":\"used\",\"type\":\"line-filled\",\"color\":\"blue\"},"
		"{\"key\":\"committed\",\"type\":\"line\",\"color\":\"grey\"}",
		{
			{"used", "In use (gcprof's collector: in old and large objects)", "bytes"},
			{"committed", "Size", "bytes"},
		},
	},
	{
		"GcprofHeapUsed",
		"",
		"{marker.data.used} used",
		"{marker.data.used} used",
		"The heap at collections and cycles.",
		"{\"key\":\"used\",\"type\":\"line-filled\",\"color\":\"blue\"}",
		{
			{"used", "In use", "bytes"},
		},
	},
	{
		"GcprofRss",
		"",
		"{marker.data.rss}",
		"{marker.data.rss}",
		"The resident set size of the process after collections.",
		"{\"key\":\"rss\",\"type\":\"line-filled\",\"color\":\"magenta\"}",
		{
			{"rss", "RSS", "bytes"},
		},
	},
	{
		"GcprofPause",
		"",
		"Pause",
		"{marker.data.pause}",
		"How long each collection stopped the program.",
		"{\"key\":\"pause\",\"type\":\"bar\",\"color\":\"orange\"}",
		{
			{"pause", "Pause", "duration"},
		},
	},
	{
		"GcprofPhase",
		"\"marker-chart\",\"marker-table\",\"timeline-memory\"",
		"{marker.name}",
		"heap {marker.data.heap}",
		"A phase of the major collector; the program runs between its steps.",
		NULL,
		{
			{"heap", "Heap", "integer"},
		},
	},
	{
		"GcprofSyscall",
		"\"marker-chart\",\"marker-table\"",
		"{marker.name} = {marker.data.result}",
		"({marker.data.arguments}) = {marker.data.result}",
		"A system call. Short ones may have been left out; gcprof report counts all of "
		"them.",
		NULL,
		{
			{"result", "Result", "string"},
			{"arguments", "Arguments", "string"},
			{"inGC", "During collections", "duration"},
			{"stands", "Number of calls that it stands for", "integer"},
			{"fiber", "Fiber (goroutine)", "integer"},
			{"by", "Made by", "string"},
		},
	},
	{
		"GcprofLoss",
		"\"marker-chart\",\"marker-table\",\"timeline-overview\"",
		"{marker.data.count} {marker.data.what}",
		"{marker.data.count} {marker.data.what}",
		"Data that is missing here or just before.",
		NULL,
		{
			{"count", "Since the last marker of this kind", "integer"},
			{"total", "Since the start", "integer"},
			{"what", "What", "unique-string"},
		},
	},
	{
		"GcprofPaused",
		"\"marker-chart\",\"marker-table\",\"timeline-overview\"",
		"Recording paused",
		"Recording paused",
		"Nothing was recorded: gcprof pause, or --start-paused.",
		NULL,
		{
			{NULL, NULL, NULL},
		},
	},
	{
		"GcprofPeriod",
		"\"marker-chart\",\"marker-table\"",
		"Sampling period {marker.data.period}",
		"{marker.data.before} to {marker.data.period}: {marker.data.why}",
		"The sampling period (mean bytes between allocation samples) changed.",
		NULL,
		{
			{"before", "Before", "bytes"},
			{"period", "After", "bytes"},
			{"why", "Why", "string"},
		},
	},
};

static void put_fields(struct output *output, const struct schema *schema)
{
	struct column column = {output, false};

	output_text(output, "\"fields\":[");
	for (const struct field *field = schema->fields; field->key; field++)
		output_format(column_cell(&column),
			      "{\"key\":\"%s\",\"label\":\"%s\",\"format\":\"%s\"}", field->key,
			      field->label, field->format);
	output_text(output, "]");
}

void firefox_put_marker_schema(struct output *output)
{
	struct column column = {output, false};

	output_text(output, "\"markerSchema\":[");
	for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++) {
		const struct schema *schema = &schemas[i];

		output_format(column_cell(&column), "{\"name\":\"%s\",\"display\":[%s],",
			      schema->name, schema->display);
		output_format(
			output,
			"\"tooltipLabel\":\"%s\",\"chartLabel\":\"%s\",\"tableLabel\":\"%s\",",
			schema->tooltip, schema->tooltip, schema->table);
		output_format(output, "\"description\":\"%s\",", schema->description);
		if (schema->graphs)
			output_format(output, "\"graphs\":[%s],", schema->graphs);
		put_fields(output, schema);
		output_text(output, "}");
	}
	output_text(output, "]");
}
