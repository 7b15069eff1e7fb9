// SPDX-License-Identifier: BSD-2-Clause
/* memory.c: bounds the memory of a process that reads files which others made. */
#include "memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "options.h"

#define LEAST_BYTES    (UINT64_C(960) << 20) /* with the program itself below 1 GiB */
#define BYTES_PER_BYTE 6 /* of the largest profiles that were measured three, for a comparison */

void memory_allow(const struct stat *file)
{
	static uint64_t all_bytes;
	static ino_t last; /* a file may be read several times, one after the other */
	const char *text = getenv("GCPROF_MEMORY");
	uint64_t bytes = LEAST_BYTES;
	struct rlimit limit;

	if (S_ISREG(file->st_mode) && file->st_ino != last)
		all_bytes += (uint64_t)file->st_blocks * 512; /* holes cost a forger nothing */
	last = file->st_ino;
	if (all_bytes > bytes / BYTES_PER_BYTE)
		bytes = all_bytes * BYTES_PER_BYTE;
	if (text)
		parse_size(text, &bytes);
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes for itself */
	if (getrlimit(RLIMIT_DATA, &limit))
		return;
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	setrlimit(RLIMIT_DATA, &limit);
#else
	(void)limit;
#endif
}
