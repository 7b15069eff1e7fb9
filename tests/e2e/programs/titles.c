/* SPDX-License-Identifier: BSD-2-Clause */
/* titles.c: a server whose children write what they do over their command line, as postgres' do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char *title;
static size_t room; /* of the arguments and of the environment behind them */

/* As long as arguments and environment lie one behind the other. */
static void find_room(char **argv)
{
	char *end = argv[0];

	for (char **at = argv; *at; at++)
		end = *at == end ? end + strlen(end) + 1 : end;
	for (char **at = environ; *at; at++)
		end = *at == end ? end + strlen(end) + 1 : end;
	title = argv[0];
	room = (size_t)(end - title);
}

static void burn(double seconds)
{
	while ((double)clock() / CLOCKS_PER_SEC < seconds)
		;
}

static void child(const char *name)
{
	memset(title, 0, room);
	snprintf(title, room, "server: %s, which has more to say than there was in its arguments",
		 name);
	burn(0.3);
	_exit(0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"writer", "checkpointer"};

	find_room(argv);
	for (int i = 0; i < 2; i++)
		if (!fork())
			child(names[i]);
	while (wait(NULL) > 0)
		;
	return argc < 1;
}
