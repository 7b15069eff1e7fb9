/* SPDX-License-Identifier: BSD-2-Clause */
/* namer_filter.h: the few system calls that the process which finds names may make. */
#ifndef GCPROF_NAMER_FILTER_H
#define GCPROF_NAMER_FILTER_H

/*
 * From now on this thread may allocate memory, open files for reading, read them,
 * and use the sockets that it has. Any other system call fails with ENOSYS, so that
 * what the C library tries first and can do without does no harm. There is no way
 * back. Needs PR_SET_NO_NEW_PRIVS. A negative errno; -EINVAL: the kernel has no filters.
 */
int namer_filter_enter(void);

#endif
