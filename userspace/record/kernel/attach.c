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
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../util/log.h"
#include "../../util/map.h"
#include "../machine/clock.h"

enum { NOP = 0x90 };

/* Links that are closed at the same time. */
enum { CLOSERS = 32, CLOSE_MS = 2000 };

/* Newer than the headers that this is built with. */
enum { ATTACH_TYPE_UPROBE_MULTI = 48 };

/* union bpf_attr for BPF_LINK_CREATE of that type. */
struct link_create_multi {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

_Static_assert(sizeof(struct link_create_multi) == 64, "defined by the kernel");

/* What the first of a file's places leads to. */
struct attachment {
	uint32_t count; /* places; 0: no file's first */
	int link;       /* of all of them, -1: each has its own */
	uint64_t user;  /* who owns the file */
};

struct attach {
	struct bpf_program *program;
	int places; /* map */
	bool multi;
	uint32_t n_places; /* in use in the map */
	uint32_t n_providers;
	unsigned count[PROBES];
	struct map *used; /* owner of files to the places that they have */
	uint64_t latest;
	bool in_use[PROBE_PLACES_MAX];
	struct attachment attachments[PROBE_PLACES_MAX];
	struct bpf_link *links[PROBE_PLACES_MAX]; /* of places that have their own */
	int closing[PROBE_PLACES_MAX];            /* links */
	size_t n_closing;
	atomic_size_t n_closed;               /* of these */
	pid_t closer;                         /* the process that closes links; 0: none */
	uint32_t detaching[PROBE_PLACES_MAX]; /* the first places of their files */
	size_t n_detaching;
};

bool attach_multi_supported(void)
{
	struct utsname name;
	unsigned major = 0, minor = 0;

	if (getenv("GCPROF_TEST_PROBES_ONE_BY_ONE"))
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

/* The first of `count` places in a row that are free; PROBE_PLACES_MAX: there are none. */
static uint32_t find_room(const struct attach *attach, uint32_t count)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < PROBE_PLACES_MAX && i - first < count; i++)
		if (attach->in_use[i])
			first = i + 1;
	return first + count <= PROBE_PLACES_MAX ? first : PROBE_PLACES_MAX;
}

/* Writes where the arguments are for the kernel side. */
static int put_places(struct attach *attach, const struct file *file, uint32_t first)
{
	for (uint32_t i = 0; i < file->facts.n_sites; i++) {
		uint32_t key = first + i;
		struct probe_place place = file->sites[i].place;
		int err;

		place.provider = file->provider;
		err = bpf_map_update_elem(attach->places, &key, &place, BPF_ANY);
		if (err)
			return err;
	}
	return 0;
}

/* The link, or a negative errno. */
static int attach_together(struct attach *attach, const struct file *file, uint32_t first,
			   const char *path)
{
	const struct probe_site *sites = file->sites;
	uint64_t lists[3][PROBE_SITES_MAX]; /* offsets, semaphores, cookies */
	struct link_create_multi attr = {
		.program = (uint32_t)bpf_program__fd(attach->program),
		.type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)lists[0],
		.semaphores = (uint64_t)(uintptr_t)lists[1],
		.cookies = (uint64_t)(uintptr_t)lists[2],
		.count = file->facts.n_sites,
	};
	int fd;

	for (uint32_t i = 0; i < file->facts.n_sites; i++) {
		lists[0][i] = sites[i].offset;
		lists[1][i] = sites[i].semaphore;
		lists[2][i] = first + i;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

static void destroy_links(struct attach *attach, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		bpf_link__destroy(attach->links[i]);
		attach->links[i] = NULL;
	}
}

static int attach_one_by_one(struct attach *attach, const struct file *file, uint32_t first,
			     const char *path)
{
	for (uint32_t i = 0; i < file->facts.n_sites; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, options, .ref_ctr_offset = file->sites[i].semaphore,
			    .bpf_cookie = first + i);
		int err;

		attach->links[first + i] = bpf_program__attach_uprobe_opts(
			attach->program, -1, path, file->sites[i].offset, &options);
		if (attach->links[first + i])
			continue;
		/* A part of them would be attached twice when the file is met again. */
		err = -errno;
		destroy_links(attach, first, i);
		return err;
	}
	return 0;
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

/* The file that was read is attached, whatever its name means by now. */
static int attach_sites_of(struct attach *attach, struct file *file)
{
	uint32_t count = file->facts.n_sites, first = find_room(attach, count);
	char same_file[64];
	uint64_t *used;
	int err;

	if (count > places_left(attach, file, &used) || first == PROBE_PLACES_MAX)
		return -E2BIG;
	if (!are_code(file))
		return -EBADMSG;
	file->provider = (uint8_t)(attach->n_providers++ % PROVIDERS_MAX + 1);
	err = put_places(attach, file, first);
	if (err)
		return err;
	snprintf(same_file, sizeof(same_file), "/proc/self/fd/%d", file->fd);
	err = attach->multi ? attach_together(attach, file, first, same_file)
			    : attach_one_by_one(attach, file, first, same_file);
	if (err < 0)
		return err;
	attach->attachments[first] =
		(struct attachment){count, attach->multi ? err : -1, file->user};
	memset(&attach->in_use[first], true, count);
	attach->n_places += count;
	if (used)
		*used += count;
	for (uint32_t i = 0; i < count; i++)
		count_site(attach, &file->sites[i].place);
	file->first_place = first;
	return 0;
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
		err = attach_sites_of(attach, file);
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

	while ((next = atomic_fetch_add(&attach->n_closed, 1)) < attach->n_closing)
		close(attach->closing[next]);
	return NULL;
}

