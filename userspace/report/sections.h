/* SPDX-License-Identifier: BSD-2-Clause */
/* sections.h: private: the sections of the text report. */
#ifndef GCPROF_SECTIONS_H
#define GCPROF_SECTIONS_H

#include "../model/figures.h"
#include "page.h"
#include "report.h"

struct section {
	const struct model *model;
	const struct page *page;
	uint64_t top; /* maximum rows of a table */
	bool verbose;
	unsigned parts;        /* requested parts; 0: the default ones */
	const char *sort;      /* NULL: the default order */
	const char *histogram; /* of this system call */
};

/* Each prints one section; 0 or -ENOMEM. */
int section_head(const struct section *section);
int section_summary(const struct section *section);
int section_advice(const struct section *section);
int section_time(const struct section *section);
int section_timeline(const struct section *section);
int section_entries(const struct section *section);
int section_functions(const struct section *section);
int section_collections(const struct section *section);
int section_areas(const struct section *section);
int section_cycles(const struct section *section);
int section_pauses(const struct section *section);
int section_sites(const struct section *section);
int section_types(const struct section *section);
int section_live_heap(const struct section *section);
int section_live(const struct section *section);
int section_syscalls(const struct section *section);
int section_histogram(const struct section *section);
int section_off_cpu(const struct section *section);
int section_faults(const struct section *section);
int section_slow_calls(const struct section *section);
int section_programs(const struct section *section);
int section_threads(const struct section *section);
int section_losses(const struct section *section);

/* The answer on one screen, in place of all sections; 0 or -ENOMEM. */
int section_screen(const struct section *section);

/* How the recording ended, as part of a sentence. */
void section_end(const struct model *model, char *out, size_t size);

/* Warns of a profile that is not complete. */
void section_state(const struct section *section);

/* Where the time went, as bars. */
void section_bars(const struct section *section);

/* A reason of collections, by its number in gc_begin; NULL: unknown. */
const char *section_reason(unsigned reason);

/* Prints the recorded command on one line. */
void section_command(const struct page *page, enum style style, int indent,
		     const struct model_run *run);

/* Prints the timer's rate, and each provider's sampling period. */
void section_sampling(const struct section *section);

/* The state of a stream; NULL: no such stream. */
const struct model_stream *section_stream(const struct section *section, const char *name);

/*
 * True if the stream was recorded. If not, and the part was requested, prints a heading and
 * the reason; otherwise the head of the report has shown it.
 */
bool section_recorded(const struct section *section, const char *name, const char *title);

/* "Types (20 of 123, most bytes first)". */
void section_title(const struct section *section, enum row_kind table, const char *what,
		   size_t rows, const char *order);

/* Writes a sentence on where the time of threads that do the program's work went. */
void section_write_time(const struct section *section, FILE *out);

/* Table cells; "-" if there is no value. */
void cell_time(struct table *table, double ns);
void cell_bytes(struct table *table, double bytes);
void cell_count(struct table *table, uint64_t count);
void cell_share(struct table *table, double part, double whole);
void cell_margin(struct table *table, const struct estimate *estimate);
void cell_age(struct table *table, uint64_t age);

void cell_id(struct table *table, uint64_t id);

/* The usual cell of a figure of a row. */
void cell_figure(const struct section *section, struct table *table, unsigned figure,
		 const void *row);

struct row_table {
	const struct section *section;
	enum row_kind rows;
	/* Fills the cell of a figure that needs more than its value; false: the usual one is right.
	 * NULL: all are usual. */
	bool (*cell)(const struct row_table *rows, struct table *table, unsigned figure,
		     const void *row);
	const void *context;
};

/* A table of the first rows of `count`, as many as are to be shown; NULL: no memory. */
struct table *rows_table(const struct row_table *rows, const void *first, size_t count);

/* Is the figure's column printed? */
bool rows_show(const struct row_table *rows, const struct table *table, unsigned figure);

/* Prints the table of rows. 0 or -ENOMEM. */
int section_print_rows(const struct row_table *rows, const void *first, size_t count);

/* Prints and frees the table. 0 or -ENOMEM. */
int section_table(const struct section *section, struct table *table);

size_t section_rows(const struct section *section, size_t rows);

#endif
