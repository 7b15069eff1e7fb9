// SPDX-License-Identifier: BSD-2-Clause
/* opener_memory.c: changes blocks and variables in the memory of programs, in the opener
 * process. */
/*
 * /proc/PID/mem stays with the memory that it was opened for. What is read about the process
 * afterwards may be of a program executed since; but then nothing is written, because the former
 * memory is gone. A write thus never reaches another program.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "opener.h"
#include "opener_process.h"
#include "../machine/clock.h"
#include "../../util/proc_file.h"
#include "../machine/proc_memory.h"

#define STAT_FIELD_START     22
#define STAT_FIELD_ARG_START 48        /* followed by the end, and both of the environment */
#define LINES_MAX            (1 << 17) /* mappings of a process */

#define MAPS_BYTES  (1 << 20) /* of lines about code */
#define WORDS_BYTES (1 << 20) /* of arguments and environment */

#define LOCK_TRIES 30 /* a program may keep the lock: others do not wait longer */
#define LOCK_NS    1000000

/* --- is it there? ------------------------------------------------------------------------- */

static int read_at(int folder, const char *name, char *text, size_t size)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	return 0;
}

/* `folder`: of one of its threads. */
static int read_started(int folder, uint64_t *out)
{
	char text[1024];
	const char *at;
	int err = read_at(folder, "../../stat", text, sizeof(text));

	if (err)
		return err;
	at = proc_file_stat(text, STAT_FIELD_START);
	*out = at ? strtoull(at, NULL, 10) : 0;
	return *out ? 0 : -EBADMSG;
}

/* A line of /proc/PID/maps. */
struct line {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	char rights[5];
	char name;    /* first character of its name: '[' of [heap]; 0: none */
	bool is_ours; /* belongs to the file: see belongs() */
};

static bool parse(const char *text, struct line *out)
{
	out->name = '\0';
	return sscanf(text,
		      "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64
		      " %c",
		      &out->start, &out->end, out->rights, &out->offset, &out->major, &out->minor,
		      &out->inode, &out->name) >= 7;
}

static bool is_file(const struct line *line, const struct opener_mapping *mapping)
{
	return line->inode == mapping->inode && line->major == mapping->major &&
	       line->minor == mapping->minor;
}

/* A part of the mapping may have been unmapped, or replaced by another mapping. */
static bool is_mapping(const struct line *line, const struct opener_mapping *mapping)
{
	return line->start <= mapping->start && mapping->start < line->end &&
	       is_file(line, mapping) &&
	       line->offset + (mapping->start - line->start) == mapping->offset;
}

/* A mapping of the file, or its .bss, which lies right after it. Heaps and stacks do not count,
 * whatever a file says about its variables. */
static bool belongs(const struct line *line, const struct line *before,
		    const struct opener_mapping *mapping)
{
	if (line->inode)
		return is_file(line, mapping);
	return !line->name && before->is_ours && line->start == before->end;
}

/* The program itself can write there too. */
static bool is_data(const struct line *line, const struct opener_memory *wanted)
{
	return line->is_ours && line->start <= wanted->address && wanted->address < line->end &&
	       wanted->size <= line->end - wanted->address && line->rights[1] == 'w';
}

