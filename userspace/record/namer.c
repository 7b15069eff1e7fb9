// SPDX-License-Identifier: BSD-2-Clause
/* namer.c: a process of its own that finds names for frames. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "namer.h"
#include "priority.h"
#include "../util/buffer.h"
#include "../util/log.h"
#include "../util/map.h"

#define SILENCE_MS   20000 /* without an answer: it hangs */
#define FAILURES_MAX 16

/* What is to be sent again to a process that takes the place of another one. */
struct fact {
	struct namer_module module; /* or a struct namer_process */
	size_t size;
	int fd; /* -1: none; of modules borrowed */
};

struct namer {
	namer_names *names;
	void *context;
	pid_t pid;
	int socket;          /* -1: there is no process */
	struct buffer facts; /* struct fact *[] */
	size_t facts_sent;
	struct buffer frames; /* struct namer_frame[] that have no answer yet */
	size_t frames_sent, frames_answered;
	struct map *bad;    /* modules that a process died of */
	struct map *unread; /* modules whose file cannot be read */
	size_t failures;
	uint64_t ended_ns; /* CPU time of processes that ended */
	char message[NAMER_MESSAGE_MAX];
};

static struct fact **facts(const struct namer *namer)
{
	return (struct fact **)(void *)namer->facts.data;
}

static size_t n_facts(const struct namer *namer)
{
	return namer->facts.size / sizeof(struct fact *);
}

static struct namer_frame *frames(const struct namer *namer)
{
	return (struct namer_frame *)(void *)namer->frames.data;
}

static size_t n_frames(const struct namer *namer)
{
	return namer->frames.size / sizeof(struct namer_frame);
}

/* --- the process -------------------------------------------------------------------------- */

/* Only what it needs stays open: no BPF object, ring or profile. */
static _Noreturn void become_child(int socket)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
	int low = dup2(socket, STDERR_FILENO + 1);

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	priority_restore();
	if (low < 0 || close_range((unsigned)low + 1, ~0u, 0))
		_exit(EXIT_FAILURE);
	namer_child_run(low);
}

static int start(struct namer *namer)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	namer->pid = fork();
	if (namer->pid == 0)
		become_child(pair[1]);
	close(pair[1]);
	if (namer->pid < 0) {
		close(pair[0]);
		return -errno;
	}
	namer->socket = pair[0];
	namer->facts_sent = 0;
	namer->frames_sent = namer->frames_answered;
	return 0;
}

