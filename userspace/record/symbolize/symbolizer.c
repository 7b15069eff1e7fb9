// SPDX-License-Identifier: BSD-2-Clause
/* symbolizer.c: names frames by means of reader processes, during the recording. */
/*
 * Frames wait with their file. A reader gets one file at a time, with up to NAMES_BATCH of its
 * frames; then it is the next file's turn.
 */
#include "symbolizer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../opener/opener.h"
#include "../../reader/client.h"
#include "../../util/buffer.h"
#include "../../util/log.h"
#include "../../util/map.h"
#include "../../util/process_quota.h"
#include "../../util/quota.h"
#include "../../util/turns.h"

#define CODE_MAX    256        /* processes whose jitdump files are kept open */
#define WAITING_MAX (1u << 18) /* frames */

/* A file, or other space of frames, with those that wait. */
struct subject {
	struct turn turn; /* of the user who mapped the file, or whose process it is */
	struct {
		uint64_t space, owner;
	} key;
	bool queued;
	char *path;
	unsigned char build_id[BUILD_ID_MAX];
	size_t build_id_size;
	uid_t user;       /* for names in memory */
	int fd, debug_fd; /* -1: none */
	int map_fd;       /* or the socket of the memory */
	uint32_t pid;     /* pid of that process */
	uint64_t start, offset;
	bool stays; /* its process has dumps, or names in its memory, and still runs */
	int dumps[NAMES_DUMPS_MAX];
	size_t n_dumps;
	struct buffer frames; /* struct symbol_frame[] */
};

/* A reader and its queue. */
struct lane {
	struct worker *worker;
	struct turns turns;      /* struct subject */
	struct subject *current; /* being read, or NULL */
	size_t asked;            /* number of its frames requested */
	uint64_t before;         /* worker_cpu_ns() at that time */
	uint64_t began;          /* that time, ns */
};

enum { LANE_FILES, LANE_REMOTE, LANE_BYTECODE, LANES };

struct symbolizer {
	struct opener *opener;
	symbolizer_names *names;
	void *context;
	struct lane lanes[LANES];
	struct map *subjects; /* by key */
	struct map *bad;      /* files on which a reader failed */
	struct map *unread;   /* files that are missing or were replaced */
	size_t failures, n_unread;
	struct quota waiting;          /* frames without an answer */
	struct process_quota dumps;    /* processes that have some */
	uint64_t spent[SYMBOL_SPACES]; /* CPU time of readers; ns */
	struct names_left left;        /* temporary */
};

/* --- subjects ----------------------------------------------------------------------------- */

static size_t n_frames(const struct subject *subject)
{
	return subject->frames.size / sizeof(struct symbol_frame);
}

static void close_all(struct subject *subject)
{
	const int fds[] = {subject->fd, subject->debug_fd, subject->map_fd};

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	subject->fd = subject->debug_fd = subject->map_fd = -1;
}

static void subject_free(void *value)
{
	struct subject *subject = value;

	close_all(subject);
	for (size_t i = 0; i < subject->n_dumps; i++)
		close(subject->dumps[i]);
	buffer_free(&subject->frames);
	free(subject->path);
	free(subject);
}

static struct subject *symbolizer_get(struct symbolizer *symbolizer, uint64_t space, uint64_t owner)
{
	uint64_t key[2] = {space, owner};
	uint64_t *slot = map_put(symbolizer->subjects, key, NULL);
	struct subject *subject;

	if (!slot || *slot)
		return slot ? (struct subject *)(uintptr_t)*slot : NULL;
	subject = calloc(1, sizeof(*subject));
	if (!subject)
		return NULL;
	subject->key.space = space;
	subject->key.owner = owner;
	subject->fd = subject->debug_fd = subject->map_fd = -1;
	*slot = (uintptr_t)subject;
	return subject;
}

/* Nothing waits: only jitdump files and memory are worth keeping. */
static void symbolizer_drop(struct symbolizer *symbolizer, struct subject *subject)
{
	if (subject->stays) {
		if (subject->n_dumps)
			close_all(subject);
		return;
	}
	if (subject->n_dumps)
		process_quota_return(&symbolizer->dumps, subject->key.owner, 1);
	map_remove(symbolizer->subjects, &subject->key);
	subject_free(subject);
}

static struct lane *lane_of(struct symbolizer *symbolizer, const struct subject *subject)
{
	static const int lanes[SYMBOL_SPACES] = {
		[SYMBOL_REMOTE] = LANE_REMOTE, [SYMBOL_BYTECODE] = LANE_BYTECODE};

	return &symbolizer->lanes[lanes[subject->key.space]];
}

