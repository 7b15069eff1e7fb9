/* SPDX-License-Identifier: BSD-2-Clause */
/* push.c: gcprof push: stores profiles in a ClickHouse server. */
#include "push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../commands.h"
#include "../../fleet/push.h"
#include "../../fleet/tables.h"
#include "../../profile/status.h"
#include "../../util/log.h"
#include "../../util/plural.h"

enum { FILES_MAX = 1024 };

struct push_arguments {
	struct server_arguments server;
	struct option_list labels;
	const char *spool;
	uint64_t expire;
	int schema;
	const char *cluster, *otel;
	const char *files[FILES_MAX];
	int n_files;
};

static const struct option_row rows[] = {
	{"to", 0, OPTION_TEXT, offsetof(struct push_arguments, server.url), 0, 0, "URL",
	 "http[s]://HOST[:PORT][/DATABASE] (default http://localhost:8123/gcprof), or "
	 "pyroscope+http..."},
	{"label", 'l', OPTION_LIST, offsetof(struct push_arguments, labels), 0, 0, "NAME=VALUE",
	 "label for all rows: service, version, host, container or another name; may be repeated"},
	SERVER_OPTIONS(struct push_arguments, server, ""),
	{"spool", 0, OPTION_TEXT, offsetof(struct push_arguments, spool), 0, 0, "DIR",
	 "copy the files to this directory, push all profiles in it, remove those the server has"},
	{"expire", 0, OPTION_NUMBER, offsetof(struct push_arguments, expire), 1, 36500, "DAYS",
	 "drop samples, pauses, calls and threads of older profiles; hourly sums are kept"},
	{"schema", 0, OPTION_FLAG, offsetof(struct push_arguments, schema), 0, 0, NULL,
	 "print the statements that create the tables, and exit"},
	{"cluster", 0, OPTION_TEXT, offsetof(struct push_arguments, cluster), 0, 0, "NAME",
	 "with --schema: for each server of this cluster"},
	{"otel", 0, OPTION_TEXT, offsetof(struct push_arguments, otel), 0, 0, "TABLE",
	 "also copy into [DATABASE.]TABLE of OpenTelemetry's ClickHouse exporter; with --schema: "
	 "print "
	 "it"},
	{NULL, 0, 0, 0, 0, 0, NULL, NULL},
};

/* Adds a label, checked by server_check(), to `given`; splits the text in place. */
static void take_label(struct fleet_given *given, char *text)
{
	const struct {
		const char *name, **value;
	} known[] = {{"service", &given->service},
		     {"version", &given->version},
		     {"host", &given->host},
		     {"container", &given->container}};
	char *value = strchr(text, '=');

	*value++ = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(text, known[i].name)) {
			*known[i].value = value;
			return;
		}
	given->labels[given->n_labels++] = (struct fleet_label){text, value};
}

/* Returns an exit status. */
static int report_result(const char *file, const struct push_result *result)
{
	if (!result->whole)
		log_info("%s: pushed %" PRIu64 " rows%s", file, result->rows,
			 result->rows_were ? "; the server already had the others" : "");
	else
		log_info("%s: the server already has it", file);
	return profile_judge(file, result->state, result->bytes);
}

static int copy_to_otel(struct http *http, const char *file, const char *table,
			const struct push_result *result)
{
	struct http_problem problem = {0};
	uint64_t added;
	int err = otel_copy(http, table, result->profile, &added, &problem);

	if (err)
		log_error("%s: %s: %s", file, http_name(http),
			  *problem.text ? problem.text : strerror(-err));
	else if (added)
		log_info("%s: %" PRIu64 " rows copied to %s", file, added, table);
	else
		log_info("%s: %s has all its rows", file, table);
	return err ? EXIT_FAILURE : 0;
}

