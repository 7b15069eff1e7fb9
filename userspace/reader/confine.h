/* SPDX-License-Identifier: BSD-2-Clause */
/* confine.h: drops the rights of the process that reads untrusted files. */
#ifndef GCPROF_READER_CONFINE_H
#define GCPROF_READER_CONFINE_H

/*
 * Permanently becomes a user that no other process has (spawn.h), without capabilities, with
 * limits, behind a filter that leaves only the system calls needed for reading. Where the kernel
 * allows, it also enters namespaces of its own with an empty root directory. 0, or a negative
 * errno: then read nothing.
 */
int confine(void);

/* The same for a process that has a file of its own open, to which it may write. */
int confine_writing(void);

#endif
