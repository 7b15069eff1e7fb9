/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.c: shared by the verbs with the option --filter. */
#include "filter.h"

#include <errno.h>

#include "../../report/progress.h"
#include "../../util/log.h"

int filter_parse(const struct option_list *terms, struct filter *out)
{
	char fault[200];

	out->count = 0;
	for (size_t i = 0; i < terms->count; i++) {
		if (filter_add(out, terms->items[i], fault, sizeof(fault)) < 0) {
			log_error("--filter %s: %s", terms->items[i], fault);
			return -EINVAL;
		}
	}
	return 0;
}

int filter_open(const struct filter *filter, const char *file, bool prints,
		struct source *sources[2])
{
	int err = progress_open(file, prints, &sources[0]);

	sources[1] = NULL;
	if (err || !filter->count)
		return err;
	err = progress_open(file, prints, &sources[1]);
	if (err)
		sources[0]->close(sources[0]);
	return err;
}

int filter_load(const struct filter *filter, const char *file, const struct model_view *view,
		struct model **out)
{
	struct source *sources[2];
	int error = filter_open(filter, file, false, sources);

	if (error)
		return error;
	return sources[1] ? model_load_filtered(sources, file, filter, view, out)
			  : model_load_view(sources[0], file, view, out);
}
