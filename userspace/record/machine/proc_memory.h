/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_memory.h: reads the memory of a program without keeping its memory map locked. */
/*
 * A page of a mapped file may have to be read from a file system that never answers. Reading
 * /proc/PID/mem waits for that with the memory map of the program locked: nothing can be mapped
 * there, and no probe can be attached to the program's files or removed. process_vm_readv()
 * unlocks it before it waits. So that call fetches the pages; what counts is then read from
 * /proc/PID/mem, which stays with the memory that it was opened for.
 *
 * Each of these calls may wait for ever, in a sleep that no signal ends: they are for processes
 * for whose end the recorder does not wait. A program can still have its own memory map locked as
 * long as it likes: by a file system that fails once and is silent then, or by reading its own
 * /proc/self/mem.
 *
 * Thread-safe.
 */
#ifndef GCPROF_PROC_MEMORY_H
#define GCPROF_PROC_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fetches pages of a process into memory; `room` has `size` bytes and is overwritten. How many
 * bytes there are from `address` on, or a negative errno: -ESRCH, -EPERM, -EFAULT. */
ssize_t proc_memory_fetch(uint32_t pid, uint64_t address, void *room, size_t size);

/* The same, and reads them from `memory`, the process's /proc/PID/mem. If the process has executed
 * another program since that was opened: -ESRCH. */
ssize_t proc_memory_read(int memory, uint32_t pid, uint64_t address, void *out, size_t size);

#endif
