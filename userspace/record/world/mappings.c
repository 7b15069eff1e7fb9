// SPDX-License-Identifier: BSD-2-Clause
/* mappings.c: what is mapped where in a process, as far as code may run there. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mappings.h"
#include "../../util/buffer.h"

struct mappings {
	unsigned references;
	struct mappings_pool *pool;
	struct buffer table; /* struct mapping[], by address, none overlaps another */
};

static struct mapping *table(const struct mappings *mappings)
{
	return (struct mapping *)(void *)mappings->table.data;
}

static size_t count(const struct mappings *mappings)
{
	return mappings->table.size / sizeof(struct mapping);
}

struct mappings *mappings_share(struct mappings *mappings)
{
	if (mappings)
		mappings->references++;
	return mappings;
}

/* Mappings are in one table more. */
static void hold(struct mappings_pool *pool, const struct mapping *all, size_t n)
{
	for (size_t i = 0; pool->hold && i < n; i++)
		pool->hold(pool->context, all[i].module);
	pool->used += n;
}

static void drop(struct mappings_pool *pool, const struct mapping *all, size_t n)
{
	for (size_t i = 0; pool->release && i < n; i++)
		pool->release(pool->context, all[i].module);
	pool->used -= n;
}

void mappings_release(struct mappings *mappings)
{
	if (!mappings || --mappings->references)
		return;
	drop(mappings->pool, table(mappings), count(mappings));
	buffer_free(&mappings->table);
	free(mappings);
}

/* Makes *mappings one that is held once, with room for `extra` more. */
static int make_own(struct mappings **mappings, struct mappings_pool *pool, size_t extra)
{
	struct mappings *old = *mappings, *own = old;

	if (!old || old->references > 1) {
		own = calloc(1, sizeof(*own));
		if (!own)
			return -ENOMEM;
		own->references = 1;
		own->pool = pool;
		if (old && old->table.size &&
		    buffer_append(&own->table, old->table.data, old->table.size)) {
			free(own);
			return -ENOMEM;
		}
		hold(pool, table(own), count(own));
		mappings_release(old);
		*mappings = own;
	}
	return buffer_reserve(&own->table, extra * sizeof(struct mapping));
}

/* The first mapping that ends behind `address`. */
static size_t first_behind(const struct mappings *mappings, uint64_t address)
{
	size_t low = 0, high = count(mappings);

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table(mappings)[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* What a mapping becomes when [start, end) is taken out of it: up to two pieces. */
static size_t cut(const struct mapping *mapping, uint64_t start, uint64_t end,
		  struct mapping pieces[2])
{
	size_t n = 0;

	if (mapping->start < start) {
		pieces[n] = *mapping;
		pieces[n++].end = start;
	}
	if (mapping->end > end) {
		pieces[n] = *mapping;
		pieces[n].start = end;
		pieces[n++].offset += end - mapping->start;
	}
	return n;
}

/* Would a table of `n` have more than its share? */
static bool is_too_much(size_t n, size_t used)
{
	return n > MAPPINGS_MAX ||
	       (n > MAPPINGS_SHARE && (used > MAPPINGS_BUDGET || n > 3 * (MAPPINGS_BUDGET - used)));
}

int mappings_add(struct mappings **mappings, struct mappings_pool *pool,
		 const struct mapping *mapping)
{
	struct mapping put[3], pieces[2], *all;
	size_t low, high, n = 0, n_pieces;
	int err;

	if (*mappings && is_too_much(count(*mappings) + 2, pool->used))
		return -EOVERFLOW;
	err = make_own(mappings, pool, 2);
	if (err)
		return err;
	all = table(*mappings);
	low = first_behind(*mappings, mapping->start);
	for (high = low; high < count(*mappings) && all[high].start < mapping->end; high++)
		;
	/* Only the first of those covered can stick out below, and only the last one above. */
	n_pieces = low < high ? cut(&all[low], mapping->start, UINT64_MAX, pieces) : 0;
	if (n_pieces)
		put[n++] = pieces[0];
	if (mapping->module)
		put[n++] = *mapping;
	n_pieces = low < high ? cut(&all[high - 1], 0, mapping->end, pieces) : 0;
	if (n_pieces)
		put[n++] = pieces[0];
	hold((*mappings)->pool, put, n);
	drop((*mappings)->pool, all + low, high - low);
	memmove(all + low + n, all + high, (count(*mappings) - high) * sizeof(*all));
	memcpy(all + low, put, n * sizeof(*all));
	(*mappings)->table.size += n * sizeof(*all);
	(*mappings)->table.size -= (high - low) * sizeof(*all);
	return 0;
}

int mappings_forget(struct mappings **mappings, uint64_t time)
{
	struct mapping *all;
	size_t kept = 0;
	int err;

	if (!*mappings)
		return 0;
	err = make_own(mappings, (*mappings)->pool, 0);
	if (err)
		return err;
	all = table(*mappings);
	for (size_t i = 0; i < count(*mappings); i++) {
		if (all[i].time >= time)
			all[kept++] = all[i];
		else
			drop((*mappings)->pool, &all[i], 1);
	}
	(*mappings)->table.size = kept * sizeof(*all);
	return 0;
}

const struct mapping *mappings_all(const struct mappings *mappings, size_t *n)
{
	*n = mappings ? count(mappings) : 0;
	return mappings ? table(mappings) : NULL;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
	size_t i;

	if (!mappings)
		return NULL;
	i = first_behind(mappings, address);
	if (i == count(mappings) || table(mappings)[i].start > address)
		return NULL;
	return &table(mappings)[i];
}

bool mappings_have(const struct mappings *mappings, const struct mapping *wanted)
{
	const struct mapping *known = mappings_find(mappings, wanted->start);

	return known && known->start == wanted->start && known->end == wanted->end &&
	       known->offset == wanted->offset && known->module == wanted->module;
}
