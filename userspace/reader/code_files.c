// SPDX-License-Identifier: BSD-2-Clause
/* code_files.c: growing files in which processes describe code generated at run time. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../symbols/code_table.h"
#include "../symbols/jitdump.h"
#include "../util/buffer.h"
#include "../util/map.h"
#include "../util/monotonic.h"
#include "names.h"

#define BLOCK          ((size_t)1 << 20)
#define FILE_BYTES_MAX (INT64_C(1) << 30) /* per file */
#define DUMPS_MAX      8                  /* per process */

/* A growing file, and how far it was read. */
struct growing {
	int fd; /* -1: currently none */
	ino_t inode;
	off_t at;
	size_t wanted;        /* bytes needed to continue */
	struct jitdump *dump; /* NULL: a perf map */
	bool broken;
	uint64_t read; /* of a perf map: last time read, ns; 0: never */
};

struct process {
	struct code_table *table;
	struct growing map;
	struct growing dumps[DUMPS_MAX];
	size_t n_dumps;
};

struct code_files {
	struct map *processes; /* to struct process * */
	struct buffer block;
};

struct code_files *code_files_create(void)
{
	struct code_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->processes = map_create(sizeof(uint64_t));
	if (!files->processes) {
		free(files);
		return NULL;
	}
	return files;
}

static void process_free(void *value)
{
	struct process *process = value;

	if (!process)
		return;
	for (size_t i = 0; i < process->n_dumps; i++) {
		close(process->dumps[i].fd);
		jitdump_free(process->dumps[i].dump);
	}
	code_table_free(process->table);
	free(process);
}

void code_files_free(struct code_files *files)
{
	if (!files)
		return;
	map_free_all(files->processes, process_free);
	buffer_free(&files->block);
	free(files);
}

static struct process *code_files_get(struct code_files *files, uint64_t id)
{
	uint64_t *slot = map_put(files->processes, &id, NULL);
	struct process *process;

	if (!slot || *slot)
		return slot ? (struct process *)(uintptr_t)*slot : NULL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->map.fd = -1;
	process->map.wanted = 1;
	process->table = code_table_create();
	if (!process->table) {
		free(process);
		return NULL;
	}
	*slot = (uintptr_t)process;
	return process;
}

static int code_files_parse(struct process *process, struct growing *file,
			    const struct buffer *block, size_t *used)
{
	if (file->dump)
		return jitdump_parse(file->dump, block->data, block->size, used, &file->wanted);
	file->wanted = 1;
	return perf_map_parse(process->table, block->data, block->size, used);
}

/* Reads new data of a file. Malformed data ends reading permanently. */
static int read_new(struct code_files *files, struct process *process, struct growing *file)
{
	struct buffer *block = &files->block;
	size_t used = 1, size;
	ssize_t n;
	int err = 0;

	while (!err && used && !file->broken && file->at < FILE_BYTES_MAX) {
		size = file->wanted > BLOCK ? file->wanted : BLOCK;
		block->size = 0;
		if (buffer_reserve(block, size))
			return -ENOMEM;
		n = pread(file->fd, block->data, size, file->at);
		if (n <= 0 || (size_t)n < file->wanted)
			break;
		block->size = (size_t)n;
		err = code_files_parse(process, file, block, &used);
		file->at += (off_t)used;
		/* Needs more than was read: later, or with a larger block. */
		used += file->wanted > (size_t)n && (size_t)n == size;
	}
	file->broken |= err == -EBADMSG || err == -E2BIG;
	return err == -ENOMEM ? err : 0;
}

static int add_map(struct code_files *files, struct process *process, int fd)
{
	struct growing *map = &process->map;
	uint64_t now = monotonic_ns();
	struct stat st;
	int err;

	/* Another file, or one that was started anew. */
	if (!fstat(fd, &st) && (st.st_ino != map->inode || st.st_size < map->at))
		*map = (struct growing){.inode = st.st_ino, .wanted = 1};
	map->fd = fd;
	code_table_set_time(process->table, map->read);
	map->read = now;
	err = read_new(files, process, map);
	map->fd = -1;
	close(fd);
	return err;
}

static int add_dump(struct code_files *files, struct process *process, int fd)
{
	struct growing *dump = &process->dumps[process->n_dumps];

	if (process->n_dumps < DUMPS_MAX)
		*dump = (struct growing){
			.fd = fd, .wanted = 1, .dump = jitdump_create(process->table)};
	if (process->n_dumps == DUMPS_MAX || !dump->dump) {
		close(fd);
		return 0;
	}
	process->n_dumps++;
	return read_new(files, process, dump);
}

int code_files_add(struct code_files *files, uint64_t id, bool dump, int fd)
{
	struct process *process = fd >= 0 ? code_files_get(files, id) : NULL;

	if (!process) {
		if (fd >= 0)
			close(fd);
		return fd >= 0 ? -ENOMEM : 0;
	}
	return dump ? add_dump(files, process, fd) : add_map(files, process, fd);
}

size_t code_files_dumps(const struct code_files *files, uint64_t id)
{
	const uint64_t *slot = map_get(files->processes, &id);

	return slot && *slot ? ((const struct process *)(uintptr_t)*slot)->n_dumps : 0;
}

bool code_files_find(struct code_files *files, uint64_t id, uint64_t address, uint64_t time,
		     struct symbol *out)
{
	uint64_t *slot = map_get(files->processes, &id);
	struct process *process;

	if (!slot || !*slot)
		return false;
	process = (struct process *)(uintptr_t)*slot;
	for (size_t i = 0; i < process->n_dumps; i++) {
		if (read_new(files, process, &process->dumps[i]))
			return false;
	}
	return code_table_find(process->table, address, time, out);
}
