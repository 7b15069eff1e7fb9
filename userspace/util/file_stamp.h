/* SPDX-License-Identifier: BSD-2-Clause */
/* file_stamp.h: what shows whether a file's content is still the same. */
#ifndef GCPROF_FILE_STAMP_H
#define GCPROF_FILE_STAMP_H

#include <stdint.h>

/* No user can set the time of a file's last change. */
struct file_stamp {
	uint64_t device, inode, size;
	uint64_t changed; /* st_ctim, ns since 1970; 0: unknown */
};

static inline uint64_t file_stamp_time(int64_t seconds, uint32_t nanoseconds)
{
	return (uint64_t)seconds * 1000000000 + nanoseconds;
}

#endif
