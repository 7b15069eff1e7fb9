/* SPDX-License-Identifier: BSD-2-Clause */
/* segments.h: a recorder that writes short profiles one after the other into a folder of its own.
 */
/*
 * The recorder keeps its rights; the caller gives up those that its user does not have, and what it
 * reads was written by that user. Not thread-safe.
 */
#ifndef GCPROF_SEGMENTS_H
#define GCPROF_SEGMENTS_H

#include <poll.h>
#include <stdbool.h>

struct segments;

/*
 * Runs `gcprof record` with these words behind it (ended by NULL), becomes the invoker, and
 * watches. A negative errno: then nothing runs, and the caller has lost its rights all the same.
 */
int segments_start(char *const words[], struct segments **out);

/* For poll(): readable when a profile may have become complete, and when the recorder has ended. */
void segments_poll(const struct segments *segments, struct pollfd fds[2]);

/*
 * The path of the next complete profile, which the caller reads and removes; NULL: there is none
 * yet. Valid until the next call.
 */
const char *segments_next(struct segments *segments);

/* Has the recorder ended? All complete profiles can be taken then. */
bool segments_ended(struct segments *segments);

/* Ends the recorder if it runs, removes the folder; `tell`: what it said goes to standard error.
 * Its exit status, or 128 and a signal. */
int segments_finish(struct segments *segments, bool tell);

#endif