static int enqueue(struct symbolizer *symbolizer, struct subject *subject, uint32_t user)
{
	struct lane *lane = lane_of(symbolizer, subject);

	if (!subject->queued)
		subject->queued = !turns_put(&lane->turns, &subject->turn, user);
	return subject->queued ? 0 : -ENOMEM;
}

static struct subject *dequeue(struct lane *lane)
{
	struct subject *subject = (struct subject *)(void *)turns_take(&lane->turns);

	if (subject)
		subject->queued = false;
	return subject;
}

int symbolizer_create(struct opener *opener, symbolizer_names *names, void *context,
		      struct symbolizer **out)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	int err;

	if (!symbolizer)
		return -ENOMEM;
	symbolizer->opener = opener;
	symbolizer->waiting.most = WAITING_MAX;
	symbolizer->names = names;
	symbolizer->context = context;
	symbolizer->subjects = map_create(2 * sizeof(uint64_t));
	symbolizer->bad = map_create(sizeof(uint64_t));
	symbolizer->unread = map_create(sizeof(uint64_t));
	err = process_quota_init(&symbolizer->dumps, CODE_MAX);
	if (!symbolizer->subjects || !symbolizer->bad || !symbolizer->unread)
		err = -ENOMEM;
	for (int i = 0; i < LANES && !err; i++)
		err = worker_create(WORKER_READER, true, &symbolizer->lanes[i].worker);
	if (err)
		symbolizer_free(symbolizer);
	else
		*out = symbolizer;
	return err;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (int i = 0; i < LANES; i++) {
		if (symbolizer->opener)
			opener_cancel(symbolizer->opener, &symbolizer->lanes[i]);
		worker_free(symbolizer->lanes[i].worker);
		turns_free(&symbolizer->lanes[i].turns);
	}
	map_free_all(symbolizer->subjects, subject_free);
	map_free(symbolizer->bad);
	map_free(symbolizer->unread);
	process_quota_free(&symbolizer->dumps);
	quota_free(&symbolizer->waiting);
	free(symbolizer);
}

static bool is_of_file(uint64_t space)
{
	return space == SYMBOL_FILE || space == SYMBOL_TYPE;
}

/* --- questions ---------------------------------------------------------------------------- */

