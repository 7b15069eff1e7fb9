/* SPDX-License-Identifier: BSD-2-Clause */
/* test.c: runs unit tests, one process each, and prints TAP. */
#include "test.h"

#include "reader/protocol.h"
#include "reader/reader.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/opener/opener.h"
#include "record/target/user_main.h"
#include "reader/worker.h"

/* The thread sanitizer makes half a minute of some tests where nothing else runs. */
#ifdef __SANITIZE_THREAD__
enum { TIMEOUT_S = 1200 };
#else
enum { TIMEOUT_S = 240 };
#endif
enum { EXIT_FAIL = 1, EXIT_SKIP = 77 };

/* Frames of the collector's programs are linked along the stack, so they have to lie on it. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_stack_use_after_return=0";
}

static struct test *first_test;
static struct test **last_test = &first_test;

void test_register(struct test *test)
{
	*last_test = test;
	last_test = &test->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
	va_list arguments;

	printf("%s:%d: ", file, line);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(NULL);
	_exit(EXIT_FAIL);
}

void test_skip(const char *reason)
{
	printf("SKIP %s\n", reason);
	fflush(NULL);
	_exit(EXIT_SKIP);
}

uint64_t test_seed(void)
{
	const char *text = getenv("GCPROF_TEST_SEED");
	uint64_t seed = 0;

	if (text)
		seed = strtoull(text, NULL, 0);
	else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		test_fail(__FILE__, __LINE__, "getrandom: %s", strerror(errno));
	printf("GCPROF_TEST_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
	return seed;
}

uint64_t test_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t test_descriptors(uint64_t most)
{
	struct rlimit limit;
	uint64_t before;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = most;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

_Noreturn static void run_child(const struct test *test, int output)
{
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	alarm(TIMEOUT_S);
	test->run();
	fflush(NULL);
	/* exit, not _exit: leak checkers report at exit. */
	exit(0);
}

static void print_comment(FILE *output)
{
	char line[4096];

	rewind(output);
	while (fgets(line, sizeof(line), output))
		printf("# %s%s", line, strchr(line, '\n') ? "" : "\n");
}

static void skip_reason(FILE *output, char *reason, size_t size)
{
	char line[256];

	rewind(output);
	while (fgets(line, sizeof(line), output)) {
		if (strncmp(line, "SKIP ", 5) == 0)
			snprintf(reason, size, "%.*s", (int)strcspn(line + 5, "\n"), line + 5);
	}
}

/* Returns 1 if the test failed. */
static int run_test(const struct test *test, int number)
{
	char reason[256] = "no reason given";
	FILE *output = tmpfile();
	int status;
	pid_t child;

	if (!output)
		test_fail(__FILE__, __LINE__, "tmpfile: %s", strerror(errno));
	fflush(NULL);
	child = fork();
	if (child == 0)
		run_child(test, fileno(output));
	if (child < 0 || waitpid(child, &status, 0) != child)
		test_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP) {
		skip_reason(output, reason, sizeof(reason));
		printf("ok %d %s # SKIP %s\n", number, test->name, reason);
		status = 0;
	} else if (status) {
		printf("not ok %d %s\n", number, test->name);
		if (WIFSIGNALED(status))
			printf("# killed by signal %d (%s)\n", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
		print_comment(output);
	} else {
		printf("ok %d %s\n", number, test->name);
	}
	fclose(output);
	return status != 0;
}

static bool is_wanted(const struct test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], test->name) == 0)
			return true;
	return argc < 2;
}

/* Tests of the collector can be built without the recorder. */
#pragma weak reader_main
#pragma weak opener_main
#pragma weak user_main

/* Is this a process that what is tested has started for work of its own? */
static bool is_worker(int argc, char **argv, const char *role, const void *work)
{
	return work && argc == 1 && strcmp(argv[0], role) == 0;
}

int main(int argc, char **argv)
{
	int number = 0, failed = 0;

	if (is_worker(argc, argv, WORKER_READER, (const void *)(uintptr_t)reader_main))
		return reader_main();
	if (is_worker(argc, argv, WORKER_OPENER, (const void *)(uintptr_t)opener_main))
		return opener_main();
	if (is_worker(argc, argv, WORKER_USER, (const void *)(uintptr_t)user_main))
		return user_main();
	/* Expected texts are UTF-8. */
	setenv("LC_ALL", "C.UTF-8", 1);
	for (const struct test *test = first_test; test; test = test->next) {
		if (argc == 2 && strcmp(argv[1], "-l") == 0)
			printf("%s\n", test->name);
		else if (is_wanted(test, argc, argv))
			failed += run_test(test, ++number);
	}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
