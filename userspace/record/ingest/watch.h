/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.h: waits for the program's end, a signal, a timeout, or work. */
#ifndef GCPROF_WATCH_H
#define GCPROF_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel/perf_maps.h"
#include "../kernel/session.h"

enum watch_event {
	WATCH_WORK,     /* a ring is filling, something was mapped, or a timeout */
	WATCH_EXITED,   /* the program ended, or the last of several */
	WATCH_SIGNAL,   /* SIGINT, SIGTERM or SIGHUP */
	WATCH_DURATION, /* the requested duration is over */
};

/* What to watch; all borrowed. */
struct watch_parts {
	const struct session *session;
	const struct perf_maps *maps; /* may be NULL */
	const int *pidfds;            /* of the programs; owned by the caller */
	size_t n_pidfds;              /* 0: ends only by a signal or the duration */
	bool snapshots;               /* SIGUSR2 requests one */
	bool paused;                  /* begins paused */
};

struct watch;

/* Blocks the signals above from now on; watch_wait() delivers them. */
int watch_open(const struct watch_parts *parts, struct watch **out);

/* Starts the duration, `ns`; 0: unlimited. */
int watch_start(struct watch *watch, uint64_t ns);

/* The programs' end takes precedence over other events. */
enum watch_event watch_wait(struct watch *watch, int timeout_ms);

/* Was a snapshot requested since the last call? */
bool watch_take_request(struct watch *watch);

/* Is the recording to be paused? SIGNAL_PAUSE and SIGNAL_RESUME say so. */
#define SIGNAL_PAUSE  SIGRTMIN
#define SIGNAL_RESUME (SIGRTMIN + 1)
bool watch_is_paused(const struct watch *watch);

/* The last signal, 0: none; was it sent by a terminal, as by Ctrl-C? */
int watch_signal(const struct watch *watch);
bool watch_signal_is_typed(const struct watch *watch);

/* NULL is allowed. */
void watch_free(struct watch *watch);

#endif
