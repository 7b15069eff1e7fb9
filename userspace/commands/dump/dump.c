// SPDX-License-Identifier: BSD-2-Clause
/* dump.c: gcprof dump: prints every record of a profile as a line of JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../commands.h"
#include "../../profile/reader.h"
#include "../../profile/record_json.h"
#include "../../profile/status.h"
#include "../../report/progress.h"
#include "../../util/log.h"
#include "../../util/plural.h"

static int open_profile(const char *path, struct profile_reader **out)
{
	struct source *source;
	int err = progress_open(path, true, &source);

	return err ? err : profile_reader_open(source, out);
}

/* Prints all records. A negative errno if reading fails. */
static int dump(struct profile_reader *reader)
{
	struct record record;
	int more;

	while ((more = profile_reader_next(reader, &record)) > 0) {
		record_json(stdout, &record);
		putchar('\n');
		if (ferror(stdout))
			break;
	}
	return more < 0 ? more : 0;
}

/* Reports missing data; returns the exit code. */
static int cmd_dump_judge(const char *path, const struct profile_reader *reader)
{
	struct profile_status status;

	profile_reader_status(reader, &status);
	if (status.unknown)
		log_warning("%s: skipped %" PRIu64 " %s that this gcprof does not know", path,
			    status.unknown,
			    plural(status.unknown, "record[ of a kind|s of kinds]").text);
	return profile_judge(path, status.state, status.bytes);
}

static int cmd_dump_run(int argc, char **argv)
{
	const char *path = "gcprof.data";
	struct profile_reader *reader;
	int err, status;

	if (options_parse_words(&cmd_dump, NULL, argc, argv, &path, 1) < 0)
		return EXIT_USAGE;
	err = open_profile(path, &reader);
	if (err) {
		log_error("%s: %s", path, profile_error_text(err));
		return EXIT_FAILURE;
	}
	err = dump(reader);
	if (err)
		log_error("%s: %s", path, strerror(-err));
	status = err ? EXIT_FAILURE : cmd_dump_judge(path, reader);
	profile_reader_close(reader);
	return status;
}

const struct command cmd_dump = {
	.name = "dump",
	.usage = "[FILE]",
	.summary = "print every record of a profile as a line of JSON",
	.run = cmd_dump_run,
};