/* Without a size, only the mapping matters. */
static int check_mappings(int folder, const struct opener_memory *wanted)
{
	int fd = openat(folder, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool mapped = false, data = !wanted->size;
	struct line line, before = {0};
	char *text = NULL;
	size_t size = 0;

	if (!file) {
		if (fd >= 0)
			close(fd);
		return -ESTALE;
	}
	for (int i = 0; i < LINES_MAX && !(mapped && data) && getline(&text, &size, file) > 0;
	     i++) {
		if (!parse(text, &line))
			continue;
		line.is_ours = belongs(&line, &before, &wanted->mapping);
		mapped |= is_mapping(&line, &wanted->mapping);
		data |= is_data(&line, wanted);
		before = line;
	}
	free(text);
	fclose(file);
	return mapped && data ? 0 : -ESTALE;
}

/* Code in no file, right between two mappings of one file, is a copy of that file's. */
static bool is_copy(const struct line *before, const struct line *line, const struct line *after)
{
	return !line->inode && !line->name && before->inode && before->end == line->start &&
	       after->start == line->end && after->inode == before->inode &&
	       after->minor == before->minor && after->major == before->major;
}

/* Writes a line; `file`: the name of what it is a copy of, or NULL. */
static int put_line(int fd, const char *text, const char *file)
{
	int n = file ? dprintf(fd, "%.*s " COPY_PREFIX "%s", (int)strcspn(text, "\n"), text, file)
		     : dprintf(fd, "%s", text);

	return n > 0 ? 0 : -EIO;
}

/* Executable lines, each when the next one is known. */
static int filter_maps(FILE *in, int fd)
{
	char *text = NULL, *held = NULL;
	struct line line, last = {0}, before = {0};
	size_t size = 0, used = 0;
	int err = 0;

	while (!err && used < MAPS_BYTES && getline(&text, &size, in) > 0) {
		if (!parse(text, &line))
			continue;
		if (held)
			err = put_line(fd, held,
				       is_copy(&before, &last, &line) ? strchr(text, '/') : NULL);
		free(held);
		held = line.rights[2] == 'x' ? strdup(text) : NULL;
		used += held ? strlen(held) : 0;
		before = last;
		last = line;
	}
	if (!err && held)
		err = put_line(fd, held, NULL);
	free(held);
	free(text);
	return err ? err : ferror(in) ? -ESRCH : 0;
}

int opener_read_maps(uint32_t pid)
{
	int from = proc_shown_open(pid, "maps", O_RDONLY), fd, err;
	FILE *in = from < 0 ? NULL : fdopen(from, "r");

	if (!in)
		return from < 0 ? from : -ENOMEM;
	fd = memfd_create("maps", MFD_CLOEXEC);
	err = fd < 0 ? -errno : filter_maps(in, fd);
	fclose(in);
	if (!err && !lseek(fd, 0, SEEK_SET))
		return fd;
	if (fd >= 0)
		close(fd);
	return err ? err : -EIO;
}

/* Appends memory of a process to a file. */
static int copy_words(uint32_t pid, uint64_t from, uint64_t until, int file)
{
	static char words[WORDS_BYTES];
	size_t size = until - from < sizeof(words) ? until - from : sizeof(words);
	ssize_t n = until > from ? proc_memory_fetch(pid, from, words, size) : 0;

	if (n < 0)
		return (int)n;
	return write(file, words, (size_t)n) == n && write(file, "", 1) == 1 ? 0 : -EIO;
}

/* Where arguments and environment begin and end. */
static int find_words(int folder, uint64_t bounds[4])
{
	char text[1024];
	const char *at;
	int err = read_at(folder, "stat", text, sizeof(text));

	if (err)
		return err;
	at = proc_file_stat(text, STAT_FIELD_ARG_START);
	if (!at || sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &bounds[0],
			  &bounds[1], &bounds[2], &bounds[3]) != 4)
		return -ESRCH;
	/* It is being executed. */
	return bounds[0] ? 0 : -EAGAIN;
}

/* Of a thread, whose number belongs to it while its folder is there. */
static int read_words(int folder, uint32_t thread, struct opener_file *executed)
{
	uint64_t bounds[4] = {0};
	char text[1024];
	struct stat st;
	int fd, err = find_words(folder, bounds);

	if (err)
		return err;
	if (fstatat(folder, "exe", &st, 0))
		return -errno;
	executed->inode = st.st_ino;
	fd = memfd_create("words", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = copy_words(thread, bounds[0], bounds[1], fd);
	err = err ? err : copy_words(thread, bounds[2], bounds[3], fd);
	err = err ? err : read_at(folder, "stat", text, sizeof(text));
	if (!err && !lseek(fd, 0, SEEK_SET))
		return fd;
	close(fd);
	return err ? err : -EIO;
}

int opener_read_words(uint32_t pid, struct opener_file *executed)
{
	uint32_t thread = proc_living_thread(pid);
	char path[PROC_SHOWN_MAX];
	int folder, fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32, pid, thread);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -ESRCH;
	fd = read_words(folder, thread, executed);
	close(folder);
	return fd;
}

