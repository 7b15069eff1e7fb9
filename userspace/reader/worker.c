/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c: a process that serves one request after the other, and may die or hang. */
/*
 * A process may die because of earlier work (its memory was full), or be killed or stopped from
 * outside. A request that ended a process is therefore retried in a fresh one. If that ends, too,
 * the request is at fault.
 */
#include "worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../util/buffer.h"
#include "../util/monotonic.h"
#include "../util/proc_file.h"
#include "spawn.h"
#include "wire.h"

#define SECOND_NS UINT64_C(1000000000)
#define START_NS  (60 * SECOND_NS) /* of a process, before the limits of its request count */

enum {
	STAT_FIELD_CHILDREN = 16, /* CPU time of ended children: user, system; ticks */
	CHILDREN_BYTES = 1 << 13, /* for the list of running children */
	LEFT_MAX = 8,             /* killed processes that do not die */
	KILLED_TRIES = 64,        /* per request, if other processes kill its worker */
	POLL_MS = 20,             /* between two limit checks in worker_wait() */
};

/* A request, kept until it is answered. */
struct order {
	struct worker_request head;
	char data[WORKER_MESSAGE_MAX];
	int fds[WORKER_FDS_MAX];
	size_t n_fds;
	uint64_t cpu_ns, wall_ns, answer_max;
	uint32_t user;
	uint64_t began, cpu_began; /* in this process, once that has started */
	unsigned tries;            /* number of processes that ended during it */
	bool fresh;                /* it is the first request of its process */
};

struct worker {
	const char *role;
	bool wakes;
	bool replaced;       /* if it is stopped: it holds nothing that another one would miss */
	worker_lends *lends; /* NULL: no rights needed */
	pid_t pid;           /* 0: no process */
	int socket;
	bool started; /* the process has sent something */
	bool used;    /* it has answered a request */
	bool busy;
	uid_t user; /* from the last worker_serve() */
	struct order order;
	struct buffer answer;
	int fd; /* received with the answer, or -1 */
	pid_t left[LEFT_MAX];
	uint32_t left_by[LEFT_MAX]; /* the user of each one's request */
	uint64_t ended_ns, deaths;
	uint64_t children_ns; /* of ended processes: CPU time of their children */
	struct spawn spawn;
	struct worker *next; /* list of all workers, whose lock also protects `pid` and the times */
	char message[WORKER_MESSAGE_MAX]; /* the last one from the process */
};

static struct {
	pthread_mutex_t lock;
	struct worker *first;
	uint64_t freed_ns, most_ns;
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- processes ---------------------------------------------------------------------------- */

static int wakeups;

static void create_wakeups(void)
{
	wakeups = epoll_create1(EPOLL_CLOEXEC);
}

int worker_wakeups(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, create_wakeups);
	return wakeups;
}

void worker_wait_any(int ms)
{
	struct epoll_event event;

	(void)epoll_wait(worker_wakeups(), &event, 1, ms);
}

static void watch(const struct worker *worker)
{
	/* Edge-triggered, so each message wakes once: it may be for another caller than the one
	 * that waits. */
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};

	if (worker->wakes)
		(void)epoll_ctl(worker_wakeups(), EPOLL_CTL_ADD, worker->socket, &event);
}

static void order_clear(struct order *order)
{
	for (size_t i = 0; i < order->n_fds; i++)
		close(order->fds[i]);
	order->n_fds = 0;
}

/* Reaps killed processes that have died. May this user leave another one behind? */
static bool reap(struct worker *worker, uint32_t user)
{
	size_t room = LEFT_MAX, own = 0;

	for (size_t i = 0; i < LEFT_MAX; i++) {
		if (worker->left[i] && waitpid(worker->left[i], NULL, WNOHANG) != 0)
			worker->left[i] = 0;
		room -= worker->left[i] != 0;
		own += worker->left[i] && worker->left_by[i] == user;
	}
	return own < room;
}

