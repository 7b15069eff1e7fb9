/* SPDX-License-Identifier: BSD-2-Clause */
/* profiler_url.h: the address of the Firefox Profiler's front end, or of a copy of it. */
#ifndef GCPROF_PROFILER_URL_H
#define GCPROF_PROFILER_URL_H

enum { PROFILER_URL_MAX = 160 }; /* bytes with the zero at the end */

struct profiler_url {
	char page[PROFILER_URL_MAX];   /* without a slash at the end */
	char origin[PROFILER_URL_MAX]; /* as browsers write it: no path, no default port */
};

/*
 * Accepts http and https URLs with a host, and optionally a port and a path. -EINVAL: anything
 * else, also a user, a query or a fragment; or too long.
 */
int profiler_url_parse(const char *text, struct profiler_url *out);

#endif
