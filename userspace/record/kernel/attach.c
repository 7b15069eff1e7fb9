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
#include <linux/magic.h>
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

#include "../../util/map.h"
#include "../machine/clock.h"

/* A bound on the attachments that hostile files can make us hold. */
enum { LINKS_MAX = PROBE_PLACES_MAX };

enum { NOP = 0x90 };

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

struct attach {
	struct bpf_program *program;
	int places; /* map */
	bool multi;
	uint32_t n_places; /* used in the map */
	unsigned count[PROBES];
	struct map *used; /* owner of files to the places that they have */
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
	attach->used = map_create(sizeof(uint64_t));
	if (!attach->used) {
		attach_free(attach);
		return -ENOMEM;
	}
	*out = attach;
	return 0;
}

/* Writes where the arguments are for the kernel side, under keys from n_places on. */
static int put_places(struct attach *attach, const struct probe_site *sites, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t key = attach->n_places + i;
		int err = bpf_map_update_elem(attach->places, &key, &sites[i].place, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

static int attach_together(struct attach *attach, const struct probe_site *sites, uint32_t count,
			   const char *path)
{
	uint64_t lists[3][PROBE_SITES_MAX]; /* offsets, semaphores, cookies */
	struct link_create_multi attr = {
		.program = (uint32_t)bpf_program__fd(attach->program),
		.type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)lists[0],
		.semaphores = (uint64_t)(uintptr_t)lists[1],
		.cookies = (uint64_t)(uintptr_t)lists[2],
		.count = count,
	};
	int fd;

	if (attach->n_multi_links == LINKS_MAX)
		return -E2BIG;
	for (uint32_t i = 0; i < count; i++) {
		lists[0][i] = sites[i].offset;
		lists[1][i] = sites[i].semaphore;
		lists[2][i] = attach->n_places + i;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	attach->multi_links[attach->n_multi_links++] = fd;
	return 0;
}

static int attach_singly(struct attach *attach, const struct probe_site *sites, uint32_t count,
			 const char *path)
{
	size_t before = attach->n_links;
	int err = 0;

	for (uint32_t i = 0; i < count && !err; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = sites[i].semaphore,
			    .bpf_cookie = attach->n_places + i);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(attach->program, -1, path,
									sites[i].offset, &options);

		if (link)
			attach->links[attach->n_links++] = link;
		else
			err = -errno;
	}
	/* A file whose probes are in part attached would get them twice when it is met again. */
	while (err && attach->n_links > before)
		bpf_link__destroy(attach->links[--attach->n_links]);
	return err;
}

/* Places that the owner of a file may still have: a quarter at most if not root. */
static uint32_t places_left(struct attach *attach, const struct file *file, uint64_t **used)
{
	uint64_t user = file->user;
	uint32_t all = PROBE_PLACES_MAX - attach->n_places, share = PROBE_PLACES_MAX / 4;

	*used = map_put(attach->used, &user, NULL);
	if (!*used || !user)
		return all;
	share = **used < share ? share - (uint32_t) * *used : 0;
	return share < all ? share : all;
}

/* What a runtime's place reports is as good as a probe of ours. */
static void count_site(struct attach *attach, const struct probe_place *place)
{
	const struct runtime *runtime;

	if (place->probe != PROBE_PLACE) {
		attach->count[place->probe]++;
		return;
	}
	runtime = runtime_get(place->runtime);
	attach->count[PROBE_sample] += runtime->places[place->place].report == PLACE_SAMPLE;
	attach->count[PROBE_gc_begin] += runtime->places[place->place].report == PLACE_PAUSE_BEGIN;
	attach->count[PROBE_gc_end] += runtime->places[place->place].report == PLACE_PAUSE_END;
}

/* The file that was read is attached, whatever its name means by now. */
static int attach_sites_of(struct attach *attach, const struct file *file)
{
	const struct probe_site *sites = file->sites;
	uint32_t count = file->facts.n_sites;
	char same_file[64];
	uint64_t *used;
	int err;

	if (count > places_left(attach, file, &used))
		return -E2BIG;
	err = put_places(attach, sites, count);
	if (err)
		return err;
	snprintf(same_file, sizeof(same_file), "/proc/self/fd/%d", file->fd);
	err = attach->multi ? attach_together(attach, sites, count, same_file)
			    : attach_singly(attach, sites, count, same_file);
	attach->n_places += count;
	if (used)
		*used += count;
	for (uint32_t i = 0; i < count && !err; i++)
		count_site(attach, &sites[i].place);
	return err;
}

/* Is what the reader has seen there in the file? What a reader says that was taken over by another
 * file is left out before (world/files.c). */
static bool is_code(const struct file *file, const struct probe_site *site)
{
	size_t size = site->place.probe == PROBE_PLACE ? sizeof(site->code) : 1;
	unsigned char code[sizeof(site->code)];

	return site->offset <= INT64_MAX &&
	       pread(file->fd, code, size, (off_t)site->offset) == (ssize_t)size &&
	       (site->place.probe == PROBE_PLACE ? !memcmp(code, site->code, size)
						 : code[0] == NOP);
}

static bool are_code(const struct file *file)
{
	for (uint32_t i = 0; i < file->facts.n_sites; i++)
		if (!is_code(file, &file->sites[i]))
			return false;
	return true;
}

int attach_file(struct attach *attach, struct file *file, struct problem *problem)
{
	const struct file_facts *facts = &file->facts;
	int err;

	if (file->tried || (!facts->n_sites && !facts->refused))
		return 0;
	file->tried = true;
	if (file->filesystem == FUSE_SUPER_MAGIC) {
		/* The kernel reads the file once more when it attaches, and waits for that. */
		return problem_set(problem, -EOPNOTSUPP,
				   "%s: its probes are not attached: it lies in a file system that "
				   "a program provides (FUSE), which could keep gcprof waiting",
				   file->path);
	}
	if (facts->n_sites) {
		err = are_code(file) ? attach_sites_of(attach, file) : -EBADMSG;
		if (err)
			return problem_set(problem, err, "%s: its probes could not be attached: %s",
					   file->path,
					   err == -E2BIG ? "there is no room for so many"
							 : strerror(-err));
		attach->latest = file->attached = clock_now();
	}
	if (facts->refused)
		return problem_set(problem, -EINVAL, "%s: refused: %s (%u such)", file->path,
				   facts->problem, facts->refused);
	return (int)facts->n_sites;
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
	map_free(attach->used);
	free(attach);
}
