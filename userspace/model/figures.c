/* SPDX-License-Identifier: BSD-2-Clause */
/* figures.c: what is known of each figure in the tables of a model, from rows.def. */
#include "figures.h"

#include <stdio.h>
#include <string.h>

#include "../../bpf/events.h"

_Static_assert(NEEDS_ALLOC == 1 << STREAM_ALLOC && NEEDS_GC == 1 << STREAM_GC &&
		       NEEDS_CPU == 1 << STREAM_CPU && NEEDS_SYSCALL == 1 << STREAM_SYSCALL &&
		       NEEDS_SCHED == 1 << STREAM_SCHED && NEEDS_FAULT == 1 << STREAM_FAULT,
	       "a bit a stream");

#define KNOWN_ALWAYS          FIGURE_ALWAYS
#define KNOWN_NONZERO         FIGURE_NONZERO
#define KNOWN_IF(row, member) offsetof(struct model_##row, member)
#define HEADING_HEAD(top, title, drop)     \
	{                                  \
		top, title, drop, 0, false \
	}
#define HEADING_TEXT_HEAD(title, drop, width)  \
	{                                      \
		NULL, title, drop, width, true \
	}
#define HEADING_HIDDEN \
	{              \
		0      \
	}

#define FIGURE(row, kind, member, key, group, needs, known, heading, sort, doc, joined) \
	[FIGURE_##row##_##key] = {#key,          group,                                 \
				  FIGURE_##kind, offsetof(struct model_##row, member),  \
				  KNOWN_##known, NEEDS_##needs,                         \
				  joined,        HEADING_##heading,                     \
				  sort,          doc},

const struct figure figure_list[N_FIGURES] = {
#define AS(row, kind, member, key, needs, known, heading, sort, doc) \
	FIGURE(row, kind, member, key, NULL, needs, known, heading, sort, doc, false)
#define IN(row, group, kind, member, name, needs, known, heading, sort, doc) \
	FIGURE(row, kind, member, group##_##name, #group, needs, known, heading, sort, doc, false)
#define JOINED(row, kind, name, needs, known, heading, sort, doc) \
	FIGURE(row, kind, name, name, NULL, needs, known, heading, sort, doc, true)
#define SHOWN(row, name, heading)                                                      \
	[FIGURE_##row##_##name] = {#name, NULL,  FIGURE_SHOWN,      0,  FIGURE_ALWAYS, \
				   0,     false, HEADING_##heading, "", ""},
#include "rows.def"
};

const struct figure_table figure_tables[ROWS_END] = {
#define ROWS(row, rows, count, sql, doc) \
	{#rows, doc, sizeof(struct model_##row), FIRST_##row, END_##row},
#include "rows.def"
};

/* Streams that the recording has, but not of the process of this row. */
static uint32_t unrecorded(unsigned figure, const void *row)
{
	if (figure >= FIRST_program && figure < END_program)
		return ((const struct model_program *)row)->unrecorded;
	if (figure >= FIRST_thread && figure < END_thread)
		return ((const struct model_thread *)row)->unrecorded;
	return 0;
}

static bool is_known(const struct model *model, unsigned number, const char *row)
{
	const struct figure *figure = &figure_list[number];

	return !(figure->needs & (~model->recorded | unrecorded(number, row))) &&
	       (figure->known >= FIGURE_NONZERO || *(const bool *)(row + figure->known));
}

struct figure_value figure_read(const struct model *model, unsigned number, const void *row)
{
	const struct figure *figure = &figure_list[number];
	const char *at = (const char *)row + figure->offset;
	struct figure_value value = {
		.known = is_known(model, number, row),
		.unrecorded = figure->needs & unrecorded(number, row),
	};

	switch (figure->kind) {
	case FIGURE_SHOWN:
		break;
	case FIGURE_NAME:
		value.text = *(const char *const *)(const void *)at;
		value.known = value.known && value.text;
		break;
	case FIGURE_RUNTIME:
		value.text = runtime_name(*(const enum runtime *)(const void *)at);
		break;
	case FIGURE_FLAG:
		value.count = *(const bool *)at;
		break;
	case FIGURE_REF:
	case FIGURE_ID:
	case FIGURE_COUNT:
	case FIGURE_NS:
	case FIGURE_SIZE:
		value.count = *(const uint64_t *)(const void *)at;
		value.real = (double)value.count;
		value.known = value.known && (value.count || figure->known != FIGURE_NONZERO);
		break;
	case FIGURE_ROUGH:
	case FIGURE_SHARE:
	case FIGURE_TIME:
	case FIGURE_BYTES:
		value.real = *(const double *)(const void *)at;
		break;
	case FIGURE_TIME_OF:
	case FIGURE_BYTES_OF:
	case FIGURE_COUNT_OF:
	case FIGURE_SHARE_OF:
		value.estimate = (const void *)at;
		value.real = value.estimate->value;
		value.known = value.known && value.real >= 0;
		break;
	case FIGURE_NAMES:
		value.names = (const void *)at;
		break;
	}
	return value;
}

void figure_join(const char *const *names, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (int i = 0; i < SITE_FUNCTIONS && names[i] && used + 1 < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s", i ? " < " : "", names[i]);
}

void *figure_rows(const struct model *model, enum row_kind table, size_t *count)
{
	switch (table) {
#define ROWS(row, rows, count_, sql, doc) \
	case ROWS_##row:                  \
		*count = model->count_;   \
		return model->rows;
#include "rows.def"
	default:
		*count = 0;
		return NULL;
	}
}

static bool has_word(const char *words, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");

		if (length == size && !memcmp(at, word, size))
			return true;
		at += length;
	}
	return false;
}

unsigned figure_sorted_by(enum row_kind table, const char *key)
{
	const struct figure_table *rows = &figure_tables[table];

	for (unsigned i = rows->first; i < rows->end; i++)
		if (has_word(figure_list[i].sort, key))
			return i;
	return N_FIGURES;
}
