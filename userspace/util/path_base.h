/* SPDX-License-Identifier: BSD-2-Clause */
/* path_base.h: the last part of a path. */
#ifndef GCPROF_PATH_BASE_H
#define GCPROF_PATH_BASE_H

#include <string.h>

/* The name by which people call a file; a path that ends in a slash is returned unchanged. */
static inline const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

#endif
