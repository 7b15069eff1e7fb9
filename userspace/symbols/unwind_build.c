// SPDX-License-Identifier: BSD-2-Clause
/* unwind_build.c: builds sorted rows from the frame information of functions in any order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind_build.h"
#include "../util/array.h"
#include "../util/map.h"

#define ENTRY      64 /* bytes from the entry point to the next function */
#define PADDING    16 /* bytes between functions: nops that never run */
#define PAGE_BYTES (UINT64_C(1) << UNWIND_PAGE_SHIFT)
#define CACHE      256 /* recently found rules; a power of two */

#define INSTRUCTIONS_MAX (UINT64_C(1) << 26) /* per file: libLLVM has two million */

#define ADDRESS_END (UINT64_C(1) << 56) /* no code is loaded above */

/* Offsets from the stack pointer of registers that the kernel saves for a signal. */
enum { SAVED_BP = 120, SAVED_BX = 128, SAVED_SP = 160, SAVED_IP = 168 };

const struct unwind_rule unwind_signal_rule = {
	.cfa = UNWIND_CFA_SP_DEREF | UNWIND_CFA_SIGNAL,
	.ra = UNWIND_AT_SP,
	.bp = UNWIND_AT_SP,
	.bx = UNWIND_AT_SP,
	.cfa_offset = SAVED_SP,
	.ra_offset = SAVED_IP,
	.bp_offset = SAVED_BP,
	.bx_offset = SAVED_BX,
};

/* A row of a function before sorting. */
struct raw_row {
	uint32_t offset; /* from the function's start */
	uint32_t rule;
};

struct function {
	uint64_t begin, end;
	uint32_t first, count; /* in raw_rows */
};

struct unwind_builder {
	struct map *numbers; /* struct unwind_rule to its number + 1 */
	ARRAY(struct unwind_rule) rules;
	ARRAY(struct function) functions;
	ARRAY(struct raw_row) raw_rows;
	uint32_t cache[CACHE]; /* rule numbers by hash */
	uint64_t begin;        /* start of the function being added */
	uint64_t budget;       /* of instructions left to run */
	size_t sorted;         /* functions, by address */
	size_t refused;
};

/* The rows being written, in address order. */
struct output {
	struct unwind_file *file;
	size_t rows_max;
	uint64_t address; /* everything below is written */
	uint32_t rule;    /* in force at `address` */
};

size_t unwind_builder_count(const struct unwind_builder *builder)
{
	return array_count(&builder->functions);
}

struct unwind_builder *unwind_builder_create(void)
{
	static const struct unwind_rule empty;
	struct unwind_builder *builder = calloc(1, sizeof(*builder));

	if (!builder)
		return NULL;
	builder->budget = INSTRUCTIONS_MAX;
	builder->numbers = map_create(sizeof(struct unwind_rule));
	if (!builder->numbers || array_append(&builder->rules, &empty)) {
		unwind_builder_free(builder);
		return NULL;
	}
	return builder;
}

void unwind_builder_free(struct unwind_builder *builder)
{
	if (!builder)
		return;
	map_free(builder->numbers);
	buffer_free(&builder->rules.buffer);
	buffer_free(&builder->functions.buffer);
	buffer_free(&builder->raw_rows.buffer);
	free(builder);
}

/* --- collecting -------------------------------------------------------------------- */

/* The number of a rule; that of the empty rule when there are too many. */
static int rule_number(struct unwind_builder *builder, const struct unwind_rule *rule,
		       uint32_t *out)
{
	uint32_t hash = (uint32_t)rule->cfa_offset * 0x9e3779b1u ^
			(uint32_t)rule->bp_offset * 0x85ebca6bu ^ (uint32_t)rule->bx_offset ^
			(uint32_t)rule->cfa << 5;
	uint32_t *cached = &builder->cache[(hash ^ hash >> 16) % CACHE];
	uint64_t *slot;

	*out = *cached;
	if (!memcmp(&builder->rules.all[*cached], rule, sizeof(*rule)))
		return 0;
	slot = map_put(builder->numbers, rule, NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		size_t number = array_count(&builder->rules);

		*out = 0;
		if (number >= UNWIND_RULES_MAX)
			return 0;
		if (array_append(&builder->rules, rule))
			return -ENOMEM;
		*slot = number + 1;
	}
	*out = *cached = (uint32_t)(*slot - 1);
	return 0;
}