/* Where no more threads may be made, those that there are do it. */
static void close_here(struct attach *attach)
{
	pthread_t threads[CLOSERS];
	size_t count = 0;

	atomic_store(&attach->n_closed, 0);
	while (count < CLOSERS && count + 1 < attach->n_closing &&
	       !pthread_create(&threads[count], NULL, close_some, attach))
		count++;
	close_some(attach);
	while (count)
		pthread_join(threads[--count], NULL);
}

static int compare_fds(const void *left, const void *right)
{
	const int *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Closes all descriptors but these, which it sorts. */
static void close_others(int *fds, size_t n)
{
	unsigned from = 0;

	qsort(fds, n, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < n; from = (unsigned)fds[i++] + 1)
		if ((unsigned)fds[i] > from)
			close_range(from, (unsigned)fds[i] - 1, 0);
	close_range(from, ~0u, 0);
}

/* Begins when `start` ends: then nobody else has the links. */
static _Noreturn void close_apart(struct attach *attach, int start)
{
	int fds[PROBE_PLACES_MAX + 1];
	char byte;

	memcpy(fds, attach->closing, attach->n_closing * sizeof(*fds));
	fds[attach->n_closing] = start;
	prctl(PR_SET_NAME, "gcprof-closer", 0, 0, 0);
	close_others(fds, attach->n_closing + 1);
	while (read(start, &byte, 1) < 0 && errno == EINTR)
		;
	close_here(attach);
	_exit(EXIT_SUCCESS);
}

/*
 * To remove a probe the kernel locks the memory map of each program that has the file mapped, and a
 * program can keep that locked as long as it likes: by waiting for a page of a file whose server
 * does not answer. No signal ends the wait for the lock. So another process closes the links, which
 * the recorder leaves behind if it must.
 */
static void close_links(struct attach *attach)
{
	size_t n = attach->n_closing;
	int start[2];

	if (!n)
		return;
	if (pipe2(start, O_CLOEXEC)) {
		close_here(attach);
		attach->n_closing = 0;
		return;
	}
	attach->closer = fork();
	if (!attach->closer) {
		close(start[1]);
		close_apart(attach, start[0]);
	}
	if (attach->closer < 0) {
		attach->closer = 0;
		close_here(attach);
	}
	for (size_t i = 0; attach->closer && i < n; i++)
		close(attach->closing[i]);
	close(start[0]);
	close(start[1]);
	attach->n_closing = 0;
}

/* Waits for the process that closes links, for some time. */
static void await_closer(struct attach *attach)
{
	struct pollfd end = {.events = POLLIN};

	if (!attach->closer)
		return;
	end.fd = (int)syscall(SYS_pidfd_open, attach->closer, 0);
	if (end.fd < 0 || poll(&end, 1, CLOSE_MS) != 0)
		waitpid(attach->closer, NULL, 0);
	else
		log_warning("probes are still being removed: a program keeps its memory map "
			    "locked, and the kernel waits for it (until that program ends no "
			    "process of this machine can fork)");
	if (end.fd >= 0)
		close(end.fd);
	attach->closer = 0;
}

/* A link of many places is closed with the others' (close_links()). */
static void take_links(struct attach *attach, uint32_t first)
{
	const struct attachment *attachment = &attach->attachments[first];

	if (attachment->count && attachment->link >= 0)
		attach->closing[attach->n_closing++] = attachment->link;
	else
		destroy_links(attach, first, attachment->count);
}

static void free_places(struct attach *attach, uint32_t first)
{
	struct attachment *attachment = &attach->attachments[first];
	uint64_t *used = map_get(attach->used, &attachment->user);

	memset(&attach->in_use[first], false, attachment->count);
	attach->n_places -= attachment->count;
	if (used)
		*used -= attachment->count;
	attachment->count = 0;
}

/* Probes that are being removed may still fire, besides those that replace them. */
static void silence_places(struct attach *attach, uint32_t first)
{
	const struct probe_place silent = {.probe = UINT32_MAX};

	for (uint32_t i = 0; i < attach->attachments[first].count; i++) {
		uint32_t key = first + i;

		(void)bpf_map_update_elem(attach->places, &key, &silent, BPF_ANY);
	}
}

void attach_detach(struct attach *attach, const uint32_t *first_places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		silence_places(attach, first_places[i]);
		take_links(attach, first_places[i]);
	}
	memcpy(attach->detaching, first_places, n * sizeof(*first_places));
	attach->n_detaching = n;
	close_links(attach);
}

bool attach_detaches(struct attach *attach)
{
	if (attach->closer && !waitpid(attach->closer, NULL, WNOHANG))
		return true;
	attach->closer = 0;
	while (attach->n_detaching)
		free_places(attach, attach->detaching[--attach->n_detaching]);
	return false;
}

void attach_free(struct attach *attach)
{
	if (!attach)
		return;
	await_closer(attach);
	(void)attach_detaches(attach);
	for (uint32_t i = 0; i < PROBE_PLACES_MAX; i++)
		take_links(attach, i);
	close_links(attach);
	await_closer(attach);
	map_free(attach->used);
	free(attach);
}
