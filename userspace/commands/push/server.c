/* SPDX-License-Identifier: BSD-2-Clause */
/* server.c: checks the options for a ClickHouse server and connects to it. */
#include "push.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../fleet/push.h"
#include "../../model/world/arena.h"
#include "../../model/world/text.h"
#include "../../util/log.h"
#include "../../util/options.h"

enum { PASSWORD_MAX = 1024 };

/* Reads the first line of the file. Returns an exit status, with the error printed. */
static int read_password(const char *path, char password[PASSWORD_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, password, PASSWORD_MAX - 1);
	struct stat st;

	if (n < 0) {
		log_error("--password-file %s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return EXIT_FAILURE;
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_mode & (S_IRGRP | S_IROTH))
		log_warning("--password-file %s: other users may read it; use chmod 600", path);
	close(fd);
	password[n] = '\0';
	password[strcspn(password, "\r\n")] = '\0';
	if (*password)
		return 0;
	log_error("--password-file %s: its first line is empty", path);
	return EXIT_FAILURE;
}

static int clean(struct arena *arena, json_t *value)
{
	const char *key, *text;
	json_t *item;
	size_t i;
	int err = 0;

	if (json_is_string(value)) {
		text = name_clean(
			arena, (struct bytes){json_string_value(value), json_string_length(value)});
		return text && !json_string_set(value, text) ? 0 : -ENOMEM;
	}
	json_array_foreach(value, i, item) err = err ? err : clean(arena, item);
	json_object_foreach(value, key, item) err = err ? err : clean(arena, item);
	return err;
}

int server_clean(json_t *answer)
{
	struct arena *arena = NULL;
	int err = arena_create(&arena);

	err = err ? err : clean(arena, answer);
	arena_free(arena);
	return err;
}

int server_check(const char *url, const struct option_list *labels)
{
	struct http_problem problem;

	if (url && http_check(url, &problem)) {
		log_error("%s", problem.text);
		return -EINVAL;
	}
	for (size_t i = 0; i < labels->count; i++) {
		const char *text = labels->items[i];
		size_t name = strspn(text, LABEL_CHARACTERS), size = strlen(text);

		if (!name || text[name] != '=' || size == name + 1 ||
		    size > name + 1 + LABEL_VALUE_MAX) {
			log_error("--label %s: expected NAME=VALUE, with a name of letters, digits "
				  "and \"_\", and a value of 1 to %d bytes",
				  text, LABEL_VALUE_MAX);
			return -EINVAL;
		}
	}
	return 0;
}

/* The server gets it as a header, where a line break would begin another one. */
static int check_user(const char *user)
{
	for (const char *c = user; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			log_error("--user: it has a control character");
			return EXIT_USAGE;
		}
	return 0;
}

static void warn_unencrypted(const char *url)
{
	static const char *const near[] = {"localhost", "127.", "[::1]"};
	const char *host = strstr(url, "://") + strlen("://");

	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++)
		if (!strncmp(host, near[i], strlen(near[i])))
			return;
	if (host[-4] != 's')
		log_warning("the password is sent unencrypted: use https");
}

int server_open(const struct server_arguments *arguments, bool reads, struct http **out)
{
	char password[PASSWORD_MAX] = "";
	struct http_server server = {
		.url = arguments->url ? arguments->url : SERVER_URL,
		.user = arguments->user,
		.password = arguments->password_file ? password : NULL,
		.ca_file = arguments->ca_file,
	};
	struct http_problem problem;
	int err, status = check_user(arguments->user);

	if (!status && arguments->password_file)
		status = read_password(arguments->password_file, password);
	if (status)
		return status;
	if (reads)
		http_limit_memory();
	err = http_create(&server, out, &problem);
	explicit_bzero(password, sizeof(password));
	if (err) {
		log_error("%s", problem.text);
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILURE;
	}
	if (server.password)
		warn_unencrypted(server.url);
	err = http_is_pyroscope(server.url) ? 0 : push_check(*out, &problem);
	if (!err)
		return 0;
	log_error("%s: %s", http_name(*out), problem.text);
	http_free(*out);
	*out = NULL;
	return EXIT_FAILURE;
}
