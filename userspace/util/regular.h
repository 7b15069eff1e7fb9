/* SPDX-License-Identifier: BSD-2-Clause */
/* regular.h: opens files at untrusted paths. */
#ifndef GCPROF_REGULAR_H
#define GCPROF_REGULAR_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens the file for reading if it is a regular file, and fills *st. Nothing else is ever opened,
 * because opening a device may have side effects. -1 otherwise, with errno: EWOULDBLOCK if somebody
 * has a lease on the file. Thread-safe.
 */
int regular_open(const char *path, struct stat *st);

/*
 * May somebody with the rights of `user` have named this file? Only one that everybody can read at
 * its path, or one that the user owns. (uid_t)-1: an unknown user.
 */
bool regular_may_name(int fd, const struct stat *st, uid_t user);

/* The same for a descriptor opened with O_PATH, which stays open. */
int regular_reopen(int handle, struct stat *st);

#endif
