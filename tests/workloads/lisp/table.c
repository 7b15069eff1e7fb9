/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c: hash tables on the heap, for programs and for the symbols. */
/*
 * Objects move, so an address is no hash: tables take only keys that can be
 * hashed by what they say: strings, symbols (by name) and integers.
 */
#include "lisp.h"

enum { FIRST_BUCKETS = 16 };

uint64_t hash_bytes(const char *bytes, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

static uint64_t hash_key(struct lisp *lisp, const struct object *key)
{
	if (is_type(lisp, key, TYPE_INTEGER)) {
		uint64_t value = (uint64_t)((const struct integer *)key)->value;
		value *= UINT64_C(0x9e3779b97f4a7c15);
		return value ^ value >> 32;
	}
	if (is_type(lisp, key, TYPE_SYMBOL))
		key = (const struct object *)((const struct symbol *)key)->name;
	if (is_type(lisp, key, TYPE_STRING)) {
		const struct string *string = (const struct string *)key;
		return hash_bytes(string->bytes, string->length);
	}
	lisp_error(lisp, "a key is a string, a symbol or an integer");
}

static int same_text(const struct string *string, const char *text, size_t length)
{
	return string->length == length && !memcmp(string->bytes, text, length);
}

static int same_key(struct lisp *lisp, const struct object *left, const struct object *right)
{
	if (left == right)
		return 1;
	if (left->header.type != right->header.type)
		return 0;
	if (is_type(lisp, left, TYPE_INTEGER))
		return ((const struct integer *)left)->value ==
		       ((const struct integer *)right)->value;
	if (is_type(lisp, left, TYPE_STRING)) {
		const struct string *string = (const struct string *)right;
		return same_text((const struct string *)left, string->bytes, string->length);
	}
	return 0; /* symbols are unique */
}

static struct object **bucket_of(struct vector *buckets, uint64_t hash)
{
	return &buckets->items[hash & (buckets->length - 1)];
}

struct table *make_table(struct lisp *lisp)
{
	struct gc_thread *thread = lisp->thread;
	struct vector *buckets;
	struct table *table;
	GC_FRAME(thread, frame, 0, struct table * table;);
	frame.root.table = GC_NEW(thread, lisp->types[TYPE_TABLE], struct table);
	buckets = gc_alloc_array(thread, lisp->types[TYPE_VECTOR], FIRST_BUCKETS);
	table = frame.root.table;
	gc_write(thread, table, &table->buckets, buckets);
	GC_FRAME_END(thread, frame);
	return table;
}

struct entry *table_find(struct lisp *lisp, const struct table *table, const struct object *key)
{
	uint64_t hash = hash_key(lisp, key);
	struct entry *entry = (struct entry *)*bucket_of(table->buckets, hash);
	while (entry && (entry->hash != hash || !same_key(lisp, entry->key, key)))
		entry = entry->next;
	return entry;
}

struct entry *table_find_text(struct lisp *lisp, const struct table *table, const char *text,
			      size_t length)
{
	uint64_t hash = hash_bytes(text, length);
	struct entry *entry = (struct entry *)*bucket_of(table->buckets, hash);
	while (entry && (entry->hash != hash || !is_type(lisp, entry->key, TYPE_STRING) ||
			 !same_text((const struct string *)entry->key, text, length)))
		entry = entry->next;
	return entry;
}

static void link_entry(struct gc_thread *thread, struct vector *buckets, struct entry *entry)
{
	struct object **bucket = bucket_of(buckets, entry->hash);
	gc_write(thread, entry, &entry->next, *bucket);
	gc_write(thread, buckets, bucket, entry);
}

/* Moves every entry into twice as many buckets. */
NAMED_FUNCTION static void table_grow(struct lisp *lisp, struct table *table)
{
	struct gc_thread *thread = lisp->thread;
	struct vector *buckets;
	GC_FRAME(thread, frame, 0, struct table * table;);
	frame.root.table = table;
	buckets = gc_alloc_array(thread, lisp->types[TYPE_VECTOR], table->buckets->length * 2);
	table = frame.root.table;
	for (uint64_t i = 0; i < table->buckets->length; i++) {
		struct entry *next;
		struct entry *entry = (struct entry *)table->buckets->items[i];
		for (; entry; entry = next) {
			next = entry->next;
			link_entry(thread, buckets, entry);
		}
	}
	gc_write(thread, table, &table->buckets, buckets);
	GC_FRAME_END(thread, frame);
}

static void table_add(struct lisp *lisp, struct table *table, struct object *key,
		      struct object *value)
{
	struct gc_thread *thread = lisp->thread;
	struct entry *entry;
	GC_FRAME(thread, frame, 0, struct table * table; struct object * key;
		 struct object * value;);
	frame.root.table = table;
	frame.root.key = key;
	frame.root.value = value;
	if (table->count >= table->buckets->length)
		table_grow(lisp, table);
	entry = GC_NEW(thread, lisp->types[TYPE_ENTRY], struct entry);
	entry->hash = hash_key(lisp, frame.root.key);
	gc_write(thread, entry, &entry->key, frame.root.key);
	gc_write(thread, entry, &entry->value, frame.root.value);
	table = frame.root.table;
	link_entry(thread, table->buckets, entry);
	table->count++;
	GC_FRAME_END(thread, frame);
}

void table_set(struct lisp *lisp, struct table *table, struct object *key, struct object *value)
{
	struct entry *entry = table_find(lisp, table, key);
	if (entry)
		gc_write(lisp->thread, entry, &entry->value, value);
	else
		table_add(lisp, table, key, value);
}
