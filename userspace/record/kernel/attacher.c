/* SPDX-License-Identifier: BSD-2-Clause */
/* attacher.c: the process that attaches probes, holds their links, and closes them. */
/*
 * A link belongs to a process: the kernel puts breakpoints into the memory of that one alone, now
 * and when it maps the file later, also after an exec.
 *
 * From Linux 6.10 on, all places of a file share one link. It is quick to create and to remove,
 * because the kernel waits for running programs once, not once per place. On older kernels, where
 * such a link is a thread's, each place is a perf event. Closing a link waits some 50 ms for the
 * whole machine. Links closed together share that wait; one after the other, hundreds would take
 * half a minute. A thread closes them while others are attached.
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
#include <seccomp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "../../reader/wire.h"
#include "../../util/call_filter.h"
#include "../../util/buffer.h"
#include "../../util/proc_file.h"
#include "obstacles.h"
#include "probe_links.h"
#include "stopped.h"
#include "uprobe_multi.h"

#define BIT(number) (UINT64_C(1) << (number))

enum {
	CLOSERS = 32,         /* links closed at the same time */
	LINES_MAX = 1 << 17,  /* mappings of a process */
	RETRY_NS = 100000000, /* while a program is in the way */
	SEMAPHORE_SHIFT = 32  /* in a perf event's configuration */
};

/* A file that is attached to a process. */
struct held {
	ino_t inode;
	struct stopped_code *code; /* NULL: it has none, or no memory */
	size_t count;              /* 0: none */
	int *links;
};

static int locked = -1; /* for locked_find() */
static struct held held[PROBE_LINKS_MAX];

/* --- obstacles ---------------------------------------------------------------------------- */

