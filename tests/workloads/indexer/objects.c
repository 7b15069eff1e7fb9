/* SPDX-License-Identifier: BSD-2-Clause */
/* objects.c: the types of the index, strings and vectors. */
#include "indexer.h"

static void register_type(struct indexer *indexer, const struct gc_type_desc *desc, gc_type *out)
{
	if (gc_type_register(indexer->heap, desc, out))
		die("cannot register the type %s: %s", desc->name, gc_error());
}

static void register_arrays(struct indexer *indexer)
{
	static const uint32_t item_is_reference[] = {0};
	const struct gc_type_desc string = {
		.name = "string",
		.size = sizeof(struct string),
		.item_size = 1,
		.length_offset = offsetof(struct string, length),
	};
	const struct gc_type_desc postings = {
		.name = "postings",
		.size = sizeof(struct postings),
		.item_size = sizeof(struct posting),
		.length_offset = offsetof(struct postings, capacity),
	};
	const struct gc_type_desc vector = {
		.name = "vector",
		.size = sizeof(struct vector),
		.item_size = sizeof(void *),
		.length_offset = offsetof(struct vector, length),
		.item_pointers = item_is_reference,
		.n_item_pointers = 1,
	};
	register_type(indexer, &string, &indexer->string);
	register_type(indexer, &postings, &indexer->postings);
	register_type(indexer, &vector, &indexer->vector);
}

static void register_structs(struct indexer *indexer)
{
	static const uint32_t term_pointers[] = {
		offsetof(struct term, word),  offsetof(struct term, postings),
		offsetof(struct term, next),  offsetof(struct term, left),
		offsetof(struct term, right),
	};
	static const uint32_t file_pointers[] = {offsetof(struct file, path)};
	static const uint32_t index_pointers[] = {
		offsetof(struct index, terms),
		offsetof(struct index, files),
		offsetof(struct index, tree),
	};
	const struct gc_type_desc term = {
		.name = "term",
		.size = sizeof(struct term),
		.pointers = term_pointers,
		.n_pointers = 5,
	};
	const struct gc_type_desc file = {
		.name = "file",
		.size = sizeof(struct file),
		.pointers = file_pointers,
		.n_pointers = 1,
	};
	const struct gc_type_desc index = {
		.name = "index",
		.size = sizeof(struct index),
		.pointers = index_pointers,
		.n_pointers = 3,
	};
	register_type(indexer, &term, &indexer->term);
	register_type(indexer, &file, &indexer->file);
	register_type(indexer, &index, &indexer->index);
}

void indexer_open(struct indexer *indexer)
{
	if (gc_heap_create(NULL, &indexer->heap) ||
	    gc_thread_attach(indexer->heap, &indexer->thread))
		die("cannot set up a heap: %s", gc_error());
	register_arrays(indexer);
	register_structs(indexer);
}

void indexer_close(struct indexer *indexer)
{
	gc_thread_detach(indexer->thread);
	gc_heap_destroy(indexer->heap);
}

struct string *string_new(struct indexer *indexer, const char *bytes, size_t length)
{
	struct string *string = gc_alloc_array(indexer->thread, indexer->string, length);
	memcpy(string->bytes, bytes, length);
	return string;
}

int string_compare(const struct string *left, const struct string *right)
{
	uint64_t shorter = left->length < right->length ? left->length : right->length;
	int order = memcmp(left->bytes, right->bytes, shorter);
	if (order)
		return order;
	return (left->length > right->length) - (left->length < right->length);
}

/* FNV-1a, and a mixing step because the tree compares hashes as if they were random. */
uint64_t string_hash(const char *bytes, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

struct vector *vector_grow(struct indexer *indexer, struct vector *old, uint64_t length)
{
	struct gc_thread *thread = indexer->thread;
	struct vector *vector;
	GC_FRAME(thread, frame, 0, struct vector * old;);
	frame.root.old = old;
	vector = gc_alloc_array(thread, indexer->vector, length);
	old = frame.root.old;
	for (uint64_t i = 0; old && i < old->length && i < length; i++)
		gc_write(thread, vector, &vector->items[i], old->items[i]);
	GC_FRAME_END(thread, frame);
	return vector;
}
