/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_sources.h: private: the text of source files for the Firefox export. */
#ifndef GCPROF_FIREFOX_SOURCES_H
#define GCPROF_FIREFOX_SOURCES_H

#include <stdint.h>
#include <sys/types.h>

struct sources {
	char **texts; /* by path; NULL: left out */
	uint32_t count;
	uint64_t embedded; /* texts that are not NULL, */
	uint64_t size;     /* and the bytes of their JSON strings at most */
};

struct sources_wanted {
	uint64_t realtime; /* unchanged since then, ns since 1970 */
	uint64_t room;     /* for their JSON strings, bytes */
	uid_t user;        /* who may have named them; (uid_t)-1: unknown */
};

/*
 * Reads those of the files that are source code, and that everybody or their owner, who must be
 * `user`, may read. *sources must be zero; free it also after an error. 0 or -ENOMEM.
 */
int firefox_sources_read(struct sources *sources, const char *const *paths, uint32_t count,
			 const struct sources_wanted *wanted);
void firefox_sources_free(struct sources *sources);

#endif
