/* SPDX-License-Identifier: BSD-2-Clause */
/* agents.h: libraries that sample what a program allocates, and which programs may have them. */
#ifndef GCPROF_AGENTS_H
#define GCPROF_AGENTS_H

#include <limits.h>
#include <stdbool.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"
#include "../world/file.h"

struct agent_kind; /* one of the table in agents.c */

/* The agent of this name, as in --agent; NULL: there is none. */
const struct agent_kind *agent_find(const char *name);

const char *agent_name(const struct agent_kind *kind);

/* Its file's name. */
const char *agent_file(const struct agent_kind *kind);

struct agent {
	char path[PATH_MAX]; /* beside this program, or in the lib directory of its installation */
	int fd;              /* opened as the user whose program is to load it */
};

/* Finds the agent of this gcprof; nobody's environment has a say. To be closed. -ENOENT, -EACCES.
 */
int agent_open(const struct agent_kind *kind, const struct invoker *user, struct agent *out,
	       struct problem *problem);
void agent_close(struct agent *agent);

/* Can programs load it that run already? */
bool agent_attaches(const struct agent_kind *kind);

struct agent_target {
	pid_t pid;
	int pidfd;
	uint32_t runtimes; /* bits, as the recorder has found them */
};

/* Has one do so, see java_attach.h. */
int agent_attach(const struct agent_kind *kind, const struct agent *agent,
		 const struct agent_target *target, const struct invoker *user,
		 struct problem *problem);

/* What is known of a program and its libraries: may it have the agent, and will that see anything?
 */
struct agent_verdict {
	bool harmful;     /* the program would not run with it */
	bool useless;     /* the program itself would not call it; what it starts may */
	bool has_runtime; /* a file has the runtime that the agent is for */
	char program[256];
	char why[600];
};

/* Once for the program, which comes first, and for each library that it loads at its start. */
void agent_judge(const struct agent_kind *kind, const struct file *file, const char *path,
		 struct agent_verdict *verdict);

/* Behind the last of them. */
void agent_judge_end(const struct agent_kind *kind, struct agent_verdict *verdict);

#endif
