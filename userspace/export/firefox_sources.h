/* SPDX-License-Identifier: BSD-2-Clause */
/* firefox_sources.h: private: the text of source files for the Firefox export. */
#ifndef GCPROF_FIREFOX_SOURCES_H
#define GCPROF_FIREFOX_SOURCES_H

#include <stdint.h>

struct sources {
	char **texts; /* by path; NULL: left out */
	uint32_t count;
	uint64_t embedded; /* texts that are not NULL, */
	uint64_t size;     /* and the bytes of their JSON strings at most */
};

/*
 * Reads those of the files that are source code and have not changed since `realtime` (ns since
 * 1970), with the rights of the process, until their JSON strings have `room` bytes. *sources must
 * be zero; free it also after an error. 0 or -ENOMEM.
 */
int firefox_sources_read(struct sources *sources, const char *const *paths, uint32_t count,
			 uint64_t realtime, uint64_t room);
void firefox_sources_free(struct sources *sources);

#endif