/* CPU time of a process not yet waited for. */
static uint64_t cpu_of(pid_t pid)
{
	struct timespec time = {0};
	clockid_t clock;

	if (pid && !clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* CPU time of a process's children: of ended ones to a tick, and of running ones. */
static uint64_t children_cpu(pid_t pid)
{
	static char text[CHILDREN_BYTES]; /* protected by the lock */
	const char *ended;
	uint64_t ns = 0;
	char name[32], *at, *end;

	if (!pid || proc_file_read((uint32_t)pid, "stat", text, sizeof(text)))
		return 0;
	ended = proc_file_stat(text, STAT_FIELD_CHILDREN);
	if (ended) {
		ns = strtoull(ended, &at, 10);
		ns = (ns + strtoull(at, NULL, 10)) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	}
	snprintf(name, sizeof(name), "task/%d/children", pid);
	if (proc_file_read((uint32_t)pid, name, text, sizeof(text)))
		return ns;
	for (at = text; (pid = (pid_t)strtol(at, &end, 10)) > 0; at = end)
		ns += cpu_of(pid);
	return ns;
}

/* Changes to another process, or to none. */
static void set_pid(struct worker *worker, pid_t pid)
{
	pthread_mutex_lock(&workers.lock);
	worker->ended_ns += cpu_of(worker->pid);
	worker->children_ns += children_cpu(worker->pid);
	worker->pid = pid;
	pthread_mutex_unlock(&workers.lock);
}

static int prepare(struct worker *worker, bool hurried)
{
	int pair[2];
	pid_t pid;

	if (worker->pid)
		return 0;
	if (!reap(worker, worker->order.user))
		return -EMFILE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	if (worker->lends)
		worker->lends(true);
	pid = spawn_start(&worker->spawn, worker->role, pair[1], hurried);
	if (worker->lends)
		worker->lends(false);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return pid;
	}
	set_pid(worker, pid);
	worker->socket = pair[0];
	worker->started = worker->used = false;
	watch(worker);
	return 0;
}

int worker_prepare(struct worker *worker)
{
	return prepare(worker, false);
}

pid_t worker_hurry(struct worker *worker)
{
	int err = prepare(worker, true);

	return err ? err : worker->pid;
}

/* It may be deep in a file, or blocked in the kernel by a file system for any time. */
static void end_process(struct worker *worker)
{
	pid_t pid = worker->pid;

	if (!pid)
		return;
	close(worker->socket);
	set_pid(worker, 0);
	kill(pid, SIGKILL);
	for (size_t i = 0; pid && i < LEFT_MAX; i++) {
		if (worker->left[i])
			continue;
		worker->left[i] = pid;
		worker->left_by[i] = worker->order.user;
		pid = 0;
	}
	reap(worker, 0);
}

void worker_leave(struct worker *worker)
{
	if (worker->pid)
		close(worker->socket);
	set_pid(worker, 0);
}

int worker_create(const char *role, bool wakes, struct worker **out)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->role = role;
	worker->wakes = wakes;
	worker->replaced = !strcmp(role, WORKER_READER);
	worker->fd = -1;
	pthread_mutex_lock(&workers.lock);
	worker->next = workers.first;
	workers.first = worker;
	pthread_mutex_unlock(&workers.lock);
	*out = worker;
	return 0;
}

void worker_lend(struct worker *worker, worker_lends *lends)
{
	worker->lends = lends;
}

static void remove_worker(const struct worker *worker)
{
	struct worker **at = &workers.first;

	pthread_mutex_lock(&workers.lock);
	while (*at != worker)
		at = &(*at)->next;
	*at = worker->next;
	workers.freed_ns += worker->ended_ns + worker->children_ns;
	pthread_mutex_unlock(&workers.lock);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	end_process(worker);
	spawn_wait(&worker->spawn);
	remove_worker(worker);
	order_clear(&worker->order);
	if (worker->fd >= 0)
		close(worker->fd);
	buffer_free(&worker->answer);
	free(worker);
}

/* --- messages ----------------------------------------------------------------------------- */

static void begin_order(struct worker *worker)
{
	worker->order.began = monotonic_ns();
	worker->order.cpu_began = cpu_of(worker->pid);
}

