/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_actions.h: runs a string of bytes as a program on the heap, compared with shadows throughout.
 */
/*
 * The first two bytes are settings, then come actions with their arguments, in
 * bytes as they are needed; behind the end all arguments are 0. Any string is a
 * program, so they can be random, changed by a fuzzer, or cut down.
 */
#ifndef GCPROF_GC_ACTIONS_H
#define GCPROF_GC_ACTIONS_H

#include "gc_oracle.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a string is run. */
enum actions_mode { ACTIONS_UNSAMPLED, ACTIONS_SINGLE, ACTIONS_BATCHED };

/* What strings may do, by who runs them. */
struct actions_limits {
	uint64_t scales[4]; /* of the lengths of arrays, which are up to 255 times as long */
	bool may_fork;
};

/* Of all collections, and of all samples: of what kind, not when. */
struct actions_result {
	uint64_t collections, samples;
};

struct actions {
	struct shadow_heap s;
	const uint8_t *data;
	size_t size;
	struct oracle oracle;
	uint64_t digest; /* of the schedule of collections */
	bool refused;    /* the callback was asked for memory */
	bool sampled;    /* the last object */
	const struct actions_limits *limits;
	uint32_t depth; /* in finalizers */
};

static struct actions *actions_now; /* for callbacks */

static inline uint32_t actions_byte(struct actions *a)
{
	if (!a->size)
		return 0;
	a->size--;
	return *a->data++;
}

static inline uint64_t actions_id(const struct shadow *object, const void *actual)
{
	return object->kind == SHADOW_NODE ? ((const struct node *)actual)->value
					   : ((const struct block *)actual)->id;
}

static inline void *actions_new(struct actions *a, enum shadow_kind kind, uint64_t length)
{
	struct shadow_heap *s = &a->s;
	struct shadow shape = {.kind = kind, .length = length};
	gc_type types[] = {s->f.node, s->block, s->blob}, type = types[kind];
	void *object;

	oracle_begin(&a->oracle);
	a->refused = false;
	object = kind == SHADOW_NODE ? gc_alloc(s->f.thread, type, sizeof(struct node))
				     : gc_alloc_array(s->f.thread, type, length);
	a->sampled = false;
	if (object)
		a->sampled = oracle_charge(&a->oracle, s->f.heap, type, shadow_bytes(&shape));
	else
		CHECK(a->refused);
	oracle_check(&a->oracle, s->f.thread);
	return object;
}

static inline void act_allocate(struct actions *a)
{
	struct shadow_heap *s = &a->s;
	uint32_t root = actions_byte(a) % ROOTS, what = actions_byte(a);
	uint64_t scale = a->limits->scales[what / 4 % 4], length = actions_byte(a) * scale;
	enum shadow_kind kind = what % 4 < 2    ? SHADOW_NODE
				: what % 4 == 2 ? SHADOW_BLOCK
						: SHADOW_BLOB;
	struct shadow *object;
	uint32_t reference;
	void *actual;

	/* Few lengths, so that blocks can often be copied over each other. */
	if (kind == SHADOW_BLOCK)
		length -= length % (64 * scale);
	actual = actions_new(a, kind, length);
	reference = actual ? shadow_new(s) : 0;
	if (!reference)
		return;
	object = shadow_at(s, reference);
	if (a->sampled)
		ledger_keep(reference, object->id);
	object->kind = kind;
	object->length = kind == SHADOW_NODE ? 2 : length;
	if (kind == SHADOW_NODE)
		((struct node *)actual)->value = object->id;
	else
		((struct block *)actual)->id = object->id;
	if (kind == SHADOW_BLOB)
		memset((struct block *)actual + 1, (int)object->id, length);
	s->roots[root] = reference;
	s->slots[root] = actual;
}

/* Follows references from a root: a reachable object, or 0. */
static inline uint32_t actions_walk(struct actions *a, void **actual)
{
	struct shadow_heap *s = &a->s;
	uint32_t root = actions_byte(a), steps = root / ROOTS % 4, reference;

	root %= ROOTS;
	reference = s->roots[root];
	*actual = s->slots[root];
	while (reference && steps--) {
		const struct shadow *object = shadow_at(s, reference);
		uint32_t n = shadow_items(object), item = n ? actions_byte(a) % n : 0;

		if (!n || !object->items[item])
			break;
		reference = object->items[item];
		*actual = *shadow_slot(object, *actual, item);
	}
	return reference;
}

static inline void act_write(struct actions *a, struct gc_thread *thread)
{
	void *to, *value;
	uint32_t target = actions_walk(a, &to), source = actions_walk(a, &value), n, item;
	struct shadow *object;

	if (!target)
		return;
	object = shadow_at(&a->s, target);
	n = shadow_items(object);
	item = n ? actions_byte(a) % n : 0;
	if (!n)
		return;
	object->items[item] = source;
	gc_write(thread, to, shadow_slot(object, to, item), value);
}

