// SPDX-License-Identifier: BSD-2-Clause
/* snapshot.c: what a running process has mapped executable already, read from /proc. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "../opener/code_owner.h"
#include "mappings.h"
#include "running.h"
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

static void report(struct event_mmap *event, const char *path, snapshot_visit *visit, void *context)
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
		report(&event, path, visit, context);
		count++;
	}
	if (ferror(file))
		err = errno == ESRCH ? -ENOENT : -EIO;
	free(line);
	fclose(file);
	return err;
}

/* Had it begun by then? Its number may be another one's now; begins are known to two seconds. */
static bool was_there(const struct code_owner *owner, uint64_t time)
{
	const int64_t second = 1000000000, slack = 2;
	int64_t age = (int64_t)(clock_now() - time) / second;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return owner->started <= now.tv_sec - age + slack;
}

int snapshot_task(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out)
{
	struct code_owner owner;
	int err = code_owner_find(pid, &owner);

	if (err)
		return -ESRCH;
	if (owner.temporary >= 0)
		close(owner.temporary);
	if (!was_there(&owner, time))
		return -ESRCH;
	*out = (struct event_task){
		.header = {.size = sizeof(*out),
			   .code = EVENT_task,
			   .time = time,
			   .pid = pid,
			   .tid = pid,
			   .process = process},
		.ns_pid = owner.number,
		.ns_tid = owner.number,
		.proc_pid = pid,
	};
	running_name((pid_t)pid, out->name);
	return 0;
}
