/* SPDX-License-Identifier: BSD-2-Clause */
/* agents.h: agents that sample allocations, and which programs may load them. */
#ifndef GCPROF_AGENTS_H
#define GCPROF_AGENTS_H

#include <limits.h>
#include <stdbool.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"
#include "../world/file.h"

struct agent_kind; /* a row of the table in agents.c */

/* The agent with this name in --agent; NULL: none. */
const struct agent_kind *agent_find(const char *name);

const char *agent_name(const struct agent_kind *kind);

/* Its file's name; and do programs that load it map this file? */
const char *agent_file(const struct agent_kind *kind);
bool agent_is_mapped(const struct agent_kind *kind);

/* The runtime whose programs it is for; RUNTIME_NONE: for any program. */
uint32_t agent_runtime(const struct agent_kind *kind);

struct agent {
	char path[PATH_MAX]; /* beside this program, or in its installation's lib directory */
	int fd;              /* opened as the user whose program will load it */
};

/* An addition to a variable of a program's environment, before or after what it has. */
struct added_variable {
	const char *name, *separator;
	bool is_first;
	char text[PATH_MAX + 16];
};

/* The one by which programs load the agent from this path. */
void agent_variable(const struct agent_kind *kind, const char *path, struct added_variable *out);

/* Finds this gcprof's agent, regardless of the environment. To be closed. -ENOENT, -EACCES. */
int agent_open(const struct agent_kind *kind, const struct invoker *user, struct agent *out,
	       struct problem *problem);
void agent_close(struct agent *agent);

/* Can running programs load it? */
bool agent_attaches(const struct agent_kind *kind);

struct agent_target {
	pid_t pid;
	int pidfd;
	uint32_t runtimes; /* bits, as found by the recorder */
};

/* Makes a running program load it, see java_attach.h. */
int agent_attach(const struct agent_kind *kind, const struct agent *agent,
		 const struct agent_target *target, const struct invoker *user,
		 struct problem *problem);

/* What a program and its libraries allow: may it load the agent, and will the agent see
 * anything? */
struct agent_verdict {
	bool harmful;     /* the program would not run with it */
	bool useless;     /* the program would not call it, but its children may */
	bool has_runtime; /* a file has the agent's runtime */
	char program[256];
	char why[600];
};

/* To be called once for the program, then for each library that it loads at start. */
void agent_judge(const struct agent_kind *kind, const struct file *file, const char *path,
		 struct agent_verdict *verdict);

/* The program's dynamic linker refused the agent. */
void agent_judge_refused(struct agent_verdict *verdict);

/* To be called after the last of them. `words`: the command. */
void agent_judge_end(const struct agent_kind *kind, char *const *words,
		     struct agent_verdict *verdict);

#endif