static int check_process(int folder, const struct opener_memory *wanted, struct opener_block *out)
{
	int err = read_started(folder, &out->started);

	if (!err && wanted->started && wanted->started != out->started)
		err = -ESRCH;
	return err ? err : check_mappings(folder, wanted);
}

/* --- the control block -------------------------------------------------------------------- */

/* The folder of a thread. */
static int open_process(uint32_t pid)
{
	return proc_shown_open(pid, "", O_PATH | O_DIRECTORY);
}

/* 0: unknown. */
static uint64_t started_of(uint32_t pid)
{
	int folder = open_process(pid);
	uint64_t started = 0;

	if (folder >= 0 && read_started(folder, &started))
		started = 0;
	if (folder >= 0)
		close(folder);
	return started;
}

/* Pids of other namespaces mean nothing here. */
static bool is_gone(const struct gcprof_request *row, uint32_t space)
{
	uint64_t started;

	if (row->space != space)
		return false;
	if (kill((pid_t)row->recorder, 0) && errno == ESRCH)
		return true;
	started = started_of(row->recorder);
	return started && started != row->started;
}

static bool is_of(const struct gcprof_request *row, const struct gcprof_request *recorder)
{
	return row->recorder == recorder->recorder && row->space == recorder->space &&
	       row->started == recorder->started;
}

/* The recorder's row, or else one for it: a free one, or the oldest of another pid namespace, since
 * that recorder may be gone. NULL: as many recorders as there are rows are running. */
static struct gcprof_request *find_row(struct gcprof_control *block,
				       const struct gcprof_request *recorder)
{
	struct gcprof_request *oldest = NULL;

	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++) {
		struct gcprof_request *row = &block->requests[i];
		bool is_free = !row->recorder || row->space != recorder->space;

		if (is_of(row, recorder))
			return row;
		if (is_free && (!oldest || row->generation < oldest->generation))
			oldest = row;
	}
	return oldest;
}

/* Number of rows of recorders that were killed. */
static uint32_t free_rows(struct gcprof_control *block, uint32_t space)
{
	uint32_t freed = 0;

	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++) {
		struct gcprof_request *row = &block->requests[i];

		if (!row->recorder || !is_gone(row, space))
			continue;
		*row = (struct gcprof_request){0};
		freed++;
	}
	return freed;
}

static int change_rows(const struct opener_memory *wanted, struct gcprof_control *block,
		       struct opener_block *out)
{
	struct gcprof_request request = wanted->request, *row;
	struct stat space = {0};

	(void)stat("/proc/self/ns/pid", &space);
	request.space = (uint32_t)space.st_ino;
	request.started = started_of(request.recorder);
	request.generation = ++block->generation;
	out->freed = free_rows(block, request.space);
	row = find_row(block, &request);
	if (!row)
		return wanted->change == OPENER_JOIN ? -EUSERS : 0;
	out->changed = out->freed || wanted->change == OPENER_JOIN || is_of(row, &request);
	if (wanted->change == OPENER_JOIN)
		*row = request;
	else if (is_of(row, &request))
		*row = (struct gcprof_request){0};
	return 0;
}

/* This also brings in the pages for put(). */
static bool get(int memory, const struct opener_memory *wanted, void *out, size_t size)
{
	return proc_memory_read(memory, wanted->pid, wanted->address, out, size) == (ssize_t)size;
}

static bool put(int memory, const struct opener_memory *wanted, size_t offset, const void *data,
		size_t size)
{
	return pwrite(memory, data, size, (off_t)(wanted->address + offset)) == (ssize_t)size;
}

