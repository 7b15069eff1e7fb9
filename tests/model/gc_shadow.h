/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_shadow.h: a graph of objects kept outside the heap, to compare the heap with. */
#ifndef GCPROF_GC_SHADOW_H
#define GCPROF_GC_SHADOW_H

#include "gc_test.h"

enum { SHADOWS = 200, ROOTS = 12, ITEMS = 8, WEAKS = 12, PINS = 6 };
enum shadow_kind { SHADOW_NODE, SHADOW_BLOCK, SHADOW_BLOB };

/* References and content of any length; both know who they are. */
struct block {
	struct gc_header header;
	uint64_t id;
	uint64_t length;
	void *items[];
};

struct shadow {
	bool used;
	enum shadow_kind kind;
	uint64_t id;
	uint64_t length;
	uint32_t items[ITEMS]; /* which shadow, from 1; 0: NULL */
	uint32_t hash;         /* once asked for */
	bool light, ordered;   /* finalizers that were not called yet */
	bool reached;          /* in the walk under way */
	void *actual;          /* in the walk under way */
};

struct shadow_weak {
	struct gc_weak *weak;
	uint32_t key, value;
};

struct shadow_pin {
	uint32_t object;
	void *at;
};

struct shadow_heap {
	struct fixture f;
	gc_type block, blob;
	struct shadow objects[SHADOWS];
	uint32_t roots[ROOTS];
	void **slots; /* of the frame that has the roots */
	struct shadow_weak weaks[WEAKS];
	struct shadow_pin pins[PINS];
	uint64_t last_id;
};

static inline struct shadow *shadow_at(struct shadow_heap *s, uint32_t reference)
{
	return &s->objects[reference - 1];
}

static inline uint32_t shadow_items(const struct shadow *object)
{
	if (object->kind == SHADOW_BLOB)
		return 0;
	return object->length < ITEMS ? (uint32_t)object->length : ITEMS;
}

/* Of a long block only a few items are used, far apart. */
static inline void **shadow_slot(const struct shadow *object, void *actual, uint32_t item)
{
	struct node *node = actual;
	struct block *block = actual;

	if (object->kind == SHADOW_NODE)
		return (void **)(item ? &node->right : &node->left);
	return &block->items[object->length < ITEMS ? item : object->length * item / ITEMS];
}

static inline size_t shadow_bytes(const struct shadow *object)
{
	if (object->kind == SHADOW_NODE)
		return sizeof(struct node);
	return GC_ALIGN(sizeof(struct block) +
			object->length * (object->kind == SHADOW_BLOCK ? sizeof(void *) : 1));
}

static inline void shadow_push(struct shadow_heap *s, uint32_t reference, uint32_t *queue,
			       uint32_t *end)
{
	if (!reference || shadow_at(s, reference)->reached)
		return;
	shadow_at(s, reference)->reached = true;
	queue[(*end)++] = reference;
}

static inline void shadow_follow(struct shadow_heap *s, uint32_t *queue, uint32_t at, uint32_t *end)
{
	for (; at < *end; at++)
		for (uint32_t i = 0; i < ITEMS; i++)
			shadow_push(s, shadow_at(s, queue[at])->items[i], queue, end);
}

/*
 * Sets `reached` by the shadows alone; with `ordered` also from objects to be
 * finalized. What only those reach is no key of an ephemeron: it is cleared.
 */
static inline void shadow_reach(struct shadow_heap *s, bool ordered)
{
	uint32_t queue[SHADOWS], at = 0, end = 0;

	for (uint32_t i = 0; i < SHADOWS; i++)
		s->objects[i].reached = false;
	for (uint32_t i = 0; i < ROOTS; i++)
		shadow_push(s, s->roots[i], queue, &end);
	for (uint32_t i = 0; i < PINS; i++)
		shadow_push(s, s->pins[i].object, queue, &end);
	while (at < end) {
		shadow_follow(s, queue, at, &end);
		at = end;
		for (uint32_t i = 0; i < WEAKS; i++)
			if (s->weaks[i].key && shadow_at(s, s->weaks[i].key)->reached)
				shadow_push(s, s->weaks[i].value, queue, &end);
	}
	for (uint32_t i = 0; ordered && i < SHADOWS; i++)
		if (s->objects[i].used && s->objects[i].ordered)
			shadow_push(s, i + 1, queue, &end);
	shadow_follow(s, queue, at, &end);
}

