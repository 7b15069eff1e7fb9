/* SPDX-License-Identifier: BSD-2-Clause */
/* segments.h: a recorder that writes a series of short profiles into its own directory. */
/*
 * The recorder keeps its rights. The caller gives up the rights that its user does not
 * have, because the user can change what it reads. Not thread-safe.
 */
#ifndef GCPROF_SEGMENTS_H
#define GCPROF_SEGMENTS_H

#include <poll.h>
#include <stdbool.h>

struct segments;

/*
 * Runs `gcprof record` followed by these words (the array ends with NULL), becomes the
 * invoker, and watches the directory. A negative errno on failure: nothing runs, but the
 * caller has lost its rights.
 */
int segments_start(char *const words[], struct segments **out);

/* For poll(): readable when a profile may be complete, and when the recorder has ended. */
void segments_poll(const struct segments *segments, struct pollfd fds[2]);

/*
 * The path of the next complete profile, which the caller reads and removes; NULL: none
 * yet. Valid until the next call.
 */
const char *segments_next(struct segments *segments);

/* Whether the recorder has ended. All complete profiles can be taken then. */
bool segments_ended(struct segments *segments);

/*
 * Ends the recorder if it runs and removes the directory. With `tell`, prints the
 * recorder's output to standard error. Returns its exit status, or 128 plus a signal.
 */
int segments_finish(struct segments *segments, bool tell);

#endif
