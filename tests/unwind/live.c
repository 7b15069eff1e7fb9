/* SPDX-License-Identifier: BSD-2-Clause */
/* live.c: walks a stopped thread as the kernel side would, and notes what the walk looked at. */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "symbols/unwind.h"

#define AREAS_MAX  1024
#define SPANS_MAX  8
#define GAP_MAX    65536 /* between two reads of one stack */
#define NOTED_MAX  4096
#define RULES_MAX  1024
#define ROW_WINDOW 3 /* rows on either side of the one that is used */

/* A line of /proc/PID/maps. */
struct area {
	uint64_t start, end, offset;
	char path[256];
	struct unwind_file *file; /* NULL: no rows */
	uint64_t base;            /* where the file's first page is mapped */
};

struct walk_window;
struct walk_rows;

struct live {
	pid_t pid;
	struct area areas[AREAS_MAX];
	unsigned n_areas;
	struct {
		uint64_t low, high;
	} spans[SPANS_MAX]; /* of memory that was read */
	unsigned n_spans;
	struct {
		unsigned area;
		uint32_t row; /* of the whole file */
	} noted[NOTED_MAX];   /* that were used */
	unsigned n_noted;
	struct unwind_rule rules[RULES_MAX];
	unsigned n_rules;
};

static struct live *walked; /* for the functions that the walker calls */

int live_read(const struct live *live, void *to, uint64_t size, uint64_t from)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};

	return process_vm_readv(live->pid, &here, 1, &there, 1, 0) == (ssize_t)size ? 0 : -EFAULT;
}

void live_need(struct live *live, uint64_t address, uint64_t size)
{
	for (unsigned i = 0; i < live->n_spans; i++) {
		uint64_t low = live->spans[i].low, high = live->spans[i].high;

		if (address + size + GAP_MAX < low || address > high + GAP_MAX)
			continue;
		live->spans[i].low = address < low ? address : low;
		live->spans[i].high = address + size > high ? address + size : high;
		return;
	}
	if (live->n_spans == SPANS_MAX)
		return;
	live->spans[live->n_spans].low = address;
	live->spans[live->n_spans++].high = address + size;
}

static long walk_read(struct walk_window *window, void *to, uint32_t size, uint64_t from)
{
	(void)window;
	if (live_read(walked, to, size, from))
		return -EFAULT;
	live_need(walked, from, size);
	return 0;
}

static int find_area(const struct live *live, uint64_t address)
{
	for (unsigned i = 0; i < live->n_areas; i++)
		if (address >= live->areas[i].start && address < live->areas[i].end)
			return (int)i;
	return -1;
}

const char *live_file(const struct live *live, uint64_t address)
{
	int at = find_area(live, address);

	return at < 0 ? "" : live->areas[at].path;
}

/* Not by the search of the kernel side: this one looks at every row of the page. */
static int walk_rule(struct walk_rows *rows, uint64_t ip, struct unwind_rule *rule)
{
	int at = find_area(walked, ip);
	const struct unwind_file *file = at < 0 ? NULL : walked->areas[at].file;
	uint64_t place, page;
	uint32_t row, end;

	(void)rows;
	if (!file)
		return 0;
	place = ip - walked->areas[at].base;
	page = place >> UNWIND_PAGE_SHIFT;
	if (page >= file->n_pages || !file->pages[page].count)
		return 0;
	row = file->starts[page];
	end = row + file->pages[page].count;
	while (row + 1 < end && (file->rows[row + 1] & 0xffff) <= (place & 0xffff))
		row++;
	if (walked->n_noted < NOTED_MAX) {
		walked->noted[walked->n_noted].area = (unsigned)at;
		walked->noted[walked->n_noted++].row = row;
	}
	*rule = file->rules[file->rows[row] >> 16];
	return rule->cfa != UNWIND_CFA_NONE;
}

#include "../../bpf/walk_native.h"

void live_walk(struct live *live, const struct live_registers *registers, struct live_stack *out)
{
	struct walk_native walk;
	struct event_native frame;

	walked = live;
	live_need(live, registers->sp, 2 * sizeof(uint64_t));
	walk_native_begin(&walk, registers->ip, registers->sp, registers->bp, registers->bx);
	while (walk_native_find(&walk, NULL)) {
		walk_native_get(&walk, NULL, &frame);
		/* As others report it. */
		out->native[walk.count - 1] = frame.ip - (walk.count > 1 && !walk.called);
		if (!walk_native_up(&walk, NULL))
			break;
	}
	out->n_native = walk.count;
	out->quality = walk.quality;
	out->guessed = walk.guessed;
}

/* --- what is mapped ----------------------------------------------------------------------- */

static int read_vdso(const struct live *live, struct area *area)
{
	uint64_t size = area->end - area->start;
	void *copy = malloc(size);
	int err = copy ? live_read(live, copy, size, area->start) : -ENOMEM;

	if (!err)
		err = unwind_read_memory(copy, size, &area->file);
	free(copy);
	return err;
}

