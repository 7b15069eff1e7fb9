/* SPDX-License-Identifier: BSD-2-Clause */
/* client.c: asks a reader for names of functions and takes its answer. */
#include "client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/log.h"
#include "../util/monotonic.h"
#include "../util/path_base.h"
#include "../util/regular.h"

#define ALL_FILES_NS                                                                \
	UINT64_C(30000000000) /* of one client: no further file is begun after that \
			       */

/* --- requests --------------------------------------------------------------------------- */

void names_message_begin(struct names_message *message, const struct names_file *file)
{
	struct names_request *head = &message->head;

	*head = (struct names_request){.owner = file->owner,
				       .build_id_size = (uint32_t)file->build_id_size};
	if (file->build_id_size)
		memcpy(head->build_id, file->build_id, file->build_id_size);
	if (file->path)
		memccpy(head->base, path_base(file->path), 0, NAME_MAX);
}

int names_start(struct worker *worker, struct worker_order *order,
		const struct names_message *message)
{
	order->data = message;
	order->size = sizeof(message->head) + message->head.count * sizeof(message->places[0]);
	order->answer_max = NAMES_ANSWER_MAX;
	return worker_start(worker, order);
}

bool names_wanted(const struct worker_answer *question, struct debug_wanted *out)
{
	if (question->size != sizeof(*out))
		return false;
	memcpy(out, question->data, sizeof(*out));
	out->name[sizeof(out->name) - 1] = '\0';
	return out->kind < DEBUG_KINDS;
}

/* --- answers ---------------------------------------------------------------------------- */

bool names_is_failure(int err)
{
	return err == -ETIME || err == -EPIPE || err == -EBADMSG || err == -EMFILE ||
	       err == -ENOMEM;
}

static const char *describe(int err)
{
	switch (err) {
	case -ESTALE:
		return "another file has its name by now";
	case -ENOEXEC:
		return "it is no ELF file, or a damaged one";
	case -ETIME:
		return "the reader took too long";
	case -EMFILE:
		return "the reader could not be started";
	case -EPIPE:
	case -EBADMSG:
	case -ENOMEM:
		return "the reader died of the file";
	case -ENAMETOOLONG:
		return "those in its symbol table are longer than 64 KiB";
	case -ENODATA:
		return "without a build-id it may be another file than the recorded one";
	default:
		return strerror(err < 0 && err > -4096 ? -err : EINVAL);
	}
}

void names_explain(const char *path, int err)
{
	if (names_is_failure(err) || err == -ENAMETOOLONG || err == -ENODATA)
		log_warning("%s: its functions have no names: %s", path, describe(err));
	else
		log_verbose("%s: no function names: %s", path, describe(err));
}

static bool client_take(struct names_left *left, void *out, size_t size)
{
	if (left->size < size)
		return false;
	memcpy(out, left->at, size);
	left->at += size;
	left->size -= size;
	return true;
}

/* Turns a text into a zero-terminated one. */
static const char *take_text(struct names_left *left, char room[NAMES_TEXT_MAX + 1], uint32_t size)
{
	if (size > NAMES_TEXT_MAX || !client_take(left, room, size))
		return NULL;
	room[size] = 0;
	return room;
}

int names_take(struct names_left *left, struct symbol out[SYMBOLS_MAX])
{
	struct name_list list;

	if (!client_take(left, &list, sizeof(list)) || list.count > SYMBOLS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < list.count; i++) {
		struct name_head head;

		if (!client_take(left, &head, sizeof(head)))
			return -EBADMSG;
		out[i] = (struct symbol){.line = head.line, .begin = head.begin};
		out[i].name = take_text(left, left->texts[i][0], head.name_size);
		out[i].file = take_text(left, left->texts[i][1], head.file_size);
		if (!out[i].name || !out[i].file || !*out[i].name)
			return -EBADMSG;
		if (!*out[i].file)
			out[i].file = NULL;
	}
	return (int)list.count;
}

/* --- blocking client ------------------------------------------------------------------------ */

struct names_client {
	struct worker *worker;
	uint64_t files; /* so far */
	uint64_t end;   /* monotonic_ns() */
	bool is_over;
	struct names_left left;
};

