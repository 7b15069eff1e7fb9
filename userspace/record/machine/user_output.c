/* SPDX-License-Identifier: BSD-2-Clause */
/* user_output.c: opens, publishes and closes the profile with the rights of its user. */
#include "user_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the user's process gets: pointers mean nothing there. Its answer is the struct alone. */
struct sent {
	struct output_file file;
	struct output_mark mark;
	char text[64]; /* of the mark; empty: it has none */
	char path[PATH_MAX];
};

/* --- the user's process ------------------------------------------------------------------- */

static void receive(const struct user_input *input, struct sent *out)
{
	memcpy(out, input->data, sizeof(*out));
	out->file.path = out->path;
	out->file.fd = input->fd;
	out->mark.text = out->text[0] ? out->text : NULL;
	out->file.mark = &out->mark;
}

static int open_task(const struct user_input *input, char *text, size_t size)
{
	struct sent sent;
	int err;

	receive(input, &sent);
	err = output_file_open(&sent.file);
	memcpy(text, &sent.file, size);
	return err ? err : sent.file.fd;
}

static int publish_task(const struct user_input *input, char *text, size_t size)
{
	struct sent sent;
	int err;

	receive(input, &sent);
	err = output_file_publish(&sent.file);
	memcpy(text, &sent.file, size);
	return err ? err : -ENODATA; /* no descriptor to return */
}

static int close_task(const struct user_input *input, char *text, size_t size)
{
	struct sent sent;

	receive(input, &sent);
	output_file_remove_temporary(&sent.file);
	memcpy(text, &sent.file, size);
	return -ENODATA;
}

const struct user_task output_open_task = {"open output", open_task};
const struct user_task output_publish_task = {"publish output", publish_task};
const struct user_task output_close_task = {"close output", close_task};

/* --- the recorder ------------------------------------------------------------------------- */

static int call(const struct invoker *invoker, const struct user_task *task, int fd,
		struct output_file *file)
{
	struct sent sent = {.file = *file, .mark = {.at = file->mark ? file->mark->at : 0}};
	const struct user_input input = {&sent, sizeof(sent), fd};
	struct output_file answer = *file;
	const char *mark = file->mark && file->mark->text ? file->mark->text : "";
	int result;

	if ((size_t)snprintf(sent.path, sizeof(sent.path), "%s", file->path) >= sizeof(sent.path) ||
	    (size_t)snprintf(sent.text, sizeof(sent.text), "%s", mark) >= sizeof(sent.text))
		return -ENAMETOOLONG;
	result = user_call(invoker, task, &input, (char *)&answer, sizeof(answer));
	file->direct = answer.direct;
	file->device = answer.device;
	file->inode = answer.inode;
	memcpy(file->temporary, answer.temporary, sizeof(file->temporary));
	return result;
}

int output_file_open_as(const struct invoker *invoker, struct output_file *file)
{
	file->fd = call(invoker, &output_open_task, -1, file);
	return file->fd < 0 ? file->fd : 0;
}

int output_file_publish_as(const struct invoker *invoker, struct output_file *file)
{
	int err = call(invoker, &output_publish_task, file->fd, file);

	return err == -ENODATA ? 0 : err;
}

void output_file_close_as(const struct invoker *invoker, struct output_file *file)
{
	if (file->fd > STDERR_FILENO && file->temporary[0])
		(void)call(invoker, &output_close_task, -1, file);
	file->temporary[0] = '\0';
	output_file_close(file);
}
