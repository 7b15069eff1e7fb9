/* SPDX-License-Identifier: BSD-2-Clause */
/* attacher.c: the process that attaches probes, holds their links, and closes them. */
/*
 * From Linux 6.6 on, all places of a file share one link. It is quick to create and to remove,
 * because the kernel waits for running programs once, not once per place. On older kernels each
 * place is a perf event. Closing a link waits some 50 ms for the whole machine. Links closed
 * together share that wait; one after the other, hundreds of files would take half a minute.
 *
 * If this process waits for a program that keeps its memory map locked, no signal ends that wait.
 */
#include "attacher.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../machine/capabilities.h"
#include "../../reader/wire.h"
#include "locked.h"

#define BIT(number) (UINT64_C(1) << (number))

enum {
	CLOSERS = 32,         /* links closed at the same time */
	LINES_MAX = 1 << 17,  /* mappings of a process */
	RETRY_NS = 100000000, /* while a program is in the way */
	SEMAPHORE_SHIFT = 32  /* in a perf event's configuration */
};

/* union bpf_attr for BPF_LINK_CREATE of ATTACH_TYPE_UPROBE_MULTI. */
struct link_create_multi {
	uint32_t program, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

_Static_assert(sizeof(struct link_create_multi) == 64, "defined by the kernel");

static uint32_t counts[PROBE_PLACES_MAX]; /* places of a file, at its first; 0: none */
static ino_t inodes[PROBE_PLACES_MAX];    /* of a file, at its first place */
static int locked = -1;                   /* for locked_find() */
static int links[PROBE_PLACES_MAX];       /* of places, or of a whole file at its first; 0: none */

/* --- obstacles ---------------------------------------------------------------------------- */

static int compare_inodes(const void *left, const void *right)
{
	const ino_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool has_mapped(uint32_t pid, const ino_t *sorted, size_t n)
{
	char path[32], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;
	ino_t inode;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/maps", pid);
	file = fopen(path, "re");
	for (int i = 0; file && !found && i < LINES_MAX && getline(&line, &size, file) > 0; i++)
		found = sscanf(line, "%*x-%*x %*s %*x %*x:%*x %lu", &inode) == 1 &&
			bsearch(&inode, sorted, n, sizeof(*sorted), compare_inodes);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* A program that maps one of these files and keeps its memory map locked; 0: none. */
static uint32_t find_obstacle(const ino_t *sorted, size_t n)
{
	uint32_t pids[LOCKED_MAX];
	size_t n_pids = locked_for_long(locked, pids);

	for (size_t i = 0; i < n_pids; i++)
		if (has_mapped(pids[i], sorted, n))
			return pids[i];
	return 0;
}

/* --- attaching ---------------------------------------------------------------------------- */

static int attach_together(const struct attacher_file *file, int program, const char *path)
{
	static uint64_t lists[3][PROBE_SITES_MAX]; /* offsets, semaphores, cookies */
	struct link_create_multi attr = {
		.program = (uint32_t)program,
		.type = ATTACH_TYPE_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)lists[0],
		.semaphores = (uint64_t)(uintptr_t)lists[1],
		.cookies = (uint64_t)(uintptr_t)lists[2],
		.count = file->count,
	};
	int fd;

	for (uint32_t i = 0; i < file->count; i++) {
		lists[0][i] = file->sites[i].offset;
		lists[1][i] = file->sites[i].semaphore;
		lists[2][i] = file->first + i;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	links[file->first] = fd;
	return 0;
}

/* The type of perf events that are probes; a negative errno. */
static int probe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &type) != 1)
		type = -EBADMSG;
	fclose(file);
	return type;
}

static int attach_one(const struct attacher_site *site, uint32_t place, int program,
		      const char *path)
{
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = place);
	int type = probe_type(), event, link;
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = site->semaphore << SEMAPHORE_SHIFT,
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = site->offset,
	};

	if (type < 0 || site->semaphore > UINT32_MAX)
		return type < 0 ? type : -ERANGE;
	event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &options);
	/* The link keeps the event. */
	close(event);
	if (link < 0)
		return link;
	links[place] = link;
	return 0;
}

/* Otherwise some places would be attached twice when the file appears again. */
static int attach_one_by_one(const struct attacher_file *file, int program, const char *path)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < file->count; i++)
		err = attach_one(&file->sites[i], file->first + i, program, path);
	for (uint32_t i = 0; err && i < file->count; i++) {
		if (links[file->first + i])
			close(links[file->first + i]);
		links[file->first + i] = 0;
	}
	return err;
}

/* Is the code at this offset what the reader saw? Sites from a reader that another file may have
 * taken over were dropped before (world/files.c). */
static bool is_code(const struct attacher_site *site, int file)
{
	unsigned char code[PROBE_CODE_BYTES];
	size_t size = site->code_size;

	return size <= sizeof(code) && site->offset <= INT64_MAX &&
	       pread(file, code, size, (off_t)site->offset) == (ssize_t)size &&
	       !memcmp(code, site->code, size);
}

