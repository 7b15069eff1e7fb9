// SPDX-License-Identifier: BSD-2-Clause
/* mappings.c: a process's mappings that may contain code. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/array.h"
#include "processes.h"

struct mappings {
	unsigned references;
	struct mappings_pool *pool;
	ARRAY(struct mapping) table; /* by address, without overlaps */
};

static size_t mappings_count(const struct mappings *mappings)
{
	return array_count(&mappings->table);
}

struct mappings *mappings_share(struct mappings *mappings)
{
	if (mappings)
		mappings->references++;
	return mappings;
}

void mappings_release(struct mappings *mappings)
{
	if (!mappings || --mappings->references)
		return;
	mappings->pool->used -= mappings_count(mappings);
	buffer_free(&mappings->table.buffer);
	free(mappings);
}

/* Gives *mappings a single reference, and room for `extra` more. */
static int make_own(struct mappings **mappings, struct mappings_pool *pool, size_t extra)
{
	struct mappings *old = *mappings, *own = old;

	if (!old || old->references > 1) {
		own = calloc(1, sizeof(*own));
		if (!own)
			return -ENOMEM;
		own->references = 1;
		own->pool = pool;
		if (old && old->table.buffer.size &&
		    buffer_append(&own->table.buffer, old->table.all, old->table.buffer.size)) {
			free(own);
			return -ENOMEM;
		}
		pool->used += mappings_count(own);
		mappings_release(old);
		*mappings = own;
	}
	return buffer_reserve(&own->table.buffer, extra * sizeof(struct mapping));
}

/* The first mapping that ends after `address`. */
static size_t first_after(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = mappings_count(mappings);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (mappings->table.all[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The rest of a mapping when [start, end) is removed: up to two parts. */
static size_t cut(const struct mapping *mapping, uint64_t start, uint64_t end,
		  struct mapping parts[2])
{
	size_t n = 0;

	if (mapping->start < start) {
		parts[n] = *mapping;
		parts[n++].end = start;
	}
	if (mapping->end > end) {
		parts[n] = *mapping;
		parts[n].start = end;
		parts[n++].offset += end - mapping->start;
	}
	return n;
}

bool mappings_allow(const struct mappings_pool *pool, size_t n)
{
	return n <= MAPPINGS_SHARE || (n <= MAPPINGS_MAX && pool->used <= MAPPINGS_BUDGET &&
				       n <= 3 * (MAPPINGS_BUDGET - pool->used));
}

int mappings_add(struct mappings **mappings, struct mappings_pool *pool,
		 const struct mapping *mapping)
{
	struct mapping put[3], parts[2], *all;
	size_t low, high, n = 0, n_parts;
	int err;

	if (*mappings && !mappings_allow(pool, mappings_count(*mappings) + 2))
		return -EOVERFLOW;
	err = make_own(mappings, pool, 2);
	if (err)
		return err;
	all = (*mappings)->table.all;
	low = first_after(*mappings, mapping->start);
	for (high = low; high < mappings_count(*mappings) && all[high].start < mapping->end; high++)
		;
	/* Only the first covered mapping can begin before, and only the last one end after. */
	n_parts = low < high ? cut(&all[low], mapping->start, UINT64_MAX, parts) : 0;
	if (n_parts)
		put[n++] = parts[0];
	if (mapping->module || mapping->file)
		put[n++] = *mapping;
	n_parts = low < high ? cut(&all[high - 1], 0, mapping->end, parts) : 0;
	if (n_parts)
		put[n++] = parts[0];
	(*mappings)->pool->used += n;
	(*mappings)->pool->used -= high - low;
	memmove(all + low + n, all + high, (mappings_count(*mappings) - high) * sizeof(*all));
	memcpy(all + low, put, n * sizeof(*all));
	(*mappings)->table.buffer.size += n * sizeof(*all);
	(*mappings)->table.buffer.size -= (high - low) * sizeof(*all);
	return 0;
}

int mappings_forget(struct mappings **mappings, uint64_t time)
{
	size_t n = *mappings ? mappings_count(*mappings) : 0, kept = 0;
	struct mapping *all;
	int err;

	for (size_t i = 0; i < n; i++)
		kept += (*mappings)->table.all[i].time >= time;
	if (kept == n)
		return 0;
	err = make_own(mappings, (*mappings)->pool, 0);
	if (err)
		return err;
	all = (*mappings)->table.all;
	kept = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].time >= time)
			all[kept++] = all[i];
	(*mappings)->pool->used -= n - kept;
	(*mappings)->table.buffer.size = kept * sizeof(*all);
	return 0;
}

const struct mapping *mappings_all(const struct mappings *mappings, size_t *n)
{
	*n = mappings ? mappings_count(mappings) : 0;
	return mappings ? mappings->table.all : NULL;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t i;

	if (!mappings)
		return NULL;
	i = first_after(mappings, address);
	if (i == mappings_count(mappings) || mappings->table.all[i].start > address)
		return NULL;
	return &mappings->table.all[i];
}

bool mappings_have(const struct mappings *mappings, const struct mapping *wanted)
{
	const struct mapping *known = mappings_find(mappings, wanted->start);

	return known && known->start == wanted->start && known->end == wanted->end &&
	       known->offset == wanted->offset && known->module == wanted->module;
}
