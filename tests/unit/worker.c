/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c: tests of processes that may die or hang, and of answers that make no sense. */
/* Plain: workers have their limits only without sanitizers. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "reader/facts.h"
#include "reader/names.h"
#include "reader/reader.h"
#include "reader/wire.h"
#include "reader/worker.h"
#include "test.h"

#define SECOND_NS UINT64_C(1000000000)

#define FLOOD "gcprof-flood"
#define LATE  "gcprof-late"

static struct worker *worker;
static int file;

/* A process that never stops to ask, as a reader could that its file has taken over. */
__attribute__((constructor)) static void become_flood(int argc, char **argv)
{
	const struct worker_reply question = {.flags = WORKER_ASKS};

	if (argc != 1 || strcmp(argv[0], FLOOD) != 0)
		return;
	while (send(WORKER_SOCKET, &question, sizeof(question), MSG_NOSIGNAL) > 0)
		;
	_exit(0);
}

/* A process that a busy machine lets start late, and that then answers at once. */
__attribute__((constructor)) static void become_late(int argc, char **argv)
{
	const struct timespec moment = {.tv_sec = 3};
	struct request request;

	if (argc != 1 || strcmp(argv[0], LATE) != 0)
		return;
	nanosleep(&moment, NULL);
	while (wire_receive(&request) > 0)
		wire_end(0, -1);
	_exit(0);
}

static void begin(void)
{
	CHECK_EQ(worker_create(WORKER_READER, false, &worker), 0);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(file >= 0);
}

static struct worker_answer ask(uint32_t kind, uint64_t cpu_ns, uint64_t wall_ns, size_t answer_max)
{
	const struct worker_order order = {
		.kind = kind,
		.fds = &file,
		.n_fds = 1,
		.cpu_ns = cpu_ns,
		.wall_ns = wall_ns,
		.answer_max = answer_max,
	};
	struct worker_answer answer = {.fd = -1};
	enum worker_state state;

	CHECK_EQ(worker_start(worker, &order), 0);
	CHECK(worker_is_busy(worker));
	while ((state = worker_wait(worker, &answer)) != WORKER_ANSWERED)
		CHECK_EQ(state, WORKER_WORKING);
	CHECK(!worker_is_busy(worker));
	CHECK_EQ(answer.fd, -1);
	return answer;
}

static struct worker_answer ask_rows(void)
{
	return ask(READ_ROWS, 60 * SECOND_NS, 120 * SECOND_NS, ROWS_ANSWER_MAX);
}

static pid_t find_child(void)
{
	char path[64], text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	return (pid_t)strtol(text, NULL, 10);
}

/* Asks for a name in the code that a process has made, whose jitdump file stays open. */
static void ask_code(uint64_t process)
{
	struct {
		struct names_request head;
		struct name_place place;
	} request = {.head = {.owner = process, .count = 1}};
	const struct worker_order order = {
		.kind = READ_CODE,
		.data = &request,
		.size = sizeof(request),
		.fds = &file,
		.n_fds = 1,
		.cpu_ns = SECOND_NS,
		.wall_ns = 10 * SECOND_NS,
		.answer_max = 4096,
	};
	struct worker_answer answer;

	CHECK_EQ(worker_start(worker, &order), 0);
	while (worker_wait(worker, &answer) != WORKER_ANSWERED)
		;
	CHECK_EQ(answer.err, 0);
}

/* The process that has served this user. */
static pid_t serve(uid_t user)
{
	char path[64], text[256] = "";
	const char *last;
	int fd;

	worker_serve(worker, user);
	CHECK_EQ(ask_rows().err, 0);
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 1);
	close(fd);
	/* One that was killed may still be there; a blank follows each. */
	text[strlen(text) - 1] = '\0';
	last = strrchr(text, ' ');
	return (pid_t)strtol(last ? last : text, NULL, 10);
}

/* All on one CPU: while this thread runs, no other does. */
static bool take_cpu(void)
{
	const struct sched_param first = {.sched_priority = 1};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	return !sched_setaffinity(0, sizeof(one), &one) &&
	       !sched_setscheduler(0, SCHED_FIFO, &first);
}

TEST(a_process_is_started_without_waiting_for_it)
{
	const struct sched_param none = {0};
	cpu_set_t before;

	begin();
	CHECK_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	if (take_cpu()) {
		CHECK_EQ(worker_prepare(worker), 0);
		CHECK_EQ(worker_cpu_ns(worker), 0);
	}
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	CHECK_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
	worker_free(worker);
	close(file);
}