/* The limits of a file, for all requests about it. */
struct limits {
	uint64_t cpu_end, wall_end;
};

int names_client_create(struct names_client **out)
{
	struct names_client *client = calloc(1, sizeof(*client));

	if (!client || worker_create(WORKER_READER, false, &client->worker)) {
		free(client);
		return -ENOMEM;
	}
	client->end = monotonic_ns() + ALL_FILES_NS;
	*out = client;
	return 0;
}

void names_client_free(struct names_client *client)
{
	if (client)
		worker_free(client->worker);
	free(client);
}

static void supply(struct worker *worker, int file, const struct worker_answer *question)
{
	struct debug_wanted wanted;
	int fd = names_wanted(question, &wanted) ? debug_open(file, &wanted) : -1;

	worker_supply(worker, "", 1, fd);
	if (fd >= 0)
		close(fd);
}

static uint64_t until(uint64_t end, uint64_t now)
{
	return end > now ? end - now : 0;
}

/* Sends one request; the answer goes to client->left. */
static int client_ask(struct names_client *client, const struct names_message *message, int fd,
		      const struct limits *limits)
{
	struct worker_order order = {
		.kind = READ_NAMES,
		.fds = &fd,
		.n_fds = 1,
		.cpu_ns = until(limits->cpu_end, worker_cpu_ns(client->worker)),
		.wall_ns = until(limits->wall_end, monotonic_ns()),
	};
	struct worker_answer answer;
	enum worker_state state;

	if (names_start(client->worker, &order, message))
		return -EMFILE;
	while ((state = worker_wait(client->worker, &answer)) != WORKER_ANSWERED)
		if (state == WORKER_QUESTION)
			supply(client->worker, fd, &answer);
	if (answer.fd >= 0)
		close(answer.fd);
	client->left.at = answer.data;
	client->left.size = answer.size;
	return answer.err;
}

/* Passes on the names of `n` places. */
static int deliver(struct names_client *client, size_t first, size_t n, names_found *found,
		   void *context)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		struct symbol symbols[SYMBOLS_MAX];
		int count = names_take(&client->left, symbols);

		if (count < 0)
			return 0;
		err = found(context, first + i, symbols, (size_t)count);
	}
	return err;
}

static bool is_over(struct names_client *client)
{
	if (!client->is_over && monotonic_ns() > client->end) {
		client->is_over = true;
		log_warning("some functions have no names: reading their files took too long");
	}
	return client->is_over;
}

static bool is_same(const struct file_stamp *stamp, const struct stat *st)
{
	return stamp->inode == st->st_ino && stamp->size == (uint64_t)st->st_size &&
	       stamp->changed == file_stamp_time(st->st_ctim.tv_sec, (uint32_t)st->st_ctim.tv_nsec);
}

int names_client_ask(struct names_client *client, const struct names_file *file,
		     const struct name_place *places, size_t n, names_found *found, void *context)
{
	struct limits limits = {worker_cpu_ns(client->worker) + NAMES_CPU_NS,
				monotonic_ns() + NAMES_WALL_NS};
	struct names_message message;
	int fd, err = 0, result = 0;
	struct stat st;

	if (is_over(client))
		return 0;
	fd = regular_open(file->path, &st);
	if (fd < 0) {
		names_explain(file->path, -errno);
		return 0;
	}
	if (!regular_may_name(fd, &st, file->user))
		err = -EACCES;
	else if (file->stamp && !is_same(file->stamp, &st))
		err = -ESTALE;
	if (err) {
		names_explain(file->path, err);
		close(fd);
		return 0;
	}
	names_message_begin(&message, file);
	message.head.owner = ++client->files;
	for (size_t at = 0, count; at < n && !err && !result; at += count) {
		count = n - at < NAMES_BATCH ? n - at : NAMES_BATCH;
		message.head.count = (uint32_t)count;
		memcpy(message.places, &places[at], count * sizeof(*places));
		err = client_ask(client, &message, fd, &limits);
		if (!err)
			result = deliver(client, at, count, found, context);
	}
	close(fd);
	if (err)
		names_explain(file->path, err);
	client->is_over |= err == -EMFILE;
	return result;
}
