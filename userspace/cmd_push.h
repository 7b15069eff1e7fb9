/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_push.h: what the verbs that ask a ClickHouse server share. */
#ifndef GCPROF_CMD_PUSH_H
#define GCPROF_CMD_PUSH_H

#include <stddef.h>

#include "util/options.h"

struct http;

#define SERVER_URL "http://localhost:8123"

struct server_arguments {
	const char *url, *user, *password_file, *ca_file;
};

/* Rows of options of `type`, whose member `server` this is. */
#define SERVER_OPTIONS(type, server, prefix)                                                      \
	{prefix "user",                                                                           \
	 0,                                                                                       \
	 OPTION_TEXT,                                                                             \
	 offsetof(type, server.user),                                                             \
	 0,                                                                                       \
	 0,                                                                                       \
	 "NAME",                                                                                  \
	 "ClickHouse user (default: default)"},                                                   \
		{prefix "password-file",                                                          \
		 0,                                                                               \
		 OPTION_TEXT,                                                                     \
		 offsetof(type, server.password_file),                                            \
		 0,                                                                               \
		 0,                                                                               \
		 "FILE",                                                                          \
		 "read the user's password from the first line of FILE"},                         \
	{                                                                                         \
		prefix "ca-file", 0, OPTION_TEXT, offsetof(type, server.ca_file), 0, 0, "FILE",   \
			"trust these certificates (PEM) for https (default: those of the system)" \
	}

struct fleet_given;

/*
 * A directory with profiles that are to be pushed. Copies files into it, made if need be; what is
 * in it is complete, whatever ends when. Pushes all by `push`, the oldest first, and removes those
 * of which that returns 0. Exit statuses, with what is wrong said.
 */
typedef int spool_pusher(struct http *http, const char *file, const struct fleet_given *given);
int spool_add(const char *spool, const char *const *files, int n_files);
int spool_push(const char *spool, spool_pusher *push, struct http *http,
	       const struct fleet_given *given);

/* Do the URL (NULL: the usual one) and the labels make sense? -EINVAL, and it is said. */
int server_check(const char *url, const struct option_list *labels);

/* Reads the password and checks the server and its tables; says what is wrong. An exit status. */
int server_open(const struct server_arguments *arguments, struct http **out);

#endif
