/* SPDX-License-Identifier: BSD-2-Clause */
/* image.h: stored stacks: the memory and the rows that a walk needs, and the frames it must find.
 */
/*
 * A file is zstd over lines of text, numbers in base 16:
 *
 *	about TEXT                          what it is a stack of
 *	registers IP SP BP BX ANCHOR        of the thread; ANCHOR 0: no managed frames
 *	memory ADDRESS BYTES                one line for each stretch of a stack
 *	rule NUMBER CFA RA BP BX CFAOFFSET CFAADD RAOFFSET BPOFFSET BXOFFSET
 *	mapping START END BASE COUNT        code, by address; COUNT pages of 64 KiB
 *	page MAPPING PAGE ROW ...           the rows of a page that lie around what is walked
 *	native IP                           expected, innermost first
 *	managed CODE PC ADDRESS             expected, innermost first
 *
 * The expected frames are not those of the walkers here: see take.c.
 */
#ifndef GCPROF_UNWIND_IMAGE_H
#define GCPROF_UNWIND_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../../bpf/events.h"
#include "../../bpf/unwind_rows.h"

#define IMAGE_BYTES_MAX (4u << 20) /* of text */
#define IMAGE_STRETCHES 8
#define IMAGE_RULES     1024
#define IMAGE_PAGES     16384

struct image_stretch {
	uint64_t address, size;
	uint8_t *bytes;
};

struct image {
	char about[128];
	uint64_t ip, sp, bp, bx, anchor;
	struct image_stretch stretches[IMAGE_STRETCHES];
	unsigned n_stretches;
	/* As in the maps of the kernel. */
	struct unwind_table table;
	struct unwind_page pages[IMAGE_PAGES];
	uint32_t n_pages;
	unwind_row rows[UNWIND_CHUNK_ROWS];
	uint32_t n_rows;
	struct unwind_rule rules[IMAGE_RULES];
	/* Expected. */
	uint64_t native[STACK_DEPTH_MAX];
	unsigned n_native;
	struct event_managed managed[MANAGED_DEPTH_MAX];
	unsigned n_managed;
};

static inline void image_free(struct image *image)
{
	for (unsigned i = 0; image && i < image->n_stretches; i++)
		free(image->stretches[i].bytes);
	free(image);
}

/* The next number of a line; *line moves behind it. False at the end, or for what is no number. */
static inline bool image_number(char **line, uint64_t *out)
{
	char *end;

	*out = strtoull(*line, &end, 16);
	if (end == *line || (*end && *end != ' '))
		return false;
	*line = end;
	return true;
}

static inline bool image_numbers(char **line, uint64_t *out, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (!image_number(line, &out[i]))
			return false;
	return true;
}

static inline bool image_read_memory(struct image *image, char *line)
{
	struct image_stretch *stretch = &image->stretches[image->n_stretches];
	uint64_t size;

	if (image->n_stretches == IMAGE_STRETCHES || !image_number(&line, &stretch->address))
		return false;
	line += *line == ' ';
	size = strlen(line) / 2;
	stretch->bytes = malloc(size + 1);
	if (!stretch->bytes)
		return false;
	image->n_stretches++;
	for (; stretch->size < size; stretch->size++, line += 2) {
		unsigned byte;

		if (sscanf(line, "%2x", &byte) != 1)
			return false;
		stretch->bytes[stretch->size] = (uint8_t)byte;
	}
	return true;
}

static inline bool image_read_rule(struct image *image, char *line)
{
	uint64_t n[10];

	if (!image_numbers(&line, n, 10) || n[0] >= IMAGE_RULES)
		return false;
	image->rules[n[0]] = (struct unwind_rule){
		.cfa = (uint8_t)n[1],
		.ra = (uint8_t)n[2],
		.bp = (uint8_t)n[3],
		.bx = (uint8_t)n[4],
		.cfa_offset = (int32_t)n[5],
		.cfa_add = (int16_t)n[6],
		.ra_offset = (int16_t)n[7],
		.bp_offset = (int16_t)n[8],
		.bx_offset = (int16_t)n[9],
	};
	return true;
}