static void read_rows(const struct live *live, struct area *area)
{
	uint64_t address;
	int fd;

	if (!strcmp(area->path, "[vdso]")) {
		area->offset = 0;
		if (read_vdso(live, area))
			return;
	} else {
		fd = open(area->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		if (unwind_read(fd, &area->file))
			area->file = NULL;
		close(fd);
	}
	if (!area->file)
		return;
	if (unwind_address(area->file->segments, area->file->n_segments, area->offset, &address)) {
		area->base = area->start - address + area->file->base;
		return;
	}
	unwind_free(area->file);
	area->file = NULL;
}

static int read_areas(struct live *live)
{
	char path[64], line[512];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)live->pid);
	maps = fopen(path, "r");
	if (!maps)
		return -errno;
	while (fgets(line, sizeof(line), maps) && live->n_areas < AREAS_MAX) {
		struct area *area = &live->areas[live->n_areas];
		char rights[8];

		*area = (struct area){0};
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %255[^\n]",
			   &area->start, &area->end, rights, &area->offset, area->path) < 4 ||
		    rights[2] != 'x')
			continue;
		if (*area->path == '/' || !strcmp(area->path, "[vdso]"))
			read_rows(live, area);
		live->n_areas++;
	}
	fclose(maps);
	return 0;
}

int live_open(pid_t pid, struct live **out)
{
	struct live *live = calloc(1, sizeof(*live));
	int err = live ? 0 : -ENOMEM;

	if (err)
		return err;
	live->pid = pid;
	live->n_rules = 1; /* number 0 is the empty one */
	err = read_areas(live);
	if (err)
		live_close(live);
	else
		*out = live;
	return err;
}

void live_close(struct live *live)
{
	for (unsigned i = 0; live && i < live->n_areas; i++)
		unwind_free(live->areas[i].file);
	free(live);
}

/* --- writing ------------------------------------------------------------------------------ */

static int write_memory(const struct live *live, FILE *to)
{
	for (unsigned i = 0; i < live->n_spans; i++) {
		uint64_t low = live->spans[i].low & ~UINT64_C(7), size = live->spans[i].high - low;
		uint8_t *bytes = malloc(size);
		int err = bytes ? live_read(live, bytes, size, low) : -ENOMEM;

		fprintf(to, "memory %" PRIx64 " ", low);
		for (uint64_t k = 0; !err && k < size; k++)
			fprintf(to, "%02x", bytes[k]);
		fputc('\n', to);
		free(bytes);
		if (err)
			return err;
	}
	return 0;
}

/* The number of a rule in the image, where it is written when it is new. */
static uint32_t rule_number(struct live *live, const struct unwind_rule *rule, FILE *to)
{
	unsigned i = 1;

	if (rule->cfa == UNWIND_CFA_NONE)
		return 0;
	while (i < live->n_rules && memcmp(&live->rules[i], rule, sizeof(*rule)))
		i++;
	if (i < live->n_rules || i == RULES_MAX)
		return i < RULES_MAX ? i : 0;
	live->rules[live->n_rules++] = *rule;
	fprintf(to, "rule %x %x %x %x %x %x %x %x %x %x\n", i, rule->cfa, rule->ra, rule->bp,
		rule->bx, (uint32_t)rule->cfa_offset, (uint16_t)rule->cfa_add,
		(uint16_t)rule->ra_offset, (uint16_t)rule->bp_offset, (uint16_t)rule->bx_offset);
	return i;
}

static bool is_near(const struct live *live, unsigned area, uint32_t row)
{
	for (unsigned i = 0; i < live->n_noted; i++)
		if (live->noted[i].area == area && row + ROW_WINDOW >= live->noted[i].row &&
		    row <= live->noted[i].row + ROW_WINDOW)
			return true;
	return false;
}

static bool is_page_used(const struct live *live, unsigned area, size_t page)
{
	const struct unwind_file *file = live->areas[area].file;

	for (unsigned i = 0; i < live->n_noted; i++)
		if (live->noted[i].area == area && live->noted[i].row >= file->starts[page] &&
		    live->noted[i].row - file->starts[page] < file->pages[page].count)
			return true;
	return false;
}

/* The first row of a page, which stands for all before the next, and those around the used ones.
 * Rules come before the page that names them. */
static void write_page(struct live *live, unsigned area, unsigned mapping, size_t page, FILE *to)
{
	const struct unwind_file *file = live->areas[area].file;
	uint32_t first = file->starts[page], count = file->pages[page].count;
	unwind_row kept[UNWIND_ROWS_MAX];
	unsigned n = 0;

	for (uint32_t row = first; row < first + count; row++) {
		const struct unwind_rule *rule = &file->rules[file->rows[row] >> 16];

		if (row == first || is_near(live, area, row))
			kept[n++] = (file->rows[row] & 0xffff) | rule_number(live, rule, to) << 16;
	}
	fprintf(to, "page %x %zx", mapping, page);
	for (unsigned i = 0; i < n; i++)
		fprintf(to, " %x", kept[i]);
	fputc('\n', to);
}

int live_write(struct live *live, FILE *to)
{
	unsigned mapping = 0;
	int err = write_memory(live, to);

	for (unsigned i = 0; !err && i < live->n_areas; i++) {
		const struct area *area = &live->areas[i];

		if (!area->file)
			continue;
		fprintf(to, "mapping %" PRIx64 " %" PRIx64 " %" PRIx64 " %zx\n", area->start,
			area->end, area->base, area->file->n_pages);
		for (size_t page = 0; page < area->file->n_pages; page++)
			if (is_page_used(live, i, page))
				write_page(live, i, mapping, page, to);
		mapping++;
	}
	return err;
}
