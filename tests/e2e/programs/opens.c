/* SPDX-License-Identifier: BSD-2-Clause */
/* opens.c: writes the names of files as others open them: opens FILE... */
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int watch = inotify_init1(IN_CLOEXEC);
	struct inotify_event events[16];
	ssize_t n;

	for (int i = 1; i < argc; i++) {
		/* The first has number 1. */
		if (inotify_add_watch(watch, argv[i], IN_OPEN) != i) {
			perror(argv[i]);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while ((n = read(watch, events, sizeof(events))) > 0) {
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(events[0]); i++)
			puts(argv[events[i].wd]);
		fflush(stdout);
	}
	return 1;
}
