/* SPDX-License-Identifier: BSD-2-Clause */
/* terms.c: the index itself: a hash table of terms, their postings, the files. */
#include "indexer.h"

enum { FIRST_BUCKETS = 256, FIRST_FILES = 64, FIRST_POSTINGS = 2 };

struct index *index_new(struct indexer *indexer)
{
	struct gc_thread *thread = indexer->thread;
	struct vector *vector;
	struct index *index;
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = GC_NEW(thread, indexer->index, struct index);
	vector = vector_grow(indexer, NULL, FIRST_BUCKETS);
	gc_write(thread, frame.root.index, &frame.root.index->terms, vector);
	vector = vector_grow(indexer, NULL, FIRST_FILES);
	gc_write(thread, frame.root.index, &frame.root.index->files, vector);
	index = frame.root.index;
	GC_FRAME_END(thread, frame);
	return index;
}

static struct term **bucket_of(const struct vector *terms, uint64_t hash)
{
	return (struct term **)&terms->items[hash & (terms->length - 1)];
}

static struct term *find_hashed(const struct index *index, const char *word, size_t length,
				uint64_t hash)
{
	struct term *term = *bucket_of(index->terms, hash);
	while (term && (term->hash != hash || term->word->length != length ||
			memcmp(term->word->bytes, word, length)))
		term = term->next;
	return term;
}

struct term *index_find(const struct index *index, const char *word, size_t length)
{
	return find_hashed(index, word, length, string_hash(word, length));
}

/* Puts every term into the chain where it belongs in a table twice as big. */
NAMED_FUNCTION static void grow_table(struct indexer *indexer, struct index *index)
{
	struct gc_thread *thread = indexer->thread;
	struct vector *table;
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index;
	table = vector_grow(indexer, NULL, index->terms->length * 2);
	index = frame.root.index;
	for (uint64_t i = 0; i < index->terms->length; i++) {
		struct term *next;
		for (struct term *term = index->terms->items[i]; term; term = next) {
			struct term **bucket = bucket_of(table, term->hash);
			next = term->next;
			gc_write(thread, term, &term->next, *bucket);
			gc_write(thread, table, bucket, term);
		}
	}
	gc_write(thread, index, &index->terms, table);
	GC_FRAME_END(thread, frame);
}

/* A new term, in the table and in the tree. */
static struct term *add_term(struct indexer *indexer, struct index *index, struct string *word,
			     uint64_t hash)
{
	struct gc_thread *thread = indexer->thread;
	struct term **bucket;
	struct term *term;
	GC_FRAME(thread, frame, 0, struct index * index; struct string * word;);
	frame.root.index = index;
	frame.root.word = word;
	if (index->n_terms >= index->terms->length)
		grow_table(indexer, index);
	term = GC_NEW(thread, indexer->term, struct term);
	index = frame.root.index;
	term->hash = hash;
	gc_write(thread, term, &term->word, frame.root.word);
	bucket = bucket_of(index->terms, hash);
	gc_write(thread, term, &term->next, *bucket);
	gc_write(thread, index->terms, bucket, term);
	gc_write(thread, index, &index->tree, tree_insert(indexer, index->tree, term));
	index->n_terms++;
	GC_FRAME_END(thread, frame);
	return term;
}

/* A place for one more posting; returns the term, which may have moved. */
NAMED_FUNCTION static struct term *grow_postings(struct indexer *indexer, struct term *term)
{
	struct gc_thread *thread = indexer->thread;
	uint64_t capacity = term->postings ? term->postings->capacity * 2 : FIRST_POSTINGS;
	struct postings *postings;
	GC_FRAME(thread, frame, 0, struct term * term;);
	frame.root.term = term;
	postings = gc_alloc_array(thread, indexer->postings, capacity);
	term = frame.root.term;
	if (term->used)
		memcpy(postings->items, term->postings->items, term->used * sizeof(struct posting));
	gc_write(thread, term, &term->postings, postings);
	GC_FRAME_END(thread, frame);
	return term;
}

/* Files come in order, so if the term has a posting for this file, it is the last one. */
static void count_posting(struct indexer *indexer, struct index *index, struct term *term)
{
	uint32_t file = (uint32_t)(index->n_files - 1);
	term->total++;
	index->n_words++;
	if (term->used && term->postings->items[term->used - 1].file == file) {
		term->postings->items[term->used - 1].count++;
		return;
	}
	index->n_postings++;
	if (!term->postings || term->used == term->postings->capacity)
		term = grow_postings(indexer, term);
	term->postings->items[term->used].file = file;
	term->postings->items[term->used].count = 1;
	term->used++;
}

void index_add_word(struct indexer *indexer, struct index *index, struct string *word)
{
	struct gc_thread *thread = indexer->thread;
	uint64_t hash = string_hash(word->bytes, word->length);
	struct term *term = find_hashed(index, word->bytes, word->length, hash);
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index;
	if (!term)
		term = add_term(indexer, index, word, hash);
	count_posting(indexer, frame.root.index, term);
	GC_FRAME_END(thread, frame);
}

struct file *index_add_file(struct indexer *indexer, struct index *index, const char *path)
{
	struct gc_thread *thread = indexer->thread;
	struct file *file;
	GC_FRAME(thread, frame, 0, struct index * index; struct string * path;);
	frame.root.index = index;
	if (index->n_files == UINT32_MAX)
		die("more files than a posting can name");
	if (index->n_files == index->files->length) {
		struct vector *files = vector_grow(indexer, index->files, index->n_files * 2);
		index = frame.root.index;
		gc_write(thread, index, &index->files, files);
	}
	frame.root.path = string_new(indexer, path, strlen(path));
	file = GC_NEW(thread, indexer->file, struct file);
	index = frame.root.index;
	gc_write(thread, file, &file->path, frame.root.path);
	gc_write(thread, index->files, &index->files->items[index->n_files], file);
	index->n_files++;
	GC_FRAME_END(thread, frame);
	return file;
}
