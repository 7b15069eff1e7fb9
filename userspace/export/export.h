/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h: the formats to which a profile can be exported. */
/*
 * An exporter observes the model while it reads the profile, keeps what it needs in bounded
 * memory or in a spool, and writes the output once the model is complete. To add an
 * exporter, add a file with a struct exporter and a line in export.c.
 */
#ifndef GCPROF_EXPORT_H
#define GCPROF_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "../model/load.h"
#include "../util/output_file.h"

struct filter;
struct output;
struct sink;

enum { INFO_MAX = 16 << 10 }; /* some hundred names of files */

struct export_options {
	const char *measure; /* one of the exporter's measures; NULL: its first */
	uint64_t limit; /* bytes before compression, above which events are left out; 0: default */
	enum model_frames frames;
	bool no_sources; /* leave out the text of source files */
};

/* An export in progress. `observer` must be first: the exporter's functions get its address. */
struct export_job {
	struct model_observer observer;
	struct export_options options;
	struct output *output; /* borrowed */
	char note[512];        /* a warning for the user; empty: none */
	char info[INFO_MAX];   /* what else the file contains; empty: nothing */
	void (*free)(struct export_job *job);
};

/* For exporters that need only the finished model: the job's observer ignores records. */
int export_job_create(int (*finish)(struct model_observer *, const struct world *),
		      struct export_job **out);

struct exporter {
	const char *name;
	const char *suffix;          /* appended to the profile's name */
	struct output_mark mark;     /* of its files */
	const char *summary;         /* one line */
	bool packed;                 /* compressed with gzip */
	uint64_t limit;              /* the default; 0: it leaves nothing out */
	const char *thins;           /* what it leaves out; NULL: nothing */
	const char *const *measures; /* the available measures, ended by NULL; NULL: no choice */
	int (*create)(struct export_job **out);
};

extern const struct exporter exporter_firefox;
extern const struct exporter exporter_html;
extern const struct exporter exporter_pprof;
extern const struct exporter exporter_folded;
extern const struct exporter exporter_perfetto;
extern const struct exporter exporter_sqlite;

/* All exporters, ended by NULL. */
extern const struct exporter *const exporters[];

/* NULL: no exporter with this name. */
const struct exporter *exporter_find(const char *name);
bool exporter_measures(const struct exporter *exporter, const char *measure);

struct export_request {
	const struct exporter *exporter;
	struct export_options options;
	const char *file;            /* the profile's name */
	const struct filter *filter; /* borrowed; has no terms: everything */
};

/* The result of an export. */
struct export_result {
	char note[512], info[INFO_MAX]; /* as in struct export_job */
	enum profile_state state;
	struct profile_status status;
};

/*
 * Reads the profile and writes to `sink`; takes over all of them, also on failure. With a filter
 * there are two sources of the same profile, otherwise sources[1] is NULL. Errors: those of
 * model_load() and of the sink; -EFBIG if the limit is exceeded even without single events.
 */
int export_run(const struct export_request *request, struct source *const sources[2],
	       struct sink *sink, struct export_result *result);

#endif
