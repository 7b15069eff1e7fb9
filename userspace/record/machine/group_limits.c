/* SPDX-License-Identifier: BSD-2-Clause */
/* group_limits.c: what control groups limit: for how long the kernel stopped threads because a CPU
 * quota was used, and how much memory there is. */
#include "group_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../profile/writer.h"
#include "../../util/proc_file.h"

enum { PROCESSES_MAX = 16, LEVELS_MAX = 16, GROUPS_MAX = PROCESSES_MAX * LEVELS_MAX, TEXT = 4096 };

/* Anything above is none: version 1 writes the largest number of pages for that. */
#define MEMORY_MAX (UINT64_C(1) << 60)

/* Where the groups are that divide CPUs, or memory. */
struct hierarchy {
	const char *controller;
	char mount[PATH_MAX]; /* empty: there is none */
	bool second;          /* it has version 2 */
};

/* A group that may have a CPU quota. */
struct group {
	char *path;
	int stat; /* its cpu.stat */
	uint64_t stopped_ns;
	bool used; /* some process is in it or below */
};

/* The smallest limit of a process's groups, and what is in use of it, but files that can be read
 * again, bytes. */
struct memory {
	uint64_t limit, used;
};

struct group_limits {
	struct hierarchy cpu, memory;
	int processes[PROCESSES_MAX]; /* their files "cgroup": a number may be another's later */
	size_t n_processes;
	struct group groups[GROUPS_MAX];
	size_t n_groups;
	struct memory all; /* of the processes that were there last; none, if their limits differ */
};

/* Where version 1 has the controller, version 2 does not. */
static void find_mount(struct hierarchy *hierarchy, const char *controller)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;

	hierarchy->controller = controller;
	while (mounts && (entry = getmntent(mounts))) {
		bool second = !strcmp(entry->mnt_type, "cgroup2");
		bool first = !strcmp(entry->mnt_type, "cgroup") && hasmntopt(entry, controller);

		if (!first && (!second || *hierarchy->mount))
			continue;
		snprintf(hierarchy->mount, sizeof(hierarchy->mount), "%s", entry->mnt_dir);
		hierarchy->second = second;
		if (first)
			break;
	}
	if (mounts)
		endmntent(mounts);
}

int group_limits_create(struct group_limits **out)
{
	struct group_limits *limits = calloc(1, sizeof(*limits));

	if (!limits)
		return -ENOMEM;
	find_mount(&limits->cpu, "cpu");
	find_mount(&limits->memory, "memory");
	*out = limits;
	return 0;
}

static void group_free(struct group *group)
{
	close(group->stat);
	free(group->path);
}

void group_limits_free(struct group_limits *limits)
{
	for (size_t i = 0; limits && i < limits->n_groups; i++)
		group_free(&limits->groups[i]);
	for (size_t i = 0; limits && i < limits->n_processes; i++)
		close(limits->processes[i]);
	free(limits);
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Of a file of a group, as text; empty if it cannot be read. */
static void read_file(const char *folder, const char *name, char *out, size_t size)
{
	char path[PATH_MAX];
	int fd;
	ssize_t n = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		close(fd);
	}
	out[n > 0 ? n : 0] = 0;
}

/* CPUs that a group may use, in thousandths; 0: all. */
static uint64_t read_quota(const struct hierarchy *cpu, const char *folder)
{
	char text[64], period[64];
	uint64_t us, of;

	read_file(folder, cpu->second ? "cpu.max" : "cpu.cfs_quota_us", text, sizeof(text));
	if (*text < '0' || *text > '9')
		return 0;
	us = strtoull(text, NULL, 10);
	read_file(folder, "cpu.cfs_period_us", period, sizeof(period));
	of = strtoull(cpu->second ? text + strcspn(text, " ") : period, NULL, 10);
	return of ? us * 1000 / of : 0;
}

/* Since the group was made, ns; `before` if that cannot be read. */
static uint64_t read_stopped(const struct hierarchy *cpu, int fd, uint64_t before)
{
	char text[TEXT];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return before;
	text[n] = 0;
	return cpu->second ? number_after(text, "\nthrottled_usec ") * 1000
			   : number_after(text, "\nthrottled_time ");
}

static void add_group(struct group_limits *limits, const char *folder)
{
	struct group group = {.used = true};
	char path[PATH_MAX];

	for (size_t i = 0; i < limits->n_groups; i++)
		if (!strcmp(limits->groups[i].path, folder)) {
			limits->groups[i].used = true;
			return;
		}
	if (limits->n_groups >= GROUPS_MAX ||
	    (size_t)snprintf(path, sizeof(path), "%s/cpu.stat", folder) >= sizeof(path))
		return;
	group.stat = open(path, O_RDONLY | O_CLOEXEC);
	group.path = group.stat < 0 ? NULL : strdup(folder);
	if (!group.path) {
		close(group.stat);
		return;
	}
	group.stopped_ns = read_stopped(&limits->cpu, group.stat, 0);
	limits->groups[limits->n_groups++] = group;
}

