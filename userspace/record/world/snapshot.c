// SPDX-License-Identifier: BSD-2-Clause
/* snapshot.c: the executable mappings of a running process, read from /proc. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../util/proc_file.h"
#include "../machine/clock.h"
#include "../opener/code_owner.h"
#include "processes.h"
#include "running.h"
#include "snapshot.h"

#define TURN_NS  UINT64_C(5000000)
#define USER_END (UINT64_C(1) << 47) /* the kernel's own page lies above */

/* Parses a line like "7f01-7f02 r-xp 00001000 fe:01 1234   /lib/libc.so.6"; 0 if it is of no
 * interest. */
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

/* How to report each line. */
struct snapshot {
	uint32_t proc_pid;
	uint64_t time;
	snapshot_visit *visit;
	void *context;
};

static bool take_line(const struct snapshot *snapshot, char *line)
{
	struct event_mmap event = {
		.header = {.code = EVENT_mmap,
			   .time = snapshot->time,
			   .pid = snapshot->proc_pid,
			   .tid = snapshot->proc_pid},
	};
	const char *path;

	if (!parse_line(line, &event, &path))
		return false;
	report(&event, path, snapshot->visit, snapshot->context);
	return true;
}

int snapshot_mappings(uint32_t proc_pid, uint64_t time, snapshot_visit *visit, void *context)
{
	const struct snapshot snapshot = {proc_pid, time, visit, context};
	int fd = proc_shown_open(proc_pid, "maps", O_RDONLY), err = 0;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned count = 0;
	char *line = NULL;
	size_t size = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while (count < MAPPINGS_MAX && (errno = 0, getline(&line, &size, file) > 0))
		count += take_line(&snapshot, line);
	if (ferror(file))
		err = errno == ESRCH ? -ENOENT : -EIO;
	free(line);
	fclose(file);
	return err;
}

/* --- by an opener ------------------------------------------------------------------------- */

struct reading {
	struct snapshot wanted;
	const struct snapshot_reader *reader; /* NULL: unused */
	bool opened;
	FILE *file; /* NULL: not there yet, failed, or out of date */
};

struct snapshots {
	struct opener *opener;
	struct reading readings[SNAPSHOTS_MAX];
};

int snapshots_create(struct opener *opener, struct snapshots **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->opener = opener;
	return 0;
}

static void close_reading(struct reading *reading)
{
	if (reading->file)
		fclose(reading->file);
	*reading = (struct reading){.file = NULL};
}

void snapshots_free(struct snapshots *snapshots)
{
	for (int i = 0; snapshots && i < SNAPSHOTS_MAX; i++) {
		opener_cancel(snapshots->opener, &snapshots->readings[i]);
		close_reading(&snapshots->readings[i]);
	}
	free(snapshots);
}

static void take_file(void *context, const struct opener_result *result)
{
	struct reading *reading = context;

	reading->opened = true;
	reading->file = result->fd < 0 ? NULL : fdopen(result->fd, "r");
	if (result->fd >= 0 && !reading->file)
		close(result->fd);
	if (reading->file && !reading->reader->is_current(reading->wanted.context)) {
		fclose(reading->file);
		reading->file = NULL;
	}
}

int snapshots_begin(void *snapshots, uint32_t proc_pid, uint64_t time,
		    const struct snapshot_reader *reader, void *context)
{
	struct snapshots *all = snapshots;
	struct reading *reading = all->readings;
	int err;

	while (reading < all->readings + SNAPSHOTS_MAX && reading->reader)
		reading++;
	if (reading == all->readings + SNAPSHOTS_MAX)
		return -EBUSY;
	err = opener_maps(all->opener, proc_pid, take_file, reading);
	if (!err)
		*reading = (struct reading){.wanted = {proc_pid, time, reader->visit, context},
					    .reader = reader};
	return err;
}

/* False: time is up. */
static bool take_lines(struct reading *reading, uint64_t end)
{
	struct snapshot wanted = reading->wanted;
	const struct snapshot_reader *reader = reading->reader;
	char *line = NULL;
	size_t size = 0;
	bool over = true;

	while (reading->file && (over = clock_now() < end) &&
	       getline(&line, &size, reading->file) > 0)
		(void)take_line(&wanted, line);
	free(line);
	if (!over)
		return false;
	/* It may start another one. */
	close_reading(reading);
	reader->done(wanted.context);
	return true;
}

bool snapshots_turn(struct snapshots *snapshots)
{
	uint64_t end = clock_now() + TURN_NS;

	for (int i = 0; i < SNAPSHOTS_MAX; i++)
		if (snapshots->readings[i].opened && !take_lines(&snapshots->readings[i], end))
			return false;
	return true;
}

int snapshot_task(uint32_t process, uint32_t pid, uint64_t time, struct event_task *out)
{
	struct code_owner owner;
	int held = proc_hold(pid, clock_now() - time), err;

	if (held < 0)
		return -ESRCH;
	err = code_owner_find(pid, &owner);
	if (!err && owner.temporary >= 0)
		close(owner.temporary);
	if (!proc_is_alive(held))
		err = -ESRCH;
	close(held);
	if (err)
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
		.user = owner.user,
	};
	running_name((pid_t)pid, out->name);
	return 0;
}
