/* SPDX-License-Identifier: BSD-2-Clause */
/* agents.c: agents that sample allocations, and which programs may load them. */
#include "agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../reader/facts.h"
#include "../../runtimes/runtime.h"
#include "../../util/path_base.h"
#include "../machine/user_task.h"
#include "java_attach.h"

#define LINKER "ld-linux-x86-64.so.2" /* of the C library that the agents are built for */

struct agent_kind {
	const char *name, *file;
	const struct loading *loading;
	uint32_t runtime;          /* the agent's runtime; RUNTIME_NONE: the C library */
	const char *title;         /* the runtime's usual name */
	const char *const *others; /* variables that give the runtime another allocator */
	const char *denied; /* an option with which programs may not read the agent, or NULL */
	/* Makes a running program load it; NULL: impossible. */
	int (*attach)(pid_t pid, int pidfd, const char *library, const struct invoker *user,
		      struct problem *problem);
};

/* How programs load an agent: a variable of their environment. */
static const struct loading {
	const char *variable, *separator; /* of its parts */
	const char *option;               /* before the file's path */
	bool is_first;                    /* of the parts */
	bool is_mapped;                   /* by the dynamic linker, which must be the agents' */
	const char *forbidden;            /* characters in the path */
} preloading = {.variable = "LD_PRELOAD",
		.separator = ":",
		.option = "",
		.is_mapped = true,
		.forbidden = ": "},
  requiring = {.variable = "NODE_OPTIONS",
	       .separator = " ",
	       .option = "--require ",
	       .is_first = true,
	       .forbidden = " \"\\"};

static const char *const python_others[] = {"PYTHONMALLOC", "PYTHONDEVMODE", NULL};

static const char *const no_others[] = {NULL};

static const struct agent_kind kinds[] = {
	{.name = "malloc", .file = "libgcprof-malloc.so", .loading = &preloading},
	{.name = "python",
	 .file = "libgcprof-cpython.so",
	 .loading = &preloading,
	 .runtime = RUNTIME_CPYTHON,
	 .title = "CPython",
	 .others = python_others},
	{.name = "java",
	 .file = "libgcprof-jvm.so",
	 .loading = &preloading,
	 .runtime = RUNTIME_HOTSPOT,
	 .title = "HotSpot",
	 .others = no_others,
	 .attach = java_attach},
	{.name = "node",
	 .file = "gcprof-node.cjs",
	 .loading = &requiring,
	 .runtime = RUNTIME_V8,
	 .title = "Node.js",
	 .others = no_others,
	 .denied = "--experimental-permission"},
};

const struct agent_kind *agent_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

const char *agent_name(const struct agent_kind *kind)
{
	return kind->name;
}

const char *agent_file(const struct agent_kind *kind)
{
	return kind->file;
}

bool agent_is_mapped(const struct agent_kind *kind)
{
	return kind->loading->is_mapped;
}

void agent_variable(const struct agent_kind *kind, const char *path, struct added_variable *out)
{
	const struct loading *loading = kind->loading;

	*out = (struct added_variable){.name = loading->variable,
				       .separator = loading->separator,
				       .is_first = loading->is_first};
	snprintf(out->text, sizeof(out->text), "%s%s", loading->option, path);
}

uint32_t agent_runtime(const struct agent_kind *kind)
{
	return kind->runtime;
}

bool agent_attaches(const struct agent_kind *kind)
{
	return kind->attach;
}

/* Another program may not survive the request to its virtual machine. */
int agent_attach(const struct agent_kind *kind, const struct agent *agent,
		 const struct agent_target *target, const struct invoker *user,
		 struct problem *problem)
{
	if (!(target->runtimes & UINT32_C(1) << kind->runtime))
		return problem_set(problem, -ENOEXEC, "--agent %s: process %d has not loaded %s",
				   kind->name, (int)target->pid, kind->title);
	return kind->attach(target->pid, target->pidfd, agent->path, user, problem);
}

/* --- its file -------------------------------------------------------------------- */

/* `from`: path from this program's directory. */
static int open_beside(const struct agent_kind *kind, const struct invoker *user, const char *from,
		       struct agent *out)
{
	ssize_t size = readlink("/proc/self/exe", out->path, sizeof(out->path) - 1);
	char *slash;
	size_t room;

