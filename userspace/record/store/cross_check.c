// SPDX-License-Identifier: BSD-2-Clause
/* cross_check.c: compares stacks walked in the kernel with the same stacks unwound from dumps. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cross_check.h"
#include "../../util/log.h"
#include "../../util/map.h"

#define PARTINGS_MAX   4096 /* kept at most */
#define PARTINGS_SHOWN 20

/* The function at which walks part: the last that both found. */
struct parting {
	uint64_t class;
	uint64_t module; /* id; 0: no file, `offset` is an address */
	uint64_t offset;
};

struct cross_check {
	uint64_t counts[CROSS_CLASSES];
	struct map *partings; /* struct parting to its count */
};

int cross_check_create(struct cross_check **out)
{
	struct cross_check *cross_check = calloc(1, sizeof(*cross_check));

	if (!cross_check)
		return -ENOMEM;
	cross_check->partings = map_create(sizeof(struct parting));
	if (!cross_check->partings) {
		free(cross_check);
		return -ENOMEM;
	}
	*out = cross_check;
	return 0;
}

void cross_check_free(struct cross_check *cross_check)
{
	if (!cross_check)
		return;
	map_free(cross_check->partings);
	free(cross_check);
}

/* Libunwind does not tell which functions a signal interrupted; walked ones are one byte further.
 */
static bool is_same(const struct event_native *walked, const struct event_native *copied)
{
	return walked->ip - copied->ip <= 1;
}

enum cross_check_class cross_check_compare(const struct walked_stack *walked,
					   const struct stack_walk *copied, size_t *at)
{
	size_t n = 0;

	while (n < walked->count && n < copied->count &&
	       is_same(&walked->frames[n], &copied->frames[n]))
		n++;
	*at = n;
	if (n == walked->count && n == copied->count)
		return CROSS_SAME;
	if (n == copied->count && copied->quality & STACK_USER_CUT)
		return CROSS_CUT;
	if (n == walked->count && walked->quality & STACK_USER_CUT)
		return CROSS_CUT;
	if (walked->early)
		return CROSS_EARLY;
	if (walked->quality & STACK_USER_GUESSED)
		return CROSS_GUESSED;
	if (n == copied->count)
		return CROSS_FURTHER;
	if (n == walked->count)
		return CROSS_SHORTER;
	return CROSS_DIFFERENT;
}

static void add_parting(struct cross_check *cross_check, enum cross_check_class class,
			const struct process *process, uint64_t ip)
{
	const struct mapping *mapping = mappings_find(process->mappings, ip);
	struct parting parting = {class, 0, ip};
	uint64_t *count;

	if (mapping) {
		parting.module = mapping->module;
		parting.offset = ip - mapping->start + mapping->offset;
	}
	count = map_get(cross_check->partings, &parting);
	if (!count && map_count(cross_check->partings) < PARTINGS_MAX)
		count = map_put(cross_check->partings, &parting, NULL);
	if (count)
		++*count;
}

/* Code generated at run time may have a name, but no file with unwind information. */
static bool lies_in_file(struct files *files, const struct process *process, uint64_t ip)
{
	const struct mapping *mapping = mappings_find(process->mappings, ip);
	const struct file *file = mapping ? files_by_module(files, mapping->module) : NULL;

	return file && !file->process;
}

void cross_check_add(struct cross_check *cross_check, struct files *files,
		     const struct process *process, const struct walked_stack *walked,
		     const struct stack_walk *copied)
{
	size_t at;
	enum cross_check_class class = cross_check_compare(walked, copied, &at);

	if (class == CROSS_GUESSED && at &&
	    !lies_in_file(files, process, copied->frames[at - 1].ip))
		class = CROSS_NO_FILE;
	cross_check->counts[class]++;
	if (class > CROSS_EARLY && class != CROSS_NO_FILE && at)
		add_parting(cross_check, class, process, copied->frames[at - 1].ip);
}

/* --- reporting -------------------------------------------------------------------------------- */

static const char *const class_names[CROSS_CLASSES] = {
	[CROSS_SAME] = "are the same",
	[CROSS_CUT] = "are the same as far as the dump reaches",
	[CROSS_FURTHER] = "go on where the walk of the dump ends",
	[CROSS_SHORTER] = "end where the walk of the dump goes on",
	[CROSS_EARLY] = "were taken from the dump, since rows were not there (yet)",
	[CROSS_GUESSED] = "part where frame pointers were followed for want of rows",
	[CROSS_NO_FILE] = "part after code that was made at run time",
	[CROSS_DIFFERENT] = "are different",
};

static void report_parting(const struct parting *parting, uint64_t count, struct files *files)
{
	const struct file *file = files_by_module(files, parting->module);

	log_info("stacks: %8" PRIu64 " %s after %s+%#" PRIx64, count, class_names[parting->class],
		 file ? file->path : "(no file)", parting->offset);
}

/* The parting with the highest count below `limit`; equal counts are in the map's order. */
static uint64_t report_most(const struct cross_check *cross_check, struct files *files,
			    uint64_t limit, unsigned *shown)
{
	uint64_t most = 0, *value;
	const void *key;

	for (size_t cursor = 0; map_next(cross_check->partings, &cursor, &key, &value);) {
		if (*value<limit && * value> most)
			most = *value;
	}
	for (size_t cursor = 0; most && map_next(cross_check->partings, &cursor, &key, &value);) {
		if (*value == most && (*shown)++ < PARTINGS_SHOWN)
			report_parting(key, *value, files);
	}
	return most;
}

void cross_check_report(const struct cross_check *cross_check, struct files *files)
{
	uint64_t total = 0, known, same, most = UINT64_MAX;
	unsigned shown = 0;

	if (!cross_check)
		return;
	for (int i = 0; i < CROSS_CLASSES; i++)
		total += cross_check->counts[i];
	same = cross_check->counts[CROSS_SAME] + cross_check->counts[CROSS_CUT];
	known = total - cross_check->counts[CROSS_NO_FILE] - cross_check->counts[CROSS_EARLY];
	log_info("stacks: %" PRIu64 " walked by rows and from dumps; of %" PRIu64
		 " that rows describe %.3f %% agree",
		 total, known, known ? 100.0 * (double)same / (double)known : 0.0);
	for (int i = 0; i < CROSS_CLASSES; i++) {
		if (cross_check->counts[i])
			log_info("stacks: %8" PRIu64 " %s", cross_check->counts[i], class_names[i]);
	}
	while (most && shown < PARTINGS_SHOWN)
		most = report_most(cross_check, files, most, &shown);
}