static inline bool shadow_any_to_finalize(struct shadow_heap *s)
{
	shadow_reach(s, false);
	for (uint32_t i = 0; i < SHADOWS; i++)
		if (s->objects[i].used && s->objects[i].ordered && !s->objects[i].reached)
			return true;
	return false;
}

static inline void shadow_compare_content(struct shadow_heap *s, const struct shadow *object)
{
	const struct node *node = object->actual;
	const struct block *block = object->actual;
	const unsigned char *bytes = (const unsigned char *)(block + 1);

	if (object->kind == SHADOW_NODE) {
		CHECK_EQ(node->header.type, s->f.node);
		CHECK_EQ(node->value, object->id);
	} else {
		CHECK_EQ(block->header.type, object->kind == SHADOW_BLOCK ? s->block : s->blob);
		CHECK_EQ(block->id, object->id);
		CHECK_EQ(block->length, object->length);
	}
	if (object->kind == SHADOW_BLOB && object->length)
		CHECK(bytes[0] == (unsigned char)object->id &&
		      bytes[object->length - 1] == (unsigned char)object->id);
	if (object->hash)
		CHECK_EQ(gc_identity_hash(s->f.thread, object->actual), object->hash);
}

/* A reference that was found in the heap, and what it should be. */
static inline void shadow_found(struct shadow_heap *s, uint32_t reference, void *actual,
				uint32_t *queue, uint32_t *end)
{
	struct shadow *object;

	CHECK(!reference == !actual);
	if (!reference)
		return;
	object = shadow_at(s, reference);
	CHECK(object->used);
	if (object->reached) {
		CHECK(object->actual == actual);
		return;
	}
	object->reached = true;
	object->actual = actual;
	queue[(*end)++] = reference;
}

static inline void shadow_found_weak(struct shadow_heap *s, uint32_t *queue, uint32_t *end)
{
	for (uint32_t i = 0; i < WEAKS; i++) {
		const struct shadow_weak *w = &s->weaks[i];

		if (!w->key || !shadow_at(s, w->key)->reached)
			continue;
		CHECK(gc_weak_get(w->weak) == shadow_at(s, w->key)->actual);
		shadow_found(s, w->value, gc_weak_value(w->weak), queue, end);
	}
}

/* Walks both graphs together: all that the shadows say is there, is, and as they say.
 * Returns the bytes of what is reachable. */
static inline uint64_t shadow_compare(struct shadow_heap *s)
{
	uint32_t queue[SHADOWS], at = 0, end = 0, before;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < SHADOWS; i++)
		s->objects[i].reached = false;
	for (uint32_t i = 0; i < ROOTS; i++)
		shadow_found(s, s->roots[i], s->slots[i], queue, &end);
	for (uint32_t i = 0; i < PINS; i++)
		shadow_found(s, s->pins[i].object, s->pins[i].at, queue, &end);
	do {
		before = end;
		for (; at < end; at++) {
			struct shadow *object = shadow_at(s, queue[at]);

			shadow_compare_content(s, object);
			bytes += shadow_bytes(object);
			for (uint32_t i = 0; i < shadow_items(object); i++)
				shadow_found(s, object->items[i],
					     *shadow_slot(object, object->actual, i), queue, &end);
		}
		shadow_found_weak(s, queue, &end);
	} while (end > before);
	return bytes;
}

/* Those of keys that were not reached may still be there until the next major collection, or
 * not: there is nothing to say about them. */
static inline void shadow_forget_weak(struct shadow_heap *s)
{
	for (uint32_t i = 0; i < WEAKS; i++) {
		struct shadow_weak *w = &s->weaks[i];

		if (!w->key || shadow_at(s, w->key)->reached)
			continue;
		gc_weak_destroy(s->f.thread, w->weak);
		*w = (struct shadow_weak){0};
	}
}

/* A shadow for a new object, 0 if all are needed. What is dead is forgotten. */
static inline uint32_t shadow_new(struct shadow_heap *s)
{
	shadow_reach(s, true);
	shadow_forget_weak(s);
	for (uint32_t i = 0; i < SHADOWS; i++) {
		struct shadow *object = &s->objects[i];

		if (object->used && (object->reached || object->light))
			continue;
		*object = (struct shadow){.used = true, .id = ++s->last_id};
		return i + 1;
	}
	return 0;
}

#endif
