/* SPDX-License-Identifier: BSD-2-Clause */
/* browse.h: browses the report of a profile on a terminal. */
/*
 * What is shown are pages of the report's own text, of which a row is selected. Not thread-safe:
 * there is one terminal.
 */
#ifndef GCPROF_BROWSE_H
#define GCPROF_BROWSE_H

#include <poll.h>
#include <stdbool.h>

#include "host.h"

struct browse;

/*
 * Takes over the terminal. `host` is borrowed. -ENOTTY: the terminal cannot be used, -ENOMEM.
 */
int browse_open(struct browse_host *host, struct browse **out);
void browse_close(struct browse *browse); /* NULL is allowed */

/* The host has other data: it is loaded and shown. 0 or a negative errno. */
int browse_refresh(struct browse *browse);

/* Shows the page again, with the host's note. 0 or a negative errno. */
int browse_show(struct browse *browse);

/* Waits for keys, and for `fds`, the first of which is left to it, and does what the keys ask for.
 * 0: goes on; 1: the user leaves; a negative errno: the terminal is gone, or there is no memory. */
int browse_wait(struct browse *browse, struct pollfd *fds, nfds_t count);

/* Is a text meant as a term of a filter, KEY=VALUE, and not as one to look for? */
bool browse_is_term(const char *text);

#endif
