/* SPDX-License-Identifier: BSD-2-Clause */
/* stopped.c: programs that are stopped because they replaced code with breakpoints by a copy. */
#include "stopped.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../bpf/text.h"
#include "../../util/proc_file.h"
#include "../machine/clock.h"

#define RESTORE_MAX 1024

/* What belongs into the code of a process. */
struct restore_request {
	uint32_t pid, count;
	uint64_t addresses[RESTORE_MAX];
	unsigned char code[RESTORE_MAX];
};

enum {
	BREAKPOINT = 0xCC,
	FIELD_STATE = 3, /* of /proc/PID/stat */
};

/* Has this thread stopped? */
static bool restore_may_begin(uint32_t pid, uint32_t tid)
{
	char name[32], stat[1024];
	const char *state;

	snprintf(name, sizeof(name), "task/%" PRIu32 "/stat", tid);
	if (proc_file_read(pid, name, stat, sizeof(stat)))
		return false;
	state = proc_file_stat(stat, FIELD_STATE);
	return state && (*state == 'T' || *state == 't');
}

/* Is there private memory at this address, that need not be read from a file first? Its server
 * could keep us waiting. */
static bool is_there(int pages, uint64_t address)
{
	const uint64_t here = UINT64_C(3) << 62, of_file = UINT64_C(1) << 61;
	uint64_t page, number = address / (uint64_t)sysconf(_SC_PAGESIZE);

	return pread(pages, &page, sizeof(page), (off_t)(number * sizeof(page))) == sizeof(page) &&
	       page & here && !(page & of_file);
}

/*
 * Restores the code of a process that has stopped; `pidfd`: see proc_hold(). The number of
 * breakpoints removed. Another process with the same memory may make this hang. What the program
 * replaced has no other breakpoints than those that it copied.
 */
static int restore_code(const struct restore_request *request, int pidfd)
{
	int memory = proc_shown_open(request->pid, "mem", O_RDWR), restored = 0;
	int pages = proc_shown_open(request->pid, "pagemap", O_RDONLY);
	unsigned char code;

	for (uint32_t i = 0; i < request->count && proc_is_alive(pidfd); i++) {
		off_t address = (off_t)request->addresses[i];

		if (is_there(pages, request->addresses[i]) &&
		    pread(memory, &code, 1, address) == 1 && code == BREAKPOINT)
			restored += pwrite(memory, &request->code[i], 1, address) == 1;
	}
	if (memory >= 0)
		close(memory);
	if (pages >= 0)
		close(pages);
	return restored;
}

/* Lets a process go on, and closes the pidfd. */
static void restore_continue(int pidfd)
{
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
	close(pidfd);
}

enum {
	KNOWN_NS = 100000000, /* for the recorder to say which mappings there are */
	STOP_NS = 1000000000, /* until a program has stopped: its call may take a while */
	TURN_NS = 1000000,    /* between looks at them */
	REST = 4,             /* of the time that a look takes */
	LATE_NS = 20000000,   /* until the kernel side stops no more */
	SECOND_NS = 1000000000,
	HANG_NS = 100000000, /* that takes longer than any restoring */
	RESTS_NS = 20000000, /* of an entry */
	RESTORING_MAX = 64,  /* programs at a time */
	RESTORING_USER = 8,  /* of one user */
};

#define FILL_NS UINT64_C(10000000000) /* for programs to fill their copies, at the end */

/* Code of a file, for all processes to which it is attached. The kernel side knows files by their
 * inode alone, which files of other file systems have, too: where these have a breakpoint decides.
 */
struct stopped_code {
	struct stopped_code *next;
	uint64_t inode;
	uint64_t left; /* since when it is attached to none, ns */
	size_t users, count;
	struct stopped_site sites[];
};

/* A program whose code a thread restores: its memory may be a file's, whose server does not answer.
 */
struct restoring {
	uint32_t process; /* 0: none */
	int pidfd;
	uint64_t began; /* ns */
	struct stopped_text stop;
	struct probed_text text;
};

