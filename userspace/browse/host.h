/* SPDX-License-Identifier: BSD-2-Clause */
/* host.h: the command that browses: what it loads and shows, and its own keys. */
#ifndef GCPROF_BROWSE_HOST_H
#define GCPROF_BROWSE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "../model/load.h"

enum { BROWSE_TERMS_MAX = 12 };

struct browse_terms {
	const char *items[BROWSE_TERMS_MAX];
	size_t count;
};

/* What a page shows. */
struct browse_subject {
	const char *page;
	const char *order;  /* NULL: the table's own */
	const char *filter; /* empty: none */
};

/* The command that browses. Every function gets its host. */
struct browse_host {
	/*
	 * Loads what these terms of a filter select, beside those of the host. 0 or a negative
	 * errno. `observer` may be NULL. The browser frees the model.
	 */
	int (*load)(struct browse_host *host, const struct browse_terms *terms,
		    struct model_observer *observer, struct model **out);
	/* Prints lines above the page; returns their number. NULL: there are none. */
	int (*head)(struct browse_host *host, const struct model *model,
		    const struct browse_subject *subject, int width, FILE *out);
	/* A key of the host's own; false: it has no such. NULL: it has none. */
	bool (*press)(struct browse_host *host, int key);
	const char *const *keys; /* what these do, for the last line; ends with NULL */
	char note[256];          /* in place of the keys, until the next key */
	/* What is shown at first. */
	const char *table; /* name; NULL: the answer */
	const char *sort;
	const char *term; /* of a filter, which the user may change; NULL: none */
};

#endif
