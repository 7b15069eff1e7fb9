/* SPDX-License-Identifier: BSD-2-Clause */
/* load.h: reads a profile into a model, for observers that need single events as well. */
#ifndef GCPROF_MODEL_LOAD_H
#define GCPROF_MODEL_LOAD_H

#include "model.h"

/*
 * Takes over `source`, also when it fails; `file` is what the model calls it, copied.
 * A profile without its end, or damaged, gives a model of what is there; see
 * model->state. Errors: those of profile_reader_open(), of the source, -ENOMEM.
 */
int model_load(struct source *source, const char *file, struct model **out);

struct event;
struct world;

/* What a program had not given back when the recording ended: a sampled object that was old, or a
 * row of its runtime's own heap profile. */
struct model_live {
	uint32_t stack;  /* 0: unknown */
	uint32_t thread; /* 0: unknown, its process is known */
	uint32_t process;
	uint32_t type;         /* number in the table of types; 0: unknown */
	double objects, bytes; /* that it stands for */
};

/*
 * Gets the single events while a model is loaded, and the stacks (world.h, event.h). All functions
 * return 0 or a negative errno, which ends the loading. `record` comes behind each record that was
 * not refused; then `live` (may be NULL) for each live object, which together are what the model
 * calls live; then `finish` while the world is still there.
 */
struct model_observer {
	int (*record)(struct model_observer *observer, const struct world *world,
		      const struct event *event);
	int (*finish)(struct model_observer *observer, const struct world *world);
	int (*live)(struct model_observer *observer, const struct model_live *live);
};

int model_load_observed(struct source *source, const char *file, struct model_observer *observer,
			struct model **out);

/* What part of a profile is shown, and how. */
struct model_view {
	enum model_frames frames;        /* that are kept on the stacks */
	struct model_observer *observer; /* or NULL */
	uint64_t records_max;            /* read no more than these; 0: all */
	uint64_t *records;               /* how many were read, also on failure; or NULL */
	bool recording;                  /* what recording took counts as the program's */
};

int model_load_view(struct source *source, const char *file, const struct model_view *view,
		    struct model **out);

struct filter;

/*
 * The model of what `filter` selects: see filter.h. Takes over two sources of the same
 * profile, because it is read twice. Of system calls and waits only single records count: the
 * kernel's totals cannot be divided. Pauses are charged as in the whole profile.
 * The observer (may be NULL) looks on when what is selected is counted; it gets
 * every record.
 */
int model_load_filtered(struct source *const sources[2], const char *file,
			const struct filter *filter, const struct model_view *view,
			struct model **out);

#endif
