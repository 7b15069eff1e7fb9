/* SPDX-License-Identifier: BSD-2-Clause */
/* version.h: which gcprof this is. */
#ifndef GCPROF_VERSION_H
#define GCPROF_VERSION_H

/* "gcprof 0.1.0 (9e0eb8da07fa)": the version and the commit; a "+" behind the commit: with changes
 * that are not committed. Without a commit if it was not built in a clone. */
extern const char gcprof_version[];

#endif