static inline bool image_read_mapping(struct image *image, char *line)
{
	uint64_t n[4];

	if (!image_numbers(&line, n, 4) || image->table.count == UNWIND_MAPPINGS ||
	    n[3] > IMAGE_PAGES - image->n_pages)
		return false;
	image->table.mappings[image->table.count++] =
		(struct unwind_mapping){n[0], n[1], n[2], image->n_pages, (uint32_t)n[3]};
	image->n_pages += (uint32_t)n[3];
	return true;
}

static inline bool image_read_page(struct image *image, char *line)
{
	struct unwind_page *page;
	uint64_t n[2], row;

	if (!image_numbers(&line, n, 2) || n[0] >= image->table.count ||
	    n[1] >= image->table.mappings[n[0]].count)
		return false;
	page = &image->pages[image->table.mappings[n[0]].first + n[1]];
	page->first = (uint16_t)image->n_rows;
	while (image_number(&line, &row)) {
		if (image->n_rows == UNWIND_CHUNK_ROWS || row >> 16 >= IMAGE_RULES)
			return false;
		image->rows[image->n_rows++] = (unwind_row)row;
		page->count++;
	}
	return page->count;
}

static inline bool image_read_managed(struct image *image, char *line)
{
	uint64_t n[3];

	if (image->n_managed == MANAGED_DEPTH_MAX || !image_numbers(&line, n, 3))
		return false;
	image->managed[image->n_managed++] = (struct event_managed){
		.code = (uint32_t)n[0], .pc = (uint32_t)n[1], .address = n[2]};
	return true;
}

static inline bool image_read_native(struct image *image, char *line)
{
	return image->n_native < STACK_DEPTH_MAX &&
	       image_number(&line, &image->native[image->n_native++]);
}

static inline bool image_read_registers(struct image *image, char *line)
{
	uint64_t n[5];

	if (!image_numbers(&line, n, 5))
		return false;
	image->ip = n[0];
	image->sp = n[1];
	image->bp = n[2];
	image->bx = n[3];
	image->anchor = n[4];
	return true;
}

static inline bool image_read_about(struct image *image, char *line)
{
	snprintf(image->about, sizeof(image->about), "%s", line + (*line == ' '));
	return true;
}

static inline bool image_read_line(struct image *image, char *line)
{
	static const struct {
		const char *word;
		bool (*read)(struct image *image, char *line);
	} kinds[] = {
		{"about", image_read_about},     {"registers", image_read_registers},
		{"memory", image_read_memory},   {"rule", image_read_rule},
		{"mapping", image_read_mapping}, {"page", image_read_page},
		{"native", image_read_native},   {"managed", image_read_managed},
	};
	size_t length = strcspn(line, " ");

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].word) == length && !memcmp(line, kinds[i].word, length))
			return kinds[i].read(image, line + length);
	return false;
}

/* The image that a text says, which is cut up; NULL if a line makes no sense. */
static inline struct image *image_parse(char *text)
{
	struct image *image = calloc(1, sizeof(*image));
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); image && line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (image_read_line(image, line))
			continue;
		fprintf(stderr, "no line of an image: %.60s\n", line);
		image_free(image);
		return NULL;
	}
	return image;
}

/* NULL, with a message, if the file cannot be read or is none. */
static inline struct image *image_load(const char *path)
{
	char *packed = malloc(IMAGE_BYTES_MAX), *text = malloc(IMAGE_BYTES_MAX + 1);
	struct image *image = NULL;
	FILE *file = fopen(path, "r");
	size_t size;

	if (!packed || !text || !file) {
		perror(path);
		goto out;
	}
	size = fread(packed, 1, IMAGE_BYTES_MAX, file);
	size = ZSTD_decompress(text, IMAGE_BYTES_MAX, packed, size);
	if (ZSTD_isError(size)) {
		fprintf(stderr, "%s: %s\n", path, ZSTD_getErrorName(size));
		goto out;
	}
	text[size] = 0; /* it leaves scratch behind what it says */
	image = image_parse(text);
out:
	if (file)
		fclose(file);
	free(packed);
	free(text);
	return image;
}

#endif
