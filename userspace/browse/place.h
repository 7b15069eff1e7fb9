/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h: private: where a person is: a profile or a part of it, or a function of it. */
#ifndef GCPROF_BROWSE_PLACE_H
#define GCPROF_BROWSE_PLACE_H

#include "../model/rows/call_tree.h"
#include "../model/rows/line_sums.h"
#include "../report/report.h"
#include "host.h"
#include "lines.h"

enum { PLACE_TEXT = 512, PLACE_TABS = 20 };

/* What opens when a row is entered. */
struct opened {
	char term[PLACE_TEXT];     /* of a filter; empty: none */
	char function[PLACE_TEXT]; /* matches it (filter.h); empty: none */
	const char *tab;           /* its first page */
};

/* Observes a profile for the pages of a function. */
struct calls {
	struct model_observer observer;
	struct call_builder callers, callees;
	struct line_builder source;
	struct call_tree trees[2];
	struct line_sums lines;
};

struct place {
	struct opened opened;
	const struct report_page *tabs[PLACE_TABS]; /* the pages that there are */
	size_t n_tabs, tab;
	struct model *model; /* NULL: not loaded */
	struct calls calls;
	uint64_t version; /* of what was loaded */
	const char *sorted;
	char match[PLACE_TEXT]; /* only rows with this text are printed; empty: all */
	struct lines lines;
	struct sight sight;
	char key[PLACE_TEXT]; /* names the selected row, to find it when the page is printed again
			       */
	bool lost;            /* it was not, and may be again; the selected row is another */
};

/* What is printed of a place. */
struct place_style {
	int width;
	bool colour;
	const char *sort; /* NULL: the tables' own order */
};

/* Loads it by its host, and keeps what was loaded before if that fails. 0 or a negative errno. */
int place_load(struct place *place, struct browse_host *host, const struct browse_terms *terms);
void place_free(struct place *place);

/* Prints the page of the tab. 0 or -ENOMEM. */
int place_print(struct place *place, const struct place_style *style);

/* To another page, at its begin. It is to be printed then. */
void place_turn(struct place *place, size_t tab);

/* The same, by its name or else its key; false: there is none. */
bool place_choose(struct place *place, const char *name, int key);

/* What entering the selected row opens; false: nothing. */
bool place_enter(const struct place *place, struct opened *out);

#endif