static struct restoring restoring[RESTORING_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `files` */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct stopped_code *files;
static int held[STOPPED_FDS] = {-1};

/* --- code --------------------------------------------------------------------------------- */

static struct stopped_code *find(uint64_t inode, const struct stopped_site *sites, size_t n)
{
	struct stopped_code *code = files;

	while (code && (code->inode != inode || code->count != n ||
			memcmp(code->sites, sites, n * sizeof(*sites)) != 0))
		code = code->next;
	return code;
}

/* Without memory, its breakpoints stay in a copy. */
static struct stopped_code *add(uint64_t inode, const struct stopped_site *sites, size_t n)
{
	struct stopped_code *code = calloc(1, sizeof(*code) + n * sizeof(*sites));

	if (!code)
		return NULL;
	code->inode = inode;
	code->count = n;
	memcpy(code->sites, sites, n * sizeof(*sites));
	code->next = files;
	files = code;
	return code;
}

/* A copy that was made before its breakpoints were removed may come later. */
static void forget_old(void)
{
	const uint64_t now = clock_now();
	struct stopped_code **at = &files, *code;

	while ((code = *at)) {
		if (code->users || now - code->left < FILL_NS) {
			at = &code->next;
			continue;
		}
		*at = code->next;
		free(code);
	}
}

struct stopped_code *stopped_know(uint64_t inode, const struct stopped_site *sites, size_t n)
{
	struct stopped_code *code;

	pthread_mutex_lock(&lock);
	forget_old();
	code = find(inode, sites, n);
	code = code ? code : add(inode, sites, n);
	if (code)
		code->users++;
	pthread_mutex_unlock(&lock);
	return code;
}

void stopped_forget(struct stopped_code *code)
{
	pthread_mutex_lock(&lock);
	if (code && !--code->users)
		code->left = clock_now();
	pthread_mutex_unlock(&lock);
}

/* Adds a file's sites in what was replaced. */
static void add_sites(const struct stopped_code *file, const struct probed_range *range,
		      const struct stopped_text *text, struct restore_request *request)
{
	for (size_t i = 0; i < file->count && request->count < RESTORE_MAX; i++) {
		uint64_t address = file->sites[i].offset + range->shift;

		if (address < range->start || address >= range->end || address < text->start ||
		    address >= text->end)
			continue;
		request->addresses[request->count] = address;
		request->code[request->count++] = file->sites[i].code;
	}
}

/* --- programs ----------------------------------------------------------------------------- */

/* The program's code is as it should be, or it has ended. */
static void let_go(uint32_t process, int pidfd)
{
	/* It may stop again as soon as it goes on. */
	(void)bpf_map_delete_elem(held[STOPPED_TEXTS], &process);
	if (pidfd >= 0)
		restore_continue(pidfd);
}

static void *restore(void *context)
{
	struct restoring *one = context;
	struct restore_request request = {.pid = one->stop.pid};

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < one->text.count && i < PROBED_RANGES; i++)
		for (const struct stopped_code *file = files; file; file = file->next)
			if (file->inode == one->text.ranges[i].inode)
				add_sites(file, &one->text.ranges[i], &one->stop, &request);
	pthread_mutex_unlock(&lock);
	(void)restore_code(&request, one->pidfd);
	let_go(one->process, one->pidfd);
	__atomic_store_n(&one->process, 0, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_busy(const struct restoring *one)
{
	return __atomic_load_n(&one->process, __ATOMIC_ACQUIRE);
}

static struct restoring *restoring_of(uint32_t process)
{
	for (int i = 0; i < RESTORING_MAX; i++)
		if (__atomic_load_n(&restoring[i].process, __ATOMIC_ACQUIRE) == process)
			return &restoring[i];
	return NULL;
}

/* How many of a user have been restored for long. */
static int count_hung(uint32_t user, uint64_t now)
{
	int count = 0;

	for (int i = 0; i < RESTORING_MAX; i++)
		count += is_busy(&restoring[i]) && restoring[i].stop.user == user &&
			 now - restoring[i].began > HANG_NS;
	return count;
}

/* A free entry; NULL: the user has too many, or all have. An entry is free some time after its use:
 * a program that stops over and over would take a CPU otherwise. */
static struct restoring *find_free(uint32_t user, uint64_t now)
{
	struct restoring *found = NULL;
	int count = 0;

	for (int i = 0; i < RESTORING_MAX; i++) {
		if (!is_busy(&restoring[i]) && now - restoring[i].began > RESTS_NS)
			found = &restoring[i];
		else
			count += restoring[i].stop.user == user;
	}
	return count < RESTORING_USER ? found : NULL;
}

/* Takes over the pidfd if a thread does so; or else it must be tried again. */
static bool begin(uint32_t process, const struct stopped_text *stop, const struct probed_text *text,
		  int pidfd)
{
	const uint64_t now = clock_now();
	struct restoring *one = find_free(stop->user, now);
	pthread_t thread;

	if (!one)
		return false;
	one->began = now;
	one->stop = *stop;
	one->text = *text;
	one->pidfd = pidfd;
	__atomic_store_n(&one->process, process, __ATOMIC_RELEASE);
	if (!pthread_create(&thread, NULL, restore, one)) {
		pthread_detach(thread);
		return true;
	}
	__atomic_store_n(&one->process, 0, __ATOMIC_RELEASE);
	return false;
}

/* True: not yet. */
static bool waits(const struct stopped_text *stop, const struct probed_text *text, uint64_t now)
{
	if (now - stop->since > STOP_NS)
		return false;
	return (text->known < stop->since && now - stop->since < KNOWN_NS) ||
	       !restore_may_begin(stop->pid, stop->tid);
}

/* What to do with those that still fill their copy. */
enum filling { IGNORED, AWAITED, RESTORED };

/* False: it is to be handled again, after a millisecond or more. */
static bool handle(uint32_t process, enum filling filling)
{
	struct probed_text text = {0};
	struct stopped_text stop;
	struct restoring *one;
	uint64_t now = clock_now();
	int pidfd;

	if (bpf_map_lookup_elem(held[STOPPED_TEXTS], &process, &stop) ||
	    (!stop.stopped && filling == IGNORED))
		return true;
	one = restoring_of(process);
	if (one)
		return now - one->began > HANG_NS;
	(void)bpf_map_lookup_elem(held[PROBED_TEXT], &process, &text);
	pidfd = proc_hold(stop.pid, now - stop.since);
	if (pidfd >= 0 && (stop.stopped ? waits(&stop, &text, now) : filling == AWAITED)) {
		close(pidfd);
		return false;
	}
	/* The latter: its user makes all of ours hang. */
	if (pidfd < 0 || count_hung(stop.user, now) == RESTORING_USER)
		let_go(process, pidfd);
	else if (!begin(process, &stop, &text, pidfd))
		close(pidfd);
	return false;
}

/* True: none is left. */
static bool handle_all(enum filling filling)
{
	uint32_t process, next;
	bool done = true, more;

	pthread_mutex_lock(&turn);
	more = !bpf_map_get_next_key(held[STOPPED_TEXTS], NULL, &next);
	while (more) {
		process = next;
		more = !bpf_map_get_next_key(held[STOPPED_TEXTS], &process, &next);
		done &= handle(process, filling);
	}
	pthread_mutex_unlock(&turn);
	return done;
}

/* --- the thread --------------------------------------------------------------------------- */

/* Where the kernel side's ring was read up to, and written. */
struct doorbell {
	unsigned long *read;
	const unsigned long *written;
};

static void rest(uint64_t ns)
{
	const struct timespec pause = {.tv_sec = (time_t)(ns / SECOND_NS),
				       .tv_nsec = (long)(ns % SECOND_NS)};

	nanosleep(&pause, NULL);
}

/* However many are stopped, most of the time is left to others. False: the time is over. */
static bool handle_until(enum filling filling, uint64_t end)
{
	uint64_t began = clock_now();

	while (!handle_all(filling)) {
		if (began > end)
			return false;
		rest(TURN_NS + REST * (clock_now() - began));
		began = clock_now();
	}
	return true;
}

static void *watch(void *context)
{
	const struct doorbell *doorbell = context;
	struct pollfd bell = {.fd = held[STOPPED_RING], .events = POLLIN};

	for (;;) {
		(void)poll(&bell, 1, -1);
		__atomic_store_n(doorbell->read,
				 __atomic_load_n(doorbell->written, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		(void)handle_until(IGNORED, UINT64_MAX);
	}
	return NULL;
}

/* The kernel's pages of a ring: where it was read up to; where it was written up to. */
static bool find_doorbell(struct doorbell *out)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *read = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, held[STOPPED_RING], 0);
	void *written = mmap(NULL, page, PROT_READ, MAP_SHARED, held[STOPPED_RING], (off_t)page);

	*out = (struct doorbell){read, written};
	return read != MAP_FAILED && written != MAP_FAILED;
}

/* Without a thread, stopped_end() does all. */
void stopped_begin(const int *fds)
{
	static struct doorbell doorbell;
	pthread_t thread;

	if (held[0] >= 0)
		return;
	for (int i = 0; i < STOPPED_FDS; i++)
		held[i] = dup(fds[i]);
	if (find_doorbell(&doorbell) && !pthread_create(&thread, NULL, watch, &doorbell))
		pthread_detach(thread);
}

bool stopped_awaits(void)
{
	return held[0] >= 0 && !handle_all(AWAITED);
}

void stopped_end(void)
{
	if (held[0] < 0)
		return;
	(void)handle_until(AWAITED, clock_now() + FILL_NS);
	close(held[STOPPED_PROGRAM]);
	rest(LATE_NS);
	(void)handle_until(RESTORED, clock_now() + FILL_NS);
}
