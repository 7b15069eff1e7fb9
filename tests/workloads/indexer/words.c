/* SPDX-License-Identifier: BSD-2-Clause */
/* words.c: cuts files into words. */
/*
 * Every word becomes a string object before it is looked up, as it would in most
 * collected languages: the many that are in the index already die young.
 */
#include <unistd.h>

#include "indexer.h"

/* A word that may go on in the next buffer. */
struct word {
	size_t length;
	char bytes[MAX_WORD];
};

/* The lower-case letter or the digit, or 0 if the byte does not belong to a word. */
static char word_byte(unsigned char byte)
{
	if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_')
		return (char)byte;
	if (byte >= 'A' && byte <= 'Z')
		return (char)(byte - 'A' + 'a');
	return 0;
}

NAMED_FUNCTION static void end_word(struct indexer *indexer, struct index *index, struct word *word)
{
	struct gc_thread *thread = indexer->thread;
	struct string *string;
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index;
	if (word->length >= 2) {
		string = string_new(indexer, word->bytes, word->length);
		index_add_word(indexer, frame.root.index, string);
	}
	word->length = 0;
	GC_FRAME_END(thread, frame);
}

NAMED_FUNCTION static void scan_buffer(struct indexer *indexer, struct index *index,
				       struct word *word, const char *buffer, size_t size)
{
	struct gc_thread *thread = indexer->thread;
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index;
	for (size_t i = 0; i < size; i++) {
		char byte = word_byte((unsigned char)buffer[i]);
		if (!byte)
			end_word(indexer, frame.root.index, word);
		else if (word->length < MAX_WORD)
			word->bytes[word->length++] = byte;
	}
	GC_FRAME_END(thread, frame);
}

/* While the kernel works, a collection need not wait for this thread. -errno, or bytes. */
static ssize_t read_some(struct indexer *indexer, int fd, char *buffer)
{
	ssize_t size;
	gc_blocking_begin(indexer->thread);
	do
		size = read(fd, buffer, READ_SIZE);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		size = -errno;
	gc_blocking_end(indexer->thread);
	return size;
}

int words_of_file(struct indexer *indexer, struct index *index, int fd, const char *path)
{
	struct gc_thread *thread = indexer->thread;
	char buffer[READ_SIZE]; /* not an object: the kernel may write it at any time */
	struct word word = {0};
	ssize_t size = read_some(indexer, fd, buffer);
	uint64_t words = index->n_words;
	if (size < 0)
		return (int)size;
	if (memchr(buffer, 0, (size_t)size))
		return -ENOEXEC;
	GC_FRAME(thread, frame, 0, struct index * index; struct file * file;);
	frame.root.index = index;
	frame.root.file = index_add_file(indexer, index, path);
	for (; size > 0; size = read_some(indexer, fd, buffer)) {
		scan_buffer(indexer, frame.root.index, &word, buffer, (size_t)size);
		frame.root.index->n_bytes += (uint64_t)size;
		frame.root.file->bytes += (uint64_t)size;
	}
	end_word(indexer, frame.root.index, &word);
	frame.root.file->words = frame.root.index->n_words - words;
	GC_FRAME_END(thread, frame);
	return size < 0 ? (int)size : 0;
}