/* The first root from number `root` on that is another block as long as that one, or ROOTS. */
static inline uint32_t actions_equal(struct actions *a, uint32_t root, uint32_t target)
{
	const struct shadow *t = shadow_at(&a->s, target);

	for (uint32_t i = 0; i < ROOTS; i++, root = (root + 1) % ROOTS) {
		uint32_t source = a->s.roots[root];
		const struct shadow *f = source ? shadow_at(&a->s, source) : t;

		if (f != t && f->kind == SHADOW_BLOCK && f->length == t->length)
			return root;
	}
	return ROOTS;
}

/* Copies a whole block over another. */
static inline void act_copy(struct actions *a)
{
	void *to;
	uint32_t target = actions_walk(a, &to), from = actions_byte(a) % ROOTS;
	struct shadow *t = target ? shadow_at(&a->s, target) : NULL;
	const struct block *source;

	if (!t || t->kind != SHADOW_BLOCK)
		return;
	from = actions_equal(a, from, target);
	if (from == ROOTS)
		return;
	source = a->s.slots[from];
	memcpy(t->items, shadow_at(&a->s, a->s.roots[from])->items, sizeof(t->items));
	gc_array_copy(a->s.f.thread, to, ((struct block *)to)->items, source->items,
		      t->length * sizeof(void *));
}

static inline void act_root(struct actions *a)
{
	uint32_t root = actions_byte(a) % ROOTS;
	void *value = NULL;

	a->s.roots[root] = root % 3 ? actions_walk(a, &value) : 0;
	a->s.slots[root] = value;
}

/* With nothing waiting to be finalized the truth about what is alive is exact. */
static inline void actions_check_full(struct actions *a)
{
	struct shadow_heap *s = &a->s;
	struct gc_stats stats;

	gc_stats(s->f.heap, &stats);
	CHECK_EQ(stats.live_bytes, shadow_compare(s));
	for (uint32_t i = 0; i < SHADOWS; i++)
		CHECK(!s->objects[i].used || s->objects[i].reached || !s->objects[i].light);
	for (uint32_t i = 0; i < WEAKS; i++)
		if (s->weaks[i].key && !shadow_at(s, s->weaks[i].key)->reached)
			CHECK(!gc_weak_get(s->weaks[i].weak) && !gc_weak_value(s->weaks[i].weak));
	ledger_check_full();
}

static inline void act_collect(struct actions *a)
{
	uint32_t how = actions_byte(a) % 8;
	bool exact = !a->depth && !shadow_any_to_finalize(&a->s);

	if (how >= 4) {
		gc_collect_step(a->s.f.thread);
		return;
	}
	oracle_settle(&a->oracle);
	gc_collect(a->s.f.thread, how ? GC_COLLECT_MINOR : GC_COLLECT_FULL);
	if (!how && exact)
		actions_check_full(a);
}

static inline void act_pin(struct actions *a)
{
	struct shadow_pin *pin = &a->s.pins[actions_byte(a) % PINS];
	uint32_t root = actions_byte(a) % ROOTS;

	if (pin->object) {
		gc_unpin(a->s.f.thread, pin->at);
		*pin = (struct shadow_pin){0};
	} else if (a->s.roots[root]) {
		CHECK_EQ(gc_pin(a->s.f.thread, &a->s.slots[root]), 0);
		*pin = (struct shadow_pin){a->s.roots[root], a->s.slots[root]};
	}
}

static inline void act_weak(struct actions *a)
{
	struct shadow_weak *w = &a->s.weaks[actions_byte(a) % WEAKS];
	void *key, *value;
	uint32_t key_reference = actions_walk(a, &key), value_reference = actions_walk(a, &value);

	if (w->key && actions_byte(a) % 2) {
		shadow_reach(&a->s, false);
		if (!shadow_at(&a->s, w->key)->reached)
			return; /* nobody knows whether it was cleared */
		gc_weak_set_value(a->s.f.thread, w->weak, value);
		w->value = value_reference;
	} else if (w->key) {
		gc_weak_destroy(a->s.f.thread, w->weak);
		*w = (struct shadow_weak){0};
	} else if (key_reference) {
		CHECK_EQ(gc_weak_create(a->s.f.thread, key, value, &w->weak), 0);
		w->key = key_reference;
		w->value = value_reference;
	}
}

static inline void act_hash(struct actions *a)
{
	void *actual;
	uint32_t reference = actions_walk(a, &actual);
	uint32_t hash = reference ? gc_identity_hash(a->s.f.thread, actual) : 0;
	struct shadow *object = reference ? shadow_at(&a->s, reference) : NULL;

	if (!object)
		return;
	CHECK(!object->hash || object->hash == hash);
	object->hash = hash;
}

static inline void act_sampler(struct actions *a)
{
	struct oracle *o = &a->oracle;
	uint32_t what = actions_byte(a);

	switch (what % 4) {
	case 0:
		gc_sampling_pause(a->s.f.heap);
		o->wanted = false;
		break;
	case 1:
		gc_sampling_resume(a->s.f.heap);
		o->wanted = true;
		break;
	default:
		gc_sampling_set_period(a->s.f.heap, 1 + what * 20);
		if (o->stride != GCPROF_STRIDE_EVERY)
			o->wanted_period = 1 + what * 20;
	}
}

#include "gc_actions_run.h"

#endif
