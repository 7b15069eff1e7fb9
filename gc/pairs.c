/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.c: ephemerons waiting for their keys to be marked, in a table indexed by key. */
/*
 * When nothing is gray for the first time, marking scans all pairs, a number of
 * them in each step. If the key is marked, the value becomes gray. Otherwise the
 * pair waits here, and the key gets a flag: tracing an object with that flag looks
 * up the pairs that wait for it [waits-for-key]. So each pair is visited at most
 * twice, however pairs refer to each other.
 *
 * Pairs that may be young, because they or their values are new, are skipped and
 * visited at the end of the next minor collection.
 */
#include "pairs.h"
#include "gray.h"

enum { FIRST_BUCKETS = 512, GROWTH = 4 };

/* Neighbouring keys, which are visited one after the other, have neighbouring buckets: with
 * scattered buckets most visits would be page faults. */
enum { PART_SHIFT = 12, KEY_SHIFT = 5, BUCKETS_A_PART = 1 << (PART_SHIFT - KEY_SHIFT) };

static struct gc_weak **bucket_of(const struct gc_heap *heap, const void *key)
{
	uint64_t address = (uintptr_t)key;
	uint64_t hash = (address >> PART_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t bucket = hash ^ (address >> KEY_SHIFT & (BUCKETS_A_PART - 1));

	return &heap->weak.buckets[bucket & (heap->weak.n_buckets - 1)];
}

/* The link to the first pair that waits for the key, or a link that is NULL. */
static struct gc_weak **find(const struct gc_heap *heap, const void *key)
{
	struct gc_weak **link = bucket_of(heap, key);

	while (*link && (*link)->waits_for != key)
		link = &(*link)->other;
	return link;
}

static void set_buckets(struct gc_heap *heap, size_t n)
{
	struct gc_weak_lists *weak = &heap->weak;

	os_unmap(weak->buckets, weak->n_buckets * sizeof(struct gc_weak *));
	weak->buckets = os_map(n * sizeof(struct gc_weak *));
	if (!weak->buckets)
		os_out_of_memory(n * sizeof(struct gc_weak *), "ephemerons");
	weak->n_buckets = n;
}

/* Resizes only between two markings, when the buckets are empty. */
void pairs_make_room(struct gc_heap *heap)
{
	struct gc_weak_lists *weak = &heap->weak;

	if (!weak->n_buckets)
		set_buckets(heap, FIRST_BUCKETS);
	else if (weak->pairs.count > weak->n_buckets && !major_is_marking(heap))
		set_buckets(heap, weak->n_buckets * GROWTH);
}

void pairs_free(struct gc_heap *heap)
{
	os_unmap(heap->weak.buckets, heap->weak.n_buckets * sizeof(struct gc_weak *));
}

static void wait_for_key(struct gc_heap *heap, struct gc_weak *pair)
{
	struct gc_weak **link = find(heap, pair->key), *first = *link;

	pair->waits_for = pair->key;
	if (first) {
		pair->next = first->next;
		first->next = pair;
		return;
	}
	pair->next = NULL;
	pair->other = NULL;
	*link = pair;
	((struct gc_header *)pair->key)->flags |= GC_FLAG_KEY;
}

/* For a pair with a value, both old, during marking, before pairs are cleared. */
void pairs_attend(struct gc_heap *heap, struct gc_weak *pair)
{
	if (chunk_is_marked(pair->key))
		gray_add(heap, pair->value);
	else if (!pair->waits_for)
		wait_for_key(heap, pair);
}

/* Removes a pair that waited for the key; NULL: none. */
static struct gc_weak *take(struct gc_heap *heap, struct gc_header *key)
{
	struct gc_weak **link = find(heap, key), *first = *link, *pair;

	if (!first)
		return NULL;
	pair = first->next;
	if (pair) {
		first->next = pair->next;
	} else {
		pair = first;
		*link = first->other;
		key->flags &= (uint16_t)~GC_FLAG_KEY;
	}
	pair->waits_for = NULL;
	return pair;
}

unsigned pairs_resolve(struct gc_heap *heap, void *key, unsigned most)
{
	unsigned n;

	for (n = 0; n < most; n++) {
		const struct gc_weak *pair = take(heap, key);

		if (!pair)
			break;
		if (pair->value && !pair->listed)
			gray_add(heap, pair->value);
	}
	heap->weak.visits += n;
	return n;
}

void pairs_begin(struct gc_heap *heap)
{
	heap->weak.walked = 0;
}

bool pairs_to_walk(const struct gc_heap *heap)
{
	return heap->weak.walked < heap->weak.pairs.count;
}

/* Continues the scan for up to `items` pairs; removes destroyed ones. When all were visited the
 * scan is over: new pairs come through pairs_attend(). */
void pairs_walk(struct gc_heap *heap, size_t items)
{
	struct gc_weak_lists *weak = &heap->weak;

	for (; items && pairs_to_walk(heap); items--) {
		struct gc_weak *pair = weak->pairs.base[weak->walked];

		weak->visits++;
		if (pair->destroyed) {
			pair->paired = false;
			weak->pairs.base[weak->walked] = worklist_pop(&weak->pairs);
			continue;
		}
		if (pair->value && !pair->listed)
			pairs_attend(heap, pair);
		weak->walked++;
	}
	if (!pairs_to_walk(heap))
		weak->walked = SIZE_MAX;
}

/* After marking: the key is dead or the pair destroyed. Empties the whole bucket, which will not be
 * searched again. */
void pairs_forget(struct gc_heap *heap, struct gc_weak *pair)
{
	if (!pair->waits_for)
		return;
	((struct gc_header *)pair->waits_for)->flags &= (uint16_t)~GC_FLAG_KEY;
	*bucket_of(heap, pair->waits_for) = NULL;
	pair->waits_for = NULL;
}

void pairs_abandon(struct gc_heap *heap)
{
	for (size_t i = 0; i < heap->weak.all.count; i++)
		pairs_forget(heap, heap->weak.all.base[i]);
}

bool pairs_finds(const struct gc_heap *heap, const struct gc_weak *pair)
{
	const struct gc_weak *at;

	if (pair->waits_for != pair->key ||
	    !(((const struct gc_header *)pair->key)->flags & GC_FLAG_KEY))
		return false;
	for (at = *find(heap, pair->key); at; at = at->next)
		if (at == pair)
			return true;
	return false;
}