/* Attaches the very file that was read, whatever its path refers to by now. */
static int attach(const struct attacher_file *file, const int *fds, uint32_t *obstacle)
{
	char same_file[32];
	struct stat st;
	int err;

	if (fstat(fds[ATTACHER_FILE], &st))
		return -errno;
	for (uint32_t i = 0; i < file->count; i++)
		if (!is_code(&file->sites[i], fds[ATTACHER_FILE]))
			return -EBADMSG;
	*obstacle = find_obstacle(&st.st_ino, 1);
	if (*obstacle)
		return -EBUSY;
	snprintf(same_file, sizeof(same_file), "/proc/self/fd/%d", fds[ATTACHER_FILE]);
	err = file->together ? attach_together(file, fds[ATTACHER_PROGRAM], same_file)
			     : attach_one_by_one(file, fds[ATTACHER_PROGRAM], same_file);
	if (err)
		return err;
	counts[file->first] = file->count;
	inodes[file->first] = st.st_ino;
	return 0;
}

/* --- detaching ---------------------------------------------------------------------------- */

static int closing[PROBE_PLACES_MAX]; /* links */
static size_t n_closing;
static atomic_size_t n_closed; /* of these */

static void *close_some(void *context)
{
	size_t next;

	while ((next = atomic_fetch_add(&n_closed, 1)) < n_closing)
		close(closing[next]);
	return context;
}

/* If no more threads can be created, the existing ones do the work. */
static void close_links(void)
{
	pthread_t threads[CLOSERS];
	size_t count = 0;

	atomic_store(&n_closed, 0);
	while (count < CLOSERS && count + 1 < n_closing &&
	       !pthread_create(&threads[count], NULL, close_some, NULL))
		count++;
	close_some(NULL);
	while (count)
		pthread_join(threads[--count], NULL);
	n_closing = 0;
}

static void take_links(uint32_t first)
{
	for (uint32_t i = first; i < first + counts[first]; i++) {
		if (links[i])
			closing[n_closing++] = links[i];
		links[i] = 0;
	}
	counts[first] = 0;
}

/* Waiting here is better than having the kernel wait, and with it everything that forks. */
static void await_obstacles(ino_t *files, size_t n)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};

	qsort(files, n, sizeof(*files), compare_inodes);
	while (find_obstacle(files, n))
		nanosleep(&pause, NULL);
}

static void detach(const uint32_t *first_places, size_t n)
{
	static ino_t files[PROBE_PLACES_MAX];
	size_t n_files = 0;

	for (size_t i = 0; i < (n ? n : PROBE_PLACES_MAX); i++) {
		uint32_t first = n ? first_places[i] : (uint32_t)i;

		if (first >= PROBE_PLACES_MAX || !counts[first])
			continue;
		files[n_files++] = inodes[first];
		take_links(first);
	}
	if (n_files)
		await_obstacles(files, n_files);
	close_links();
}

/* --- requests ----------------------------------------------------------------------------- */

static int confine(void)
{
	const uint64_t rights = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) |
				BIT(CAP_SYS_PTRACE);
	const struct rlimit none = {0};
	struct rlimit files;

	/* Any user may execute this program under this name. */
	if (geteuid() != getuid())
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return -errno;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	return capabilities_keep(rights, getauxval(AT_SECURE));
}

static bool is_complete(const struct request *request)
{
	const struct attacher_file *file = (const void *)request->data;
	const size_t head = offsetof(struct attacher_file, sites);
	const size_t size = request->head.size;

	if (request->head.kind == ATTACHER_DETACH)
		return true;
	return size >= head && request->files.n > ATTACHER_LOCKED &&
	       file->count <= PROBE_SITES_MAX && file->first <= PROBE_PLACES_MAX - file->count &&
	       size == head + file->count * sizeof(file->sites[0]);
}

static void work(const struct request *request)
{
	struct attacher_answer answer = {0};
	int err = 0;

	if (!is_complete(request))
		err = -EBADMSG;
	else if (request->head.kind == ATTACHER_DETACH)
		detach((const void *)request->data, request->head.size / sizeof(uint32_t));
	else
		err = attach((const void *)request->data, request->files.fds, &answer.pid);
	wire_put(&answer, sizeof(answer));
	wire_end(err, -1);
}

int attacher_main(void)
{
	static _Alignas(8) struct request request;

	/* Keeps the recorder's niceness, because late attaching loses events. */
	prctl(PR_SET_NAME, WORKER_ATTACHER, 0, 0, 0);
	if (confine())
		return EXIT_FAILURE;
	while (wire_receive(&request) > 0) {
		if (locked < 0 && request.files.n > ATTACHER_LOCKED)
			locked = dup(request.files.fds[ATTACHER_LOCKED]);
		work(&request);
		for (size_t i = 0; i < request.files.n; i++)
			close(request.files.fds[i]);
	}
	detach(NULL, 0);
	return EXIT_SUCCESS;
}
