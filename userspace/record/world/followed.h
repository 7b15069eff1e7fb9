/* SPDX-License-Identifier: BSD-2-Clause */
/* followed.h: which processes are followed, by the numbers that they have where the recorder is. */
/*
 * The kernel's BPF side names processes by their number in the initial pid
 * namespace, its perf rings and /proc by that in the recorder's own ("proc
 * pid"). Outside containers both are the same. Not thread-safe.
 */
#ifndef GCPROF_FOLLOWED_H
#define GCPROF_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

struct followed;

int followed_create(struct followed **out);
void followed_free(struct followed *followed); /* NULL is allowed */

/* A process is followed from now on: 1 if it was not before, else 0; -ENOMEM. */
int followed_add(struct followed *followed, uint32_t proc_pid, uint32_t pid);

/* The process with this number in the initial namespace ended at `time` (CLOCK_MONOTONIC ns). */
void followed_end(struct followed *followed, uint32_t pid, uint64_t time);

/* Forgets those that ended before `time`: nothing that they did comes any more. */
void followed_sweep(struct followed *followed, uint64_t time);

/* Its number in the initial namespace; 0: none with this proc pid was followed at `time`. */
uint32_t followed_pid(const struct followed *followed, uint32_t proc_pid, uint64_t time);

/* Was the process with this number in the initial namespace followed at `time`? */
bool followed_has(const struct followed *followed, uint32_t pid, uint64_t time);

/* The process with this number in the initial namespace knows since `time` that we listen. */
int followed_tell(struct followed *followed, uint32_t pid, uint64_t time);

/* Since when; 0: it was not told. */
uint64_t followed_told(const struct followed *followed, uint32_t pid);

/* The other way round: its number where the recorder is, or `pid` if nothing else is known. */
uint32_t followed_proc_pid(const struct followed *followed, uint32_t pid);

#endif
