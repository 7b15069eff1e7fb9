/* SPDX-License-Identifier: BSD-2-Clause */
/* pairs.c: ephemerons whose keys are not marked yet: they wait, and are found by their keys. */
/*
 * When nothing is gray for the first time marking goes through all pairs, so
 * many in a step. If the key of one is marked its value becomes gray. If not the
 * pair waits here, and the key has a flag: who traces an object with that flag
 * asks here for the pairs that wait for it [waits-for-key]. So each pair is
 * visited twice at most, however they refer to each other.
 *
 * Pairs that may be young, because they are new or have a new value, are passed
 * by: they have their turn at the end of the next minor collection.
 */
#include "pairs.h"
#include "gray.h"

enum { FIRST_BUCKETS = 512, GROWTH = 4 };

/* Keys within such a part of memory have neighbouring buckets, as they are visited one after the
 * other: buckets anywhere would be a page fault for most of them. */
enum { PART_SHIFT = 12, KEY_SHIFT = 5, BUCKETS_A_PART = 1 << (PART_SHIFT - KEY_SHIFT) };

static struct gc_weak **bucket_of(const struct gc_heap *heap, const void *key)
{
	uint64_t address = (uintptr_t)key;
	uint64_t hash = (address >> PART_SHIFT) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint64_t bucket = hash ^ (address >> KEY_SHIFT & (BUCKETS_A_PART - 1));

	return &heap->weak.buckets[bucket & (heap->weak.n_buckets - 1)];
}

/* The place that names the first pair that waits for the key, or holds NULL. */
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

/* Between two markings nothing lies in the buckets. */
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

/* A pair with a value, both old. Marking is under way, no pair was cleared yet. */
void pairs_attend(struct gc_heap *heap, struct gc_weak *pair)
{
	if (chunk_is_marked(pair->key))
		gray_add(heap, pair->value);
	else if (!pair->waits_for)
		wait_for_key(heap, pair);
}

/* One that waited for the key, or NULL. */
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

/* Goes on through the pairs, for so many; forgets those that were destroyed. When all had their
 * turn the walk is over: new ones come by pairs_attend(). */
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

/* Marking is over, and the key dead or the pair destroyed: with it all in its bucket is forgotten,
 * which will not be asked for any more. */
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
