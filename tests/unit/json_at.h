/* SPDX-License-Identifier: BSD-2-Clause */
/* json_at.h: finds values in JSON by paths. */
#ifndef GCPROF_JSON_AT_H
#define GCPROF_JSON_AT_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* What lies at a path such as "threads.0.samples"; a number is an index. */
static inline json_t *json_at(json_t *value, const char *path)
{
	char *copy = strdup(path), *rest = copy;

	for (char *part; value && (part = strsep(&rest, "."));)
		value = json_is_array(value) ? json_array_get(value, strtoul(part, NULL, 10))
					     : json_object_get(value, part);
	free(copy);
	return value;
}

#endif
