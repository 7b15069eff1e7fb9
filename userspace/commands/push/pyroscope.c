/* SPDX-License-Identifier: BSD-2-Clause */
/* pyroscope.c: gcprof push --to pyroscope+http://...: sends profiles to Pyroscope. */
/*
 * Profiles are untrusted, and this process has a network and a password. So other processes read
 * them: gcprof query for what the request says, gcprof export for the body.
 */
#include "push.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../fleet/block.h"
#include "../../fleet/http.h"
#include "../../util/log.h"
#include "../../util/path_base.h"

enum { OUTPUT_MAX = 256 << 20 };

#define RECORDING                                                                    \
	"SELECT coalesce(realtime, 0) / 1000000000 AS start,"                        \
	" (coalesce(realtime, 0) + duration_ns + 999999999) / 1000000000 AS finish," \
	" coalesce(host, '') AS host, coalesce(command, '') AS command FROM recording"

/* Runs gcprof with these words and appends its standard output. An exit status. */
static int run_gcprof(const char *const *words, struct buffer *out)
{
	int pipes[2], status = EXIT_FAILURE;
	char block[1 << 16];
	ssize_t n = 0;
	pid_t pid;

	if (pipe(pipes))
		return EXIT_FAILURE;
	pid = fork();
	if (pid == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		execv("/proc/self/exe", (char *const *)(uintptr_t)words);
		_exit(EXIT_FAILURE);
	}
	close(pipes[1]);
	while (pid > 0 && (n = read(pipes[0], block, sizeof(block))) > 0)
		if (out->size + (size_t)n > OUTPUT_MAX || buffer_append(out, block, (size_t)n))
			break;
	close(pipes[0]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return EXIT_FAILURE;
	return n || !WIFEXITED(status) ? EXIT_FAILURE : WEXITSTATUS(status);
}

/* Pyroscope has no quoting: characters that end a name or value become "_". */
static void print_plain(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(strchr("{},=", *text) || (unsigned char)*text < ' ' ? '_' : *text, out);
}

static void print_label(FILE *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, "%s=", name);
	print_plain(out, value);
	putc(',', out);
}

/* The application's name with labels: SERVICE{NAME=VALUE,...}; NULL: no memory. */
static char *make_name(const json_t *recording, const struct fleet_given *given)
{
	const char *host = json_string_value(json_object_get(recording, "host"));
	const char *command = json_string_value(json_object_get(recording, "command"));
	char *name = NULL,
	     *program = strndup(command ? command : "", command ? strcspn(command, " ") : 0);
	size_t size;
	FILE *out = open_memstream(&name, &size);

	if (!out || !program)
		return NULL;
	print_plain(out, given->service ? given->service
			 : *program     ? path_base(program)
					: "unknown");
	putc('{', out);
	print_label(out, "version", given->version);
	print_label(out, "host", given->host ? given->host : host);
	print_label(out, "container", given->container);
	for (size_t i = 0; i < given->n_labels; i++)
		print_label(out, given->labels[i].name, given->labels[i].value);
	free(program);
	if (fclose(out))
		return NULL;
	name[size - 1] = name[size - 1] == ',' ? '}' : name[size - 1];
	if (name[size - 1] == '{')
		name[size - 1] = '\0';
	return name;
}

int pyroscope_push(struct http *http, const char *file, const struct fleet_given *given)
{
	const char *const query[] = {"gcprof", "query", "-f", "json", "--", RECORDING, file, NULL};
	const char *const export[] = {"gcprof", "export", "-f", "pprof", "-o",
				      "-",      "--",     file, NULL};
	struct http_problem problem = {0};
	struct buffer facts = {0}, body = {0};
	json_t *rows = NULL, *recording;
	char *name = NULL;
	int status = run_gcprof(query, &facts), err;

	if (!status)
		status = run_gcprof(export, &body);
	if (status)
		log_error("%s: not pushed", file);
	else {
		rows = json_loadb(facts.data, facts.size, 0, NULL);
		recording = json_array_get(rows, 0);
		name = make_name(recording, given);
		err = name ? http_ingest(http, name,
					 (uint64_t)json_integer_value(
						 json_object_get(recording, "start")),
					 (uint64_t)json_integer_value(
						 json_object_get(recording, "finish")),
					 &body, &problem)
			   : -ENOMEM;
		if (err)
			log_error("%s: %s: %s", file, http_name(http), problem.text);
		else
			log_info("%s: pushed as %s", file, name);
		status = err ? EXIT_FAILURE : 0;
	}
	free(name);
	json_decref(rows);
	buffer_free(&facts);
	buffer_free(&body);
	return status;
}
