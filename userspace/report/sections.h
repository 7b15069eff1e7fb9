/* SPDX-License-Identifier: BSD-2-Clause */
/* sections.h: private: the parts of the text report. */
#ifndef GCPROF_SECTIONS_H
#define GCPROF_SECTIONS_H

#include "page.h"
#include "report.h"

struct section {
	const struct model *model;
	const struct page *page;
	uint64_t top; /* rows of a table at most */
	bool verbose;
};

/* Each prints one part; 0 or -ENOMEM. */
int section_head(const struct section *section);
int section_summary(const struct section *section);
int section_functions(const struct section *section);
int section_collections(const struct section *section);
int section_types(const struct section *section);
int section_syscalls(const struct section *section);
int section_threads(const struct section *section);
int section_losses(const struct section *section);

/* The state of a stream, NULL if there is no such stream. */
const struct model_stream *section_stream(const struct section *section, const char *name);

/* True if the stream was recorded; if not, prints a line that says why not. */
bool section_recorded(const struct section *section, const char *name, const char *what);

/* "Types (20 of 123, most bytes first)". */
void section_title(const struct section *section, const char *what, size_t rows, const char *order);

#endif
