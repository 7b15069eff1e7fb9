/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.h: shared by the verbs with the option --filter. */
#ifndef GCPROF_COMMANDS_REPORT_FILTER_H
#define GCPROF_COMMANDS_REPORT_FILTER_H

#include <stdbool.h>

#include "../../model/load.h"
#include "../../model/select/filter.h"
#include "../../profile/source.h"
#include "../../util/options.h"

/* Parses the terms of --filter, which must outlive `out`. 0 or -EINVAL, with the error printed. */
int filter_parse(const struct option_list *terms, struct filter *out);

/*
 * Opens a profile as progress_open() does: with a filter twice, since it is read twice; without one
 * sources[1] is NULL.
 */
int filter_open(const struct filter *filter, const char *file, bool prints,
		struct source *sources[2]);

/* Loads what the filter selects of a profile, all without one. The errors of model_load(). */
int filter_load(const struct filter *filter, const char *file, const struct model_view *view,
		struct model **out);

#endif
