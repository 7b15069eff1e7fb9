/* SPDX-License-Identifier: BSD-2-Clause */
/* arrays.c: reads whole arrays of the kernel side. */
#include "arrays.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

void *array_read(int map_fd, uint32_t count, size_t size, int *err)
{
	uint32_t *keys = calloc(count, sizeof(*keys)), place, got = count;
	char *values = calloc(count, size);

	*err = -ENOMEM;
	if (keys && values)
		*err = bpf_map_lookup_batch(map_fd, NULL, &place, keys, values, &got, NULL);
	/* -ENOENT: no more. */
	if (*err == -ENOENT)
		*err = 0;
	free(keys);
	if (!*err)
		return values;
	free(values);
	return NULL;
}
