/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: reads the tables of the kernel side. */
#include "tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

int table_lookup(const struct session *session, enum session_table table, const void *key,
		 void *value)
{
	return bpf_map_lookup_elem(session_table_fd(session, table), key, value);
}

void table_forget(const struct session *session, enum session_table table, const void *key)
{
	bpf_map_delete_elem(session_table_fd(session, table), key);
}

int table_lookup_batch(const struct session *session, enum session_table table, uint32_t *place,
		       void *keys, void *values, uint32_t *count)
{
	return bpf_map_lookup_batch(session_table_fd(session, table), *place ? place : NULL, place,
				    keys, values, count, NULL);
}

void *table_read(const struct session *session, enum session_table table, uint32_t count,
		 size_t size, int n_cpus, int *err)
{
	uint32_t *keys = calloc(count, sizeof(*keys)), place, got = count;
	char *values = calloc((size_t)count * (size_t)n_cpus, size);

	*err = -ENOMEM;
	if (keys && values)
		*err = bpf_map_lookup_batch(session_table_fd(session, table), NULL, &place, keys,
					    values, &got, NULL);
	/* -ENOENT: these are all. */
	if (*err == -ENOENT)
		*err = 0;
	free(keys);
	if (!*err)
		return values;
	free(values);
	return NULL;
}
