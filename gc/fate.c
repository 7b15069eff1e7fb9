/* SPDX-License-Identifier: BSD-2-Clause */
/* fate.c: follows sampled objects until they die, at collections and nowhere else. */
#include "internal.h"

#if !GCPROF_NO_SAMPLING

enum { FIRST_ENTRIES = 128 };

struct batch {
	uint32_t count;
	struct gcprof_fate entries[GCPROF_FATE_MAX];
};

/* Without memory the object is followed no further; its sample stays valid. */
void fate_add(struct gc_sampled_table *table, const struct gc_sampled *entry)
{
	if (table->count == table->capacity) {
		size_t capacity = table->capacity ? table->capacity * 2 : FIRST_ENTRIES;
		void *entries = os_grow(table->entries, table->capacity * sizeof(*entry),
					capacity * sizeof(*entry));

		if (!entries)
			return;
		table->entries = entries;
		table->capacity = capacity;
	}
	table->entries[table->count++] = *entry;
}

void fate_free(struct gc_sampled_table *table)
{
	os_unmap(table->entries, table->capacity * sizeof(*table->entries));
	*table = (struct gc_sampled_table){0};
}

void fate_move(struct gc_sampled_table *to, struct gc_sampled_table *from)
{
	for (size_t i = 0; i < from->count; i++)
		fate_add(to, &from->entries[i]);
	fate_free(from);
}

static void flush(struct gc_heap *heap, struct batch *batch)
{
	if (batch->count)
		summary_fates(heap, batch->entries, batch->count);
	batch->count = 0;
}

static void report(struct gc_heap *heap, struct batch *batch, const struct gc_sampled *entry,
		   uint32_t outcome)
{
	struct gcprof_fate *fate = &batch->entries[batch->count++];
	uint64_t survived = heap->stats.minor_collections - entry->minors;

	/* The count includes the collection in which it died young. */
	if (outcome == GCPROF_DIED_YOUNG)
		survived--;
	fate->sample = entry->sample;
	fate->age = heap_allocated(heap) - entry->birth;
	fate->outcome = outcome;
	fate->collections = survived > UINT32_MAX ? UINT32_MAX : (uint32_t)survived;
	if (batch->count == GCPROF_FATE_MAX)
		flush(heap, batch);
}

static void decide_young(struct gc_heap *heap, struct gc_sampled_table *table, gc_survivor survivor,
			 struct batch *batch)
{
	for (size_t i = 0; i < table->count; i++) {
		struct gc_sampled *entry = &table->entries[i];

		entry->object = survivor(heap, entry->object);
		report(heap, batch, entry, entry->object ? GCPROF_PROMOTED : GCPROF_DIED_YOUNG);
		if (entry->object)
			fate_add(&heap->sampler.old, entry);
	}
	table->count = 0;
}

/* No consumer is attached any more: forget all. */
static void forget(struct gc_heap *heap)
{
	heap->sampler.old.count = 0;
	heap->sampler.orphans.count = 0;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->sampler.young.count = 0;
}

void fate_minor(struct gc_heap *heap, gc_survivor survivor)
{
	struct batch batch;

	if (!probe_fate_listeners()) {
		forget(heap);
		return;
	}
	batch.count = 0;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		decide_young(heap, &thread->sampler.young, survivor, &batch);
	decide_young(heap, &heap->sampler.orphans, survivor, &batch);
	flush(heap, &batch);
}

/* Reports those that died, looking at so many old ones from number *next on; true if there are
 * more. The last one takes the place of one that is gone. */
bool fate_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items)
{
	struct gc_sampled_table *old = &heap->sampler.old;
	struct batch batch;

	batch.count = 0;
	for (; items && *next < old->count; items--) {
		struct gc_sampled *entry = &old->entries[*next];

		if (survivor(heap, entry->object)) {
			++*next;
			continue;
		}
		report(heap, &batch, entry, GCPROF_DIED_OLD);
		*entry = old->entries[--old->count];
	}
	flush(heap, &batch);
	return *next < old->count;
}

#endif