static int take_file(struct subject *subject, const struct symbol_file *file)
{
	if (subject->path)
		return 0;
	subject->path = strdup(file->path);
	if (!subject->path || file->build_id_size > BUILD_ID_MAX)
		return -ENOMEM;
	if (file->build_id_size)
		memcpy(subject->build_id, file->build_id, file->build_id_size);
	subject->build_id_size = file->build_id_size;
	if (file->fd >= 0)
		subject->fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (file->debug_fd >= 0)
		subject->debug_fd = fcntl(file->debug_fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

int symbolizer_ask(struct symbolizer *symbolizer, const struct symbol_frame *frame,
		   const struct symbol_file *file)
{
	const uint32_t user = (uint32_t)frame->user;
	struct subject *subject;
	int err = 0;

	/* Programs may have frames faster than readers name them. */
	if ((is_of_file(frame->space) && map_get(symbolizer->bad, &frame->owner)) ||
	    !quota_take(&symbolizer->waiting, user, 1))
		return symbolizer->names(symbolizer->context, frame, NULL, 0);
	subject = symbolizer_get(symbolizer, frame->space, frame->owner);
	if (subject && file)
		err = take_file(subject, file);
	if (!subject || err || buffer_append(&subject->frames, frame, sizeof(*frame)))
		return -ENOMEM;
	return enqueue(symbolizer, subject, user);
}

int symbolizer_set_map(struct symbolizer *symbolizer, uint64_t process, int fd)
{
	struct subject *subject = symbolizer_get(symbolizer, SYMBOL_GENERATED, process);

	if (!subject) {
		close(fd);
		return -ENOMEM;
	}
	if (subject->map_fd >= 0)
		close(subject->map_fd);
	subject->map_fd = fd;
	return 0;
}

int symbolizer_add_dump(struct symbolizer *symbolizer, uint64_t process, uint32_t user, int fd)
{
	struct subject *subject = symbolizer_get(symbolizer, SYMBOL_GENERATED, process);

	if (!subject || subject->n_dumps == NAMES_DUMPS_MAX ||
	    (!subject->n_dumps && !process_quota_take(&symbolizer->dumps, process, user))) {
		close(fd);
		return subject ? 0 : -ENOMEM;
	}
	subject->dumps[subject->n_dumps++] = fd;
	subject->stays = true;
	return 0;
}

int symbolizer_add_remote(struct symbolizer *symbolizer, const struct symbol_remote *remote)
{
	struct subject *subject = symbolizer_get(symbolizer, SYMBOL_REMOTE, remote->process);

	if (!subject) {
		close(remote->memory);
		close(remote->library);
		return -ENOMEM;
	}
	close_all(subject);
	subject->map_fd = remote->memory;
	subject->fd = remote->library;
	subject->user = remote->user;
	subject->pid = remote->pid;
	subject->start = remote->start;
	subject->offset = remote->offset;
	subject->stays = true;
	return 0;
}

void symbolizer_end(struct symbolizer *symbolizer, enum symbol_space space, uint64_t process)
{
	const uint64_t key[2] = {space, process};
	const uint64_t *slot = map_get(symbolizer->subjects, key);
	struct subject *subject = slot ? (struct subject *)(uintptr_t)*slot : NULL;

	if (!subject)
		return;
	subject->stays = false;
	if (!subject->queued && lane_of(symbolizer, subject)->current != subject)
		symbolizer_drop(symbolizer, subject);
}

/* The descriptors of a request; returns their number. */
static size_t collect_fds(const struct lane *lane, int fds[WORKER_FDS_MAX])
{
	const struct subject *subject = lane->current;
	size_t n = 0;

	if (subject->fd >= 0 && is_of_file(subject->key.space))
		fds[n++] = subject->fd;
	if (subject->map_fd >= 0)
		fds[n++] = subject->map_fd;
	if (subject->fd >= 0 &&
	    (subject->key.space == SYMBOL_REMOTE || subject->key.space == SYMBOL_BYTECODE))
		fds[n++] = subject->fd;
	for (size_t i = 0; i < subject->n_dumps; i++)
		fds[n++] = subject->dumps[i];
	return n;
}

static int send_request(struct lane *lane)
{
	static const uint32_t kinds[SYMBOL_SPACES] = {READ_NAMES, READ_CODE, READ_TYPES,
						      READ_REMOTE, READ_BYTECODE};
	const struct subject *subject = lane->current;
	const struct symbol_frame *frames = (const void *)subject->frames.data;
	const struct names_file file = {subject->key.owner,     subject->path, subject->build_id,
					subject->build_id_size, NULL,          (uid_t)-1};
	struct names_message message;
	int fds[WORKER_FDS_MAX];
	struct worker_order order = {
		.kind = kinds[subject->key.space],
		.fds = fds,
		.n_fds = collect_fds(lane, fds),
		.cpu_ns = NAMES_CPU_NS,
		.wall_ns = NAMES_WALL_NS,
	};

	lane->asked = n_frames(subject) < NAMES_BATCH ? n_frames(subject) : NAMES_BATCH;
	lane->before = worker_cpu_ns(lane->worker);
	lane->began = clock_now();
	names_message_begin(&message, &file);
	message.head.count = (uint32_t)lane->asked;
	message.head.has_map = subject->map_fd >= 0;
	message.head.start = subject->start;
	message.head.offset = subject->offset;
	/* The request was cancelled. */
	if (subject->key.space == SYMBOL_REMOTE && subject->map_fd < 0)
		return -ESRCH;
	for (size_t i = 0; i < lane->asked; i++)
		message.places[i] = (struct name_place){frames[i].place, frames[i].time};
	if (subject->key.space == SYMBOL_REMOTE)
		worker_serve(lane->worker, subject->user);
	return names_start(lane->worker, &order, &message);
}

void symbolizer_prepare(struct symbolizer *symbolizer)
{
	worker_prepare(symbolizer->lanes[LANE_FILES].worker);
}

/* --- answers ------------------------------------------------------------------------------ */

static void note_unread(struct symbolizer *symbolizer, const struct subject *subject, int err)
{
	/* The kernel's own mappings have no file. */
	if (!subject->path || subject->path[0] == '[' ||
	    !map_note(symbolizer->unread, &subject->key.owner, SYMBOL_FILES_NOTED))
		return;
	symbolizer->n_unread++;
	names_explain(subject->path, err);
}

static void note_failure(struct symbolizer *symbolizer, const struct subject *subject, int err)
{
	symbolizer->failures++;
	if (!is_of_file(subject->key.space))
		return;
	names_explain(subject->path, err);
	symbolizer->n_unread += map_note(symbolizer->bad, &subject->key.owner, SYMBOL_FILES_NOTED);
}

/* The memory will not answer later either. */
static void give_up(struct subject *subject)
{
	log_warning("process %" PRIu32 ": its functions have no names from now on: its memory "
		    "does not answer",
		    subject->pid);
	close_all(subject);
}

/* Delivers the names of the first frames, and removes these. */
static int pass_on(struct symbolizer *symbolizer, struct subject *subject, size_t count, bool known)
{
	const struct symbol_frame *frames = (const void *)subject->frames.data;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct symbol symbols[SYMBOLS_MAX];
		int n = known ? names_take(&symbolizer->left, symbols) : 0;

		known = known && n >= 0;
		quota_return(&symbolizer->waiting, (uint32_t)frames[i].user, 1);
		err = symbolizer->names(symbolizer->context, &frames[i], symbols,
					n < 0 ? 0 : (size_t)n);
	}
	subject->frames.size -= count * sizeof(*frames);
	if (subject->frames.size)
		memmove(subject->frames.data, subject->frames.data + count * sizeof(*frames),
			subject->frames.size);
	return err;
}

static int finish(struct symbolizer *symbolizer, struct lane *lane,
		  const struct worker_answer *answer)
{
	struct subject *subject = lane->current;
	int err;

	lane->current = NULL;
	symbolizer->spent[subject->key.space] += worker_cpu_ns(lane->worker) - lane->before;
	symbolizer->left.at = answer->data;
	symbolizer->left.size = answer->size;
	if (names_is_failure(answer->err))
		note_failure(symbolizer, subject, answer->err);
	else if (answer->err && subject->key.space == SYMBOL_FILE)
		note_unread(symbolizer, subject, answer->err);
	else if (answer->err == -ETIMEDOUT && subject->map_fd >= 0)
		give_up(subject);
	err = pass_on(symbolizer, subject,
		      names_is_failure(answer->err) ? n_frames(subject) : lane->asked,
		      !names_is_failure(answer->err));
	if (answer->fd >= 0)
		close(answer->fd);
	turns_charge(&lane->turns, subject->turn.user, clock_now() - lane->began);
	if (n_frames(subject))
		(void)enqueue(symbolizer, subject, subject->turn.user);
	else if (!subject->queued)
		symbolizer_drop(symbolizer, subject);
	return err;
}

static void supplied(void *context, const struct opener_result *result)
{
	struct lane *lane = context;

	worker_supply(lane->worker, "", 1, result->fd);
	if (result->fd >= 0)
		close(result->fd);
}

/* The reader needs a debug file, and waits for it. */
static void supply(struct symbolizer *symbolizer, struct lane *lane,
		   const struct worker_answer *question)
{
	const struct subject *subject = lane->current;
	struct debug_wanted wanted;
	bool sensible = names_wanted(question, &wanted);

	if (!sensible || wanted.kind == DEBUG_IN_ROOT)
		worker_supply(lane->worker, "", 1, sensible ? subject->debug_fd : -1);
	else if (opener_debug(symbolizer->opener, &(struct opener_who){0, subject->turn.user},
			      subject->fd, &wanted, supplied, lane))
		worker_supply(lane->worker, "", 1, -1);
}

/* Starts the next request of an idle lane: false if nothing waits. */
static bool symbolizer_begin(struct symbolizer *symbolizer, struct lane *lane, int *result)
{
	struct worker_answer none = {.fd = -1};

	lane->current = dequeue(lane);
	if (!lane->current)
		return false;
	none.err = send_request(lane);
	if (none.err)
		*result = finish(symbolizer, lane, &none);
	return true;
}

/* False if the lane waits for its reader, or has nothing to do. */
static bool turn(struct symbolizer *symbolizer, struct lane *lane, int *result)
{
	struct worker_answer answer;

	if (!lane->current)
		return symbolizer_begin(symbolizer, lane, result);
	switch (worker_poll(lane->worker, &answer)) {
	case WORKER_ANSWERED:
		*result = finish(symbolizer, lane, &answer);
		return true;
	case WORKER_QUESTION:
		supply(symbolizer, lane, &answer);
		return true;
	default:
		return false;
	}
}

int symbolizer_turn(struct symbolizer *symbolizer)
{
	int result = 0;

	for (int i = 0; i < LANES; i++)
		while (!result && turn(symbolizer, &symbolizer->lanes[i], &result))
			;
	return result;
}

bool symbolizer_is_done(const struct symbolizer *symbolizer)
{
	for (int i = 0; i < LANES; i++) {
		const struct lane *lane = &symbolizer->lanes[i];

		if (lane->current || lane->turns.waiting)
			return false;
	}
	return true;
}

int symbolizer_finish(struct symbolizer *symbolizer, uint64_t ns)
{
	uint64_t end = clock_now() + ns;
	int err = symbolizer_turn(symbolizer);

	while (!err && !symbolizer_is_done(symbolizer) && clock_now() < end) {
		worker_wait_any(20);
		opener_turn(symbolizer->opener);
		err = symbolizer_turn(symbolizer);
	}
	if (!err && !symbolizer_is_done(symbolizer))
		log_warning("some functions have no names: reading their files took too long");
	return err;
}

uint64_t symbolizer_spent(const struct symbolizer *symbolizer, enum symbol_space space)
{
	return symbolizer->spent[space];
}

size_t symbolizer_unread(const struct symbolizer *symbolizer)
{
	return symbolizer->n_unread;
}

size_t symbolizer_failures(const struct symbolizer *symbolizer)
{
	return symbolizer->failures;
}
