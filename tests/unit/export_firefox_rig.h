/* SPDX-License-Identifier: BSD-2-Clause */
/* export_firefox_rig.h: looks at exports for the Firefox Profiler. */
#ifndef GCPROF_EXPORT_FIREFOX_RIG_H
#define GCPROF_EXPORT_FIREFOX_RIG_H

#include "export_rig.h"

/* Where `name` is in the strings. */
static inline size_t find_string(json_t *object, const char *name)
{
	json_t *strings = json_at(object, "shared.stringArray"), *text;
	size_t i;

	json_array_foreach(strings, i,
			   text) if (strcmp(json_string_value(text), name) == 0) return i;
	test_fail(__FILE__, __LINE__, "no string %s", name);
}

/* The names of a stack, innermost first, joined by commas. */
static inline void stack_names(json_t *shared, int64_t row, char *out, size_t size)
{
	size_t used = 0;

	for (;;) {
		json_int_t frame = json_integer_value(
			json_array_get(json_at(shared, "stackTable.frame"), row));
		json_int_t function = json_integer_value(
			json_array_get(json_at(shared, "frameTable.func"), frame));
		json_int_t name = json_integer_value(
			json_array_get(json_at(shared, "funcTable.name"), function));
		json_int_t offset = json_integer_value(
			json_array_get(json_at(shared, "stackTable.prefixOffset"), row));

		used += (size_t)snprintf(
			out + used, size - used, "%s%s", used ? "," : "",
			json_string_value(json_array_get(json_at(shared, "stringArray"), name)));
		if (!offset)
			break;
		row -= offset;
	}
}

/* The row of the sample with that number among those that weigh something. */
static inline size_t weighing(json_t *samples, size_t number)
{
	json_t *weight;
	size_t row;

	json_array_foreach(json_object_get(samples, "weight"), row, weight)
	{
		if (json_number_value(weight) > 0 && !number--)
			return row;
	}
	test_fail(__FILE__, __LINE__, "too few samples");
}

/* The names of the stack of such a sample. */
static inline void sample_names(json_t *object, json_t *track, size_t number, char *out,
				size_t size)
{
	json_t *samples = json_object_get(track, "samples");
	json_t *stack =
		json_array_get(json_object_get(samples, "stack"), weighing(samples, number));

	stack_names(json_object_get(object, "shared"), json_integer_value(stack), out, size);
}

#endif
