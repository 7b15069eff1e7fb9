/* SPDX-License-Identifier: BSD-2-Clause */
/* stop_signals.h: signals by which a user ends a command, as something to poll. */
#ifndef GCPROF_STOP_SIGNALS_H
#define GCPROF_STOP_SIGNALS_H

#include <stdbool.h>

/*
 * A descriptor (signalfd) that is readable once SIGINT, SIGTERM or SIGHUP has come, with `resized`
 * SIGWINCH, too; all are blocked from then on. A negative errno. Close it.
 */
int stop_signals_open(bool resized);

#endif
