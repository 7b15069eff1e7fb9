/* SPDX-License-Identifier: BSD-2-Clause */
/* progress.c: tests of the line that tells how much of a profile is read. */
#include <pty.h>
#include <unistd.h>

#include "report/progress.h"
#include "test.h"

enum { SIZE = 1000, PART = 250 };

/* Reads a source in four parts; what the terminal got is in `text`. */
static void read_all(uint64_t after_ns, char *text, size_t size)
{
	char data[SIZE] = "", part[PART];
	struct source *inner, *source;
	int controller, terminal;
	ssize_t n;

	CHECK_EQ(openpty(&controller, &terminal, NULL, NULL, NULL), 0);
	CHECK_EQ(source_memory_open(data, SIZE, &inner), 0);
	source = progress_wrap(inner, SIZE, terminal, after_ns);
	CHECK(source != NULL);
	for (int i = 0; i < SIZE / PART; i++) {
		CHECK_EQ(source->read(source, part, PART), PART);
		usleep(110000);
	}
	CHECK_EQ(source->read(source, part, PART), 0);
	source->close(source);
	CHECK_EQ(write(terminal, "#", 1), 1); /* so that there is something to read */
	/* It may come in pieces. */
	for (size_t used = 0; !used || text[used - 1] != '#'; used += (size_t)n) {
		n = read(controller, text + used, size - 1 - used);
		CHECK(n > 0);
		text[used + (size_t)n] = 0;
	}
	close(terminal);
	close(controller);
}

TEST(tells_how_much_is_read_and_erases_it)
{
	char text[1024];

	read_all(0, text, sizeof(text));
	CHECK(strncmp(text, "\rgcprof: reading the profile: 25 %\033[K", 37) == 0);
	CHECK(strstr(text, "reading the profile: 50 %"));
	CHECK(strstr(text, "reading the profile: 75 %"));
	CHECK(strstr(text, "reading the profile: 100 %"));
	CHECK(strcmp(text + strlen(text) - 5, "\r\033[K#") == 0);
}

TEST(says_nothing_about_what_is_read_at_once)
{
	char text[1024];

	read_all(UINT64_C(3600000000000), text, sizeof(text));
	CHECK_STR(text, "#");
}
