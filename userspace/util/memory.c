// SPDX-License-Identifier: BSD-2-Clause
/* memory.c: limits the memory of a process that reads untrusted files. */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "options.h"

#define LEAST_BYTES    (UINT64_C(960) << 20) /* below 1 GiB together with the program itself */
#define BYTES_PER_BYTE 6                     /* the largest profiles measured needed 3 */

void memory_allow(const struct stat *file)
{
	static uint64_t all_bytes;
	static ino_t last; /* one file may be read several times in a row */
	const char *text = getenv("GCPROF_MEMORY");
	uint64_t bytes = LEAST_BYTES;
	struct rlimit limit;

	if (S_ISREG(file->st_mode) && file->st_ino != last)
		all_bytes += (uint64_t)file->st_blocks * 512; /* holes are free to forge */
	last = file->st_ino;
	if (all_bytes > bytes / BYTES_PER_BYTE)
		bytes = all_bytes * BYTES_PER_BYTE;
	if (text)
		parse_size(text, &bytes);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes itself */
	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(RLIMIT_DATA, &limit);
#else
	(void)limit;
#endif
}
