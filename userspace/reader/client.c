/* SPDX-License-Identifier: BSD-2-Clause */
/* client.c: asks a reader for names of functions, and takes its answer. */
#include "client.h"

#include <errno.h>
#include <string.h>

#include "../util/log.h"
#include "../util/path_base.h"

/* --- requests --------------------------------------------------------------------------- */

void names_message_begin(struct names_message *message, const struct names_file *file)
{
	struct names_request *head = &message->head;

	*head = (struct names_request){.owner = file->owner,
				       .build_id_size = (uint32_t)file->build_id_size};
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
	default:
		return strerror(err < 0 && err > -4096 ? -err : EINVAL);
	}
}

void names_explain(const char *path, int err)
{
	if (names_is_failure(err))
		log_warning("%s: its functions have no names: the reader %s", path,
			    err == -ETIME ? "took too long" : "died of the file");
	else
		log_verbose("%s: no function names: %s", path, describe(err));
}

static bool take(struct names_left *left, void *out, size_t size)
{
	if (left->size < size)
		return false;
	memcpy(out, left->at, size);
	left->at += size;
	left->size -= size;
	return true;
}

/* A text becomes one that ends with a zero. */
static const char *take_text(struct names_left *left, char room[NAMES_TEXT_MAX + 1], uint32_t size)
{
	if (size > NAMES_TEXT_MAX || !take(left, room, size))
		return NULL;
	room[size] = 0;
	return room;
}

int names_take(struct names_left *left, struct symbol out[SYMBOLS_MAX])
{
	struct name_list list;

	if (!take(left, &list, sizeof(list)) || list.count > SYMBOLS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < list.count; i++) {
		struct name_head head;

		if (!take(left, &head, sizeof(head)))
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