TEST(a_process_is_started_where_there_is_no_standard_input)
{
	int input = dup(STDIN_FILENO);

	begin();
	CHECK(input >= 0 && !close(STDIN_FILENO));
	CHECK_EQ(ask_rows().err, 0);
	worker_free(worker);
	CHECK_EQ(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
	close(file);
}

TEST(processes_end_before_they_have_begun)
{
	begin();
	worker_free(worker);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(worker_create(WORKER_READER, false, &worker), 0);
		CHECK_EQ(worker_prepare(worker), 0);
		worker_free(worker);
	}
	/* Those that were killed last may still be there. */
	while (waitpid(-1, NULL, 0) > 0)
		;
	close(file);
	CHECK_EQ(errno, ECHILD);
}

TEST(a_process_sees_the_memory_of_one_users_programs_only)
{
	pid_t first, second;

	begin();
	first = serve(1000);
	CHECK_EQ(serve(1000), first);
	second = serve(0);
	CHECK(second != first);
	CHECK_EQ(serve(0), second);
	CHECK(serve(1001) != second);
	worker_free(worker);
	close(file);
}

TEST(a_stopped_process_is_replaced)
{
	pid_t child;

	begin();
	CHECK_EQ(ask_rows().err, 0);
	child = find_child();
	CHECK(child > 0 && !kill(child, SIGSTOP));
	CHECK_EQ(ask_rows().err, 0);
	CHECK_EQ(worker_deaths(worker), 1);
	worker_free(worker);
	close(file);
}

/* Keeps a process from doing anything, as a file system that hangs. */
static void hang(pid_t pid)
{
	int ends[2];
	char byte;

	CHECK(!pipe(ends));
	if (!fork()) {
		bool caught = !prctl(PR_SET_PDEATHSIG, SIGKILL) &&
			      !ptrace(PTRACE_SEIZE, pid, NULL, NULL) &&
			      !ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) &&
			      waitpid(pid, NULL, __WALL) == pid;

		(void)!write(ends[1], "", caught);
		pause();
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		test_skip("processes cannot be traced here");
	close(ends[0]);
}

TEST(what_hangs_is_left_behind_and_the_next_is_done)
{
	pid_t child;

	begin();
	CHECK_EQ(ask_rows().err, 0);
	child = find_child();
	CHECK(child > 0);
	hang(child);
	CHECK_EQ(ask(READ_ROWS, 60 * SECOND_NS, SECOND_NS / 5, ROWS_ANSWER_MAX).err, -ETIME);
	CHECK_EQ(worker_deaths(worker), 1);
	CHECK_EQ(ask_rows().err, 0);
	CHECK(worker_cpu_ns(worker) > 0);
	worker_free(worker);
}

TEST(the_start_of_a_process_is_not_the_time_of_its_request)
{
	/* Its answer may be late as well, but not as much. */
	const struct worker_order order = {.cpu_ns = SECOND_NS, .wall_ns = SECOND_NS * 5 / 2};
	struct worker_answer answer;

	CHECK_EQ(worker_create(LATE, false, &worker), 0);
	CHECK_EQ(worker_start(worker, &order), 0);
	while (worker_wait(worker, &answer) != WORKER_ANSWERED)
		;
	CHECK_EQ(answer.err, 0);
	worker_free(worker);
}

TEST(questions_without_end_end_with_the_time)
{
	struct worker_order order = {.cpu_ns = 60 * SECOND_NS, .wall_ns = SECOND_NS / 5};
	struct timespec moment = {.tv_nsec = 1000000};
	struct worker_answer answer;
	enum worker_state state;
	unsigned questions = 0;

	CHECK_EQ(worker_create(FLOOD, false, &worker), 0);
	alarm(60);
	/* They come faster than they are answered; the first may take long on a busy machine. */
	for (; !questions; order.wall_ns *= 2) {
		CHECK_EQ(worker_start(worker, &order), 0);
		while ((state = worker_wait(worker, &answer)) != WORKER_ANSWERED) {
			questions += state == WORKER_QUESTION;
			nanosleep(&moment, NULL);
		}
		CHECK_EQ(answer.err, -ETIME);
	}
	worker_free(worker);
}

