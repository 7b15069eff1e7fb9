/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c: shows on a terminal how much of a profile was read. */
#include "../util/memory.h"
#include "../util/monotonic.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum { AFTER_MS = 500, EVERY_MS = 100 };

struct progress {
	struct source source;
	struct source *inner;
	uint64_t size, done;
	uint64_t next; /* time of the next update, CLOCK_MONOTONIC ns */
	int fd;
	bool shown;
};

/* A failed write to the terminal is ignored. */
static void say(const struct progress *progress, const char *text)
{
	ssize_t ignored = write(progress->fd, text, strlen(text));

	(void)ignored;
}

static void show(struct progress *progress)
{
	uint64_t done = progress->done < progress->size ? progress->done : progress->size;
	char line[64];

	snprintf(line, sizeof(line), "\rgcprof: reading the profile: %.0f %%\033[K",
		 100.0 * (double)done / (double)progress->size);
	say(progress, line);
	progress->shown = true;
}

static ssize_t progress_read(struct source *source, void *data, size_t size)
{
	struct progress *progress = (struct progress *)source;
	ssize_t n = progress->inner->read(progress->inner, data, size);
	uint64_t time = monotonic_ns();

	if (n > 0)
		progress->done += (uint64_t)n;
	if (time >= progress->next) {
		show(progress);
		progress->next = time + EVERY_MS * MS;
	}
	return n;
}

static void progress_close(struct source *source)
{
	struct progress *progress = (struct progress *)source;

	if (progress->shown)
		say(progress, "\r\033[K");
	progress->inner->close(progress->inner);
	free(progress);
}

struct source *progress_wrap(struct source *inner, uint64_t size, int fd, uint64_t after_ns)
{
	struct progress *progress = malloc(sizeof(*progress));

	if (!progress)
		return NULL;
	*progress = (struct progress){
		.source = {progress_read, progress_close},
		.inner = inner,
		.size = size ? size : 1,
		.next = monotonic_ns() + after_ns,
		.fd = fd,
	};
	return &progress->source;
}

/* Whether standard error is a terminal that can erase a line. */
static bool is_wanted(bool prints)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(prints && isatty(STDOUT_FILENO)) && term &&
	       strcmp(term, "dumb") != 0;
}

int progress_open(const char *path, bool prints, struct source **out)
{
	struct source *wrapped;
	struct stat status;
	int error = source_file_open(path, out);

	if (!error && stat(path, &status) == 0)
		memory_allow(&status);
	if (error || !is_wanted(prints) || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return error;
	wrapped = progress_wrap(*out, (uint64_t)status.st_size, STDERR_FILENO, AFTER_MS * MS);
	if (wrapped)
		*out = wrapped;
	return 0;
}
