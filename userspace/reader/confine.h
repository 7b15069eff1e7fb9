/* SPDX-License-Identifier: BSD-2-Clause */
/* confine.h: what the process that reads untrusted files gives up before it reads the first one. */
#ifndef GCPROF_READER_CONFINE_H
#define GCPROF_READER_CONFINE_H

/*
 * Becomes the user nobody without capabilities, in namespaces of its own with an empty root
 * directory where the kernel allows that, with limits, behind a filter that leaves
 * the system calls that reading needs. For good. 0, or a negative errno: then nothing
 * may be read.
 */
int confine(void);

/* The same for a process that has a file of its own open, to which it may write. */
int confine_writing(void);

#endif