static int add_raw_row(void *context, uint64_t address, const struct unwind_rule *rule)
{
	struct unwind_builder *builder = context;
	struct raw_row row = {.offset = (uint32_t)(address - builder->begin)};
	int err;

	if (array_count(&builder->raw_rows) >= UNWIND_FILE_ROWS_MAX)
		return -E2BIG;
	err = rule->cfa ? rule_number(builder, rule, &row.rule) : 0;
	return err ? err : array_append(&builder->raw_rows, &row);
}

static int add_function(void *context, const struct frame_function *from)
{
	struct unwind_builder *builder = context;
	struct function function = {.begin = from->begin, .end = from->end};
	size_t first = builder->raw_rows.buffer.size;
	int err;

	if (from->end - from->begin > UINT32_MAX) {
		builder->refused++;
		return 0;
	}
	builder->begin = from->begin;
	err = frame_program_run(from, &builder->budget, add_raw_row, builder);
	if (err == -EBADMSG) {
		builder->refused++;
		builder->raw_rows.buffer.size = first;
		return 0;
	}
	if (err)
		return err;
	function.first = (uint32_t)(first / sizeof(struct raw_row));
	function.count =
		(uint32_t)((builder->raw_rows.buffer.size - first) / sizeof(struct raw_row));
	return array_append(&builder->functions, &function);
}

int unwind_builder_add(struct unwind_builder *builder, const struct frame_section *section)
{
	return frame_info_each(section, add_function, builder, &builder->refused);
}

int unwind_builder_function(struct unwind_builder *builder, uint64_t begin, uint64_t end)
{
	const struct function function = {
		.begin = begin,
		.end = end,
		.first = (uint32_t)array_count(&builder->raw_rows),
	};

	builder->begin = begin;
	return array_append(&builder->functions, &function);
}

int unwind_builder_row(struct unwind_builder *builder, uint64_t address,
		       const struct unwind_rule *rule)
{
	int err = add_raw_row(builder, address, rule);

	if (!err)
		builder->functions.all[unwind_builder_count(builder) - 1].count++;
	return err;
}

/* --- writing ------------------------------------------------------------------------ */

int unwind_builder_add_entry(struct unwind_builder *builder, uint64_t address)
{
	static const struct unwind_rule stop = {
		.cfa = UNWIND_CFA_SP, .ra = UNWIND_STOP, .cfa_offset = 8};
	struct function entry = {
		.begin = address,
		.end = address + ENTRY,
		.first = (uint32_t)array_count(&builder->raw_rows),
		.count = 1,
	};
	int err;

	for (size_t i = 0; i < unwind_builder_count(builder); i++) {
		const struct function *function = &builder->functions.all[i];

		if (function->begin <= address && function->end > address)
			return 0;
		if (function->begin > address && function->begin < entry.end)
			entry.end = function->begin;
	}
	builder->begin = address;
	err = add_raw_row(builder, address, &stop);
	return err ? err : array_append(&builder->functions, &entry);
}

