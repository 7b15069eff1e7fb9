/* SPDX-License-Identifier: BSD-2-Clause */
/* export.h: the formats that a profile can be exported to. */
/*
 * An exporter looks on while the model reads the profile, keeps what it needs in
 * bounded memory or in a spool, and writes once the model is complete. To add one:
 * a file with a struct exporter, and a line in export.c.
 */
#ifndef GCPROF_EXPORT_H
#define GCPROF_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "../model/load.h"

struct output;
struct sink;

struct export_options {
	const char *measure; /* one of the exporter's; NULL: its first */
	uint64_t limit;      /* bytes of the unpacked export beyond which events are thinned out */
	enum model_frames frames;
};

/* An export under way. `observer` is the first member: an exporter's functions get it. */
struct export_job {
	struct model_observer observer;
	struct export_options options;
	struct output *output; /* borrowed */
	char note[512];        /* what the user should know, one sentence; empty: nothing */
	void (*free)(struct export_job *job);
};

/* For exporters that need only the finished model: a job whose observer looks at no record. */
int export_job_create(int (*finish)(struct model_observer *, const struct world *),
		      struct export_job **out);

struct exporter {
	const char *name;
	const char *suffix;          /* that is added to the profile's name */
	const char *summary;         /* one line */
	bool packed;                 /* with gzip */
	const char *const *measures; /* what can be asked for, ended by NULL; NULL: no choice */
	int (*create)(struct export_job **out);
};

extern const struct exporter exporter_firefox;
extern const struct exporter exporter_html;
extern const struct exporter exporter_pprof;
extern const struct exporter exporter_folded;
extern const struct exporter exporter_json;
extern const struct exporter exporter_perfetto;
extern const struct exporter exporter_sqlite;

/* All of them, ended by NULL. */
extern const struct exporter *const exporters[];

/* NULL: there is none of this name. */
const struct exporter *exporter_find(const char *name);
bool exporter_measures(const struct exporter *exporter, const char *measure);

#define EXPORT_LIMIT (UINT64_C(400) << 20) /* browsers hold no string of 512 MiB */

struct export_request {
	const struct exporter *exporter;
	struct export_options options;
	const char *file; /* what the profile is called */
};

/* What came of it. */
struct export_result {
	char note[512];
	enum profile_state state;
	struct profile_status status;
};

/*
 * Reads `source`, writes to `sink`; takes over both, also when it fails. Errors:
 * those of model_load() and of the sink; -EFBIG if the limit cannot be kept even
 * without single events.
 */
int export_run(const struct export_request *request, struct source *source, struct sink *sink,
	       struct export_result *result);

#endif
