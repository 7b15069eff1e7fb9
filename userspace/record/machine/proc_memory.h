/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_memory.h: reads a program's memory without holding its memory map lock. */
/*
 * A page of a mapped file may have to come from a file system that never answers. Reading
 * /proc/PID/mem waits for it with the program's memory map locked: nothing can be mapped there, and
 * no probe of its files can be attached or removed. process_vm_readv() releases the lock before it
 * waits. It is therefore used to fetch the pages; the data is then read from /proc/PID/mem, which
 * stays with the memory that it was opened for.
 *
 * Each of these calls may block forever, in an uninterruptible sleep. They are for processes whose
 * end the recorder does not wait for. A program can still keep its memory map locked as long as it
 * likes: by a file system that first fails and then never answers, or by reading its own
 * /proc/self/mem.
 *
 * Thread-safe.
 */
#ifndef GCPROF_PROC_MEMORY_H
#define GCPROF_PROC_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fetches pages of a process into memory; overwrites `room`, which has `size` bytes. Returns how
 * many bytes exist from `address` on, or a negative errno: -ESRCH, -EPERM, -EFAULT. */
ssize_t proc_memory_fetch(uint32_t pid, uint64_t address, void *room, size_t size);

/* The same, then reads from `memory`, the process's /proc/PID/mem. -ESRCH also if the process has
 * executed another program since that was opened. */
ssize_t proc_memory_read(int memory, uint32_t pid, uint64_t address, void *out, size_t size);

#endif
