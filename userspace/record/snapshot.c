// SPDX-License-Identifier: BSD-2-Clause
/* snapshot.c: what a running process has mapped executable already, read from /proc. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mappings.h"
#include "snapshot.h"

#define USER_END (UINT64_C(1) << 47) /* the kernel's own page lies above */

/* A line like "7f01-7f02 r-xp 00001000 fe:01 1234   /lib/libc.so.6"; 0 if it is of no interest. */
static int parse_line(char *line, struct event_mmap *event, const char **path)
{
	uint64_t start, end;
	char rights[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, rights, &event->offset, &event->major, &event->minor, &event->inode,
		   &at) < 7 ||
	    !at || rights[2] != 'x' || start >= end || end > USER_END)
		return 0;
	line[strcspn(line, "\n")] = '\0';
	*path = line + at;
	event->address = start;
	event->length = end - start;
	event->protection = PROT_EXEC | (rights[0] == 'r' ? PROT_READ : 0);
	return 1;
}

static void tell(struct event_mmap *event, const char *path, snapshot_visit *visit, void *context)
{
	struct {
		struct event_mmap event;
		char name[NAME_BYTES_MAX + 8];
	} to = {.event = *event};
	size_t length = strlen(path);

	if (length > NAME_BYTES_MAX)
		length = NAME_BYTES_MAX;
	memcpy(to.name, path, length);
	to.event.name_size = (uint32_t)length;
	to.event.header.size = (uint32_t)(sizeof(to.event) + ((length + 7) & ~(size_t)7));
	visit(context, &to.event, to.name);
}

int snapshot_mappings(uint32_t proc_pid, uint64_t time, snapshot_visit *visit, void *context)
{
	char name[64], *line = NULL;
	const char *path;
	size_t size = 0;
	unsigned count = 0;
	FILE *file;
	int err = 0;

	snprintf(name, sizeof(name), "/proc/%u/maps", proc_pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (count < MAPPINGS_MAX && (errno = 0, getline(&line, &size, file) > 0)) {
		struct event_mmap event = {
			.header = {.code = EVENT_mmap,
				   .time = time,
				   .pid = proc_pid,
				   .tid = proc_pid},
		};

		if (!parse_line(line, &event, &path))
			continue;
		tell(&event, path, visit, context);
		count++;
	}
	if (ferror(file))
		err = errno == ESRCH ? -ENOENT : -EIO;
	free(line);
	fclose(file);
	return err;
}