static int by_begin(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static void sort_functions(struct unwind_builder *builder)
{
	size_t n = unwind_builder_count(builder);

	if (builder->sorted != n)
		qsort(builder->functions.all, n, sizeof(struct function), by_begin);
	builder->sorted = n;
}

int unwind_builder_gaps(struct unwind_builder *builder, uint64_t low, uint64_t high,
			unwind_gap_visit *visit, void *context)
{
	size_t n = unwind_builder_count(builder);
	int err = 0;

	sort_functions(builder);
	for (size_t i = 0; !err && i <= n && low < high; i++) {
		const struct function function = i < n ? builder->functions.all[i]
						       : (struct function){high, high, 0, 0};
		uint64_t end = function.begin < high ? function.begin : high;

		if (end > low && end - low >= PADDING)
			err = visit(context, low, end);
		if (function.end > low)
			low = function.end;
	}
	return err;
}

static int put_row(struct output *out, uint64_t address, uint32_t rule)
{
	struct unwind_file *file = out->file;
	size_t page = (size_t)((address - file->base) >> UNWIND_PAGE_SHIFT);
	unwind_row row = (uint32_t)(address & (PAGE_BYTES - 1)) | rule << 16;

	if (file->n_rows == out->rows_max)
		return -E2BIG;
	if (file->pages[page].count == UNWIND_ROWS_MAX)
		return 0;
	if (!file->pages[page].count++)
		file->starts[page] = (uint32_t)file->n_rows;
	file->rows[file->n_rows++] = row;
	return 0;
}

/* Another rule holds from `address` on, which is not below the written part. */
static int switch_rule(struct output *out, uint64_t address, uint32_t rule)
{
	uint64_t page = (out->address & ~(PAGE_BYTES - 1)) + PAGE_BYTES;
	int err = 0;

	/* Each page entered on the way begins with the rule in force. */
	for (; !err && page <= address; page += PAGE_BYTES) {
		if (page < address || rule == out->rule)
			err = put_row(out, page, out->rule);
	}
	if (!err && rule != out->rule)
		err = put_row(out, address, rule);
	out->address = address;
	out->rule = rule;
	return err;
}

static int put_function(struct output *out, const struct function *function,
			const struct raw_row *raw_rows, uint64_t high)
{
	int err = 0;

	if (function->begin < out->address || function->end > high)
		return 0; /* overlaps another function, or is not code */
	for (uint32_t i = 0; !err && i < function->count; i++)
		err = switch_rule(out, function->begin + raw_rows[i].offset, raw_rows[i].rule);
	return err;
}

/* A gap between two functions has no rule, unless it is too short to be code. */
static int put_gap(struct output *out, uint64_t end, uint64_t next)
{
	return next - end < PADDING ? 0 : switch_rule(out, end, 0);
}

static int put_functions(struct unwind_builder *builder, uint64_t high, size_t rows_max,
			 struct unwind_file *file)
{
	struct output out = {.file = file, .rows_max = rows_max, .address = file->base};
	uint64_t end = file->base;
	int err = put_row(&out, file->base, 0);

	for (size_t i = 0; !err && i < unwind_builder_count(builder); i++) {
		const struct function *function = &builder->functions.all[i];

		if (function->begin < end || function->end > high)
			continue;
		err = put_gap(&out, end, function->begin);
		if (!err)
			err = put_function(&out, function, builder->raw_rows.all + function->first,
					   high);
		end = function->end;
		file->functions++;
	}
	if (!err)
		err = switch_rule(&out, end, 0);
	return err ? err : switch_rule(&out, high, 0);
}

int unwind_builder_finish(struct unwind_builder *builder, uint64_t low, uint64_t high,
			  struct unwind_file *file)
{
	size_t n = unwind_builder_count(builder), pages, rows;
	int err;

	file->refused = builder->refused;
	file->base = low & ~(PAGE_BYTES - 1);
	if (!n || high <= low)
		return -ENODATA;
	if (high > ADDRESS_END)
		return -E2BIG;
	pages = (size_t)((high - file->base) / PAGE_BYTES) + 1;
	if (pages > UNWIND_FILE_PAGES_MAX)
		return -E2BIG;
	sort_functions(builder);
	/* A page has one row in addition to its raw rows; the end of a function is another row. */
	rows = array_count(&builder->raw_rows) + n + pages + 2;
	file->rows = malloc(rows * sizeof(*file->rows));
	file->pages = calloc(pages, sizeof(*file->pages));
	file->starts = calloc(pages, sizeof(*file->starts));
	if (!file->rows || !file->pages || !file->starts)
		return -ENOMEM;
	file->n_pages = pages;
	err = put_functions(builder, high, rows, file);
	file->n_rules = array_count(&builder->rules);
	file->rules = builder->rules.all;
	builder->rules.buffer = (struct buffer){0};
	return err ? err : file->functions ? 0 : -ENODATA;
}
