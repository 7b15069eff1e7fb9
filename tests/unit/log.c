// SPDX-License-Identifier: BSD-2-Clause
/* log.c: messages that programs cause in any number. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#include "util/log.h"

/* Lines of what `write` prints, and whether the last one has this text. */
static unsigned lines_of(void (*write)(void), const char *text)
{
	char path[] = "/tmp/gcprof-log-XXXXXX", line[256] = "";
	int fd = mkstemp(path), old = dup(STDERR_FILENO);
	unsigned lines = 0;
	FILE *file;

	CHECK(fd >= 0);
	dup2(fd, STDERR_FILENO);
	write();
	dup2(old, STDERR_FILENO);
	close(old);
	file = fdopen(fd, "r");
	rewind(file);
	while (fgets(line, sizeof(line), file))
		lines++;
	fclose(file);
	unlink(path);
	CHECK(strstr(line, text));
	return lines;
}

static void flood(void)
{
	for (int i = 0; i < 1000; i++)
		log_warning("%d is a file without an end", i);
	log_warning("%s", "another kind");
}

static void flood_limited(void)
{
	log_limit();
	flood();
	log_end_limit();
}

static void flood_with_errors(void)
{
	log_limit();
	for (int i = 0; i < 100; i++)
		log_error("%d", i);
	log_end_limit();
}

TEST(messages_of_one_kind_are_limited_others_are_not)
{
	CHECK_EQ(lines_of(flood, "another kind"), 1001);
	CHECK_EQ(lines_of(flood_limited, "980 more messages like these were left out"), 22);
	CHECK_EQ(lines_of(flood_with_errors, "99"), 100);
}

TEST(all_are_printed_with_v)
{
	log_set_level(LOG_VERBOSE);
	CHECK_EQ(lines_of(flood_limited, "another kind"), 1001);
}