/* Returns an exit status. */
static int push_file(struct http *http, const char *file, const struct fleet_given *given)
{
	struct http_problem problem = {0};
	struct push_result result;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), err;

	if (fd < 0) {
		log_error("%s: %s", file, strerror(errno));
		return EXIT_FAILURE;
	}
	err = push_profile(http, fd, given, &result, &problem);
	close(fd);
	if (!err)
		return report_result(file, &result) |
		       (given->otel ? copy_to_otel(http, file, given->otel, &result) : 0);
	if (err == -EREMOTEIO || err == -ECONNABORTED)
		log_error("%s: %s: %s", file, http_name(http), problem.text);
	else if (*problem.text && err != -ENOMEM)
		log_error("%s: %s", file, problem.text);
	else if (err == -EPIPE)
		log_error("%s: the process that reads it died; the file may be damaged, or memory "
			  "ran out",
			  file);
	else
		log_error("%s: %s", file, profile_error_text(err));
	return EXIT_FAILURE;
}

static int expire(struct http *http, uint64_t days)
{
	struct http_problem problem = {0};
	uint64_t dropped = 0;
	int err = push_expire(http, days, &dropped, &problem);

	if (err)
		log_error("--expire: %s: %s", http_name(http), problem.text);
	else
		log_info("dropped the samples of %" PRIu64 " %s", dropped,
			 plural(dropped, "day[|s]").text);
	return err ? EXIT_FAILURE : 0;
}

/* Stores the files in the spool, and pushes all that is there. *http stays NULL without a server.
 */
static int push_spool(const struct push_arguments *arguments, spool_pusher *push,
		      const struct fleet_given *given, struct http **http)
{
	const char *spool = arguments->spool;
	int status = spool_add(spool, arguments->files, arguments->n_files);

	if (status)
		return status;
	status = server_open(&arguments->server, false, http);
	if (*http)
		status = spool_push(spool, push, *http, given);
	if (status != EXIT_FAILURE)
		return status;
	log_info("profiles in %s are pushed with the next one, or with: gcprof push --spool %s",
		 spool, spool);
	return EXIT_SPOOLED;
}

static int cmd_push_run(int argc, char **argv)
{
	struct push_arguments arguments = {.n_files = 0};
	struct fleet_given given = {.version = "", .container = ""};
	struct http *http = NULL;
	spool_pusher *pusher = push_file;
	int status;

	arguments.n_files =
		options_parse_words(&cmd_push, &arguments, argc, argv, arguments.files, FILES_MAX);
	if (arguments.n_files < 0)
		return EXIT_USAGE;
	if (server_check(arguments.server.url, &arguments.labels) < 0)
		return EXIT_USAGE;
	if (arguments.server.url && http_is_pyroscope(arguments.server.url)) {
		pusher = pyroscope_push;
		if (arguments.schema || arguments.expire) {
			log_error("--to %s: without --schema and --expire", arguments.server.url);
			return EXIT_USAGE;
		}
	}
	if (arguments.cluster && (!arguments.schema || !fleet_is_name(arguments.cluster))) {
		log_error("--cluster: only with --schema; letters, digits and \"_\"");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < arguments.labels.count; i++)
		take_label(&given, (char *)(uintptr_t)arguments.labels.items[i]);
	if (arguments.otel && (!otel_is_table(arguments.otel) || pusher != push_file)) {
		log_error("--otel: TABLE or DATABASE.TABLE, of letters, digits and \"_\"; not for "
			  "Pyroscope");
		return EXIT_USAGE;
	}
	given.otel = arguments.otel;
	if (arguments.schema && arguments.otel) {
		otel_print_schema(arguments.otel, stdout);
		return 0;
	}
	if (arguments.schema) {
		fleet_print_schema(arguments.server.url ? http_url_database(arguments.server.url)
							: HTTP_DATABASE,
				   arguments.cluster, stdout);
		return 0;
	}
	if (!arguments.n_files && !arguments.spool && !arguments.expire)
		arguments.files[arguments.n_files++] = "gcprof.data";
	status = arguments.spool ? push_spool(&arguments, pusher, &given, &http)
				 : server_open(&arguments.server, false, &http);
	for (int i = 0; i < arguments.n_files && http && !arguments.spool; i++)
		status |= pusher(http, arguments.files[i], &given);
	if (http && arguments.expire)
		status |= expire(http, arguments.expire);
	http_free(http);
	return status;
}

const struct command cmd_push = {
	.name = "push",
	.usage = "[OPTIONS] [FILE]...",
	.summary = "store profiles in a ClickHouse server, for a whole fleet",
	.options = rows,
	.run = cmd_push_run,
};
