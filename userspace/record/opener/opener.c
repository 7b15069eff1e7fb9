// SPDX-License-Identifier: BSD-2-Clause
/* opener.c: opens files that others chose, in a process that may hang in the recorder's place. */
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "../../reader/worker.h"
#include "../../util/quota.h"
#include "../../util/turns.h"
#include "undo.h"

#define LIMIT_NS  UINT64_C(2000000000)  /* of a request */
#define RECENT_NS UINT64_C(60000000000) /* more recent hangs shorten the limit */
#define TURN_NS   UINT64_C(5000000)     /* of opener_turn() */

enum {
	PATH_BYTES = 4096,
	QUEUE_MAX = 4096, /* requests */
	ANSWER_MAX = 4096,
	TURN_WAIT_MS = 1,  /* for a file system that answers at once */
	HUNG_PIDS = 64,    /* remembered */
	HANGS_MAX = 16,    /* users remembered */
	TROUBLES_MAX = 16, /* waiting to be fetched */
	TROUBLE_BYTES = 512,
};

/* Requests of different kinds do not wait for each other. */
enum lane_kind {
	LANE_FILES,
	LANE_USER,
	LANE_MEMORY,
	LANES,
};

/* A waiting request. */
struct pending {
	struct turn turn;
	uint32_t kind, pid;
	opener_done *done;
	void *context;
	int fd;           /* descriptor to be sent with it; -1: none */
	const char *name; /* for messages, in `data` */
	size_t size;
	_Alignas(8) char data[]; /* struct opener_head, and so on */
};

struct lane {
	struct worker *worker;
	struct turns turns;      /* struct pending */
	struct pending *current; /* being handled; NULL: none */
	uint64_t began;          /* since then; ns */
	uint64_t limit;          /* of the current request, ns */
	bool is_full;            /* the message that too many hang was given */
};

/* A user whose requests hung. */
struct hangs {
	uint32_t user;
	unsigned count; /* less than RECENT_NS apart */
	uint64_t last;  /* time of the last one, ns */
};

struct opener {
	struct lane lanes[LANES];
	struct undo *undo;
	struct hangs hangs[HANGS_MAX];
	size_t n_hangs; /* so far: the oldest entries are overwritten */
	opener_user_of *user_of;
	void *users;
	struct quota waiting; /* requests */
	uint64_t hung_devices[OPENER_HUNG_MAX];
	uint32_t hung_pids[HUNG_PIDS];
	size_t n_devices, n_pids; /* so far: the oldest entries are overwritten */
	char troubles[TROUBLES_MAX][TROUBLE_BYTES];
	size_t n_troubles, troubles_read;
};

int opener_create(bool wakes, struct opener **out)
{
	struct opener *opener = calloc(1, sizeof(*opener));

	if (!opener)
		return -ENOMEM;
	opener->waiting.most = QUEUE_MAX;
	if (undo_create(&opener->undo)) {
		free(opener);
		return -ENOMEM;
	}
	for (int i = 0; i < LANES; i++) {
		struct lane *lane = &opener->lanes[i];

		if (worker_create(WORKER_OPENER, wakes, &lane->worker)) {
			opener_free(opener);
			return -ENOMEM;
		}
		worker_lend(lane->worker, capabilities_lend);
	}
	*out = opener;
	return 0;
}

struct undo *opener_undo_list(struct opener *opener)
{
	return opener->undo;
}

void opener_know_users(struct opener *opener, opener_user_of *user_of, void *context)
{
	opener->user_of = user_of;
	opener->users = context;
}

void opener_prepare(struct opener *opener)
{
	worker_prepare(opener->lanes[LANE_FILES].worker);
	worker_prepare(opener->lanes[LANE_MEMORY].worker);
}

