/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_random.c: random strings of actions on the collector; what fails is cut down and printed. */
/*
 * GCPROF_TEST_SEED=N repeats a run, GCPROF_STRINGS=N makes so many strings;
 * GCPROF_ACTIONS=HEX runs one, such as a failing test prints. GCPROF_CUT=0: what
 * fails stays whole, which saves the time where only the failing counts.
 */
#include "../model/gc_actions.h"

/* A string takes a tenth of a second: one that takes so much longer hangs. */
enum { STRINGS = 40, LENGTH = 6000, SHRINK_TRIES = 2000, HANGS_S = 120 };

static const struct actions_limits limits = {{1, 4, 30, 100}, .may_fork = true};

typedef bool (*fails_function)(const uint8_t *data, size_t size);

/* In a process of its own; its output is thrown away. */
static bool run_fails(const uint8_t *data, size_t size)
{
	int status;
	pid_t child;

	fflush(NULL);
	child = fork();
	if (child == 0) {
		CHECK(freopen("/dev/null", "w", stdout));
		CHECK(freopen("/dev/null", "w", stderr));
		alarm(HANGS_S);
		_exit(!actions_agree(data, size, &limits));
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	return status != 0;
}

/* Leaves out parts, from halves down to single bytes, as long as it still fails. */
static size_t shrink(uint8_t *data, size_t size, fails_function fails)
{
	uint8_t *shorter = malloc(size);
	int tries = 0;

	CHECK(shorter);
	for (size_t part = size / 2; part; part /= 2)
		for (size_t at = 0; at + part <= size && tries < SHRINK_TRIES; tries++) {
			memcpy(shorter, data, at);
			memcpy(shorter + at, data + at + part, size - at - part);
			if (!fails(shorter, size - part)) {
				at += part;
				continue;
			}
			size -= part;
			memcpy(data, shorter, size);
		}
	free(shorter);
	return size;
}

/* At once: what comes next may abort, and stdout be a pipe. */
static void print_actions(const uint8_t *data, size_t size)
{
	printf("GCPROF_ACTIONS=");
	for (size_t i = 0; i < size; i++)
		printf("%02x", data[i]);
	printf("\n");
	fflush(stdout);
}

static void run_given(const char *text)
{
	size_t size = strlen(text) / 2;
	uint8_t *data = malloc(size + 1);

	CHECK(data);
	for (size_t i = 0; i < size; i++) {
		unsigned byte;

		CHECK(sscanf(text + 2 * i, "%2x", &byte) == 1);
		data[i] = (uint8_t)byte;
	}
	CHECK(actions_agree(data, size, &limits));
	free(data);
}

static size_t cut_down(uint8_t *data, size_t size)
{
	const char *wanted = getenv("GCPROF_CUT");

	return wanted && strcmp(wanted, "0") == 0 ? size : shrink(data, size, run_fails);
}

/* Who asks for more has the time. */
static int strings_wanted(void)
{
	const char *text = getenv("GCPROF_STRINGS");

	if (!text || atoi(text) <= 0)
		return STRINGS;
	alarm(0);
	return atoi(text);
}

TEST(gc_random_actions_agree_with_shadows)
{
	uint64_t random = test_seed();
	int strings = strings_wanted();
	uint8_t data[LENGTH];

	if (getenv("GCPROF_ACTIONS")) {
		run_given(getenv("GCPROF_ACTIONS"));
		return;
	}
	for (int string = 0; string < strings; string++) {
		size_t size;

		for (size_t i = 0; i < LENGTH; i++)
			data[i] = (uint8_t)test_random(&random);
		if (!run_fails(data, LENGTH))
			continue;
		size = cut_down(data, LENGTH);
		printf("string %d fails, cut down to %zu bytes\n", string, size);
		print_actions(data, size);
		/* Here it may say why. */
		alarm(HANGS_S);
		actions_agree(data, size, &limits);
		test_fail(__FILE__, __LINE__, "it fails in a process of its own only");
	}
}

TEST(gc_random_failures_are_printed_even_if_they_abort)
{
	static const uint8_t data[] = {1, 2, 0xab};
	char text[64] = "";
	int pipes[2];
	pid_t child;

	CHECK_EQ(pipe(pipes), 0);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		dup2(pipes[1], STDOUT_FILENO);
		print_actions(data, sizeof(data));
		raise(SIGKILL);
	}
	close(pipes[1]);
	CHECK(waitpid(child, NULL, 0) == child);
	CHECK(read(pipes[0], text, sizeof(text) - 1) > 0);
	CHECK_STR(text, "GCPROF_ACTIONS=0102ab\n");
}

static bool contains_7_before_9(const uint8_t *data, size_t size)
{
	const uint8_t *seven = memchr(data, 7, size);

	return seven && memchr(seven, 9, size - (size_t)(seven - data));
}

TEST(gc_random_failures_are_cut_down)
{
	uint8_t data[300];

	memset(data, 1, sizeof(data));
	data[100] = 9;
	data[130] = 7;
	data[260] = 9;
	CHECK_EQ(shrink(data, sizeof(data), contains_7_before_9), 2);
	CHECK_EQ(data[0], 7);
	CHECK_EQ(data[1], 9);
}
