// SPDX-License-Identifier: BSD-2-Clause
/* reader_process.c: files from anywhere, handed to a reader process as the recorder does it. */
/*
 * What the reader is asked depends on the file: facts, rows and names of an ELF file,
 * names in code that a perf map or a jitdump file describes, which grow meanwhile. Each is the
 * memory of a program, too: with a control block and a name table, with a heap profile, with
 * interpreted functions, and with names in memory (Java, PyPy), with the ELF file as its library,
 * or that in FUZZ_LIBJVM. Whatever the file is, the answer must make sense, and the process must
 * not die of a fault: a signal is one. It may overrun its limits, or end because its memory is
 * full, and is then replaced; how often it does is written at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bpf/frame_place.h"
#include "../../bpf/hotspot.h"
#include "reader/client.h"
#include "reader/facts.h"
#include "reader/reader.h"
#include "reader/worker.h"
#include "reader_memory.h"
#include "symbols/elf_file.h"
#include "symbols/unwind_file.h"

#define SECOND_NS UINT64_C(1000000000)
#define BIAS      UINT64_C(0x7f0000000000) /* of a library in a process */
#define PARTS     3                        /* in which a growing file is written */

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
static bool ask(uint32_t kind, const void *data, size_t size, const int *fds, size_t n_fds,
		struct worker_answer *answer)
{
	struct worker_order order = {
		.kind = kind,
		.data = data,
		.size = size,
		.fds = fds,
		.n_fds = n_fds,
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
	/* Of a heap profile, it is the program's list that is malformed, not the request. */
	if (answer->err == -EPIPE || (answer->err == -EBADMSG && kind != READ_HEAP))
		fail("the reader gave up", -answer->err);
	return !answer->err;
}

static void ask_names(uint32_t kind, const int *fds, size_t n_fds, struct names_message *request)
{
	static struct names_left left;
	struct symbol symbols[SYMBOLS_MAX];
	static struct worker_answer answer;

	request->head.owner = owner;
	request->head.count = NAMES_BATCH;
	if (!ask(kind, request, sizeof(*request), fds, n_fds, &answer))
		return;
	left.at = answer.data;
	left.size = answer.size;
	for (size_t i = 0; i < NAMES_BATCH; i++)
		if (names_take(&left, symbols) < 0)
			fail("names make no sense", EBADMSG);
	if (left.size)
		fail("there is more than names", EBADMSG);
}

static void ask_places(uint32_t kind, int fd, bool has_map, uint64_t step)
{
	struct names_message request = {.head.has_map = has_map};

	for (uint64_t i = 0; i < NAMES_BATCH; i++)
		request.places[i] = (struct name_place){i * step, UINT64_MAX};
	ask_names(kind, &fd, 1, &request);
}

/* Where the code of a library is, 0: it has none. */
static uint64_t code_of(int library, uint64_t *offset)
{
	struct unwind_segment segment = {0};
	Elf *elf = elf_open(library);

	if (elf)
		elf_code_segments(elf, &segment, 1);
	elf_end(elf);
	*offset = segment.offset;
	return segment.address;
}

static void ask_remote(int library, const uint8_t *data, size_t size)
{
	struct names_message request = {0};
	int fds[2] = {reader_memory_begin(data, size), library};

	if (fds[0] < 0)
		fail("no memory to read", errno);
	request.head.start = BIAS + code_of(library, &request.head.offset);
	for (uint64_t i = 0; i < NAMES_BATCH; i++)
		request.places[i].place = i % 3 == 0   ? hotspot_interpreted(i * 32, i)
					  : i % 3 == 1 ? hotspot_code(i * 32 + 8, 77)
						       : frame_own_place(i, 0);
	ask_names(READ_REMOTE, fds, 2, &request);
	reader_memory_end();
}

static void check_name(void *context, const struct table_name *name, const char *text,
		       const char *file)
{
	size_t *bytes = context;

	/* Sanitizers see what lies outside of the answer. */
	*bytes += strnlen(text, name->text_size) + strnlen(file, name->file_size);
}

static void check_place(void *context, const struct heap_place *place, const uint64_t *stack)
{
	size_t *frames = context;

	for (uint32_t i = 0; i < place->depth; i++)
		*frames += stack[i] != 0;
}

static bool ask_program(uint32_t kind, const void *request, size_t request_size,
			const uint8_t *data, size_t size, struct worker_answer *answer)
{
	int socket = reader_memory_begin(data, size);
	bool answered;

	if (socket < 0)
		fail("no memory to read", errno);
	answered = ask(kind, request, request_size, &socket, 1, answer);
	reader_memory_end();
	return answered;
}

/* Its control block, and the first words of its heap profile, begin the input. */
static void ask_memory(const uint8_t *data, size_t size)
{
	const struct table_request table = {.control = 0};
	const struct heap_request heap = {.list = 0, .rate = sizeof(uint64_t)};
	struct worker_answer answer;
	size_t seen = 0;

	if (ask_program(READ_TABLE, &table, sizeof(table), data, size, &answer) &&
	    table_take(answer.data, answer.size, check_name, &seen) == -EBADMSG)
		fail("a name table makes no sense", EBADMSG);
	if (ask_program(READ_HEAP, &heap, sizeof(heap), data, size, &answer) &&
	    heap_take(answer.data, answer.size, check_place, &seen))
		fail("a heap profile makes no sense", EBADMSG);
	/* Nothing is as long as this: counting cannot be left out. */
	if (seen > SIZE_MAX / 2)
		abort();
}

/* The file grows between requests, and at the end is shorter than what was read. */
static void ask_growing(bool has_map, const uint8_t *data, size_t size)
{
	int fd = memfd_create("growing", MFD_CLOEXEC);
	size_t written = 0, next;

	if (fd < 0)
		fail("no file in memory", errno);
	owner++;
	for (int i = 1; i <= PARTS; i++, written = next) {
		next = size * (size_t)i / PARTS;
		if (pwrite(fd, data + written, next - written, (off_t)written) !=
		    (ssize_t)(next - written))
			fail("no file in memory", errno);
		ask_places(READ_CODE, fd, has_map, 16);
	}
	if (ftruncate(fd, (off_t)(size / 2)))
		fail("no file in memory", errno);
	ask_places(READ_CODE, fd, has_map, 16);
	close(fd);
}

static void ask_elf(int fd, const uint8_t *data, size_t size)
{
	const struct probe_site *sites;
	struct worker_answer answer;
	struct unwind_file *rows;
	struct file_facts facts;

	if (ask(READ_FACTS, NULL, 0, &fd, 1, &answer) &&
	    facts_take(answer.data, answer.size, &facts, &sites))
		fail("facts make no sense", EBADMSG);
	if (ask(READ_ROWS, NULL, 0, &fd, 1, &answer)) {
		if (rows_take(answer.data, answer.size, &rows, &(struct hotspot_layout){0}))
			fail("rows make no sense", EBADMSG);
		unwind_free(rows);
	}
	ask_places(READ_NAMES, fd, false, size / NAMES_BATCH + 1);
	ask_places(READ_TYPES, fd, false, size / NAMES_BATCH + 1);
	ask_remote(fd, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int libjvm = -1;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (!worker) {
		if (getenv("FUZZ_LIBJVM"))
			libjvm = open(getenv("FUZZ_LIBJVM"), O_RDONLY | O_CLOEXEC);
		if (worker_create(WORKER_READER, false, &worker))
			fail("no reader", ENOMEM);
		atexit(say);
	}
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		fail("no file in memory", errno);
	owner++;
	if (size > 4 && !memcmp(data, "\177ELF", 4)) {
		ask_elf(fd, data, size);
	} else {
		ask_growing(true, data, size);
		ask_growing(false, data, size);
		ask_places(READ_BYTECODE, fd, false, 16);
		if (libjvm >= 0 && size)
			ask_remote(libjvm, data, size);
	}
	if (size)
		ask_memory(data, size);
	close(fd);
	return 0;
}