static int compare_inodes(const void *left, const void *right)
{
	const ino_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static bool has_mapped(uint32_t pid, const ino_t *sorted, size_t n)
{
	char path[PROC_SHOWN_MAX], *line = NULL;
	bool found = false;
	size_t size = 0;
	FILE *file;
	ino_t inode;

	proc_shown(pid, "maps", path);
	file = fopen(path, "re");
	for (int i = 0; file && !found && i < LINES_MAX && getline(&line, &size, file) > 0; i++)
		found = sscanf(line, "%*x-%*x %*s %*x %*x:%*x %lu", &inode) == 1 &&
			bsearch(&inode, sorted, n, sizeof(*sorted), compare_inodes);
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* A program that maps one of these files and keeps its memory map locked; 0: none. However many
 * keep theirs locked, each is checked. */
static uint32_t find_obstacle(const ino_t *sorted, size_t n)
{
	struct buffer locks = {0};
	const uint32_t *pids;
	uint32_t found = 0;

	(void)locked_for_long(locked, &locks);
	pids = (const void *)locks.data;
	for (size_t i = 0; !found && i < locks.size / sizeof(*pids); i++)
		if (has_mapped(pids[i], sorted, n))
			found = pids[i];
	buffer_free(&locks);
	return found;
}

/* --- attaching ---------------------------------------------------------------------------- */

static int attach_together(const struct attacher_file *file, int program, const char *path,
			   struct held *out)
{
	static uint64_t lists[3][PROBE_SITES_MAX]; /* offsets, semaphores, cookies */
	const struct uprobe_multi probes = {
		.path = path,
		.offsets = lists[0],
		.semaphores = lists[1],
		.cookies = lists[2],
		.count = file->count,
		.pid = (int32_t)file->pid,
	};

	for (uint32_t i = 0; i < file->count; i++) {
		lists[0][i] = file->sites[i].offset;
		lists[1][i] = file->sites[i].semaphore;
		lists[2][i] = file->first + i;
	}
	out->links[0] = uprobe_multi_link(program, &probes);
	out->count = out->links[0] >= 0;
	return out->count ? 0 : out->links[0];
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

/* `thread` 0: every process. Returns the link. */
static int attach_one(const struct attacher_site *site, uint32_t place, uint32_t thread,
		      int program, const char *path)
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
	event = (int)syscall(SYS_perf_event_open, &attr, thread ? (pid_t)thread : -1,
			     thread ? -1 : 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return -errno;
	link = bpf_link_create(program, event, BPF_PERF_EVENT, &options);
	/* The link keeps the event. */
	close(event);
	return link;
}

static int attach_one_by_one(const struct attacher_file *file, uint32_t thread, int program,
			     const char *path, struct held *out)
{
	int link = 0;

	for (uint32_t i = 0; i < file->count; i++) {
		link = attach_one(&file->sites[i], file->first + i, thread, program, path);
		if (link < 0)
			break;
		out->links[out->count++] = link;
	}
	while (link < 0 && out->count)
		close(out->links[--out->count]);
	return link < 0 ? link : 0;
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

static int check(const struct attacher_file *file, int fd, struct held *out,
		 struct attacher_answer *answer)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	for (uint32_t i = 0; i < file->count; i++)
		if (!is_code(&file->sites[i], fd))
			return -EBADMSG;
	answer->thread = file->pid ? proc_living_thread(file->pid) : 0;
	if (file->pid && !answer->thread)
		return -ESRCH;
	if (file->together && answer->thread != file->pid)
		return -ECHILD;
	/* Nobody could stop it when it copies the breakpoints, and let it go on: see stopped.h. */
	if (file->pid && kill((pid_t)file->pid, 0) && errno == EPERM)
		return -EUSERS;
	out->inode = st.st_ino;
	answer->pid = find_obstacle(&st.st_ino, 1);
	if (answer->pid)
		return -EBUSY;
	/* It may have executed another program, whose code is none of ours. */
	return !file->pid || file->ahead || has_mapped(file->pid, &st.st_ino, 1) ? 0 : -ENOENT;
}

static struct stopped_code *know(ino_t inode, const struct attacher_file *file)
{
	static struct stopped_site sites[PROBE_SITES_MAX];

	for (uint32_t i = 0; i < file->count; i++)
		sites[i] = (struct stopped_site){file->sites[i].offset, file->sites[i].code[0]};
	return stopped_know(inode, sites, file->count);
}

/* Whatever the file's path refers to by now, it is the very file that was read. */
static int attach_checked(const struct attacher_file *file, const int *fds,
			  struct attacher_answer *answer)
{
	struct held *out = &held[file->link];
	int err = out->count ? -EEXIST : check(file, fds[ATTACHER_FILE], out, answer);
	char same_file[32];

	if (err)
		return err;
	out->links = calloc(file->together ? 1 : file->count, sizeof(*out->links));
	if (!out->links)
		return -ENOMEM;
	snprintf(same_file, sizeof(same_file), "/proc/self/fd/%d", fds[ATTACHER_FILE]);
	err = file->together ? attach_together(file, fds[ATTACHER_PROGRAM], same_file, out)
			     : attach_one_by_one(file, answer->thread, fds[ATTACHER_PROGRAM],
						 same_file, out);
	if (err)
		free(out->links);
	else
		out->code = know(out->inode, file);
	return err;
}

/* --- detaching ---------------------------------------------------------------------------- */

/* What is to be closed, and what a thread closes now. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct buffer leaving; /* struct held[] */
static bool runs, closes;     /* the thread */

struct closing {
	struct buffer links;  /* int[] */
	atomic_size_t closed; /* of these */
};

static void *close_some(void *context)
{
	struct closing *closing = context;
	const int *links = (const void *)closing->links.data;
	size_t n = closing->links.size / sizeof(*links), next;

	while ((next = atomic_fetch_add(&closing->closed, 1)) < n)
		close(links[next]);
	return NULL;
}

/* If no more threads can be created, the existing ones do the work. */
static void close_links(struct closing *closing)
{
	size_t n = closing->links.size / sizeof(int), count = 0;
	pthread_t threads[CLOSERS];

	while (count < CLOSERS && count + 1 < n &&
	       !pthread_create(&threads[count], NULL, close_some, closing))
		count++;
	close_some(closing);
	while (count)
		pthread_join(threads[--count], NULL);
}

/* Waiting here is better than having the kernel wait, and with it everything that forks. */
static void await_obstacles(ino_t *files, size_t n)
{
	const struct timespec pause = {.tv_nsec = RETRY_NS};

	qsort(files, n, sizeof(*files), compare_inodes);
	while (find_obstacle(files, n))
		nanosleep(&pause, NULL);
}

/* If there is no memory, the links stay until this process ends. */
static void close_all(const struct held *all, size_t n)
{
	ino_t *files = calloc(n, sizeof(*files));
	struct closing closing = {.links = {0}};

	for (size_t i = 0; i < n; i++) {
		(void)buffer_append(&closing.links, all[i].links,
				    all[i].count * sizeof(*all[i].links));
		if (files)
			files[i] = all[i].inode;
		free(all[i].links);
	}
	if (files)
		await_obstacles(files, n);
	free(files);
	close_links(&closing);
	for (size_t i = 0; i < n; i++)
		stopped_forget(all[i].code);
	buffer_free(&closing.links);
}

static void *close_in_background(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		struct buffer all = leaving;

		closes = all.size;
		pthread_cond_broadcast(&changed);
		if (!closes) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		leaving = (struct buffer){0};
		pthread_mutex_unlock(&lock);
		close_all((const struct held *)(void *)all.data, all.size / sizeof(struct held));
		buffer_free(&all);
		pthread_mutex_lock(&lock);
	}
	return unused;
}

static void detach(const uint32_t *numbers, size_t n)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n; i++) {
		struct held *one = numbers[i] < PROBE_LINKS_MAX ? &held[numbers[i]] : NULL;

		if (!one || !one->count || buffer_append(&leaving, one, sizeof(*one)))
			continue;
		*one = (struct held){0};
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (!runs)
		runs = !pthread_create(&thread, NULL, close_in_background, NULL);
}

static int settle(void)
{
	pthread_mutex_lock(&lock);
	while (runs && (leaving.size || closes))
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return stopped_awaits() ? -EINPROGRESS : 0;
}

static void detach_all(void)
{
	static uint32_t numbers[PROBE_LINKS_MAX];

	for (uint32_t i = 0; i < PROBE_LINKS_MAX; i++)
		numbers[i] = i;
	detach(numbers, PROBE_LINKS_MAX);
	(void)settle();
}

/* The process of this number may be another one by now, which must not get breakpoints. */
static int attach(const struct attacher_file *file, const int *fds, struct attacher_answer *answer)
{
	const bool is_sure = !file->pid ||
			     file->ahead; /* every process, or a child of the recorder */
	int pidfd = is_sure ? -1 : proc_hold(file->pid, clock_now() - file->since), err;

	if (!is_sure && pidfd < 0)
		return -ESRCH;
	err = attach_checked(file, fds, answer);
	if (is_sure)
		return err;
	if (!err && !proc_is_alive(pidfd)) {
		detach(&file->link, 1);
		err = -ESRCH;
	}
	close(pidfd);
	return err;
}

/* --- requests ----------------------------------------------------------------------------- */

/* Links and threads that close them, files of /proc, the code of a stopped program. */
static const struct call_allowed allowed[] = {
	CALL_WITH(bpf, 0, BPF_LINK_CREATE),
	CALL_WITH(bpf, 0, BPF_ITER_CREATE),
	CALL_WITH(bpf, 0, BPF_MAP_GET_NEXT_KEY),
	CALL_WITH(bpf, 0, BPF_MAP_LOOKUP_ELEM),
	CALL_WITH(bpf, 0, BPF_MAP_DELETE_ELEM),
	{SCMP_SYS(mmap), 2, PROT_EXEC, 0, 3, MAP_TYPE, MAP_SHARED},
	CALL_ANY(perf_event_open),
	CALL_ANY(recvmsg),
	CALL_ANY(sendto),
	CALL_ANY(open),
	CALL_ANY(openat),
	CALL_ANY(close),
	CALL_ANY(dup),
	CALL_ANY(fcntl),
	CALL_ANY(stat),
	CALL_ANY(fstat),
	CALL_ANY(newfstatat),
	CALL_ANY(getdents64),
	CALL_ANY(read),
	CALL_ANY(pread64),
	CALL_ANY(lseek),
	CALL_ANY(pwrite64),
	CALL_WITH(pidfd_send_signal, 1, SIGCONT),
	CALL_WITH(kill, 1, 0),
	CALL_ANY(pidfd_open),
	CALL_ANY(poll),
	CALL_ANY(ppoll),
	CALL_ANY(nanosleep),
	CALL_ANY(clock_nanosleep),
	CALL_ANY(getpid),
	CALL_ANY(gettid),
	/* Threads, by an old or a new C library. */
	{SCMP_SYS(clone), 0, CLONE_THREAD, CLONE_THREAD, 0, 0, 0},
	CALL_ANY(set_robust_list),
	CALL_ANY(rseq),
	CALL_ANY(rt_sigaction),
	CALL_ANY(sched_getaffinity),
	CALL_ANY(prlimit64),
	CALL_ANY(prctl),
};

static int confine(void)
{
	const uint64_t rights = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) |
				BIT(CAP_SYS_PTRACE) | BIT(CAP_KILL);
	const struct rlimit none = {0};
	struct rlimit files;
	int err;

	/* Any user may execute this program under this name. */
	if (geteuid() != getuid())
		return -EPERM;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &none))
		return -errno;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	err = capabilities_keep_reading(rights, getauxval(AT_SECURE));
	return err ? err : call_filter_enter(allowed, sizeof(allowed) / sizeof(allowed[0]));
}

static bool is_complete(const struct request *request)
{
	const struct attacher_file *file = (const void *)request->data;
	const size_t head = offsetof(struct attacher_file, sites);
	const size_t size = request->head.size;

	if (request->head.kind != ATTACHER_ATTACH)
		return true;
	return size >= head && request->files.n > ATTACHER_LOCKED && file->link < PROBE_LINKS_MAX &&
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
	else if (request->head.kind == ATTACHER_SETTLE)
		err = settle();
	else
		err = attach((const void *)request->data, request->files.fds, &answer);
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
		if (request.files.n == ATTACHER_STOPPED + STOPPED_FDS)
			stopped_begin(request.files.fds + ATTACHER_STOPPED);
		work(&request);
		for (size_t i = 0; i < request.files.n; i++)
			close(request.files.fds[i]);
	}
	detach_all();
	stopped_end();
	/* Threads may still wait for programs: nothing of the C library's is torn down. */
	_exit(EXIT_SUCCESS);
}
