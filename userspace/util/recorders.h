/* SPDX-License-Identifier: BSD-2-Clause */
/* recorders.h: announces a recorder to other processes, and finds the recorders of a user. */
/*
 * A recorder holds a lock in a file that only processes of its user can open. Names, arguments and
 * signal masks prove nothing: any process can have those of a recorder.
 */
#ifndef GCPROF_RECORDERS_H
#define GCPROF_RECORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct recorder {
	pid_t pid;
	uid_t invoker; /* who had it started, see invoker.h */
	bool keeps;    /* --keep: it writes snapshots */
};

/* Announces this process until it ends, one of the effective user's. 0 or a negative errno. */
int recorder_announce(uid_t invoker, bool keeps);

/* The recorders of the processes of `user` that run: returns how many of them are in out[]. */
size_t recorders_find(uid_t user, struct recorder *out, size_t max);

#endif
