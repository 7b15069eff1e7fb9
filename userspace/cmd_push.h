/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_push.h: what the verbs that ask a ClickHouse server share. */
#ifndef GCPROF_CMD_PUSH_H
#define GCPROF_CMD_PUSH_H

struct http;

#define SERVER_URL "http://localhost:8123"

struct server_arguments {
	const char *url, *user, *password_file, *ca_file;
};

/* Reads the password and checks the server and its tables; says what is wrong. An exit status. */
int server_open(const struct server_arguments *arguments, struct http **out);

#endif
