/* SPDX-License-Identifier: BSD-2-Clause */
/* push.h: shared by the verbs that use a ClickHouse server. */
#ifndef GCPROF_COMMANDS_PUSH_PUSH_H
#define GCPROF_COMMANDS_PUSH_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "../../util/options.h"

struct http;

#define SERVER_URL "http://localhost:8123"

enum { EXIT_SPOOLED = 75 }; /* the files are in the spool, but the server does not have all of it */

struct server_arguments {
	const char *url, *user, *password_file, *ca_file;
};

/* Rows for the options of a struct server_arguments, the member `server` of `type`. */
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
 * A directory of profiles to push. spool_add() creates it if necessary and copies files into it; an
 * interrupted copy is never pushed. spool_push() calls `push` for each profile, oldest first, and
 * removes those for which it returns 0. All return exit statuses, with errors printed.
 */
typedef int spool_pusher(struct http *http, const char *file, const struct fleet_given *given);
int spool_add(const char *spool, const char *const *files, int n_files);
int spool_push(const char *spool, spool_pusher *push, struct http *http,
	       const struct fleet_given *given);

/* A spool_pusher for Pyroscope. Unlike a server with tables, it stores a profile as often as it is
 * sent. */
int pyroscope_push(struct http *http, const char *file, const struct fleet_given *given);

/*
 * The process that pushes for a recorder, when main() is called as PUSHER with options of gcprof
 * push. It gets paths from standard input, a socket, and answers each with a byte: 0 if the server
 * or the spool has it. An exit status.
 */
#define PUSHER "gcprof-pusher"
enum { PUSHER_WORDS_MAX = 16 + 2 * OPTION_LIST_MAX };
int pusher_main(int argc, char **argv);

/* Checks the URL (NULL: the default) and the labels. 0 or -EINVAL, with the error printed. */
int server_check(const char *url, const struct option_list *labels);

/* Reads the password, connects, and checks the tables. `reads`: rows will be read, in limited
 * memory. An exit status, with the error printed. */
int server_open(const struct server_arguments *arguments, bool reads, struct http **out);

/* Makes all texts printable: anyone who writes to the server may have chosen them. 0 or -ENOMEM. */
struct json_t;
int server_clean(struct json_t *answer);

#endif
