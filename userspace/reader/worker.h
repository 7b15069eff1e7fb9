/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.h: a process that serves one request after the other, and may die or hang. */
/*
 * A worker is this program, executed afresh: it shares no memory with its parent and gets only
 * descriptors. It starts with its first request. A request has limits on CPU time and wall time. A
 * worker that exceeds them is killed; one that does not even die, because a file system does not
 * answer, is left behind. The next request gets a new process, unless too many of the same user's
 * were left behind.
 *
 * Not thread-safe; each thread has its own workers. Only worker_wait() blocks.
 */
#ifndef GCPROF_READER_WORKER_H
#define GCPROF_READER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol.h"

struct worker;

/* One request. Everything is borrowed until worker_start() returns. */
struct worker_order {
	uint32_t kind;
	const void *data;
	size_t size; /* at most WORKER_MESSAGE_MAX */
	const int *fds;
	size_t n_fds;
	uint64_t cpu_ns, wall_ns; /* limits */
	size_t answer_max;        /* bytes */
	uint32_t user;            /* for whom: nobody may leave all behind that may hang */
};

/* The end of a request, or a question. Valid until the next call for this worker. */
struct worker_answer {
	/*
	 * 0; a negative errno of the worker; or -ETIME: limit exceeded; -EPIPE: the request killed
	 * the process; -EBADMSG: malformed answer; -EMFILE: could not be started.
	 */
	int err;
	const char *data;
	size_t size;
	int fd; /* -1: none; owned by the caller */
};

enum worker_state {
	WORKER_IDLE,     /* no request */
	WORKER_WORKING,  /* no answer yet */
	WORKER_ANSWERED, /* the request has ended */
	WORKER_QUESTION, /* it needs a file: continue with worker_supply() */
};

/* `role` is WORKER_READER or WORKER_OPENER. With `wakes`, worker_wakeups() reports its answers.
 * -ENOMEM. */
int worker_create(const char *role, bool wakes, struct worker **out);
void worker_free(struct worker *worker); /* NULL is allowed */

/* Abandons the process, which exits when it can. */
void worker_leave(struct worker *worker);

/* Called with true before the process starts and with false afterwards: lends it rights of the
 * calling thread. */
typedef void worker_lends(bool lent);
void worker_lend(struct worker *worker, worker_lends *lends);

/* Starts the process ahead of a request. A negative errno. */
int worker_prepare(struct worker *worker);

/* The same at the calling thread's priority, which this process keeps. Returns its pid. */
pid_t worker_hurry(struct worker *worker);

/* Starts a request; there must be none in progress. A negative errno if no process could be
 * started. */
int worker_start(struct worker *worker, const struct worker_order *order);

/* Gives the next request a new process, which has read nothing before. Not during a request. */
void worker_renew(struct worker *worker);

/* Announces requests about the memory of this user's programs. No process that has seen another
 * user's may handle them, because such a program may have taken it over. Not during a request. */
void worker_serve(struct worker *worker, uid_t user);

/* Takes what has arrived; WORKER_ANSWERED is returned once per request. */
enum worker_state worker_poll(struct worker *worker, struct worker_answer *out);

/* The same, but waits briefly: may also return WORKER_WORKING. */
enum worker_state worker_wait(struct worker *worker, struct worker_answer *out);

/* Answers a question with at least one byte, and a borrowed descriptor or -1. */
void worker_supply(struct worker *worker, const void *data, size_t size, int fd);

bool worker_is_busy(const struct worker *worker);

/* A descriptor for poll(): readable while data from a worker that wakes is pending. -1: none. */
int worker_wakeups(void);

/* Waits until a worker that wakes has sent something, for at most `ms`. */
void worker_wait_any(int ms);

/* Number of processes that ended unexpectedly. */
uint64_t worker_deaths(const struct worker *worker);

/* CPU time of all processes so far, ns. Never decreases. */
uint64_t worker_cpu_ns(const struct worker *worker);

/* The same for all workers, including children of their processes. Thread-safe. */
uint64_t workers_cpu_ns(void);

#endif
