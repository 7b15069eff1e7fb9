/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c: attaches the probe program to files, each file once. */
/*
 * From Linux 6.6 on all places of a file are attached with one link: quick to
 * make, and quick to take away, because the kernel waits for running programs
 * once and not once a place. Before that each place is a perf event. Closing a link
 * is some 50 ms of waiting for all of the machine, which links closed at the same time
 * share: with hundreds of files it would take half a minute one after the other.
 */
#include "attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../util/map.h"
#include "clock.h"

/* A bound on the attachments that hostile files can make us hold. */
enum { LINKS_MAX = PROBE_PLACES_MAX };

/* Links that are closed at the same time. */
enum { CLOSERS = 32 };

/* Newer than the headers that this is built with. */
enum { ATTACH_TYPE_UPROBE_MULTI = 48 };

/* union bpf_attr for BPF_LINK_CREATE of that type. */
struct link_create_multi {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

_Static_assert(sizeof(struct link_create_multi) == 64, "defined by the kernel");

struct file_key {
	uint64_t device, inode;
};

struct attach {
	struct bpf_program *program;
	int places; /* map */
	bool multi;
	uint32_t n_places; /* used in the map */
	unsigned count[PROBES];
	struct map
		*seen; /* struct file_key to when it was attached, 0: there is nothing to attach */
	uint64_t latest;
	struct bpf_link *links[LINKS_MAX];
	size_t n_links;
	int multi_links[LINKS_MAX];
	size_t n_multi_links;
	atomic_size_t n_closed; /* of these */
};

bool attach_multi_supported(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (getenv("GCPROF_TEST_PROBES_SINGLY"))
		return false;
	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 6);
}

void attach_prepare(struct bpf_program *program, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(
			program, (enum bpf_attach_type)ATTACH_TYPE_UPROBE_MULTI);
}

int attach_create(struct bpf_program *program, int places, bool multi, struct attach **out)
{
	struct attach *attach = calloc(1, sizeof(*attach));

	if (!attach)
		return -ENOMEM;
	attach->program = program;
	attach->places = places;
	attach->multi = multi;
	attach->seen = map_create(sizeof(struct file_key));
	if (!attach->seen) {
		attach_free(attach);
		return -ENOMEM;
	}
	*out = attach;
	return 0;
}

/* False: no regular file. */
static bool file_key_of(int fd, struct file_key *key)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return false;
	*key = (struct file_key){status.st_dev, status.st_ino};
	return true;
}

/* When it was attached, still to be filled in, of a regular file that was not looked into before;
 * or NULL. */
static uint64_t *first_look(struct attach *attach, int fd)
{
	struct file_key key;
	bool added = false;
	uint64_t *since = file_key_of(fd, &key) ? map_put(attach->seen, &key, &added) : NULL;

	return added ? since : NULL;
}

/* Tells the kernel side where the arguments are, under keys from n_places on. */
static int put_places(struct attach *attach, const struct probes_found *found)
{
	if (found->n_sites > PROBE_PLACES_MAX - attach->n_places)
		return -E2BIG;
	for (size_t i = 0; i < found->n_sites; i++) {
		uint32_t key = attach->n_places + (uint32_t)i;
		int err =
			bpf_map_update_elem(attach->places, &key, &found->sites[i].place, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

static int attach_together(struct attach *attach, const struct probes_found *found,
			   const char *path)
{
	uint64_t lists[3][PROBE_PLACES_MAX]; /* offsets, semaphores, cookies */
	struct link_create_multi attr = {
		.program = (uint32_t)bpf_program__fd(attach->program),
		.type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)lists[0],
		.semaphores = (uint64_t)(uintptr_t)lists[1],
		.cookies = (uint64_t)(uintptr_t)lists[2],
		.count = (uint32_t)found->n_sites,
	};
	int fd;

	if (attach->n_multi_links == LINKS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < found->n_sites; i++) {
		lists[0][i] = found->sites[i].offset;
		lists[1][i] = found->sites[i].semaphore;
		lists[2][i] = attach->n_places + i;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	attach->multi_links[attach->n_multi_links++] = fd;
	return 0;
}

static int attach_singly(struct attach *attach, const struct probes_found *found, const char *path)
{
	for (size_t i = 0; i < found->n_sites; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = found->sites[i].semaphore,
			    .bpf_cookie = attach->n_places + i);
		struct bpf_link *link;

		if (attach->n_links == LINKS_MAX)
			return -E2BIG;
		link = bpf_program__attach_uprobe_opts(attach->program, -1, path,
						       found->sites[i].offset, &options);
		if (!link)
			return -errno;
		attach->links[attach->n_links++] = link;
	}
	return 0;
}

/* The file that was checked is attached, whatever its name means by now. */
static int attach_found(struct attach *attach, const struct probes_found *found, int fd)
{
	char same_file[64];
	int err = put_places(attach, found);

	if (err)
		return err;
	snprintf(same_file, sizeof(same_file), "/proc/self/fd/%d", fd);
	err = attach->multi ? attach_together(attach, found, same_file)
			    : attach_singly(attach, found, same_file);
	attach->n_places += (uint32_t)found->n_sites;
	if (err)
		return err;
	for (int probe = 0; probe < PROBES; probe++)
		attach->count[probe] += found->count[probe];
	return 0;
}

int attach_file(struct attach *attach, const char *path, struct problem *problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), sites;

	if (fd < 0)
		return 0;
	sites = attach_opened(attach, fd, path, problem);
	close(fd);
	return sites;
}

int attach_opened(struct attach *attach, int fd, const char *path, struct problem *problem)
{
	struct probes_found found;
	struct problem refused = {""};
	uint64_t *since = first_look(attach, fd);
	int err, result;

	if (!since || probes_find(fd, &found, &refused))
		return 0;
	result = (int)found.n_sites;
	err = found.n_sites ? attach_found(attach, &found, fd) : 0;
	if (found.n_sites && !err)
		attach->latest = *since = clock_now();
	if (err)
		result = problem_set(problem, err, "%s: its probes could not be attached: %s", path,
				     strerror(-err));
	else if (found.refused)
		result = problem_set(problem, -EINVAL, "%s: refused: %s (%u such)", path,
				     refused.text, found.refused);
	probes_free(&found);
	return result;
}

uint64_t attach_since(const struct attach *attach, int fd)
{
	struct file_key key;
	const uint64_t *since = file_key_of(fd, &key) ? map_get(attach->seen, &key) : NULL;

	return since ? *since : 0;
}

uint64_t attach_latest(const struct attach *attach)
{
	return attach->latest;
}

unsigned attach_sites(const struct attach *attach, enum probe_number probe)
{
	return attach->count[probe];
}

static void *close_some(void *context)
{
	struct attach *attach = context;
	size_t next;

	while ((next = atomic_fetch_add(&attach->n_closed, 1)) < attach->n_multi_links)
		close(attach->multi_links[next]);
	return NULL;
}

/* Where no more threads may be made, those that there are do it. */
static void close_multi_links(struct attach *attach)
{
	pthread_t threads[CLOSERS];
	size_t count = 0;

	while (count < CLOSERS && count + 1 < attach->n_multi_links &&
	       !pthread_create(&threads[count], NULL, close_some, attach))
		count++;
	close_some(attach);
	while (count)
		pthread_join(threads[--count], NULL);
}

void attach_free(struct attach *attach)
{
	if (!attach)
		return;
	for (size_t i = 0; i < attach->n_links; i++)
		bpf_link__destroy(attach->links[i]);
	close_multi_links(attach);
	map_free(attach->seen);
	free(attach);
}