/* --- what hung ---------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void complain(struct opener *opener,
							   const char *format, ...)
{
	va_list arguments;

	if (opener->n_troubles - opener->troubles_read == TROUBLES_MAX)
		return;
	va_start(arguments, format);
	vsnprintf(opener->troubles[opener->n_troubles++ % TROUBLES_MAX], TROUBLE_BYTES, format,
		  arguments);
	va_end(arguments);
}

const char *opener_trouble(struct opener *opener)
{
	if (opener->troubles_read == opener->n_troubles)
		return NULL;
	return opener->troubles[opener->troubles_read++ % TROUBLES_MAX];
}

static bool is_hung(const struct opener *opener, uint32_t pid)
{
	for (size_t i = 0; i < HUNG_PIDS; i++)
		if (pid && opener->hung_pids[i] == pid)
			return true;
	return false;
}

static struct hangs *hangs_of(struct opener *opener, uint32_t user)
{
	for (size_t i = 0; i < HANGS_MAX; i++)
		if (opener->hangs[i].count && opener->hangs[i].user == user)
			return &opener->hangs[i];
	return NULL;
}

static void count_hang(struct opener *opener, uint32_t user)
{
	struct hangs *hangs = hangs_of(opener, user);

	if (!hangs) {
		hangs = &opener->hangs[opener->n_hangs++ % HANGS_MAX];
		*hangs = (struct hangs){.user = user};
	}
	hangs->count++;
	hangs->last = clock_now();
}

/* The opener reported a device before it hung; otherwise it is unknown where it hangs. */
static void note_hang(struct opener *opener, struct lane *lane, const struct pending *pending,
		      const struct worker_answer *answer)
{
	uint64_t device = 0;

	if (answer->size >= sizeof(device))
		memcpy(&device, answer->data + answer->size - sizeof(device), sizeof(device));
	if (device)
		opener->hung_devices[opener->n_devices++ % OPENER_HUNG_MAX] = device;
	else
		opener->hung_pids[opener->n_pids++ % HUNG_PIDS] = pending->pid;
	count_hang(opener, pending->turn.user);
	if (lane == &opener->lanes[LANE_MEMORY])
		complain(opener,
			 "process %" PRIu32 ": %s not reached within %g s; it goes on as it did",
			 pending->pid,
			 pending->kind == OPENER_MAPS
				 ? "what it has mapped, and so the names of its functions, was"
				 : "its memory was",
			 (double)lane->limit / 1e9);
	else
		complain(opener,
			 "%s: not opened: its file system did not answer within %g s; its "
			 "functions have no names",
			 pending->name, (double)lane->limit / 1e9);
}

/* A user who makes many requests hang must not delay all others for long. */
static uint64_t limit_of(struct opener *opener, uint32_t user)
{
	struct hangs *hangs = hangs_of(opener, user);

	if (hangs && clock_now() - hangs->last > RECENT_NS)
		hangs->count = 0;
	return LIMIT_NS / (1 + (hangs ? hangs->count : 0));
}

/* --- requests ----------------------------------------------------------------------------- */

static int begin(struct opener *opener, struct lane *lane, struct pending *pending)
{
	struct worker_order order = {
		.kind = pending->kind,
		.data = pending->data,
		.size = pending->size,
		.fds = &pending->fd,
		.n_fds = pending->fd >= 0,
		.answer_max = ANSWER_MAX,
		.user = pending->turn.user,
	};

	lane->began = clock_now();
	if (is_hung(opener, pending->pid))
		return -ETIME;
	memcpy(pending->data, opener->hung_devices, sizeof(opener->hung_devices));
	order.wall_ns = order.cpu_ns = lane->limit = limit_of(opener, pending->turn.user);
	return worker_start(lane->worker, &order);
}

static void pending_free(struct pending *pending)
{
	if (!pending)
		return;
	if (pending->fd >= 0)
		close(pending->fd);
	free(pending);
}

/* Delivers the result of the current request. */
static void finish(struct opener *opener, struct lane *lane, struct opener_result *result)
{
	struct pending *pending = lane->current;

	lane->current = NULL;
	turns_charge(&lane->turns, pending->turn.user, clock_now() - lane->began);
	quota_return(&opener->waiting, pending->turn.user, 1);
	result->pid = pending->pid;
	pending->done(pending->context, result);
	pending_free(pending);
}

static void fail(struct opener *opener, struct lane *lane, int err)
{
	struct opener_result result = {.err = err, .fd = -1};

	if (err == -EMFILE && !lane->is_full) {
		lane->is_full = true;
		complain(opener,
			 "%s of user %" PRIu32
			 " any more: too many processes wait for file systems "
			 "that do not answer",
			 lane == &opener->lanes[LANE_MEMORY] ? "programs are not asked for anything"
							     : "files are not opened",
			 lane->current->turn.user);
	}
	finish(opener, lane, &result);
}

static void take(struct opener *opener, struct lane *lane, const struct worker_answer *answer)
{
	struct opener_result result = {.err = answer->err, .fd = answer->fd};
	bool is_block = lane->current->kind == OPENER_MEMORY || lane->current->kind == OPENER_HASH;
	size_t size = is_block ? sizeof(result.block) : sizeof(result.file);

	if (!result.err && (answer->size < size || (!is_block && answer->fd < 0)))
		result.err = -EBADMSG;
	if (answer->err == -ETIME)
		note_hang(opener, lane, lane->current, answer);
	if (result.err) {
		if (answer->fd >= 0)
			close(answer->fd);
		fail(opener, lane, result.err == -EHOSTDOWN ? -ETIME : result.err);
		return;
	}
	lane->is_full = false;
	memcpy(is_block ? (void *)&result.block : &result.file, answer->data + answer->size - size,
	       size);
	finish(opener, lane, &result);
}

