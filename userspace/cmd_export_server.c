/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_export_server.c: gcprof export --from: a flame graph of the profiles in a ClickHouse server.
 */
#include "cmd_export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "export/export.h"
#include "export/output.h"
#include "fleet/folded.h"
#include "profile/sink.h"
#include "util/log.h"
#include "util/options.h"
#include "util/output_file.h"

/* Outermost first. A semicolon or line break in a name would look like a separator. */
static void put_stack(struct output *output, const json_t *row)
{
	const json_t *functions = json_object_get(row, "functions");
	double value = json_number_value(json_object_get(row, "value"));

	for (size_t i = json_array_size(functions); i-- > 0;) {
		const char *name = json_string_value(json_array_get(functions, i));

		for (; name && *name; name++)
			output_bytes(output, *name == ';' ? ":" : *name == '\n' ? " " : name, 1);
		output_text(output, i ? ";" : "");
	}
	output_format(output, " %.0f\n", fmax(value, 0));
}

static int write_stacks(const json_t *answer, const char *path)
{
	struct output_file file = {.path = path, .mark = &exporter_folded.mark};
	const json_t *rows = json_object_get(answer, "data"), *row;
	struct output *output = NULL;
	struct sink *sink = NULL;
	size_t i;
	int err = output_file_open(&file);

	err = err ? err : sink_fd_create(file.fd, &sink);
	err = err ? err : output_create(sink, false, &output);
	if (!err) {
		json_array_foreach(rows, i, row) put_stack(output, row);
		err = output_close(output);
	}
	err = err ? err : output_file_publish(&file);
	output_file_close(&file);
	if (err && err != -EPIPE) {
		log_error("%s: %s", path, output_file_error(err));
		return EXIT_FAILURE;
	}
	if (!json_array_size(rows))
		log_warning("no selected profile has a stack with this measure");
	if (!output_file_is_stdout(path))
		log_info("wrote %s", path);
	return EXIT_SUCCESS;
}

int export_from_server(const struct server_arguments *server, const char *condition,
		       const char *measure, const char *path)
{
	const char *column = fleet_folded_column(measure);
	static struct where where;
	struct http_problem problem = {0};
	struct http *http = NULL;
	json_t *answer = NULL;
	char fault[200];
	int err, status;

	if (!column) {
		log_error("--by %s: the server's tables have cpu, bytes, gc, syscall and off-cpu",
			  measure);
		return EXIT_USAGE;
	}
	if (where_parse(condition ? condition : "", (uint64_t)time(NULL), &where, fault,
			sizeof(fault))) {
		log_error("--where: %s", fault);
		return EXIT_USAGE;
	}
	status = server_open(server, &http);
	if (status)
		return status;
	err = fleet_folded(http, &where, column, &answer, &problem);
	if (!err)
		err = server_clean(answer);
	if (err)
		log_error("%s: %s", http_name(http),
			  err == -EBADMSG ? "the server's answer is invalid"
			  : *problem.text ? problem.text
					  : strerror(-err));
	http_free(http);
	status = err ? EXIT_FAILURE : write_stacks(answer, path);
	json_decref(answer);
	return status;
}
