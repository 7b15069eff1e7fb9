/* SPDX-License-Identifier: BSD-2-Clause */
/* browser.h: gcprof report: browses a profile. */
#ifndef GCPROF_COMMANDS_REPORT_BROWSER_H
#define GCPROF_COMMANDS_REPORT_BROWSER_H

#include "../../browse/browse.h"
#include "../../model/select/filter.h"

struct report_browser {
	struct browse_host host; /* zero */
	const char *file;
	const struct filter *filter;
	struct model_view view;
	struct model **first; /* what these select: taken over, and set to NULL */
};

/* Until the user leaves. 0, -ENOTTY (the terminal cannot be used) or another negative errno. */
int report_browse(struct report_browser *browser);

#endif
