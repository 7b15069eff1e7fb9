/* SPDX-License-Identifier: BSD-2-Clause */
/* push.h: puts a profile's rows into a ClickHouse server, each once. */
#ifndef GCPROF_FLEET_PUSH_H
#define GCPROF_FLEET_PUSH_H

#include <stdbool.h>

#include "block.h"
#include "http.h"

struct push_result {
	uint64_t profile;   /* its identity */
	uint64_t rows;      /* that were sent */
	uint64_t rows_were; /* that the server had */
	bool whole;         /* the server had all of them */
	bool unfinished;    /* the end of the profile is missing */
};

/* Is the server there, and are its tables those of this gcprof? As http_query(). */
int push_check(struct http *http, struct http_problem *problem);

/* Drops the samples, pauses and calls of profiles that began more than so many days ago; the hourly
 * sums stay. `dropped` counts the days. As http_query(). */
int push_expire(struct http *http, uint64_t days, uint64_t *dropped, struct http_problem *problem);

/* The identity of the profile in a file: 0 or a negative errno. */
int push_identify(int fd, uint64_t *out);

/*
 * Puts the profile's rows there that are missing. `labels` are what all rows get; host and
 * service come from the profile if they are NULL. Borrows the descriptor, which it locks. Errors:
 * those of rows_read() and http_query(); -EBUSY: another process pushes the profile, or it
 * is still being written, with a text.
 */
int push_profile(struct http *http, int fd, const struct fleet_given *labels,
		 struct push_result *result, struct http_problem *problem);

#endif
