/* SPDX-License-Identifier: BSD-2-Clause */
/* user_task.c: acts with the rights of the user who called gcprof, in a process of its own. */
#include "user_task.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../reader/wire.h"
#include "../../reader/worker.h"
#include "../../util/monotonic.h"
#include "../../util/output_file.h"
#include "capabilities.h"

#define LIMIT_NS  UINT64_C(10000000000)
#define DATA_MAX  (32 << 10)
#define TEXT_MAX  PATH_MAX
#define USER_ONCE (UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID)

/* A request; its data follow. */
struct head {
	struct invoker user;
	char task[16];
	size_t text_size;
};

/* --- the process -------------------------------------------------------------------------- */

/* Permanently, by the first request. */
static int become(const struct invoker *user)
{
	static bool settled;
	int err;

	if (settled)
		return user->uid == geteuid() ? 0 : -EPERM;
	/* Any user may execute this program under this name. */
	err = geteuid() == getuid() ? capabilities_keep(USER_ONCE, getauxval(AT_SECURE)) : -EPERM;
	err = err ? err : invoker_become(user);
	settled = !err;
	/* A change of user ends this setting. */
	if (!err && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		err = -errno;
	return err;
}

static int work(const struct request *request, const struct user_task *const *tasks, size_t count,
		char text[TEXT_MAX], size_t *text_size)
{
	struct user_input input = {.fd = request->files.n ? request->files.fds[0] : -1};
	struct head head;
	int err;

	if (request->head.size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, request->data, sizeof(head));
	input.data = request->data + sizeof(head);
	input.size = request->head.size - sizeof(head);
	*text_size = head.text_size < TEXT_MAX ? head.text_size : TEXT_MAX;
	err = become(&head.user);
	for (size_t i = 0; i < count && !err; i++)
		if (!strcmp(tasks[i]->name, head.task))
			return tasks[i]->run(&input, text, *text_size);
	return err ? err : -ENOSYS;
}

static void serve(const struct request *request, const struct user_task *const *tasks, size_t count)
{
	static char text[TEXT_MAX];
	size_t size = 0;
	int result;

	memset(text, 0, sizeof(text));
	result = work(request, tasks, count, text, &size);
	wire_put(text, size);
	wire_end(result < 0 ? result : 0, result < 0 ? -1 : result);
	if (result >= 0)
		close(result);
}

int user_serve(const struct user_task *const *tasks, size_t count)
{
	static _Alignas(8) struct request request;

	wire_begin(WORKER_USER);
	while (wire_receive(&request) > 0) {
		serve(&request, tasks, count);
		for (size_t i = 0; i < request.files.n; i++)
			close(request.files.fds[i]);
	}
	return EXIT_SUCCESS;
}

/* --- its parent --------------------------------------------------------------------------- */

/* Ends with the thread that started it; the next call then starts another one. */
static struct {
	pthread_mutex_t lock;
	struct worker *worker; /* NULL: none was needed */
	struct invoker user;
} helper = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int start(const struct invoker *user, const struct user_task *task,
		 const struct user_input *input, size_t text_size)
{
	struct head head = {.user = *user, .text_size = text_size};
	char data[sizeof(head) + DATA_MAX];
	const struct worker_order order = {.data = data,
					   .size = sizeof(head) + input->size,
					   .fds = &input->fd,
					   .n_fds = input->fd >= 0,
					   .cpu_ns = LIMIT_NS,
					   .wall_ns = LIMIT_NS,
					   .answer_max = TEXT_MAX};

	if (input->size > DATA_MAX)
		return -ENAMETOOLONG;
	if (!helper.worker && worker_create(WORKER_USER, false, &helper.worker))
		return -ENOMEM;
	if (helper.user.uid != user->uid || helper.user.gid != user->gid ||
	    strcmp(helper.user.name, user->name))
		worker_renew(helper.worker);
	helper.user = *user;
	strncpy(head.task, task->name, sizeof(head.task) - 1);
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), input->data, input->size);
	return worker_start(helper.worker, &order);
}

/* A descriptor or a negative errno. */
static int user_task_ask(const struct invoker *user, const struct user_task *task,
			 const struct user_input *input, char *text, size_t size)
{
	uint64_t end = monotonic_ns() + LIMIT_NS;
	struct worker_answer answer = {.fd = -1};
	int err = start(user, task, input, size);

	while (!err && worker_wait(helper.worker, &answer) != WORKER_ANSWERED) {
		/* Others may kill one process after the other. */
		if (monotonic_ns() < end)
			continue;
		worker_free(helper.worker);
		helper.worker = NULL;
		err = -ETIMEDOUT;
	}
	if (err)
		return err;
	if (answer.size == size && size)
		memcpy(text, answer.data, size);
	if (answer.err)
		return answer.err == -ETIME ? -ETIMEDOUT : answer.err;
	return answer.fd < 0 ? -EBADMSG : answer.fd;
}

int user_call(const struct invoker *user, const struct user_task *task,
	      const struct user_input *input, char *text, size_t size)
{
	int result;

	if (user->uid == 0 && !user->change)
		return task->run(input, text, size);
	pthread_mutex_lock(&helper.lock);
	result = user_task_ask(user, task, input, text, size);
	pthread_mutex_unlock(&helper.lock);
	return result;
}

/* --- tasks for paths ---------------------------------------------------------------------- */

static int open_path(const struct user_input *path, char *text, size_t size)
{
	int fd = open(path->data, O_RDONLY | O_CLOEXEC);

	(void)text, (void)size;
	return fd < 0 ? -errno : fd;
}

static int remove_output(const struct user_input *path, char *text, size_t size)
{
	(void)text, (void)size;
	output_file_remove(path->data);
	return -ENODATA; /* no descriptor to return */
}

const struct user_task user_task_open = {"open", open_path};
const struct user_task user_task_remove = {"remove", remove_output};

int user_call_path(const struct invoker *user, const struct user_task *task, const char *path)
{
	const struct user_input input = {path, strlen(path) + 1, -1};

	return user_call(user, task, &input, NULL, 0);
}

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
