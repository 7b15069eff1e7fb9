/* SPDX-License-Identifier: BSD-2-Clause */
/* indexer.h: the objects of an inverted index, and what the files of `indexer` share. */
/*
 *	index -> terms (hash table, chained) -> term -> postings
 *	     \-> tree  (the same terms, in order)
 *	      \-> files (vector) -> file -> path
 *
 * Everything lies on the collected heap. Functions that may allocate take the
 * thread, and root in a frame what they still need afterwards; a caller must
 * take every reference of its own from its frame again after such a call.
 */
#ifndef GCPROF_INDEXER_H
#define GCPROF_INDEXER_H

#include "gc.h"
#include "../workload.h"

enum {
	MAX_WORD = 64,  /* longer words are cut */
	MAX_DEPTH = 64, /* nested directories */
	MAX_QUERIES = 64,
	READ_SIZE = 4096,
	WRITE_SIZE = 4096,
};

struct string {
	struct gc_header header;
	uint64_t length;
	char bytes[];
};

/* How often a word is in a file. */
struct posting {
	uint32_t file;
	uint32_t count;
};

struct postings {
	struct gc_header header;
	uint64_t capacity;
	struct posting items[];
};

/* A word, in a chain of the hash table and in the tree at the same time. */
struct term {
	struct gc_header header;
	struct string *word;
	struct postings *postings;
	struct term *next;  /* in its hash chain */
	struct term *left;  /* smaller words */
	struct term *right; /* greater words */
	uint64_t hash;
	uint64_t used;  /* postings in use */
	uint64_t total; /* occurrences */
};

struct file {
	struct gc_header header;
	struct string *path;
	uint64_t bytes;
	uint64_t words;
};

/* References to anything: the buckets of the hash table, the vector of files. */
struct vector {
	struct gc_header header;
	uint64_t length;
	void *items[];
};

struct index {
	struct gc_header header;
	struct vector *terms; /* hash table; its length is a power of two */
	struct vector *files; /* the first n_files are in use */
	struct term *tree;
	uint64_t n_terms;
	uint64_t n_files;
	uint64_t n_postings;
	uint64_t n_words; /* occurrences of any term */
	uint64_t n_bytes;
};

/* The heap and the thread; not an object. */
struct indexer {
	struct gc_heap *heap;
	struct gc_thread *thread;
	gc_type string;
	gc_type postings;
	gc_type term;
	gc_type file;
	gc_type vector;
	gc_type index;
	uint64_t max_files; /* 0: no limit */
	uint64_t skipped;   /* files and directories that could not be read */
	uint64_t binary;    /* files that are not text */
};

/* objects.c */
void indexer_open(struct indexer *indexer);
void indexer_close(struct indexer *indexer);
struct string *string_new(struct indexer *indexer, const char *bytes, size_t length);
int string_compare(const struct string *left, const struct string *right);
uint64_t string_hash(const char *bytes, size_t length);
/* A vector of `length` that begins with the items of `old`; `old` may be NULL. */
struct vector *vector_grow(struct indexer *indexer, struct vector *old, uint64_t length);

/* terms.c */
struct index *index_new(struct indexer *indexer);
/* NULL if the word is not in the index. Does not allocate. */
struct term *index_find(const struct index *index, const char *word, size_t length);
/* Counts one occurrence of `word` in the file that was added last. */
void index_add_word(struct indexer *indexer, struct index *index, struct string *word);
/* Adds a file; returns it. */
struct file *index_add_file(struct indexer *indexer, struct index *index, const char *path);

/* tree.c: a treap whose priorities are the terms' hashes, so its shape is that of the words. */
/* Returns the new root; `term` is not in the tree yet. */
struct term *tree_insert(struct indexer *indexer, struct term *root, struct term *term);

/* words.c: reads a file and puts its words into the index. */
/* `fd` stays open. 0, or -errno if it could not be read to its end; -ENOEXEC: not text. */
int words_of_file(struct indexer *indexer, struct index *index, int fd, const char *path);

/* walk.c: indexes the regular files at and below `path`. -errno if `path` itself is no use. */
int walk(struct indexer *indexer, struct index *index, const char *path);

/* output.c: writes the index as text; *bytes is how much that was. -errno if a write failed. */
int output_write(const struct index *index, int fd, uint64_t *bytes);

#endif