static uint64_t read_number(const char *folder, const char *name)
{
	char text[64];

	read_file(folder, name, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

static void add_memory(const struct hierarchy *hierarchy, struct memory *memory, const char *folder)
{
	bool second = hierarchy->second;
	uint64_t limit = read_number(folder, second ? "memory.max" : "memory.limit_in_bytes");
	uint64_t used, files;
	char stat[TEXT];

	if (!limit || limit >= MEMORY_MAX || (memory->limit && memory->limit <= limit))
		return;
	used = read_number(folder, second ? "memory.current" : "memory.usage_in_bytes");
	read_file(folder, "memory.stat", stat, sizeof(stat));
	files = number_after(stat, second ? "\ninactive_file " : "\ntotal_inactive_file ");
	*memory = (struct memory){limit, used > files ? used - files : 0};
}

/* The path in a line of /proc/PID/cgroup, "4:cpu,cpuacct:/path" or "0::/path"; NULL: another. */
static const char *path_in(const struct hierarchy *hierarchy, const char *line)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	size_t length = strlen(hierarchy->controller);

	if (!path)
		return NULL;
	if (hierarchy->second)
		return path == names + 1 ? path + 1 : NULL;
	for (const char *name = names; name < path; name += 1 + strcspn(name + 1, ",:"))
		if (!strncmp(name + 1, hierarchy->controller, length) &&
		    strchr(",:", name[1 + length]))
			return path + 1;
	return NULL;
}

/*
 * The folder of the group in a line of /proc/PID/cgroup; false: there is none. One outside of the
 * recorder's own namespace begins with "..".
 */
static bool folder_in(const struct hierarchy *hierarchy, const char *line, char out[PATH_MAX])
{
	const char *path = *hierarchy->mount ? path_in(hierarchy, line) : NULL;

	return path && !strstr(path, "/..") &&
	       (size_t)snprintf(out, PATH_MAX, "%s%s", hierarchy->mount, path) < PATH_MAX;
}

/* The group above, up to where the hierarchy is mounted: in a container that is the container's. */
static bool above(const struct hierarchy *hierarchy, char *folder)
{
	if (strlen(folder) <= strlen(hierarchy->mount))
		return false;
	*strrchr(folder, '/') = 0;
	return true;
}

/* The innermost groups count. False: the process has ended. */
static bool look(struct group_limits *limits, int process, struct memory *memory)
{
	char text[TEXT], folder[PATH_MAX], *rest = text;
	ssize_t n = pread(process, text, sizeof(text) - 1, 0);
	int level;

	*memory = (struct memory){0};
	text[n > 0 ? n : 0] = 0;
	for (char *line; (line = strsep(&rest, "\n"));) {
		level = 0;
		if (folder_in(&limits->cpu, line, folder))
			do
				add_group(limits, folder);
			while (above(&limits->cpu, folder) && ++level < LEVELS_MAX);
		level = 0;
		if (folder_in(&limits->memory, line, folder))
			do
				add_memory(&limits->memory, memory, folder);
			while (above(&limits->memory, folder) && ++level < LEVELS_MAX);
	}
	return n > 0;
}

void group_limits_follow(struct group_limits *limits, uint32_t pid)
{
	int process = limits->n_processes < PROCESSES_MAX ? proc_file_open(pid, "cgroup") : -ENOENT;
	struct memory memory;

	if (process < 0)
		return;
	limits->processes[limits->n_processes++] = process;
	look(limits, process, &memory);
}

/* Groups that every process has left are forgotten, so that those who wander fill no table. */
static void look_again(struct group_limits *limits)
{
	struct memory memory;
	size_t kept = 0, there = 0;

	for (size_t i = 0; i < limits->n_groups; i++)
		limits->groups[i].used = false;
	for (size_t i = 0; i < limits->n_processes; i++) {
		if (!look(limits, limits->processes[i], &memory))
			continue;
		if (!there++)
			limits->all = memory;
		else if (memory.limit != limits->all.limit)
			limits->all = (struct memory){0};
	}
	for (size_t i = 0; i < limits->n_groups; i++) {
		if (limits->groups[i].used)
			limits->groups[kept++] = limits->groups[i];
		else
			group_free(&limits->groups[i]);
	}
	limits->n_groups = kept;
}

int group_limits_put(struct group_limits *limits, struct profile_writer *writer, uint64_t time)
{
	struct record record = {.kind = RECORD_quota, .quota.time = time};
	bool known = limits->n_groups;

	for (size_t i = 0; i < limits->n_groups; i++) {
		struct group *group = &limits->groups[i];
		uint64_t stopped = read_stopped(&limits->cpu, group->stat, group->stopped_ns);
		uint64_t quota = stopped > group->stopped_ns ? read_quota(&limits->cpu, group->path)
							     : 0;

		if (stopped > group->stopped_ns)
			record.quota.stopped_ns += stopped - group->stopped_ns;
		if (quota && (!record.quota.milli_cpus || quota < record.quota.milli_cpus))
			record.quota.milli_cpus = quota;
		group->stopped_ns = stopped;
	}
	look_again(limits);
	record.quota.memory_limit = limits->all.limit;
	record.quota.memory_used = limits->all.used;
	return known || limits->all.limit ? profile_writer_put(writer, &record) : 0;
}