TEST(answers_without_end_are_refused)
{
	begin();
	CHECK_EQ(ask(READ_ROWS, 60 * SECOND_NS, 120 * SECOND_NS, 100).err, -EBADMSG);
	CHECK_EQ(ask_rows().err, 0);
	worker_free(worker);
}

TEST(requests_that_make_no_sense_are_refused)
{
	begin();
	CHECK_EQ(ask(77, SECOND_NS, 60 * SECOND_NS, 100).err, -EBADMSG);
	CHECK_EQ(ask_rows().err, 0);
	CHECK_EQ(worker_deaths(worker), 0);
	worker_free(worker);
}

/* A copy of an answer, with room for nothing else: what reads behind it is caught. */
static void *copy_of(const struct worker_answer *answer, size_t size)
{
	void *copy = malloc(size);

	if (!copy || size > answer->size)
		abort();
	memcpy(copy, answer->data, size);
	return copy;
}

TEST(rows_that_make_no_sense_are_not_taken)
{
	struct worker_answer answer;
	struct unwind_file *rows;
	uint64_t seed = test_seed();
	unsigned taken = 0;

	begin();
	answer = ask_rows();
	CHECK_EQ(answer.err, 0);
	CHECK_EQ(rows_take(answer.data, answer.size, &rows, &(struct hotspot_layout){0}), 0);
	CHECK(rows->n_rows > 1000);
	unwind_free(rows);
	for (int i = 0; i < 300; i++) {
		size_t size = i % 3 ? answer.size : test_random(&seed) % answer.size;
		char *copy = copy_of(&answer, size);

		/* Most of what matters stands in the first bytes. */
		for (int k = 0; k < i % 5 && size; k++)
			copy[test_random(&seed) % (size < 128 ? size : 128)] =
				(char)test_random(&seed);
		if (!rows_take(copy, size, &rows, &(struct hotspot_layout){0})) {
			taken++;
			for (uint64_t at = 0; at < rows->n_pages << UNWIND_PAGE_SHIFT; at += 4099)
				unwind_find(rows, rows->base + at);
			unwind_free(rows);
		}
		free(copy);
	}
	CHECK(taken > 0 && taken < 200);
	worker_free(worker);
}

TEST(facts_that_make_no_sense_are_not_taken)
{
	const struct probe_site *sites;
	struct worker_answer answer;
	struct file_facts facts;
	struct {
		struct file_facts facts;
		struct probe_site site;
	} made = {.facts = {.n_sites = 1}};

	begin();
	answer = ask(READ_FACTS, 60 * SECOND_NS, 120 * SECOND_NS, 1 << 20);
	CHECK_EQ(answer.err, 0);
	CHECK_EQ(facts_take(answer.data, answer.size, &facts, &sites), 0);
	CHECK(facts.build_id_size > 0 && facts.n_segments > 0 && facts.interpreter[0] == '/');
	CHECK_EQ(facts_take(answer.data, answer.size - 1, &facts, &sites), -EBADMSG);
	CHECK_EQ(facts_take(answer.data, 10, &facts, &sites), -EBADMSG);
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), 0);
	made.facts.runtime.runtime = RUNTIMES;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.facts.runtime.runtime = UINT32_MAX;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.facts.runtime.runtime = RUNTIME_GO;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), 0);
	made.facts.runtime.n_own = RUNTIME_OWN_MAX + 1;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.facts.runtime = (struct runtime_facts){0};
	made.site.place.probe = PROBES;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.site.place.probe = 0;
	made.site.place.count = PROBE_ARGUMENTS + 1;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.site.place.count = 1; /* whose argument has no size */
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	made.site.place.count = 0;
	made.facts.n_segments = UNWIND_SEGMENTS_MAX + 1;
	CHECK_EQ(facts_take(&made, sizeof(made), &facts, &sites), -EBADMSG);
	worker_free(worker);
}

TEST(a_process_whose_descriptors_are_used_up_is_replaced)
{
	uint64_t limit = test_descriptors(32);
	struct worker_answer answer;

	begin();
	CHECK_EQ(worker_prepare(worker), 0);
	for (uint64_t process = 1; process <= 100; process++)
		ask_code(process);
	answer = ask(READ_FACTS, SECOND_NS, 10 * SECOND_NS, 1 << 20);
	CHECK_EQ(answer.err, 0);
	CHECK(worker_deaths(worker) >= 3);
	CHECK(worker_deaths(worker) <= 8);
	worker_free(worker);
	close(file);
	test_descriptors(limit);
}
