/* SPDX-License-Identifier: BSD-2-Clause */
/* proc_file.h: reads small files of /proc/PID. */
#ifndef GCPROF_PROC_FILE_H
#define GCPROF_PROC_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opens /proc/PID/NAME for reading; a negative errno, as below. */
int proc_file_open(uint32_t pid, const char *name);

/*
 * Reads /proc/PID/NAME, as much as fits with a terminating zero. 0 or a negative errno: -ENOENT or
 * -ESRCH if the process is gone.
 */
int proc_file_read(uint32_t pid, const char *name, char *out, size_t size);

/*
 * A pidfd of the process, if it began at least `age` ns ago: a number alone may be another
 * process's by now. -ESRCH: that one has ended; -EACCES: /proc does not tell. What is then done by
 * number was done to this process if proc_is_alive() says so afterwards. The caller closes it.
 */
int proc_hold(uint32_t pid, uint64_t age);
bool proc_is_alive(int pidfd);

/* A thread of the process that has not ended, its main thread if possible; 0: none. */
uint32_t proc_living_thread(uint32_t pid);

#define PROC_SHOWN_MAX 64

/*
 * The path of NAME in the folder that shows what a process has mapped and sees as files: that of a
 * thread that has not ended, its main thread if possible. It names process and thread: the number
 * of a thread alone may be another process's by now.
 */
void proc_shown(uint32_t pid, const char *name, char path[PROC_SHOWN_MAX]);

/* Opens it; a negative errno, as above. */
int proc_shown_open(uint32_t pid, const char *name, int flags);

/* The start of a field of /proc/PID/stat, counted from 1 and at least 3; or NULL. */
const char *proc_file_stat(const char *stat, int field);

#endif
