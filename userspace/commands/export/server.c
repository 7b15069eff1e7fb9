/* SPDX-License-Identifier: BSD-2-Clause */
/* server.c: gcprof export --from: a flame graph of the profiles in a ClickHouse server.
 */
#include "export.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../export/export.h"
#include "../../export/output.h"
#include "../../fleet/folded.h"
#include "../../profile/sink.h"
#include "../../util/log.h"
#include "../../util/options.h"
#include "../../util/output_file.h"

struct folding {
	struct output *output;
	bool any;
};

/* Outermost first. A semicolon or line break in a name would look like a separator. */
static int put_stack(void *context, json_t *row)
{
	struct folding *folding = context;
	struct output *output = folding->output;
	const json_t *functions = json_object_get(row, "functions");
	double value = json_number_value(json_object_get(row, "value"));
	int err = server_clean(row);

	folding->any = true;
	for (size_t i = json_array_size(functions); i-- > 0 && !err;) {
		const char *name = json_string_value(json_array_get(functions, i));

		for (; name && *name; name++)
			output_bytes(output, *name == ';' ? ":" : *name == '\n' ? " " : name, 1);
		output_text(output, i ? ";" : "");
	}
	output_format(output, " %.0f\n", fmax(value, 0));
	return err;
}

/* Writes the answer as it is read; an exit status. */
static int write_stacks(struct http *http, const struct fleet_folded *given,
			struct output_file *file)
{
	struct folding folding = {NULL, false};
	const struct fleet_folded request = {given->where, given->column, put_stack, &folding};
	struct http_problem problem = {0};
	struct sink *sink = NULL;
	int wrong = sink_fd_create(file->fd, &sink), err = 0;

	wrong = wrong ? wrong : output_create(sink, false, &folding.output);
	if (!wrong) {
		err = fleet_folded(http, &request, &problem);
		wrong = output_close(folding.output);
	}
	if (!wrong && !err)
		wrong = output_file_publish(file);
	if (err) {
		log_error("%s: %s", http_name(http),
			  err == -EBADMSG ? "the server's answer is invalid"
			  : *problem.text ? problem.text
					  : strerror(-err));
		return EXIT_FAILURE;
	}
	if (wrong && wrong != -EPIPE) {
		log_error("%s: %s", file->path, output_file_error(wrong));
		return EXIT_FAILURE;
	}
	if (!folding.any)
		log_warning("no selected profile has a stack with this measure");
	if (!output_file_is_stdout(file->path))
		log_info("wrote %s", file->path);
	return EXIT_SUCCESS;
}

int export_from_server(const struct server_arguments *server, const char *condition,
		       const char *measure, const char *path)
{
	static struct where where;
	struct fleet_folded request = {.where = &where, .column = fleet_folded_column(measure)};
	struct output_file file = {.path = path, .mark = &exporter_folded.mark};
	struct http *http = NULL;
	char fault[200];
	int status, err;

	if (!request.column) {
		log_error("--by %s: the server's tables have cpu, bytes, gc, syscall and off-cpu",
			  measure);
		return EXIT_USAGE;
	}
	if (where_parse(condition ? condition : "", (uint64_t)time(NULL), &where, fault,
			sizeof(fault))) {
		log_error("--where: %s", fault);
		return EXIT_USAGE;
	}
	status = server_open(server, true, &http);
	err = status ? 0 : output_file_open(&file);
	if (err)
		log_error("%s: %s", path, output_file_error(err));
	else if (!status)
		status = write_stacks(http, &request, &file);
	output_file_close(&file);
	http_free(http);
	return err ? EXIT_FAILURE : status;
}