/* CPU time of the process, which was not waited for yet. */
static uint64_t time_of(const struct namer *namer)
{
	struct timespec time = {0};
	clockid_t clock;

	if (!clock_getcpuclockid(namer->pid, &clock))
		clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void stop(struct namer *namer)
{
	siginfo_t info;

	if (namer->socket < 0)
		return;
	close(namer->socket);
	namer->socket = -1;
	/* It may be deep inside of a file. */
	kill(namer->pid, SIGKILL);
	while (waitid(P_PID, (id_t)namer->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	namer->ended_ns += time_of(namer);
	while (waitpid(namer->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* What a module was called when it was told. */
static const char *path_of(const struct namer *namer, uint64_t module)
{
	for (size_t i = 0; i < n_facts(namer); i++) {
		const struct namer_module *told = &facts(namer)[i]->module;

		if (told->kind == NAMER_MODULE && told->module == module)
			return told->path;
	}
	return "a file";
}

/* The process died, or hangs: the file of the frame that it had at hand is to blame. */
static int replace(struct namer *namer)
{
	const struct namer_frame *frame = frames(namer) + namer->frames_answered;

	stop(namer);
	namer->failures++;
	if (namer->frames_answered < n_frames(namer) && frame->space == NAMER_FILE) {
		log_verbose("%s: no function names: who read it died or hung",
			    path_of(namer, frame->owner));
		map_put(namer->bad, &frame->owner, NULL);
	} else if (namer->frames_answered < n_frames(namer))
		namer->frames_answered++;
	return namer->failures < FAILURES_MAX ? start(namer) : 0;
}

int namer_create(namer_names *names, void *context, struct namer **out)
{
	struct namer *namer = calloc(1, sizeof(*namer));
	int err = -ENOMEM;

	if (!namer)
		return err;
	namer->names = names;
	namer->context = context;
	namer->socket = -1;
	namer->bad = map_create(sizeof(uint64_t));
	namer->unread = map_create(sizeof(uint64_t));
	if (namer->bad && namer->unread)
		err = start(namer);
	if (err) {
		namer_free(namer);
		return err;
	}
	*out = namer;
	return 0;
}

static void fact_free(struct fact *fact)
{
	if (fact->module.kind != NAMER_MODULE && fact->fd >= 0)
		close(fact->fd);
	free(fact);
}

void namer_free(struct namer *namer)
{
	if (!namer)
		return;
	stop(namer);
	for (size_t i = 0; i < n_facts(namer); i++)
		fact_free(facts(namer)[i]);
	buffer_free(&namer->facts);
	buffer_free(&namer->frames);
	map_free(namer->bad);
	map_free(namer->unread);
	free(namer);
}

/* --- what it is told ------------------------------------------------------------------------ */

static int put_fact(struct namer *namer, const struct fact *fact)
{
	struct fact *copy = malloc(sizeof(*fact));

	if (!copy)
		return -ENOMEM;
	*copy = *fact;
	if (buffer_append(&namer->facts, &copy, sizeof(copy))) {
		free(copy);
		return -ENOMEM;
	}
	return 0;
}

int namer_module(struct namer *namer, uint64_t module, const char *path, const void *build_id,
		 size_t build_id_size, int fd)
{
	struct fact fact = {
		.module = {.kind = NAMER_MODULE,
			   .build_id_size = (uint32_t)build_id_size,
			   .module = module},
		.size = offsetof(struct namer_module, path) + strlen(path) + 1,
		.fd = fd,
	};

	if (fact.size > sizeof(fact.module) || build_id_size > BUILD_ID_MAX)
		return -ENAMETOOLONG;
	memcpy(fact.module.build_id, build_id, build_id_size);
	strcpy(fact.module.path, path);
	return put_fact(namer, &fact);
}

int namer_code(struct namer *namer, enum namer_request_kind kind, uint64_t process, int fd)
{
	struct namer_process told = {.kind = kind, .process = process};
	struct fact fact = {.size = sizeof(told), .fd = fd};
	int err;

	memcpy(&fact.module, &told, sizeof(told));
	err = put_fact(namer, &fact);
	if (err)
		close(fd);
	return err;
}

int namer_ask(struct namer *namer, const struct namer_frame *frame)
{
	return buffer_append(&namer->frames, frame, sizeof(*frame));
}

/* 1: sent; 0: it has no room now; a negative errno if it is gone. */
static int send_message(struct namer *namer, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.header = {.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int))}};
	struct iovec part = {(void *)(uintptr_t)data, size};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		head.msg_control = &control;
		head.msg_controllen = sizeof(control);
	}
	n = sendmsg(namer->socket, &head, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0)
		return 1;
	return errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS ? 0 : -errno;
}

/* Maps are told again whenever they have grown: there is nothing to keep. */
static void drop_fact(struct namer *namer, size_t i)
{
	struct fact **place = facts(namer) + i;

	fact_free(*place);
	memmove(place, place + 1, (n_facts(namer) - i - 1) * sizeof(*place));
	namer->facts.size -= sizeof(*place);
}

static int send_facts(struct namer *namer)
{
	while (namer->facts_sent < n_facts(namer)) {
		const struct fact *fact = facts(namer)[namer->facts_sent];
		int sent = send_message(namer, &fact->module, fact->size, fact->fd);

		if (sent <= 0)
			return sent;
		if (fact->module.kind == NAMER_MAP)
			drop_fact(namer, namer->facts_sent);
		else
			namer->facts_sent++;
	}
	return 1;
}

static int send_frames(struct namer *namer)
{
	while (namer->frames_sent < n_frames(namer)) {
		struct namer_frames message = {.kind = NAMER_FRAMES};
		size_t count = n_frames(namer) - namer->frames_sent;
		int sent;

		message.count = (uint32_t)(count < NAMER_BATCH ? count : NAMER_BATCH);
		for (uint32_t i = 0; i < message.count; i++) {
			struct namer_frame *frame = &message.frames[i];

			*frame = frames(namer)[namer->frames_sent + i];
			if (frame->space == NAMER_FILE && map_get(namer->bad, &frame->owner))
				frame->owner = 0;
		}
		sent = send_message(namer, &message,
				    offsetof(struct namer_frames, frames) +
					    message.count * sizeof(message.frames[0]),
				    -1);
		if (sent <= 0)
			return sent;
		namer->frames_sent += message.count;
	}
	return 1;
}

/* --- what it answers ------------------------------------------------------------------------ */

static bool take(const char **at, size_t *left, void *out, size_t size)
{
	if (*left < size)
		return false;
	memcpy(out, *at, size);
	*at += size;
	*left -= size;
	return true;
}

/* A text becomes one that ends with a zero: its room is that of the struct before it. */
static const char *take_text(char *room, const char **at, size_t *left, uint32_t size)
{
	if (size > NAMER_TEXT_MAX || !take(at, left, room, size))
		return NULL;
	room[size] = 0;
	return room;
}

static const char *describe(int err)
{
	switch (err) {
	case -ESTALE:
		return "another file has its name by now";
	case -ENOEXEC:
		return "it is no ELF file, or a damaged one";
	default:
		return strerror(err < 0 && err > -4096 ? -err : EINVAL);
	}
}

static void put_unread(struct namer *namer, uint64_t module, int err)
{
	bool added = false;

	map_put(namer->unread, &module, &added);
	if (added)
		log_verbose("%s: no function names: %s", path_of(namer, module), describe(err));
}

/* One answer: 0, -EBADMSG, or what the visitor returned. */
static int take_answer(struct namer *namer, const char **at, size_t *left)
{
	static char texts[SYMBOLS_MAX][2][NAMER_TEXT_MAX + 1];
	const struct namer_frame *frame = frames(namer) + namer->frames_answered;
	struct symbol symbols[SYMBOLS_MAX];
	struct namer_answer answer;

	if (!take(at, left, &answer, sizeof(answer)) || answer.count > SYMBOLS_MAX ||
	    namer->frames_answered >= namer->frames_sent || answer.frame != frame->frame)
		return -EBADMSG;
	for (size_t i = 0; i < answer.count; i++) {
		struct namer_name name;

		if (!take(at, left, &name, sizeof(name)))
			return -EBADMSG;
		symbols[i] = (struct symbol){.line = name.line, .begin = name.begin};
		symbols[i].name = take_text(texts[i][0], at, left, name.name_size);
		symbols[i].file = take_text(texts[i][1], at, left, name.file_size);
		if (!symbols[i].name || !symbols[i].file || !*symbols[i].name)
			return -EBADMSG;
		if (!*symbols[i].file)
			symbols[i].file = NULL;
	}
	if (answer.err && frame->space == NAMER_FILE)
		put_unread(namer, frame->owner, answer.err);
	namer->frames_answered++;
	return namer->names(namer->context, frame, symbols, answer.count);
}

/* Takes one message: 1, 0 if there is none now, a negative errno if the process is gone.
 * *result is what the visitor returned. */
static int take_message(struct namer *namer, int *result)
{
	ssize_t n = recv(namer->socket, namer->message, sizeof(namer->message), MSG_DONTWAIT);
	const char *at = namer->message;
	size_t left = n > 0 ? (size_t)n : 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	while (left && !*result) {
		*result = take_answer(namer, &at, &left);
		if (*result == -EBADMSG) {
			*result = 0;
			return -EBADMSG;
		}
	}
	return 1;
}

/* Frames that have their answer go. */
static void forget_answered(struct namer *namer)
{
	size_t done = namer->frames_answered;

	if (!done || (done < n_frames(namer) && done < 4096))
		return;
	memmove(frames(namer), frames(namer) + done,
		(n_frames(namer) - done) * sizeof(struct namer_frame));
	namer->frames.size -= done * sizeof(struct namer_frame);
	namer->frames_sent -= done;
	namer->frames_answered = 0;
}

static bool is_done(const struct namer *namer)
{
	return namer->socket < 0 || namer->frames_answered == n_frames(namer);
}

int namer_turn(struct namer *namer)
{
	int state = 1, result = 0;

	while (state > 0 && namer->socket >= 0 && !result) {
		state = send_facts(namer);
		if (state > 0)
			state = send_frames(namer);
		if (state >= 0)
			state = take_message(namer, &result);
		if (state < 0) {
			result = result ? result : replace(namer);
			state = 1;
		}
	}
	forget_answered(namer);
	return result;
}

int namer_finish(struct namer *namer)
{
	int err = namer_turn(namer);

	while (!err && !is_done(namer)) {
		struct pollfd wait = {.fd = namer->socket, .events = POLLIN};
		bool all_sent = namer->facts_sent == n_facts(namer) &&
				namer->frames_sent == n_frames(namer);
		int ready;

		if (!all_sent)
			wait.events |= POLLOUT;
		ready = poll(&wait, 1, SILENCE_MS);
		if (ready == 0)
			err = replace(namer);
		err = err ? err : namer_turn(namer);
	}
	return err;
}

size_t namer_unread(const struct namer *namer)
{
	return map_count(namer->bad) + map_count(namer->unread);
}

size_t namer_failures(const struct namer *namer)
{
	return namer->failures;
}

uint64_t namer_cpu_ns(const struct namer *namer)
{
	return namer->ended_ns + (namer->socket < 0 ? 0 : time_of(namer));
}
