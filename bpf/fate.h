/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* fate.h: what became of one followed object, by its old header; the tables of such objects. */
#ifndef GCPROF_BPF_FATE_H
#define GCPROF_BPF_FATE_H

#include "filter.h"
#include "ceiling.h"
#include "emit.h"

/* What becomes of a followed object, beside its enum gcprof_outcome; 0: nothing is reported. */
enum fate_turn {
	FATE_STAYS = 256, /* it is followed on */
	FATE_AGES = 512,  /* it has survived a collection */
	FATE_LOST = 1024, /* nothing is known of it after this */
};

static __always_inline struct fate_table *fates_of(const struct task_state *state)
{
	uint32_t process = state->process, zero = 0;
	void *map = fates_known ? bpf_map_lookup_elem(&fate_tables, &process) : NULL;

	return map ? bpf_map_lookup_elem(map, &zero) : NULL;
}

static __always_inline uint64_t fate_word(uint64_t address, uint64_t *bad)
{
	uint64_t word = 0;

	*bad |= bpf_probe_read_user(&word, sizeof(word), (const void *)address) != 0;
	return word;
}

static __always_inline uint32_t fate_tag(const struct fate_table *table, uint64_t address,
					 uint64_t *bad)
{
	uint64_t region = fate_word(table->values[FATE_TABLE] +
					    (address >> (table->values[FATE_REGION] & 63)) * 8,
				    bad);

	return (uint32_t)fate_word(region + table->values[FATE_TAG], bad);
}

/* Is it an address of old objects? */
static __always_inline bool fate_is_old(const struct fate_table *table, uint64_t address,
					uint64_t *bad)
{
	if (table->rule.area == FATES_RANGE)
		return address - table->values[FATE_LOW] >= table->values[FATE_SIZE];
	return table->rule.area == FATES_REGIONS &&
	       (fate_tag(table, address, bad) & table->values[FATE_OLD]);
}

/* It has survived a collection, which copied it or not. */
static __always_inline uint32_t fate_lives(const struct fate_object *object, bool copied)
{
	uint32_t again = copied ? GCPROF_COPIED : 0;

	return (object->survived ? again : copied ? GCPROF_PROMOTED : GCPROF_PINNED) | FATE_AGES;
}

static __always_inline uint32_t fate_dies(const struct fate_object *object)
{
	return object->survived ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG;
}

/* A collection of new objects did not copy this one. Where a region could not be emptied, it became
 * an old one with dead objects in it: which live is unknown. */
static __always_inline uint32_t fate_remains(const struct fate_table *table,
					     const struct fate_object *object)
{
	uint64_t bad = 0;
	uint32_t tag;

	if (table->rule.area == FATES_RANGE)
		return fate_is_old(table, object->address, &bad)
			       ? fate_lives(object, 0) | FATE_STAYS
			       : fate_dies(object);
	if (table->rule.area != FATES_REGIONS)
		return fate_dies(object);
	tag = fate_tag(table, object->address, &bad);
	if (bad)
		return FATE_LOST;
	if (!tag || tag == table->values[FATE_NEW])
		return fate_dies(object);
	if (table->list == FATES_OLD)
		return FATE_STAYS;
	return tag & table->values[FATE_HUGE] ? fate_lives(object, 0) | FATE_STAYS : FATE_LOST;
}

static __always_inline bool fate_is_same(const struct fate_table *table,
					 const struct fate_object *object)
{
	uint32_t word = 0;

	return !bpf_probe_read_user(&word, sizeof(word),
				    (const void *)(object->address + table->values[FATE_CLASS])) &&
	       object->class == (uint32_t)(table->values[FATE_BASE] +
					   ((uint64_t)word << (table->values[FATE_SHIFT] & 63)));
}

/* Whether its bit is set. It will move to an unknown address. */
static __always_inline uint32_t fate_by_bit(const struct fate_table *table,
					    const struct fate_object *object)
{
	uint64_t bit = (object->address - table->values[FATE_FIRST]) / 8, bad = 0;
	uint64_t bits = fate_word(table->values[FATE_BITS] + bit / 64 * 8, &bad);

	if (bad)
		return FATE_LOST;
	return bits >> (bit & 63) & 1 ? fate_lives(object, 0) | FATE_LOST : fate_dies(object);
}

/* Where it is not in a freed region, nothing has changed. */
static __always_inline uint32_t fate_by_region(const struct fate_table *table,
					       const struct fate_object *object)
{
	uint64_t bad = 0;
	uint32_t tag = fate_tag(table, object->address, &bad);

	return bad ? FATE_LOST : tag ? FATE_STAYS : fate_dies(object);
}

/* At the begin of moving. What does not move may as well be dead, unless all headers were read when
 * it was marked. Then the first outcome of those that move says nothing of the others. */
static __always_inline uint32_t fate_moves(const struct fate_table *table,
					   const struct fate_object *object, bool copied)
{
	if (table->marked)
		return FATE_STAYS;
	return copied ? GCPROF_COPIED | FATE_AGES | FATE_STAYS : FATE_LOST;
}

/* Returns an outcome and enum fate_turn; the object gets its new address. */
static __always_inline uint32_t fate_of(const struct fate_table *table, struct fate_object *object)
{
	const struct fate_rule *rule = &table->rule;
	uint64_t bad = 0, header;
	bool copied;

	if (table->stale || table->failed || !object->number)
		return FATE_LOST;
	if (rule->mode == FATES_BITMAP)
		return fate_by_bit(table, object);
	if (rule->mode == FATES_FREED)
		return fate_by_region(table, object);
	header = fate_word(object->address + rule->header, &bad);
	copied = (header & rule->header_mask) == rule->header_value;
	if (!bad && rule->mode == FATES_MARKED)
		return copied ? fate_lives(object, 0) | FATE_STAYS : fate_dies(object);
	if (copied)
		object->address = fate_word(object->address + rule->target, &bad) &
				  rule->target_mask;
	if (!bad && rule->mode == FATES_MOVED)
		return fate_moves(table, object, copied);
	if (bad || (copied && !fate_is_same(table, object)))
		return FATE_LOST;
	return copied ? fate_lives(object, 1) | FATE_STAYS : fate_remains(table, object);
}

/* --- reports, many in one record --- */

/* Emits the entries so far; the event stays in the scratch. */
static __always_inline int fates_flush(struct scratch *scratch)
{
	struct event_fate *event = (struct event_fate *)scratch->data;
	uint64_t count = opaque(event->count), size;

	event->count = 0;
	if (!count || count > GCPROF_FATE_MAX)
		return 0;
	size = sizeof(*event) + count * sizeof(event->entries[0]);
	event->header.size = size;
	event->count = count;
	if (!ceiling_share(&ring_alloc, event->header.process, size, event->header.time))
		loss_add(LOSS_ALLOC_SHARE, count);
	else if (bpf_ringbuf_output(&ring_alloc, event, size, emit_wakeup(&ring_alloc)))
		loss_add(LOSS_ALLOC_RING, count);
	event->count = 0;
	return 0;
}

static __always_inline void fates_report(struct scratch *scratch, const struct fate_object *object,
					 uint32_t outcome)
{
	struct event_fate *event = (struct event_fate *)scratch->data;
	struct gcprof_fate *entry;
	uint64_t at = opaque(event->count);

	if (at >= GCPROF_FATE_MAX)
		return;
	entry = &event->entries[at];
	entry->sample = object->number;
	entry->age = 0;
	entry->outcome = outcome;
	entry->collections = object->survived;
	event->count = at + 1;
	if (at + 1 == GCPROF_FATE_MAX)
		fates_flush(scratch);
}

#endif