/* Programs see that the generation changed, and then read the rows. */
static bool write_rows(int memory, const struct opener_memory *wanted, struct gcprof_control *block)
{
	block->recorded = 0;
	for (int i = 0; i < GCPROF_RECORDERS_MAX; i++)
		block->recorded += block->requests[i].recorder != 0;
	return put(memory, wanted, offsetof(struct gcprof_control, requests), block->requests,
		   sizeof(block->requests)) &&
	       put(memory, wanted, offsetof(struct gcprof_control, generation), &block->generation,
		   sizeof(block->generation)) &&
	       put(memory, wanted, offsetof(struct gcprof_control, recorded), &block->recorded,
		   sizeof(block->recorded));
}

/* Recorders take turns. */
static void lock(int memory)
{
	const struct timespec pause = {.tv_nsec = LOCK_NS};

	for (int i = 0; i < LOCK_TRIES && flock(memory, LOCK_EX | LOCK_NB); i++)
		nanosleep(&pause, NULL);
}

/* Closing the descriptor unlocks. */
static int change_block(int memory, const struct opener_memory *wanted, struct opener_block *out)
{
	struct gcprof_control block;
	int err;

	lock(memory);
	if (!get(memory, wanted, &block, sizeof(block)) || block.magic != GCPROF_CONTROL_MAGIC ||
	    block.version != GCPROF_CONTROL_VERSION)
		return -ENOENT;
	out->recorded = block.recorded;
	err = change_rows(wanted, &block, out);
	if (err)
		return err;
	if (out->changed && !write_rows(memory, wanted, &block))
		return -EIO;
	out->written = clock_now();
	return 0;
}

/* --- variables ---------------------------------------------------------------------------- */

static bool is_variable(const struct opener_memory *wanted)
{
	return wanted->change == OPENER_WRITE || wanted->change == OPENER_CHECK;
}

static int change_variable(int memory, const struct opener_memory *wanted, struct opener_block *out)
{
	size_t size = wanted->size;

	if (!get(memory, wanted, &out->before, size))
		return -EIO;
	out->changed = wanted->change == OPENER_WRITE &&
		       !memcmp(&out->before, &wanted->expected, size);
	out->after = out->changed ? wanted->wanted : out->before;
	return !out->changed || put(memory, wanted, 0, &out->after, size) ? 0 : -EIO;
}

static bool has_size(const struct opener_memory *wanted)
{
	if (is_variable(wanted))
		return wanted->size && wanted->size <= sizeof(uint64_t);
	return wanted->size == sizeof(struct gcprof_control);
}

/* The memory of the intended process, opened with `flags`; a negative errno. */
static int open_memory(const struct opener_memory *wanted, int flags, struct opener_block *out)
{
	int folder = open_process(wanted->pid), memory, err;

	if (folder < 0)
		return -ESRCH;
	memory = openat(folder, "mem", flags | O_CLOEXEC);
	err = memory >= 0 ? check_process(folder, wanted, out) : errno == EACCES ? -EACCES : -ESRCH;
	close(folder);
	if (err && memory >= 0)
		close(memory);
	return err ? err : memory;
}

int opener_change_memory(const struct opener_memory *wanted, struct opener_block *out)
{
	int memory, err;

	*out = (struct opener_block){0};
	if (!has_size(wanted))
		return -EINVAL;
	memory = open_memory(wanted, O_RDWR, out);
	if (memory < 0)
		return memory;
	err = is_variable(wanted) ? change_variable(memory, wanted, out)
				  : change_block(memory, wanted, out);
	close(memory);
	return err;
}

/* The real user: the owner of the process's files in /proc may be root, because it cannot be
 * dumped. */
static int find_user(uint32_t pid, uid_t *out)
{
	char text[4096];
	const char *line;
	int err = proc_file_read(pid, "status", text, sizeof(text));

	line = err ? NULL : strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %u", out) == 1 ? 0 : -ESRCH;
}

int opener_open_space(const struct opener_space *wanted, uid_t *user)
{
	const struct opener_memory memory = {.pid = wanted->pid, .mapping = wanted->mapping};
	struct opener_block out;
	int fd = open_memory(&memory, O_RDONLY, &out);
	int result = fd < 0 ? fd : find_user(wanted->pid, user);

	if (!result)
		result = opener_serve_space(fd, wanted->pid, *user);
	if (fd >= 0)
		close(fd);
	return result;
}
