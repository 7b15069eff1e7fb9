/* SPDX-License-Identifier: BSD-2-Clause */
/* target.h: the recorded program: found, started, released, waited for. */
/*
 * The child is a plain fork without a parent-death signal. Until it is released it waits on a pipe;
 * if the recorder dies before, it exits without running anything. After that nothing ties it to the
 * recorder. It is traced only until its exec, and only if it is to be stopped there.
 */
#ifndef GCPROF_TARGET_H
#define GCPROF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../machine/user_task.h"
#include "../../util/problem.h"

/*
 * Finds a command as the user's shell would. The caller frees *path. -ENOENT: there is none;
 * -EACCES or -EISDIR: it cannot be executed.
 */
int target_resolve(const struct invoker *user, const char *command, char **path,
		   struct problem *problem);

/* Its part that runs as the user. */
extern const struct user_task target_resolve_task;

struct added_variable; /* agents.h */

/* How to set up the child. */
struct target_setup {
	const char *path;
	char *const *arguments;     /* the first is the command as given */
	const struct invoker *user; /* to run as */
	bool output_taken;          /* stdout is the profile; the program's goes to stderr */
	const struct added_variable *added; /* to its environment; NULL: nothing */
	uint64_t period;                    /* GCPROF_PERIOD, bytes; 0: not set */
	uint64_t ceiling;     /* GCPROF_CEILING, samples a second; UINT64_MAX: not set */
	bool each_collection; /* GCPROF_GC_CEILING=0: no sums of collections */
};

struct target;

/* Forks the child, which then waits. `setup` is not needed afterwards. */
int target_start(const struct target_setup *setup, struct target **out, struct problem *problem);

pid_t target_pid(const struct target *target);
int target_pidfd(const struct target *target); /* owned by the target */

/* Adds to a variable of this process's environment. 0 or a negative errno. */
int target_add_variable(const struct added_variable *added);

/*
 * Releases it. 0 once exec succeeded, else the negative errno of the child's failure. Calls
 * `stopped`, if not NULL, after exec and before the program's first instruction, if the kernel
 * allows stopping it there.
 */
typedef void target_stopped(void *context);
int target_release(struct target *target, target_stopped *stopped, void *context,
		   struct problem *problem);

/*
 * Its status as in wait(2). -EAGAIN: still running and `block` is false. May be called again after
 * success.
 */
int target_wait(struct target *target, bool block, int *status);

/* Ends a child that was not released; leaves a released one alone. NULL is allowed. */
void target_free(struct target *target);

#endif
