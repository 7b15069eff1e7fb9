/* SPDX-License-Identifier: BSD-2-Clause */
/* walk.c: finds the files of a directory tree, in the same order every time. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "indexer.h"

static int walk_path(struct indexer *indexer, struct index *index, const char *path, int depth);

static int enough(const struct indexer *indexer, const struct index *index)
{
	return indexer->max_files && index->n_files >= indexer->max_files;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The names in a directory, sorted; the caller frees them and the array. */
static char **read_names(DIR *dir, size_t *count)
{
	char **names = NULL;
	size_t capacity = 0;
	const struct dirent *entry;
	*count = 0;
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (*count == capacity) {
			capacity = capacity ? capacity * 2 : 16;
			names = reallocarray(names, capacity, sizeof(*names));
			if (!names)
				die("out of memory");
		}
		names[*count] = strdup(entry->d_name);
		if (!names[(*count)++])
			die("out of memory");
	}
	if (*count)
		qsort(names, *count, sizeof(*names), by_name);
	return names;
}

/* What cannot be read inside a directory is counted, and the walk goes on. */
static void walk_entry(struct indexer *indexer, struct index *index, const char *path, int depth)
{
	struct stat status;
	if (lstat(path, &status)) {
		indexer->skipped++;
		return;
	}
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return; /* links would lead out of the tree, the rest may block */
	if (walk_path(indexer, index, path, depth))
		indexer->skipped++;
}

/* Closes `fd`. */
NAMED_FUNCTION static int walk_directory(struct indexer *indexer, struct index *index, int fd,
					 const char *path, int depth)
{
	struct gc_thread *thread = indexer->thread;
	DIR *dir = fdopendir(fd);
	char **names;
	size_t count;
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	names = read_names(dir, &count);
	closedir(dir); /* now: a deep tree must not use up the descriptors */
	GC_FRAME(thread, frame, 0, struct index * index;);
	frame.root.index = index;
	for (size_t i = 0; i < count; i++) {
		char child[PATH_MAX];
		int length = snprintf(child, sizeof(child), "%s/%s", path, names[i]);
		if (length >= (int)sizeof(child))
			indexer->skipped++;
		else if (!enough(indexer, frame.root.index))
			walk_entry(indexer, frame.root.index, child, depth + 1);
		free(names[i]);
	}
	free(names);
	GC_FRAME_END(thread, frame);
	return 0;
}

static int walk_file(struct indexer *indexer, struct index *index, int fd, const char *path)
{
	int err = words_of_file(indexer, index, fd, path);
	close(fd);
	if (err != -ENOEXEC)
		return err;
	indexer->binary++;
	return 0;
}

static int walk_path(struct indexer *indexer, struct index *index, const char *path, int depth)
{
	struct stat status;
	int fd;
	if (depth > MAX_DEPTH)
		return -ELOOP;
	/* Between lstat and here it may have become anything: do not follow, do not wait. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &status)) {
		if (S_ISDIR(status.st_mode))
			return walk_directory(indexer, index, fd, path, depth);
		if (S_ISREG(status.st_mode))
			return walk_file(indexer, index, fd, path);
	}
	close(fd);
	return -EINVAL;
}

int walk(struct indexer *indexer, struct index *index, const char *path)
{
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	return enough(indexer, index) ? 0 : walk_path(indexer, index, path, 0);
}
