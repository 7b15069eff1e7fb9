/* SPDX-License-Identifier: BSD-2-Clause */
/* regular.h: opens files at paths that somebody else chose. */
#ifndef GCPROF_REGULAR_H
#define GCPROF_REGULAR_H

#include <sys/stat.h>

/*
 * Opens the file for reading if it is a regular one; what it is goes to *st. Nothing
 * else is ever opened: with devices, even that has effects. -1 if it is none, errno
 * says why: EWOULDBLOCK if somebody has a lease on it. Thread-safe.
 */
int regular_open(const char *path, struct stat *st);

/* The same for what a descriptor that was opened with O_PATH stands for, which stays open. */
int regular_reopen(int handle, struct stat *st);

#endif
