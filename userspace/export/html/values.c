/* SPDX-License-Identifier: BSD-2-Clause */
/* values.c: values of the page's data. */
#include "values.h"

#include <errno.h>
#include <string.h>

/* Less-than signs occur only in strings; escaped, they cannot end the script. */
static int put_piece(const char *text, size_t size, void *context)
{
	while (size) {
		const char *sign = memchr(text, '<', size);
		size_t plain = sign ? (size_t)(sign - text) : size;

		output_bytes(context, text, plain);
		if (sign)
			output_text(context, "\\u003c");
		plain += sign != NULL;
		text += plain;
		size -= plain;
	}
	return 0;
}

int html_put_value(struct output *output, const char *key, json_t *value)
{
	int err;

	output_format(output, "%s\"%s\":", *key == '!' ? "" : ",\n", key + (*key == '!'));
	err = value ? json_dump_callback(value, put_piece, output,
					 JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
						 JSON_REAL_PRECISION(9))
		    : -1;
	json_decref(value);
	return err ? -ENOMEM : 0;
}

/*
 * Writes one measure, starting at `first`: the start of each window, nodes, values. Returns
 * its end.
 */
static size_t put_part(struct output *output, const struct call_moments *moments, size_t first,
		       const char *const *names)
{
	const struct call_moment *items = moments->items;
	size_t end = first;
	uint32_t window = 0;

	output_format(output, "%s{\"measure\":", first ? ",\n" : "");
	if (names)
		output_format(output, "\"%s\"", names[items[first].measure]);
	else
		output_number(output, items[first].measure);
	output_text(output, ",\"begins\":[0");
	for (; end < moments->count && items[end].measure == items[first].measure; end++)
		for (; window < items[end].window; window++)
			output_format(output, ",%zu", end - first);
	output_format(output, ",%zu],\n\"node\":[", end - first);
	for (size_t i = first; i < end; i++)
		output_format(output, "%s%u", i > first ? "," : "", items[i].node);
	output_text(output, "],\n\"value\":[");
	for (size_t i = first; i < end; i++) {
		output_text(output, i > first ? "," : "");
		output_rounded(output, items[i].value);
	}
	output_text(output, "]}");
	return end;
}

void html_put_moments(struct output *output, const char *prefix, const struct call_moments *moments,
		      const char *const *names)
{
	output_format(output, ",\n\"%sstep_ns\":%llu,\n\"%smoments\":[", prefix,
		      (unsigned long long)(moments->step_ns ? moments->step_ns : 1), prefix);
	for (size_t i = 0; i < moments->count;)
		i = put_part(output, moments, i, names);
	output_text(output, "]");
}
