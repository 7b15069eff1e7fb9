/* SPDX-License-Identifier: BSD-2-Clause */
/* tables.c: reads the tables of the kernel side. */
#include "tables.h"

#include <bpf/bpf.h>

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
