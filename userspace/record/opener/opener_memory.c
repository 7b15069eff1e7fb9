// SPDX-License-Identifier: BSD-2-Clause
/* opener_memory.c: changes blocks and variables in the memory of programs, in the opener process.
 */
/*
 * /proc/PID/mem stays with the memory that it was opened for. What is read about the process
 * afterwards may be of a program that it executed since, but then nothing is written: its
 * former memory is gone. So an order that was meant for one program never reaches another.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opener_process.h"
#include "../machine/proc_file.h"

#define STAT_FIELD_START 22
#define LINES_MAX        (1 << 17) /* of a process's mappings */

/* Blocks with a count have the same layout. */
_Static_assert(offsetof(struct gcprof_singly, count) ==
			       offsetof(struct gcprof_control, generation) &&
		       offsetof(struct gcprof_arrivals, count) ==
			       offsetof(struct gcprof_control, generation) &&
		       sizeof(struct gcprof_singly) == offsetof(struct gcprof_control, period) &&
		       sizeof(struct gcprof_arrivals) == offsetof(struct gcprof_control, period),
	       "gc/provider/frame.h");

/* --- is it there? ------------------------------------------------------------------------- */

static int read_started(int folder, uint64_t *out)
{
	int fd = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
	char text[1024];
	const char *at;
	ssize_t n;

	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	at = proc_file_stat(text, STAT_FIELD_START);
	*out = at ? strtoull(at, NULL, 10) : 0;
	return *out ? 0 : -EBADMSG;
}

/* A line of /proc/PID/maps. */
struct line {
	uint64_t start, end, offset, inode;
	uint32_t major, minor;
	char rights[5];
	char name;    /* that its name begins with: '[' of [heap]; 0: it has none */
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

/* Part of the mapping may have been unmapped, or be another mapping by now. */
static bool is_mapping(const struct line *line, const struct opener_mapping *mapping)
{
	return line->start <= mapping->start && mapping->start < line->end &&
	       is_file(line, mapping) &&
	       line->offset + (mapping->start - line->start) == mapping->offset;
}

/* Of the file, or what it has besides (.bss), which lies right behind it. Whatever a file says of
 * its variables, heaps and stacks are none. */
static bool belongs(const struct line *line, const struct line *before,
		    const struct opener_mapping *mapping)
{
	if (line->inode)
		return is_file(line, mapping);
	return !line->name && before->is_ours && line->start == before->end;
}

/* The program itself can write there, too. */
static bool is_data(const struct line *line, const struct opener_memory *wanted)
{
	return line->is_ours && line->start <= wanted->address && wanted->address < line->end &&
	       wanted->size <= line->end - wanted->address && line->rights[1] == 'w';
}

/* Without a size only the mapping counts. */
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

static int check_process(int folder, const struct opener_memory *wanted, struct opener_block *out)
{
	int err = read_started(folder, &out->started);

	if (!err && wanted->started && wanted->started != out->started)
		err = -ESRCH;
	return err ? err : check_mappings(folder, wanted);
}

/* --- the block ---------------------------------------------------------------------------- */

static bool change(const struct opener_memory *wanted, const struct gcprof_control *before,
		   struct gcprof_control *after)
{
	*after = *before;
	switch (wanted->change) {
	case OPENER_ASK:
		after->period = wanted->wanted.period;
		after->ceiling = wanted->wanted.ceiling;
		opener_count_change(after);
		return true;
	case OPENER_SWAP:
		*after = wanted->wanted;
		return !memcmp(before, &wanted->expected, wanted->size);
	case OPENER_CLEAR:
		after->generation = 0;
		after->period = after->ceiling = 0;
		return before->generation;
	case OPENER_RAISE:
		after->generation++;
		return true;
	case OPENER_BEGIN:
		after->generation = 1;
		return !before->generation;
	case OPENER_LOWER:
		after->generation--;
		return before->generation;
	default:
		return false;
	}
}

static bool put(int memory, const struct opener_memory *wanted, size_t offset, const void *data,
		size_t size)
{
	return pwrite(memory, data, size, (off_t)(wanted->address + offset)) == (ssize_t)size;
}

/* The generation goes last: the collector compares it. */
static bool write_block(int memory, const struct opener_memory *wanted,
			const struct gcprof_control *block)
{
	const size_t rates = offsetof(struct gcprof_control, period),
		     count = offsetof(struct gcprof_control, generation);

	return (wanted->size <= rates ||
		put(memory, wanted, rates, &block->period, wanted->size - rates)) &&
	       put(memory, wanted, count, &block->generation, sizeof(block->generation));
}

static int change_block(int memory, const struct opener_memory *wanted, struct opener_block *out)
{
	if (pread(memory, &out->before, wanted->size, (off_t)wanted->address) !=
		    (ssize_t)wanted->size ||
	    out->before.magic != wanted->magic || out->before.version != wanted->version)
		return -ENOENT;
	out->changed = change(wanted, &out->before, &out->after);
	if (!out->changed) {
		out->after = out->before;
		return 0;
	}
	return write_block(memory, wanted, &out->after) ? 0 : -EIO;
}

static bool is_variable(const struct opener_memory *wanted)
{
	return wanted->change == OPENER_WRITE || wanted->change == OPENER_LOOK;
}

static int change_variable(int memory, const struct opener_memory *wanted, struct opener_block *out)
{
	size_t size = wanted->size;

	if (pread(memory, &out->before, size, (off_t)wanted->address) != (ssize_t)size)
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
	return wanted->size == sizeof(struct gcprof_control) ||
	       wanted->size == offsetof(struct gcprof_control, period);
}

/* The memory of the process that is meant, opened with `flags`; a negative errno. */
static int open_memory(const struct opener_memory *wanted, int flags, struct opener_block *out)
{
	int folder, memory, err;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", wanted->pid);
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
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

int opener_open_space(const struct opener_space *wanted)
{
	const struct opener_memory memory = {.pid = wanted->pid, .mapping = wanted->mapping};
	struct opener_block out;

	return open_memory(&memory, O_RDONLY, &out);
}
