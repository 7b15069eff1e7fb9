/* SPDX-License-Identifier: BSD-2-Clause */
/* load.h: reads a profile into a model; observers also get the single events. */
#ifndef GCPROF_MODEL_LOAD_H
#define GCPROF_MODEL_LOAD_H

#include "model.h"

/*
 * Takes ownership of `source`, even on failure. `file` is the profile's name in the model; it is
 * copied. A truncated or damaged profile gives a model of what could be read; see model->state.
 * Errors: those of profile_reader_open() and of the source, -ENOMEM.
 */
int model_load(struct source *source, const char *file, struct model **out);

struct event;
struct world;

/*
 * Memory that was live at the end of the recording: a sampled object in the old generation, or a
 * row of the runtime's own heap profile.
 */
struct model_live {
	uint32_t stack;  /* 0: unknown */
	uint32_t thread; /* 0: unknown; `process` is still known */
	uint32_t process;
	uint32_t type;         /* index in the type table; 0: unknown */
	double objects, bytes; /* estimated */
};

/*
 * Receives the single events and the stacks while a model is loaded (event.h, world.h). All
 * callbacks return 0 or a negative errno, which aborts loading. `record` is called after each
 * record that was not refused. `live` (may be NULL) is called for each live object; together they
 * are the live bytes of the model. `finish` is called last, while the world still exists.
 */
struct model_observer {
	int (*record)(struct model_observer *observer, const struct world *world,
		      const struct event *event);
	int (*finish)(struct model_observer *observer, const struct world *world);
	int (*live)(struct model_observer *observer, const struct model_live *live);
};

int model_load_observed(struct source *source, const char *file, struct model_observer *observer,
			struct model **out);

/* Selects what is loaded and how it is shown. */
struct model_view {
	enum model_frames frames;        /* kept on stacks */
	struct model_observer *observer; /* may be NULL */
	uint64_t records_max;            /* stop after this many records; 0: no limit */
	uint64_t *records;               /* out: records read, also on failure; may be NULL */
	bool recording; /* count the recorder's own overhead as the program's time */
};

int model_load_view(struct source *source, const char *file, const struct model_view *view,
		    struct model **out);

struct filter;

/*
 * Loads the part of a profile that `filter` selects (filter.h). Takes ownership of two sources of
 * the same profile, which is read twice. Totals of system calls are divided as in divide.c; waits
 * count only if they have records. Pauses are attributed as in the whole profile. The observer
 * (may be NULL) is called in the second pass, for every record.
 */
int model_load_filtered(struct source *const sources[2], const char *file,
			const struct filter *filter, const struct model_view *view,
			struct model **out);

#endif
