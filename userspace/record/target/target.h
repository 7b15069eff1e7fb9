/* SPDX-License-Identifier: BSD-2-Clause */
/* target.h: the program that is recorded: found, started stopped, released, waited for. */
/*
 * The child is a plain fork, without a parent-death signal. Until it is released it waits on a
 * pipe, and if the recorder dies before, it ends without having run anything; afterwards nothing
 * ties it to the recorder. Only a program that is to be stopped at its exec is traced until then.
 */
#ifndef GCPROF_TARGET_H
#define GCPROF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../util/invoker.h"
#include "../../util/problem.h"

/*
 * Finds a command as a shell of the user would. *path is the caller's (free). -ENOENT:
 * there is none; -EACCES or -EISDIR: it cannot be executed.
 */
int target_resolve(const struct invoker *user, const char *command, char **path,
		   struct problem *problem);

/* What the child becomes. */
struct target_setup {
	const char *path;
	char *const *arguments;     /* the first is the command as given */
	const struct invoker *user; /* runs as that user */
	bool output_taken;    /* by the profile: what the program prints goes to standard error */
	const char *preload;  /* a library that it loads first; NULL: none */
	uint64_t period;      /* GCPROF_PERIOD, bytes; 0: not set */
	uint64_t ceiling;     /* GCPROF_CEILING, samples a second; UINT64_MAX: not set */
	bool each_collection; /* GCPROF_GC_CEILING=0: none are reported as sums */
};

struct target;

/* Forks the child, which then waits. `setup` is not needed any more afterwards. */
int target_start(const struct target_setup *setup, struct target **out, struct problem *problem);

pid_t target_pid(const struct target *target);
int target_pidfd(const struct target *target); /* owned by the target */

/*
 * Lets it run; 0 once exec succeeded, else the negative errno of what failed in the child. Calls
 * `stopped`, if it is not NULL, when the program has been executed and none of its instructions
 * has run, if the kernel lets us stop it there.
 */
typedef void target_stopped(void *context);
int target_release(struct target *target, target_stopped *stopped, void *context,
		   struct problem *problem);

/*
 * Its status as wait(2) shows it. -EAGAIN: still running and `block` is false.
 * May be called again after success.
 */
int target_wait(struct target *target, bool block, int *status);

/* A child that was not released ends; one that was is left alone. NULL is allowed. */
void target_free(struct target *target);

#endif
