/* SPDX-License-Identifier: BSD-2-Clause */
/* outcomes.c: follows sampled objects until they die, in collections only. */
#include "outcomes.h"

enum { FIRST_ENTRIES = 128 };

struct batch {
	uint32_t count;
	struct gcprof_fate entries[GCPROF_FATE_MAX];
};

/* Without memory the object is not followed; its sample stays valid. */
static void add(struct gc_sampled_table *table, const struct gc_sampled *entry)
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

void outcomes_free(struct gc_sampled_table *table)
{
	os_unmap(table->entries, table->capacity * sizeof(*table->entries));
	*table = (struct gc_sampled_table){0};
}

void outcomes_remember(struct gc_thread *thread, void *object, uint64_t sample)
{
	struct gc_heap *heap = thread->heap;
	struct gc_sampled entry = {
		.object = object,
		.sample = sample,
		.birth = heap_allocated(heap) + thread->uncounted,
		.minors = heap->stats.minor_collections,
	};

	add(&thread->sampled, &entry);
}

void outcomes_orphan(struct gc_thread *thread)
{
	for (size_t i = 0; i < thread->sampled.count; i++)
		add(&thread->heap->sampled_orphans, &thread->sampled.entries[i]);
	outcomes_free(&thread->sampled);
}

static void flush(struct gc_heap *heap, struct batch *batch)
{
	if (batch->count)
		gcprof_outcomes(heap->collector->sampler, batch->entries, batch->count);
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
			add(&heap->sampled_old, entry);
	}
	table->count = 0;
}

void outcomes_forget(struct gc_heap *heap)
{
	heap->sampled_old.count = 0;
	heap->sampled_orphans.count = 0;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		thread->sampled.count = 0;
}

void outcomes_minor(struct gc_heap *heap, gc_survivor survivor)
{
	struct batch batch;

	if (!gcprof_wants_outcomes()) {
		outcomes_forget(heap);
		return;
	}
	batch.count = 0;
	for (struct gc_thread *thread = heap->threads; thread; thread = thread->next)
		decide_young(heap, &thread->sampled, survivor, &batch);
	decide_young(heap, &heap->sampled_orphans, survivor, &batch);
	flush(heap, &batch);
}

bool outcomes_old(struct gc_heap *heap, gc_survivor survivor, size_t *next, size_t items)
{
	struct gc_sampled_table *old = &heap->sampled_old;
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