	if (size <= 0)
		return -ENOENT;
	out->path[size] = '\0';
	slash = strrchr(out->path, '/');
	if (!slash || strpbrk(out->path, kind->loading->forbidden))
		return -EINVAL;
	room = sizeof(out->path) - (size_t)(slash + 1 - out->path);
	if ((size_t)snprintf(slash + 1, room, "%s%s", from, kind->file) >= room)
		return -ENAMETOOLONG;
	return user_call_path(user, &user_task_open, out->path);
}

int agent_open(const struct agent_kind *kind, const struct invoker *user, struct agent *out,
	       struct problem *problem)
{
	out->fd = open_beside(kind, user, "", out);
	if (out->fd == -ENOENT)
		out->fd = open_beside(kind, user, "../lib/gcprof/", out);
	if (out->fd >= 0)
		return 0;
	if (out->fd == -EINVAL)
		return problem_set(problem, out->fd,
				   "%s: a path with one of the characters '%s' cannot be in %s",
				   out->path, kind->loading->forbidden, kind->loading->variable);
	return problem_set(problem, out->fd, "%s, which --agent %s needs: %s", out->path,
			   kind->name, strerror(-out->fd));
}

void agent_close(struct agent *agent)
{
	if (agent->fd > 0)
		close(agent->fd);
	agent->fd = 0;
}

/* --- the program ------------------------------------------------------------------- */

static void judge_program(const struct file *file, struct agent_verdict *verdict)
{
	const char *linker = file->facts.interpreter;

	if (!linker[0]) {
		verdict->useless = true;
		snprintf(verdict->why, sizeof(verdict->why), "%s is statically linked",
			 verdict->program);
	} else if (strcmp(path_base(linker), LINKER)) {
		verdict->harmful = true;
		snprintf(verdict->why, sizeof(verdict->why), "%s has another C library: %s",
			 verdict->program, linker);
	}
}

void agent_judge(const struct agent_kind *kind, const struct file *file, const char *path,
		 struct agent_verdict *verdict)
{
	uint32_t allocator = file->facts.allocator;
	bool is_sanitizer = allocator == ALLOCATOR_SANITIZER;

	if (!verdict->program[0]) {
		snprintf(verdict->program, sizeof(verdict->program), "%.200s", path_base(path));
		if (kind->loading->is_mapped)
			judge_program(file, verdict);
	}
	verdict->has_runtime |= file->facts.runtime.runtime == kind->runtime;
	if (verdict->why[0] || allocator == ALLOCATOR_NONE || allocator == ALLOCATOR_LIBC)
		return;
	/* A runtime's own allocator may take memory from any other. */
	if (kind->runtime != RUNTIME_NONE && !is_sanitizer)
		return;
	verdict->useless = true;
	verdict->harmful = is_sanitizer;
	snprintf(verdict->why, sizeof(verdict->why), "%.200s has %s", path_base(path),
		 allocator_name(allocator));
}

void agent_judge_refused(struct agent_verdict *verdict)
{
	if (verdict->harmful)
		return;
	verdict->harmful = true;
	snprintf(verdict->why, sizeof(verdict->why),
		 "the dynamic linker of %s does not load the agent", verdict->program);
}

/* Whether the command, or what its environment adds to it, has the option. */
static bool has_option(const struct agent_kind *kind, char *const *words)
{
	const char *more = getenv(kind->loading->variable);

	if (!kind->denied)
		return false;
	while (*words && strncmp(*words, kind->denied, strlen(kind->denied)))
		words++;
	return *words || (more && strstr(more, kind->denied));
}

void agent_judge_end(const struct agent_kind *kind, char *const *words,
		     struct agent_verdict *verdict)
{
	const char *const *variable = kind->others;

	if (has_option(kind, words)) {
		verdict->harmful = true;
		snprintf(verdict->why, sizeof(verdict->why), "%s forbids it to read the agent",
			 kind->denied);
	}

	/* Nothing is known about a file that could not be read. */
	if (kind->runtime == RUNTIME_NONE || verdict->why[0] || !verdict->program[0])
		return;
	if (!verdict->has_runtime) {
		verdict->useless = true;
		snprintf(verdict->why, sizeof(verdict->why), "%s does not load %s when it starts",
			 verdict->program, kind->title);
		return;
	}
	while (*variable && !getenv(*variable))
		variable++;
	if (!*variable)
		return;
	verdict->useless = true;
	snprintf(verdict->why, sizeof(verdict->why),
		 "%s is set, so %s takes another allocator than the agent's", *variable,
		 kind->title);
}
