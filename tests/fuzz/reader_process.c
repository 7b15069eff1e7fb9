// SPDX-License-Identifier: BSD-2-Clause
/* reader_process.c: files from anywhere, handed to a reader process as the recorder does it. */
/*
 * What the reader is asked depends on the file: facts, rows and names of an ELF file,
 * names in code that a perf map or a jitdump file describes. Whatever the file is, the
 * answer must make sense, and the process must not die of a fault: a signal is one. It
 * may overrun its limits, or end because its memory is full, and is then replaced; how
 * often it does is written at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/client.h"
#include "reader/facts.h"
#include "reader/reader.h"
#include "reader/rows.h"
#include "reader/worker.h"

#define SECOND_NS UINT64_C(1000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct worker *worker;
static uint64_t requests, overruns, refused, full;
static uint64_t owner; /* a new one for each file */

/* The reader is this program, too: it begins before main(). */
__attribute__((constructor)) static void become_reader(int argc, char **argv)
{
	if (argc == 1 && !strcmp(argv[0], WORKER_READER))
		exit(reader_main());
}

pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

/* In place of waitpid() in worker.c, which gives a request that ended a process another try. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	int own = 0;
	pid_t found = __real_waitpid(pid, &own, options);

	if (found > 0 && WIFSIGNALED(own) && WTERMSIG(own) != SIGKILL) {
		fprintf(stderr, "the reader died of signal %d\n", WTERMSIG(own));
		abort();
	}
	if (status)
		*status = own;
	return found;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err));
	abort();
}

static void say(void)
{
	printf("%" PRIu64 " requests, %" PRIu64 " refused, %" PRIu64 " took too long, %" PRIu64
	       " took too much memory, %" PRIu64 " processes\n",
	       requests, refused, overruns, full, worker_deaths(worker) + 1);
	worker_free(worker);
}

/* The answer, false if there is none. */
static bool ask(uint32_t kind, const void *data, size_t size, int fd, struct worker_answer *answer)
{
	struct worker_order order = {
		.kind = kind,
		.data = data,
		.size = size,
		.fds = &fd,
		.n_fds = 1,
		.cpu_ns = 2 * SECOND_NS,
		.wall_ns = 10 * SECOND_NS,
		.answer_max = ROWS_ANSWER_MAX,
	};
	enum worker_state state;
	int err = worker_start(worker, &order);

	if (err)
		fail("a request cannot begin", -err);
	while ((state = worker_wait(worker, answer)) != WORKER_ANSWERED)
		if (state == WORKER_QUESTION)
			worker_supply(worker, "", 1, -1);
	requests++;
	refused += answer->err != 0;
	overruns += answer->err == -ETIME;
	full += answer->err == -ENOMEM;
	if (answer->err == -EPIPE || answer->err == -EBADMSG)
		fail("the reader gave up", -answer->err);
	return !answer->err;
}

static void ask_names(uint32_t kind, int fd, bool has_map, uint64_t step)
{
	struct names_message request = {
		.head = {.owner = owner, .count = NAMES_BATCH, .has_map = has_map}};
	static struct names_left left;
	struct symbol symbols[SYMBOLS_MAX];
	struct worker_answer answer;

	for (uint64_t i = 0; i < NAMES_BATCH; i++)
		request.places[i] = (struct name_place){i * step, UINT64_MAX};
	if (!ask(kind, &request, sizeof(request), fd, &answer))
		return;
	left.at = answer.data;
	left.size = answer.size;
	for (size_t i = 0; i < NAMES_BATCH; i++)
		if (names_take(&left, symbols) < 0)
			fail("names make no sense", EBADMSG);
	if (left.size)
		fail("there is more than names", EBADMSG);
}

static void ask_elf(int fd, size_t size)
{
	const struct probe_site *sites;
	struct worker_answer answer;
	struct unwind_file *rows;
	struct file_facts facts;

	if (ask(READ_FACTS, NULL, 0, fd, &answer) &&
	    facts_take(answer.data, answer.size, &facts, &sites))
		fail("facts make no sense", EBADMSG);
	if (ask(READ_ROWS, NULL, 0, fd, &answer)) {
		if (rows_take(answer.data, answer.size, &rows, &(struct walk_layouts){0}))
			fail("rows make no sense", EBADMSG);
		unwind_free(rows);
	}
	ask_names(READ_NAMES, fd, false, size / NAMES_BATCH + 1);
	ask_names(READ_TYPES, fd, false, size / NAMES_BATCH + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!worker) {
		if (worker_create(WORKER_READER, false, &worker))
			fail("no reader", ENOMEM);
		atexit(say);
	}
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		fail("no file in memory", errno);
	owner++;
	if (size > 4 && !memcmp(data, "\177ELF", 4)) {
		ask_elf(fd, size);
	} else {
		ask_names(READ_CODE, fd, true, 16);
		owner++;
		ask_names(READ_CODE, fd, false, 16);
	}
	close(fd);
	return 0;
}
