/* SPDX-License-Identifier: BSD-2-Clause */
/* stop_signals.c: a pollable descriptor for the signals that end a command. */
#include "stop_signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

int stop_signals_open(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