/* Sends the request to the idle process, whose socket has room. */
static int send_order(struct worker *worker)
{
	struct order *order = &worker->order;
	struct iovec parts[] = {{&order->head, sizeof(order->head)},
				{order->data, order->head.size}};
	int err = worker_prepare(worker);

	if (err)
		return err;
	order->fresh = !worker->used;
	begin_order(worker);
	worker->answer.size = 0;
	/* If the process is gone, this shows when its answer is awaited. */
	(void)wire_send(worker->socket, parts, 2, order->fds, order->n_fds, MSG_DONTWAIT);
	return 0;
}

static int order_take(struct order *order, const struct worker_order *from)
{
	if (from->size > sizeof(order->data) || from->n_fds > WORKER_FDS_MAX)
		return -E2BIG;
	order->head = (struct worker_request){from->kind, (uint32_t)from->size};
	if (from->size)
		memcpy(order->data, from->data, from->size);
	order->cpu_ns = from->cpu_ns;
	order->wall_ns = from->wall_ns;
	order->answer_max = from->answer_max;
	order->user = from->user;
	order->tries = 0;
	for (order->n_fds = 0; order->n_fds < from->n_fds; order->n_fds++) {
		int fd = dup(from->fds[order->n_fds]);

		if (fd < 0) {
			order_clear(order);
			return -EMFILE;
		}
		order->fds[order->n_fds] = fd;
	}
	return 0;
}

void worker_renew(struct worker *worker)
{
	if (worker->used)
		end_process(worker);
}

void worker_serve(struct worker *worker, uid_t user)
{
	if (worker->user != user)
		worker_renew(worker);
	worker->user = user;
}

int worker_start(struct worker *worker, const struct worker_order *order)
{
	int err = worker->busy ? -EBUSY : order_take(&worker->order, order);

	if (err)
		return err;
	err = send_order(worker);
	if (err)
		order_clear(&worker->order);
	worker->busy = !err;
	return err;
}

/* --- answers ------------------------------------------------------------------------------ */

static enum worker_state worker_finish(struct worker *worker, int err, struct worker_answer *out)
{
	*out = (struct worker_answer){err, worker->answer.data, worker->answer.size, worker->fd};
	worker->fd = -1;
	worker->busy = false;
	order_clear(&worker->order);
	return WORKER_ANSWERED;
}

/* Was it killed from outside? */
static bool was_killed(pid_t pid)
{
	siginfo_t info = {0};
	struct timespec moment = {.tv_nsec = 1000000};

	/* Its socket is closed shortly before it has ended. */
	for (int i = 0; i < 20 && !info.si_pid; i++) {
		if (i)
			nanosleep(&moment, NULL);
		if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
			return false;
	}
	return info.si_code == CLD_KILLED && info.si_status == SIGKILL;
}

/* Is it stopped, by a signal from outside? */
static bool was_stopped(pid_t pid)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) && info.si_pid;
}

/* The process is gone, stopped or sent garbage: retries the request in another one, if that may
 * help. */
static enum worker_state lost(struct worker *worker, int err, bool killed,
			      struct worker_answer *out)
{
	struct order *order = &worker->order;

	worker->deaths++;
	end_process(worker);
	order->tries++;
	if (killed ? order->tries >= KILLED_TRIES : order->fresh || order->tries > 1)
		return worker_finish(worker, err, out);
	err = send_order(worker);
	return err ? worker_finish(worker, err, out) : WORKER_WORKING;
}

static enum worker_state overran(struct worker *worker, struct worker_answer *out)
{
	end_process(worker);
	worker->deaths++;
	return worker_finish(worker, -ETIME, out);
}

static ssize_t receive(struct worker *worker, struct worker_reply *reply, char *data)
{
	struct iovec parts[] = {{reply, sizeof(*reply)}, {data, WORKER_MESSAGE_MAX}};
	struct wire_fds files;
	ssize_t n = wire_take(worker->socket, parts, 2, MSG_DONTWAIT, &files);

	/* Keep at most one descriptor. */
	for (size_t i = 0; i < files.n; i++) {
		if (worker->fd < 0)
			worker->fd = files.fds[i];
		else
			close(files.fds[i]);
	}
	return n;
}

