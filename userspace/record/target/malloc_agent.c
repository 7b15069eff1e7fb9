/* SPDX-License-Identifier: BSD-2-Clause */
/* malloc_agent.c: the library that samples what a program takes from malloc(), and who may have it.
 */
#include "malloc_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../reader/allocators.h"
#include "../../util/path_base.h"

#define LINKER "ld-linux-x86-64.so.2" /* of the C library that the agent is made for */

static int open_file(const void *context, char *text, size_t size)
{
	int fd = open(context, O_RDONLY | O_CLOEXEC);

	(void)text;
	(void)size;
	return fd < 0 ? -errno : fd;
}

/* `from`: how one gets there from the directory of this program. */
static int open_beside(const struct invoker *user, const char *from, struct malloc_agent *out)
{
	char text[1];
	ssize_t size = readlink("/proc/self/exe", out->path, sizeof(out->path) - 1);
	char *slash;
	size_t room;

	if (size <= 0)
		return -ENOENT;
	out->path[size] = '\0';
	slash = strrchr(out->path, '/');
	/* The linker divides LD_PRELOAD at these. */
	if (!slash || strpbrk(out->path, ": "))
		return -EINVAL;
	room = sizeof(out->path) - (size_t)(slash + 1 - out->path);
	if ((size_t)snprintf(slash + 1, room, "%s%s", from, MALLOC_AGENT_FILE) >= room)
		return -ENAMETOOLONG;
	return invoker_call(user, open_file, out->path, text, sizeof(text));
}

int malloc_agent_open(const struct invoker *user, struct malloc_agent *out, struct problem *problem)
{
	out->fd = open_beside(user, "", out);
	if (out->fd == -ENOENT)
		out->fd = open_beside(user, "../lib/", out);
	if (out->fd >= 0)
		return 0;
	if (out->fd == -EINVAL)
		return problem_set(problem, out->fd,
				   "%s: a path with a blank or colon cannot be in LD_PRELOAD",
				   out->path);
	return problem_set(problem, out->fd, "%s, which --malloc needs: %s", out->path,
			   strerror(-out->fd));
}

void malloc_agent_close(struct malloc_agent *agent)
{
	if (agent->fd > 0)
		close(agent->fd);
	agent->fd = 0;
}

static void judge_program(const struct file *file, const char *name, struct malloc_verdict *verdict)
{
	const char *linker = file->facts.interpreter;

	if (!linker[0]) {
		verdict->useless = true;
		snprintf(verdict->why, sizeof(verdict->why), "%.200s is statically linked", name);
	} else if (strcmp(path_base(linker), LINKER)) {
		verdict->harmful = true;
		snprintf(verdict->why, sizeof(verdict->why), "%.200s has another C library: %s",
			 name, linker);
	}
}

void malloc_agent_judge(const struct file *file, const char *path, bool is_program,
			struct malloc_verdict *verdict)
{
	uint32_t allocator = file->facts.allocator;

	if (is_program)
		judge_program(file, path_base(path), verdict);
	if (verdict->why[0] || allocator == ALLOCATOR_NONE || allocator == ALLOCATOR_LIBC)
		return;
	verdict->useless = true;
	verdict->harmful = allocator == ALLOCATOR_SANITIZER;
	snprintf(verdict->why, sizeof(verdict->why), "%.200s has %s", path_base(path),
		 allocator_name(allocator));
}
