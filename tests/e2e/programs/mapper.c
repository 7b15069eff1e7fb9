/* SPDX-License-Identifier: BSD-2-Clause */
/* mapper.c: maps files as if they were code: mapper [OPTIONS] FILE... */
/*
 *	-c		calls the code at the files' second page, one after the other
 *	-l		keeps a write lease on each file, and does not give it up when asked
 *	-n FOLDER	maps copies of the first file without end, each another file
 *	-d DEPTH	makes the paths of these copies long: folders in folders
 *	-k COUNT	makes no more copies than that, and keeps them mapped
 *	-r TO		unmaps each copy at once, with a link to TO in its place
 *	-a FOLDER	maps all files below it, which may be root's, over and over
 *	-s SECONDS	and then ends (default: never)
 *
 * Writes "ready" once all is mapped; the copies begin then.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CODE       0x1000
#define IMAGE_MAX  65536
#define FILES_MAX  4096
#define FOLDER     200 /* bytes of the name of one */
#define PATH_BYTES 4096

static struct {
	bool call, lease;
	const char *copies, *link_to, *all;
	long depth, keep;
	double seconds;
} options = {.keep = -1};

static void (*codes[FILES_MAX])(void);
static size_t n_codes;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* All of a file, or where it has holes only its begin. */
static char *map(int fd, const char *path, size_t *size)
{
	struct stat st;
	char *image;

	must(fstat(fd, &st) == 0 && st.st_size > 0, path);
	*size = (size_t)st.st_size < IMAGE_MAX ? (size_t)st.st_size : IMAGE_MAX;
	image = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	must(image != MAP_FAILED, path);
	return image;
}

static void map_file(const char *path)
{
	int fd = open(path, (options.lease ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	size_t size;
	char *image;

	must(fd >= 0, path);
	if (options.lease)
		must(fcntl(fd, F_SETLEASE, F_WRLCK) == 0, "F_SETLEASE");
	image = map(fd, path, &size);
	if (!options.lease) /* which ends with the descriptor */
		close(fd);
	if (size > CODE && n_codes < FILES_MAX)
		codes[n_codes++] = (void (*)(void))(uintptr_t)(image + CODE);
}

/* Folders in folders: this many bytes of a path are theirs. */
static void make_folders(char *path)
{
	char name[FOLDER + 1];

	memset(name, 'd', FOLDER);
	name[FOLDER] = '\0';
	for (long i = 0; i < options.depth; i++) {
		size_t used = strlen(path);

		must(used + FOLDER + 32 < PATH_BYTES, "so many folders");
		snprintf(path + used, PATH_BYTES - used, "/%s", name);
		must(mkdir(path, 0755) == 0 || errno == EEXIST, path);
	}
}

/* One more copy; another file every time, by its name, its number and what is in it. */
static void copy(const char *folder, char *image, size_t size, unsigned long number)
{
	char path[PATH_BYTES + 64];
	char *mapped;
	size_t length;
	int fd;

	snprintf(path, sizeof(path), "%s/copy-%d-%lu", folder, (int)getpid(), number);
	memcpy(image + 8, &number, sizeof(number)); /* padding of the header */
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	must(fd >= 0 && write(fd, image, size) == (ssize_t)size, path);
	mapped = map(fd, path, &length);
	close(fd);
	if (options.link_to) {
		must(unlink(path) == 0 && symlink(options.link_to, path) == 0, path);
	} else if (options.keep >= 0) {
		codes[n_codes++ % FILES_MAX] = (void (*)(void))(uintptr_t)(mapped + CODE);
		return;
	}
	munmap(mapped, length);
	if (!options.link_to)
		unlink(path);
}

static void make_copies(const char *from, double end)
{
	char *image = malloc(IMAGE_MAX), folder[PATH_BYTES];
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, image, IMAGE_MAX);

	must(size > CODE, from);
	snprintf(folder, sizeof(folder), "%s", options.copies);
	make_folders(folder);
	for (unsigned long i = 0; now() < end && (options.keep < 0 || i < (size_t)options.keep);
	     i++)
		copy(folder, image, (size_t)size, i + 1);
	free(image);
	close(fd);
}

/* A file of a walk. */
static int map_found(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	int fd = kind == FTW_F && st->st_size ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *image;

	(void)walk;
	if (fd < 0)
		return 0;
	image = mmap(NULL, CODE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (image != MAP_FAILED)
		munmap(image, CODE);
	return 0;
}

static void parse(int argc, char **argv)
{
	int choice;

	while ((choice = getopt(argc, argv, "cln:d:k:r:a:s:")) != -1) {
		switch (choice) {
		case 'c':
			options.call = true;
			break;
		case 'l':
			options.lease = true;
			break;
		case 'n':
			options.copies = optarg;
			break;
		case 'd':
			options.depth = strtol(optarg, NULL, 10);
			break;
		case 'k':
			options.keep = strtol(optarg, NULL, 10);
			break;
		case 'r':
			options.link_to = optarg;
			break;
		case 'a':
			options.all = optarg;
			break;
		case 's':
			options.seconds = strtod(optarg, NULL);
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	double end;

	parse(argc, argv);
	end = options.seconds > 0 ? now() + options.seconds : 1e18;
	signal(SIGIO, SIG_IGN); /* the kernel asks for the lease with it */
	for (int i = optind; i < argc; i++)
		map_file(argv[i]);
	puts("ready");
	fflush(stdout);
	if (options.copies && optind < argc)
		make_copies(argv[optind], end);
	while (options.all && now() < end)
		nftw(options.all, map_found, 16, FTW_PHYS);
	while (now() < end) {
		for (size_t i = 0; options.call && i < n_codes; i++)
			codes[i]();
		if (!options.call)
			usleep(10000);
	}
	return 0;
}
