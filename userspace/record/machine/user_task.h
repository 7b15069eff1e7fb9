/* SPDX-License-Identifier: BSD-2-Clause */
/* user_task.h: acts with the rights of the user who called gcprof, in a process of its own. */
/*
 * Other processes of that user can stop or kill such a process. It is therefore this program,
 * executed afresh: it has no descriptor and no environment of the recorder, answers in time or is
 * killed, and dies with the recorder.
 */
#ifndef GCPROF_USER_TASK_H
#define GCPROF_USER_TASK_H

#include <stddef.h>

#include "../../util/invoker.h"
#include "../../util/output_file.h"

struct user_input {
	const void *data; /* at most 32 KiB */
	size_t size;
	int fd; /* borrowed; -1: none */
};

/* Has the input without pointers. Returns a descriptor or a negative errno, and may write `size`
 * bytes, which are zero before. */
struct user_task {
	const char *name; /* by which the process finds it */
	int (*run)(const struct user_input *input, char *text, size_t size);
};

/*
 * Runs `task`, one of those that user_main() knows, with the rights of `user`: in the process,
 * unless that is root. Returns the task's descriptor (close it) or a negative errno, and what it
 * wrote. -ETIMEDOUT: it did not answer within 10 s.
 */
int user_call(const struct invoker *user, const struct user_task *task,
	      const struct user_input *input, char *text, size_t size);

/* The process: serves these tasks. An exit status. */
int user_serve(const struct user_task *const *tasks, size_t count);

/* Tasks for a path: they open a file to read it, and remove an output. */
extern const struct user_task user_task_open, user_task_remove;

/* Runs one of them. */
int user_call_path(const struct invoker *user, const struct user_task *task, const char *path);

/* The functions of output_file.h, with the rights of the invoker. */
int output_file_open_as(const struct invoker *invoker, struct output_file *file);
int output_file_publish_as(const struct invoker *invoker, struct output_file *file);
void output_file_close_as(const struct invoker *invoker, struct output_file *file);

/* Their parts that run as the user. */
extern const struct user_task output_open_task, output_publish_task, output_close_task;

#endif
