/* SPDX-License-Identifier: BSD-2-Clause */
/* rows.c: answers READ_ROWS: the unwind rows of a file. */
/* Wire format: a head, then pages, rows and rules in their in-memory layout. */
#include "reader.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

struct head {
	uint64_t base;
	uint64_t n_pages, n_rows, n_rules, n_segments;
	uint64_t functions, refused;
	struct unwind_segment segments[UNWIND_SEGMENTS_MAX];
	struct hotspot_layout hotspot;
};

void rows_put(const struct unwind_file *file, const struct hotspot_layout *hotspot)
{
	struct head head = {
		.base = file->base,
		.n_pages = file->n_pages,
		.n_rows = file->n_rows,
		.n_rules = file->n_rules,
		.n_segments = file->n_segments,
		.functions = file->functions,
		.refused = file->refused,
		.hotspot = *hotspot,
	};

	memcpy(head.segments, file->segments, sizeof(head.segments));
	wire_put(&head, sizeof(head));
	wire_put(file->pages, file->n_pages * sizeof(*file->pages));
	wire_put(file->rows, file->n_rows * sizeof(*file->rows));
	wire_put(file->rules, file->n_rules * sizeof(*file->rules));
}

/* Copies an array from *at, and advances *at. */
static void *rows_copy(const char **at, size_t count, size_t size)
{
	void *array = calloc(count ? count : 1, size);

	if (array)
		memcpy(array, *at, count * size);
	*at += count * size;
	return array;
}

/* The rows of each page must follow those of the previous page, and each row must have a rule. */
static bool is_consistent(struct unwind_file *file)
{
	size_t at = 0;

	for (size_t i = 0; i < file->n_pages; i++) {
		file->starts[i] = (uint32_t)at;
		at += file->pages[i].count;
	}
	for (size_t i = 0; i < file->n_rows; i++)
		if (file->rows[i] >> 16 >= file->n_rules)
			return false;
	return at == file->n_rows;
}

int rows_take(const void *data, size_t size, struct unwind_file **out,
	      struct hotspot_layout *hotspot)
{
	const char *at = (const char *)data + sizeof(struct head);
	struct unwind_file *file;
	struct head head;
	int err = -ENOMEM;

	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.n_pages > UNWIND_FILE_PAGES_MAX || head.n_rows > UNWIND_FILE_ROWS_MAX ||
	    !head.n_rules || head.n_rules > UNWIND_RULES_MAX ||
	    head.n_segments > UNWIND_SEGMENTS_MAX ||
	    size != sizeof(head) + head.n_pages * sizeof(struct unwind_page) +
			    head.n_rows * sizeof(unwind_row) +
			    head.n_rules * sizeof(struct unwind_rule))
		return -EBADMSG;
	file = calloc(1, sizeof(*file));
	if (!file)
		return err;
	*file = (struct unwind_file){.base = head.base,
				     .n_pages = head.n_pages,
				     .n_rows = head.n_rows,
				     .n_rules = head.n_rules,
				     .n_segments = head.n_segments,
				     .functions = head.functions,
				     .refused = head.refused};
	memcpy(file->segments, head.segments, sizeof(head.segments));
	file->pages = rows_copy(&at, file->n_pages, sizeof(*file->pages));
	file->rows = rows_copy(&at, file->n_rows, sizeof(*file->rows));
	file->rules = rows_copy(&at, file->n_rules, sizeof(*file->rules));
	file->starts = calloc(file->n_pages + 1, sizeof(*file->starts));
	if (file->pages && file->rows && file->rules && file->starts)
		err = is_consistent(file) ? 0 : -EBADMSG;
	if (err) {
		unwind_free(file);
		return err;
	}
	*out = file;
	*hotspot = head.hotspot;
	return 0;
}
