/* SPDX-License-Identifier: BSD-2-Clause */
/* browser.c: gcprof report: browses a profile. */
#include "browser.h"

#include "filter.h"

static int load(struct browse_host *host, const struct browse_terms *terms,
		struct model_observer *observer, struct model **out)
{
	struct report_browser *browser = (struct report_browser *)host;
	struct model_view view = browser->view;
	struct filter filter = *browser->filter;
	char fault[200];
	int err = 0;

	/* The profile has been read already. */
	if (*browser->first && !terms->count && !observer) {
		*out = *browser->first;
		*browser->first = NULL;
		return 0;
	}
	for (size_t i = 0; i < terms->count && !err; i++)
		err = filter_add(&filter, terms->items[i], fault, sizeof(fault));
	view.observer = observer;
	return err ? err : filter_load(&filter, browser->file, &view, out);
}

int report_browse(struct report_browser *browser)
{
	struct pollfd input[1];
	struct browse *browse;
	int err;

	browser->host.load = load;
	err = browse_open(&browser->host, &browse);
	if (err)
		return err;
	err = browse_refresh(browse);
	while (!err)
		err = browse_wait(browse, input, 1);
	browse_close(browse);
	return err < 0 ? err : 0;
}
