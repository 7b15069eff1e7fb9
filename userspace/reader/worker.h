/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.h: a process that works off one request after the other, and may die or hang. */
/*
 * A worker is this program, executed afresh: it shares no memory with its parent and
 * gets descriptors only. It starts with its first request. A request has limits of CPU
 * time and of time; a worker that exceeds them is killed, and one that does not even die
 * (it waits for a file system that does not answer) is left behind. The next request
 * gets a new process.
 *
 * Not thread-safe; each thread has workers of its own. Nothing here waits but
 * worker_wait().
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
};

/* The end of a request, or a question. Valid until the next call for this worker. */
struct worker_answer {
	/*
	 * 0; a negative errno of the worker; or -ETIME: it took too long; -EPIPE: the process
	 * died of it; -EBADMSG: the answer makes no sense; -EMFILE: it could not be started.
	 */
	int err;
	const char *data;
	size_t size;
	int fd; /* -1: none; taken over by the caller */
};

enum worker_state {
	WORKER_IDLE,     /* no request */
	WORKER_WORKING,  /* no answer yet */
	WORKER_ANSWERED, /* the request has ended */
	WORKER_QUESTION, /* it needs a file: go on with worker_supply() */
};

/* `role` is WORKER_READER or WORKER_OPENER. If `wakes`, worker_wakeups() shows its answers.
 * -ENOMEM. */
int worker_create(const char *role, bool wakes, struct worker **out);
void worker_free(struct worker *worker); /* NULL is allowed */

/* Lets go of the process: it ends itself when it can. */
void worker_leave(struct worker *worker);

/* Called with true before the process is started and with false after it: lends it rights that the
 * calling thread has. */
typedef void worker_lends(bool lent);
void worker_lend(struct worker *worker, worker_lends *lends);

/* Starts the process before there is a request. A negative errno. */
int worker_prepare(struct worker *worker);

/* The same, with the calling thread's priority, which this process keeps: its pid. */
pid_t worker_hurry(struct worker *worker);

/* Begins a request; there must be none. A negative errno if no process could be started. */
int worker_start(struct worker *worker, const struct worker_order *order);

/* The next request gets a new process, which has read nothing before. Not while there is one. */
void worker_renew(struct worker *worker);

/* The next requests show the memory of this user's programs, which no process may see that has seen
 * another user's: such a program may have taken it over. Not while there is a request. */
void worker_serve(struct worker *worker, uid_t user);

/* Takes what has come; WORKER_ANSWERED comes once a request. */
enum worker_state worker_poll(struct worker *worker, struct worker_answer *out);

/* The same, and waits for it, but not for long: WORKER_WORKING may come, too. */
enum worker_state worker_wait(struct worker *worker, struct worker_answer *out);

/* Answers a question: with at least one byte, and a descriptor, which is borrowed, or -1. */
void worker_supply(struct worker *worker, const void *data, size_t size, int fd);

bool worker_is_busy(const struct worker *worker);

/* A descriptor for poll(): readable while a worker that wakes has sent something. -1: none. */
int worker_wakeups(void);

/* Waits until a worker that wakes has sent something, for so long at most. */
void worker_wait_any(int ms);

/* Processes that ended before they were asked to. */
uint64_t worker_deaths(const struct worker *worker);

/* CPU time of all processes so far, ns. Never less than before. */
uint64_t worker_cpu_ns(const struct worker *worker);

/* The same of all workers, with the processes that these have started. For any thread. */
uint64_t workers_cpu_ns(void);

#endif
