/* SPDX-License-Identifier: BSD-2-Clause */
/* stop_signals.h: a pollable descriptor for the signals that end a command. */
#ifndef GCPROF_STOP_SIGNALS_H
#define GCPROF_STOP_SIGNALS_H

/*
 * Returns a signalfd that is readable after SIGINT, SIGTERM or SIGHUP.
 * All of them are blocked from then on. Negative errno. Close it.
 */
int stop_signals_open(void);

#endif