/* Goes as far as possible without waiting; with `wait`, waits for one answer. True if one came. */
static bool advance(struct opener *opener, struct lane *lane, bool wait)
{
	struct worker_answer answer;
	enum worker_state state;

	if (!lane->current) {
		int err;

		lane->current = (struct pending *)(void *)turns_take(&lane->turns);
		if (!lane->current)
			return false;
		err = begin(opener, lane, lane->current);
		if (err) {
			fail(opener, lane, err);
			return true;
		}
	}
	state = wait ? worker_wait(lane->worker, &answer) : worker_poll(lane->worker, &answer);
	if (state == WORKER_ANSWERED)
		take(opener, lane, &answer);
	return state == WORKER_ANSWERED;
}

void opener_turn(struct opener *opener)
{
	uint64_t end = clock_now() + TURN_NS;
	bool waited = false;

	while (opener->waiting.used && clock_now() < end) {
		struct pollfd wake = {.fd = worker_wakeups(), .events = POLLIN};
		bool moved = false;

		for (int i = 0; i < LANES; i++)
			moved |= advance(opener, &opener->lanes[i], false);
		/* Others may wake us too. */
		if (!moved && (waited || poll(&wake, 1, TURN_WAIT_MS) <= 0))
			return;
		waited = !moved;
	}
}

bool opener_is_idle(const struct opener *opener)
{
	for (int i = 0; i < LANES; i++)
		if (!opener->lanes[i].current && turns_first(&opener->lanes[i].turns))
			return true;
	return false;
}

bool opener_settle(struct opener *opener, uint64_t ns)
{
	uint64_t end = clock_now() + ns;

	while (opener->waiting.used && clock_now() < end)
		for (int i = 0; i < LANES; i++)
			advance(opener, &opener->lanes[i], true);
	return !opener->waiting.used;
}

size_t opener_waiting(const struct opener *opener)
{
	return opener->waiting.used;
}

void opener_free(struct opener *opener)
{
	if (!opener)
		return;
	for (int i = 0; i < LANES; i++) {
		worker_free(opener->lanes[i].worker);
		opener->lanes[i].worker = NULL;
	}
	for (int i = 0; i < LANES; i++) {
		struct lane *lane = &opener->lanes[i];

		while (lane->current || (lane->current = (void *)turns_take(&lane->turns)))
			fail(opener, lane, -ECANCELED);
		turns_free(&lane->turns);
	}
	quota_free(&opener->waiting);
	undo_free(opener->undo);
	free(opener);
}

static void drop(void *context, const struct opener_result *result)
{
	(void)context;
	if (result->fd >= 0)
		close(result->fd);
}

void opener_cancel(struct opener *opener, const void *context)
{
	for (int i = 0; i < LANES; i++) {
		const struct lane *lane = &opener->lanes[i];

		if (lane->current && lane->current->context == context)
			lane->current->done = drop;
		for (struct turn *at = NULL; (at = turns_next(&lane->turns, at));)
			if (((struct pending *)(void *)at)->context == context)
				((struct pending *)(void *)at)->done = drop;
	}
}

/* --- requests of callers ------------------------------------------------------------------ */

struct order {
	uint32_t kind, pid;
	const void *body;
	size_t size;
	const char *name; /* file name sent with the body */
	int fd;           /* borrowed; -1: none */
	opener_done *done;
	void *context;
	const uint32_t *user; /* NULL: of the process */
};

static struct pending *create(const struct order *order)
{
	size_t before = sizeof(struct opener_head) + order->size, length = strlen(order->name) + 1;
	struct pending *pending = calloc(1, sizeof(*pending) + before + length);

	if (!pending)
		return NULL;
	pending->kind = order->kind;
	pending->pid = order->pid;
	pending->done = order->done;
	pending->context = order->context;
	pending->size = before + length;
	memcpy(pending->data + sizeof(struct opener_head), order->body, order->size);
	memcpy(pending->data + before, order->name, length);
	pending->name = pending->data + before;
	pending->fd = order->fd < 0 ? -1 : fcntl(order->fd, F_DUPFD_CLOEXEC, 0);
	return pending;
}

