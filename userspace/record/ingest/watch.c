/* SPDX-License-Identifier: BSD-2-Clause */
/* watch.c: waits for the program's end, a signal, a timeout, or work. */
#include "watch.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../../reader/worker.h"

#define NS_PER_S 1000000000
#define PROGRAM  UINT64_MAX /* instead of a descriptor: one of the programs ended */

struct watch {
	int epoll;
	int signals;
	int timer;
	int signal;
	bool typed;     /* at a terminal */
	bool asked;     /* a snapshot was requested */
	bool paused;    /* a pause was requested */
	size_t running; /* number of programs */
	bool ended;     /* the last of them */
};

static int watch_add(struct watch *watch, int fd, uint32_t events)
{
	struct epoll_event event = {
		.events = events,
		.data = {.u64 = events & EPOLLONESHOT ? PROGRAM : (uint64_t)fd},
	};

	return epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int watch_signals(struct watch *watch, bool snapshots)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGNAL_PAUSE);
	sigaddset(&set, SIGNAL_RESUME);
	if (snapshots)
		sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	watch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return watch->signals < 0 ? -errno : watch_add(watch, watch->signals, EPOLLIN);
}

/*
 * Edge-triggered: rings are drained regularly anyway, and level-triggered ones would keep waking us
 * while they contain anything.
 */
static int watch_rings(struct watch *watch, const struct watch_parts *parts)
{
	const int *fds = NULL;
	size_t count = parts->maps ? perf_maps_fds(parts->maps, &fds) : 0;
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = watch_add(watch, fds[i], EPOLLIN | EPOLLET);
	if (!err && worker_wakeups() >= 0)
		err = watch_add(watch, worker_wakeups(), EPOLLIN | EPOLLET);
	for (int ring = 0; !err && ring < RINGS; ring++)
		err = watch_add(watch, session_ring_fd(parts->session, (enum session_ring)ring),
				EPOLLIN | EPOLLET);
	return err;
}

static int watch_programs(struct watch *watch, const struct watch_parts *parts)
{
	int err = 0;

	for (size_t i = 0; !err && i < parts->n_pidfds; i++)
		err = watch_add(watch, parts->pidfds[i], EPOLLIN | EPOLLONESHOT);
	watch->running = parts->n_pidfds;
	return err;
}

int watch_open(const struct watch_parts *parts, struct watch **out)
{
	struct watch *watch = calloc(1, sizeof(*watch));
	int err;

	if (!watch)
		return -ENOMEM;
	watch->signals = watch->timer = -1;
	watch->paused = parts->paused;
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	err = watch->epoll < 0 ? -errno : watch_signals(watch, parts->snapshots);
	if (!err)
		err = watch_programs(watch, parts);
	if (!err)
		err = watch_rings(watch, parts);
	if (err) {
		watch_free(watch);
		return err;
	}
	*out = watch;
	return 0;
}

int watch_start(struct watch *watch, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)},
	};

	if (!ns)
		return 0;
	watch->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->timer < 0 || timerfd_settime(watch->timer, 0, &when, NULL))
		return -errno;
	return watch_add(watch, watch->timer, EPOLLIN);
}

static enum watch_event take_signal(struct watch *watch)
{
	struct signalfd_siginfo info;

	if (read(watch->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return WATCH_WORK;
	if (info.ssi_signo == SIGUSR2) {
		watch->asked = true;
		return WATCH_WORK;
	}
	if ((int)info.ssi_signo == SIGNAL_PAUSE || (int)info.ssi_signo == SIGNAL_RESUME) {
		watch->paused = (int)info.ssi_signo == SIGNAL_PAUSE;
		return WATCH_WORK;
	}
	watch->signal = (int)info.ssi_signo;
	watch->typed = info.ssi_code == SI_KERNEL;
	return WATCH_SIGNAL;
}

enum watch_event watch_wait(struct watch *watch, int timeout_ms)
{
	struct epoll_event events[32];
	enum watch_event result = WATCH_WORK;
	int count = epoll_wait(watch->epoll, events, 32, timeout_ms);

	for (int i = 0; i < count; i++) {
		int fd;

		if (events[i].data.u64 == PROGRAM) {
			watch->ended |= --watch->running == 0;
			continue;
		}
		fd = (int)events[i].data.u64;
		if (fd == watch->signals)
			result = take_signal(watch);
		else if (fd == watch->timer && result == WATCH_WORK)
			result = WATCH_DURATION;
	}
	return watch->ended ? WATCH_EXITED : result;
}

bool watch_take_request(struct watch *watch)
{
	bool asked = watch->asked;

	watch->asked = false;
	return asked;
}

bool watch_is_paused(const struct watch *watch)
{
	return watch->paused;
}

int watch_signal(const struct watch *watch)
{
	return watch->signal;
}

bool watch_signal_is_typed(const struct watch *watch)
{
	return watch->typed;
}

void watch_free(struct watch *watch)
{
	if (!watch)
		return;
	if (watch->timer >= 0)
		close(watch->timer);
	if (watch->signals >= 0)
		close(watch->signals);
	if (watch->epoll >= 0)
		close(watch->epoll);
	free(watch);
}
