/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h: waits until the program ends, a signal comes, time is over, or there is work. */
#ifndef GCPROF_WATCH_H
#define GCPROF_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel/perf_maps.h"
#include "../kernel/session.h"

enum watch_event {
	WATCH_WORK,     /* a ring filled up, something was mapped, or nothing for a while */
	WATCH_EXITED,   /* the program ended, or the last of several */
	WATCH_SIGNAL,   /* SIGINT, SIGTERM or SIGHUP */
	WATCH_DURATION, /* the time asked for is over */
};

/* What is watched; all borrowed. */
struct watch_parts {
	const struct session *session;
	const struct perf_maps *maps; /* may be NULL */
	const int *pidfds;            /* of the programs; they stay the caller's */
	size_t n_pidfds;              /* 0: only a signal or the time ends it */
	bool snapshots;               /* SIGUSR2 asks for one */
};

struct watch;

/* From here on the signals named above are blocked and come through watch_wait(). */
int watch_open(const struct watch_parts *parts, struct watch **out);

/* Starts the clock of WATCH_DURATION; `ns` 0: never. */
int watch_start(struct watch *watch, uint64_t ns);

/* The programs' end goes before all else that may have happened. */
enum watch_event watch_wait(struct watch *watch, int timeout_ms);

/* Has a snapshot been asked for since the last call? */
bool watch_take_request(struct watch *watch);

/* The signal that came last, 0: none; did a terminal send it, as at Ctrl-C? */
int watch_signal(const struct watch *watch);
bool watch_signal_is_typed(const struct watch *watch);

/* NULL is allowed. */
void watch_free(struct watch *watch);

#endif
