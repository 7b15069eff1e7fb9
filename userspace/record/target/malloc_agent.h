/* SPDX-License-Identifier: BSD-2-Clause */
/* malloc_agent.h: the library that samples what a program takes from malloc(), and who may have it.
 */
#ifndef GCPROF_MALLOC_AGENT_H
#define GCPROF_MALLOC_AGENT_H

#include <limits.h>
#include <stdbool.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"
#include "../world/file.h"

#define MALLOC_AGENT_FILE "libgcprof-malloc.so"

struct malloc_agent {
	char path[PATH_MAX]; /* beside this program, or in the lib directory of its installation */
	int fd;              /* opened as the user whose program is to load it */
};

/* Finds the agent of this gcprof; nobody's environment has a say. To be closed. -ENOENT, -EACCES.
 */
int malloc_agent_open(const struct invoker *user, struct malloc_agent *out,
		      struct problem *problem);
void malloc_agent_close(struct malloc_agent *agent);

/* What is known of a program and its libraries: may it have the agent, and will that see anything?
 */
struct malloc_verdict {
	bool harmful; /* the program would not run with it */
	bool useless; /* the program itself would not call it; what it starts may */
	char why[512];
};

/* Once for the program, `is_program`, and for each library that it loads at its start. */
void malloc_agent_judge(const struct file *file, const char *path, bool is_program,
			struct malloc_verdict *verdict);

#endif
