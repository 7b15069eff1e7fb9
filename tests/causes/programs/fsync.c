/* SPDX-License-Identifier: BSD-2-Clause */
/* fsync.c: a journal is synchronised after each record. */
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static __attribute__((noinline)) void append_record(int fd, int i)
{
	char record[512] = {(char)i};

	if (write(fd, record, sizeof(record)) > 0)
		fsync(fd);
}

int main(int argc, char **argv)
{
	int fd = open(argc > 1 ? argv[1] : "journal", O_CREAT | O_WRONLY | O_TRUNC, 0600);
	time_t end = time(NULL) + 3;

	for (int i = 0; time(NULL) < end; i++)
		append_record(fd, i);
	return 0;
}