/* Takes one message; WORKER_IDLE: currently none. */
static enum worker_state worker_take(struct worker *worker, struct worker_answer *out)
{
	char *data = worker->message;
	struct worker_reply reply;
	ssize_t n = receive(worker, &reply, data);
	size_t size = n < (ssize_t)sizeof(reply) ? 0 : (size_t)n - sizeof(reply);

	if (n == -EAGAIN || n == -EINTR)
		return WORKER_IDLE;
	if (n <= 0)
		return lost(worker, -EPIPE, was_killed(worker->pid), out);
	if (n < (ssize_t)sizeof(reply) || worker->answer.size + size > worker->order.answer_max)
		return lost(worker, -EBADMSG, was_killed(worker->pid), out);
	/* On a busy machine starting may take seconds, which are not the request's. */
	if (!worker->started)
		begin_order(worker);
	worker->started = true;
	if (reply.flags & WORKER_ASKS) {
		*out = (struct worker_answer){.data = data, .size = size, .fd = -1};
		return WORKER_QUESTION;
	}
	if (buffer_append(&worker->answer, data, size)) {
		end_process(worker);
		return worker_finish(worker, -ENOMEM, out);
	}
	if (!(reply.flags & WORKER_LAST))
		return WORKER_WORKING;
	worker->used = true;
	return worker_finish(worker, reply.err, out);
}

static bool is_over_limit(const struct worker *worker)
{
	const struct order *order = &worker->order;

	if (!worker->started)
		return monotonic_ns() - order->began > START_NS;
	return monotonic_ns() - order->began > order->wall_ns ||
	       cpu_of(worker->pid) - order->cpu_began > order->cpu_ns;
}

enum worker_state worker_poll(struct worker *worker, struct worker_answer *out)
{
	enum worker_state state;

	if (!worker->busy)
		return WORKER_IDLE;
	do {
		state = worker_take(worker, out);
		if (state == WORKER_IDLE && worker->replaced && was_stopped(worker->pid))
			state = lost(worker, -EPIPE, true, out);
		if (state == WORKER_ANSWERED)
			return state;
		/* Endless messages, including questions, must not outlast the limit. */
		if (is_over_limit(worker))
			return overran(worker, out);
	} while (state == WORKER_WORKING);
	return state == WORKER_IDLE ? WORKER_WORKING : state;
}

enum worker_state worker_wait(struct worker *worker, struct worker_answer *out)
{
	enum worker_state state = worker_poll(worker, out);
	struct pollfd wait = {.fd = worker->socket, .events = POLLIN};

	if (state != WORKER_WORKING)
		return state;
	poll(&wait, 1, POLL_MS);
	return worker_poll(worker, out);
}

void worker_supply(struct worker *worker, const void *data, size_t size, int fd)
{
	struct iovec part = {(void *)(uintptr_t)data, size};

	if (worker->busy)
		(void)wire_send(worker->socket, &part, 1, &fd, fd >= 0, MSG_DONTWAIT);
}

bool worker_is_busy(const struct worker *worker)
{
	return worker->busy;
}

uint64_t worker_deaths(const struct worker *worker)
{
	return worker->deaths;
}

uint64_t worker_cpu_ns(const struct worker *worker)
{
	return worker->ended_ns + cpu_of(worker->pid);
}

uint64_t workers_cpu_ns(void)
{
	uint64_t ns;

	pthread_mutex_lock(&workers.lock);
	ns = workers.freed_ns;
	for (const struct worker *worker = workers.first; worker; worker = worker->next)
		ns += worker_cpu_ns(worker) + worker->children_ns + children_cpu(worker->pid);
	/* The tick-based time of ended children may be less than it was while they ran. */
	if (ns > workers.most_ns)
		workers.most_ns = ns;
	ns = workers.most_ns;
	pthread_mutex_unlock(&workers.lock);
	return ns;
}