static int add(struct opener *opener, enum lane_kind kind, const struct order *order)
{
	struct lane *lane = &opener->lanes[kind];
	bool asks = !order->user && opener->user_of && order->pid;
	uint32_t user = asks          ? opener->user_of(opener->users, order->pid)
			: order->user ? *order->user
				      : 0;
	struct pending *pending;
	int err = -ENOMEM;

	if (strlen(order->name) >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (!quota_take(&opener->waiting, user, 1))
		return -ENOBUFS;
	pending = create(order);
	if (pending && order->fd >= 0 && pending->fd < 0)
		err = -EMFILE;
	else if (pending)
		err = turns_put(&lane->turns, &pending->turn, user);
	if (err) {
		quota_return(&opener->waiting, user, 1);
		pending_free(pending);
		return err;
	}
	/* Sends it at once if it is its turn; a failure is reported at the next turn. */
	if (!lane->current && lane->turns.waiting == 1 && !begin(opener, lane, pending))
		lane->current = (struct pending *)(void *)turns_take(&lane->turns);
	return 0;
}

int opener_open(struct opener *opener, const struct module_place *place, opener_done *done,
		void *context)
{
	const struct opener_mapped wanted = {
		.inode = place->inode,
		.start = place->start,
		.end = place->end,
		.major = place->major,
		.minor = place->minor,
		.pid = place->pid,
	};
	const struct order order = {OPENER_MAPPED,  place->pid,  &wanted,
				    sizeof(wanted), place->path, -1,
				    done,           context,     &place->user};

	return add(opener, LANE_FILES, &order);
}

int opener_debug(struct opener *opener, const struct opener_who *who, int program,
		 const struct debug_wanted *wanted, opener_done *done, void *context)
{
	const struct opener_debug debug = {.pid = who->pid, .wanted = *wanted};
	char path[PATH_MAX] = "";
	const char *name = wanted->name[0] || !debug_path(wanted, path) ? debug.wanted.name : path;
	const struct order order = {OPENER_DEBUG, who->pid, &debug,  sizeof(debug), name,
				    program,      done,     context, &who->user};

	return add(opener, LANE_FILES, &order);
}

int opener_hash(struct opener *opener, const struct opener_who *who, int file,
		const struct opener_hash *wanted, opener_done *done, void *context)
{
	const struct order order = {OPENER_HASH, who->pid, wanted,  sizeof(*wanted), "",
				    file,        done,     context, &who->user};

	return add(opener, LANE_FILES, &order);
}

int opener_temporary(struct opener *opener, uint32_t pid, opener_done *done, void *context)
{
	const struct opener_process wanted = {.pid = pid};
	char name[CODE_OWNER_PATH];
	const struct order order = {OPENER_TEMPORARY, pid, &wanted, sizeof(wanted), name, -1, done,
				    context,          NULL};

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/root/tmp", pid);
	return add(opener, LANE_FILES, &order);
}

int opener_maps(struct opener *opener, uint32_t pid, opener_done *done, void *context)
{
	const struct opener_process wanted = {.pid = pid};
	const struct order order = {OPENER_MAPS, pid,     &wanted, sizeof(wanted), "", -1,
				    done,        context, NULL};

	return add(opener, LANE_MEMORY, &order);
}

int opener_words(struct opener *opener, uint32_t pid, opener_done *done, void *context)
{
	const struct opener_process wanted = {.pid = pid};
	const struct order order = {OPENER_WORDS, pid,     &wanted, sizeof(wanted), "", -1,
				    done,         context, NULL};

	return add(opener, LANE_MEMORY, &order);
}

int opener_map(struct opener *opener, const struct code_owner *owner, opener_done *done,
	       void *context)
{
	char name[CODE_OWNER_PATH];
	const struct order order = {OPENER_MAP,     owner->pid, owner,
				    sizeof(*owner), name,       owner->temporary,
				    done,           context,    NULL};

	snprintf(name, sizeof(name), "/tmp/perf-%" PRIu32 ".map", owner->number);
	return add(opener, LANE_FILES, &order);
}

int opener_space(struct opener *opener, const struct opener_space *wanted, opener_done *done,
		 void *context)
{
	const struct order order = {OPENER_SPACE, wanted->pid, wanted, sizeof(*wanted), "", -1,
				    done,         context,     NULL};

	return add(opener, LANE_MEMORY, &order);
}

int opener_memory(struct opener *opener, const struct opener_memory *wanted, opener_done *done,
		  void *context)
{
	const struct order order = {OPENER_MEMORY, wanted->pid, wanted, sizeof(*wanted), "", -1,
				    done,          context,     NULL};

	return add(opener, LANE_MEMORY, &order);
}

/* --- for callers that wait ---------------------------------------------------------------- */

struct outcome {
	bool done;
	struct opener_result result;
};

static void keep(void *context, const struct opener_result *result)
{
	struct outcome *outcome = context;

	outcome->result = *result;
	outcome->done = true;
}

int opener_open_user(struct opener *opener, const char *path, const struct invoker *user,
		     struct opener_file *out)
{
	const struct opener_user wanted = {.user = *user};
	struct outcome outcome = {0};
	const struct order order = {OPENER_USER, 0,        &wanted, sizeof(wanted), path, -1,
				    keep,        &outcome, NULL};
	int err = add(opener, LANE_USER, &order);

	while (!err && !outcome.done)
		advance(opener, &opener->lanes[LANE_USER], true);
	if (!err)
		err = outcome.result.err;
	if (!err && out)
		*out = outcome.result.file;
	return err ? err : outcome.result.fd;
}
