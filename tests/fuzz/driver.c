// SPDX-License-Identifier: BSD-2-Clause
/* driver.c: runs a fuzz target without a fuzzer: replays files, and changes them at random. */
/*
 *	TARGET [-t SECONDS] [-s SEED] FILE-OR-FOLDER ...
 *
 * Linked with a target in place of libFuzzer, for compilers that have none. Each
 * file is handed to the target as it is, then for SECONDS with random changes.
 * An input that kills the target is left behind in fuzz-input.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 1024
#define BYTES_MAX (4 << 20)
#define GROWTH    4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *data;
	size_t size;
};

static struct input inputs[FILES_MAX];
static size_t n_inputs;
static struct input current; /* what the target is being given */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void add_file(const char *path)
{
	FILE *file = fopen(path, "r");
	struct input input = {malloc(BYTES_MAX), 0};

	if (!file || !input.data || n_inputs == FILES_MAX) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	input.size = fread(input.data, 1, BYTES_MAX, file);
	fclose(file);
	input.data = realloc(input.data, input.size ? input.size : 1);
	inputs[n_inputs++] = input;
}

static void add(const char *path)
{
	struct stat st;
	struct dirent *entry;
	DIR *folder;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_file(path);
		return;
	}
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		char child[4096];

		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			add(child);
	}
	if (folder)
		closedir(folder);
}

/* A copy of exactly its size, so that the sanitizers see a read behind its end. */
static void run(const uint8_t *data, size_t size)
{
	current.data = malloc(size ? size : 1);
	current.size = size;
	memcpy(current.data, data, size);
	LLVMFuzzerTestOneInput(current.data, size);
	free(current.data);
	current.data = NULL;
}

static void keep_input(int signal_number)
{
	FILE *file = current.data ? fopen("fuzz-input", "w") : NULL;

	if (file) {
		fwrite(current.data, 1, current.size, file);
		fclose(file);
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* One change: a bit, a byte, a number, a piece moved, left out or doubled, the end cut off. */
static size_t change(uint8_t *data, size_t size, size_t room, uint64_t *random)
{
	static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe};
	size_t at = next_random(random) % size, other = next_random(random) % size;
	size_t length = 1 + next_random(random) % 64;

	if (length > size - at)
		length = size - at;
	if (length > size - other)
		length = size - other;
	switch (next_random(random) % 7) {
	case 0:
		data[at] ^= (uint8_t)(1 << next_random(random) % 8);
		return size;
	case 1:
		data[at] = (uint8_t)next_random(random);
		return size;
	case 2:
		memset(data + at, telling[next_random(random) % sizeof(telling)], length % 9);
		return size;
	case 3:
		memmove(data + at, data + other, length);
		return size;
	case 4:
		memmove(data + at, data + at + length, size - at - length);
		return size - length;
	case 5:
		if (size + length > room)
			return size;
		memmove(data + at + length, data + at, size - at);
		return size + length;
	default:
		return at + 1;
	}
}

static uint64_t mutate(double seconds, uint64_t random)
{
	struct timespec now, end;
	uint64_t runs = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	do {
		const struct input *input = &inputs[next_random(&random) % n_inputs];
		size_t size = input->size, room = size + GROWTH;
		uint8_t *data = malloc(room);
		unsigned changes = 1 + next_random(&random) % 8;

		memcpy(data, input->data, size);
		for (; changes && size; changes--)
			size = change(data, size, room, &random);
		run(data, size);
		free(data);
		runs++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	return runs;
}

int main(int argc, char **argv)
{
	uint64_t seed = (uint64_t)time(NULL), runs = 0;
	double seconds = 0;
	int choice;

	while ((choice = getopt(argc, argv, "t:s:")) != -1) {
		if (choice == 't')
			seconds = atof(optarg);
		else if (choice == 's')
			seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	for (; optind < argc; optind++)
		add(argv[optind]);
	if (!n_inputs) {
		fprintf(stderr, "%s: no files to replay\n", argv[0]);
		return 2;
	}
	printf("%zu files, seed %" PRIu64 "\n", n_inputs, seed);
	fflush(stdout);
	signal(SIGABRT, keep_input);
	signal(SIGSEGV, keep_input);
	for (size_t i = 0; i < n_inputs; i++)
		run(inputs[i].data, inputs[i].size);
	if (seconds > 0)
		runs = mutate(seconds, seed);
	printf("%" PRIu64 " changed inputs\n", runs);
	for (size_t i = 0; i < n_inputs; i++)
		free(inputs[i].data);
	return 0;
}
