/* SPDX-License-Identifier: BSD-2-Clause */
/* user_output.h: opens, publishes and closes the profile with the rights of its user. */
#ifndef GCPROF_USER_OUTPUT_H
#define GCPROF_USER_OUTPUT_H

#include "../../util/output_file.h"
#include "user_task.h"

/* The functions of output_file.h, with the rights of the invoker. */
int output_file_open_as(const struct invoker *invoker, struct output_file *file);
int output_file_publish_as(const struct invoker *invoker, struct output_file *file);
void output_file_close_as(const struct invoker *invoker, struct output_file *file);

/* Their parts that run as the user. */
extern const struct user_task output_open_task, output_publish_task, output_close_task;

#endif
