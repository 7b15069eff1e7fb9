/* SPDX-License-Identifier: BSD-2-Clause */
/* output.c: writes the index as text: the files, then the terms in order. */
/*
 *	# files
 *	0 /usr/include/stdio.h
 *	# terms
 *	fopen 0:12 7:1
 */
#include <unistd.h>

#include "indexer.h"

struct output {
	int fd;
	int error; /* the first one, negative; nothing is written after it */
	uint64_t bytes;
	size_t used;
	char buffer[WRITE_SIZE];
};

/* Not a blocking region: callers hold plain pointers to objects, which would go stale in one. */
NAMED_FUNCTION static void output_flush(struct output *out)
{
	size_t done = 0;
	while (done < out->used && !out->error) {
		ssize_t size = write(out->fd, out->buffer + done, out->used - done);
		if (size >= 0)
			done += (size_t)size;
		else if (errno != EINTR)
			out->error = -errno;
	}
	out->bytes += done;
	out->used = 0;
}

static void output_bytes(struct output *out, const char *bytes, size_t length)
{
	while (length) {
		size_t room = sizeof(out->buffer) - out->used;
		size_t part = length < room ? length : room;
		memcpy(out->buffer + out->used, bytes, part);
		out->used += part;
		bytes += part;
		length -= part;
		if (out->used == sizeof(out->buffer))
			output_flush(out);
	}
}

static void output_text(struct output *out, const char *text)
{
	output_bytes(out, text, strlen(text));
}

static void output_number(struct output *out, const char *format, uint64_t number)
{
	char text[32];
	snprintf(text, sizeof(text), format, (unsigned long long)number);
	output_text(out, text);
}

static void output_term(struct output *out, const struct term *term)
{
	output_bytes(out, term->word->bytes, term->word->length);
	for (uint64_t i = 0; i < term->used; i++) {
		output_number(out, " %llu", term->postings->items[i].file);
		output_number(out, ":%llu", term->postings->items[i].count);
	}
	output_text(out, "\n");
}

/* Recurses as deep as the tree is high. Nothing here allocates, so it needs no frame. */
NAMED_FUNCTION static void output_tree(struct output *out, const struct term *term)
{
	if (!term)
		return;
	output_tree(out, term->left);
	output_term(out, term);
	output_tree(out, term->right);
}

int output_write(const struct index *index, int fd, uint64_t *bytes)
{
	struct output out = {.fd = fd};
	output_text(&out, "# files\n");
	for (uint64_t i = 0; i < index->n_files; i++) {
		const struct file *file = index->files->items[i];
		output_number(&out, "%llu ", i);
		output_bytes(&out, file->path->bytes, file->path->length);
		output_text(&out, "\n");
	}
	output_text(&out, "# terms\n");
	output_tree(&out, index->tree);
	output_flush(&out);
	*bytes = out.bytes;
	return out.error;
}
