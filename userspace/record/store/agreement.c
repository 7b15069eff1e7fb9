// SPDX-License-Identifier: BSD-2-Clause
/* agreement.c: do stacks walked in the kernel agree with the same stacks walked from copies? */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "agreement.h"
#include "../../util/log.h"
#include "../../util/map.h"

#define PLACES_MAX  4096 /* kept */
#define PLACES_TOLD 20

/* The function at which walks parted: the last that both have found. */
struct place {
	uint64_t class;
	uint64_t module; /* id; 0: no file, `offset` is an address */
	uint64_t offset;
};

struct agreement {
	uint64_t counts[AGREE_CLASSES];
	struct map *places; /* struct place to how often */
};

int agreement_create(struct agreement **out)
{
	struct agreement *agreement = calloc(1, sizeof(*agreement));

	if (!agreement)
		return -ENOMEM;
	agreement->places = map_create(sizeof(struct place));
	if (!agreement->places) {
		free(agreement);
		return -ENOMEM;
	}
	*out = agreement;
	return 0;
}

void agreement_free(struct agreement *agreement)
{
	if (!agreement)
		return;
	map_free(agreement->places);
	free(agreement);
}

enum agreement_class agreement_compare(const struct walked_stack *walked,
				       const struct stack_walk *copied, size_t *at)
{
	size_t n = 0;

	while (n < walked->count && n < copied->count &&
	       walked->frames[n].ip == copied->frames[n].ip)
		n++;
	*at = n;
	if (n == walked->count && n == copied->count)
		return AGREE_SAME;
	if (n == copied->count && copied->quality & STACK_USER_CUT)
		return AGREE_CUT;
	if (n == walked->count && walked->quality & STACK_USER_CUT)
		return AGREE_CUT;
	if (walked->early)
		return AGREE_EARLY;
	if (walked->quality & STACK_USER_GUESSED)
		return AGREE_GUESSED;
	if (n == copied->count)
		return AGREE_FURTHER;
	if (n == walked->count)
		return AGREE_SHORTER;
	return AGREE_DIFFERENT;
}

static void add_place(struct agreement *agreement, enum agreement_class class,
		      const struct process *process, uint64_t ip)
{
	const struct mapping *mapping = mappings_find(process->mappings, ip);
	struct place place = {class, 0, ip};
	uint64_t *count;

	if (mapping) {
		place.module = mapping->module;
		place.offset = ip - mapping->start + mapping->offset;
	}
	count = map_get(agreement->places, &place);
	if (!count && map_count(agreement->places) < PLACES_MAX)
		count = map_put(agreement->places, &place, NULL);
	if (count)
		++*count;
}

/* Code that was made at run time may have a name, but no file that says how to go on. */
static bool lies_in_file(struct modules *modules, const struct process *process, uint64_t ip)
{
	const struct mapping *mapping = mappings_find(process->mappings, ip);
	const struct module *module = mapping ? modules_get(modules, mapping->module) : NULL;

	return module && !module->process;
}

void agreement_add(struct agreement *agreement, struct modules *modules,
		   const struct process *process, const struct walked_stack *walked,
		   const struct stack_walk *copied)
{
	size_t at;
	enum agreement_class class = agreement_compare(walked, copied, &at);

	if (class == AGREE_GUESSED && at &&
	    !lies_in_file(modules, process, copied->frames[at - 1].ip))
		class = AGREE_NO_FILE;
	agreement->counts[class]++;
	if (class > AGREE_EARLY && class != AGREE_NO_FILE && at)
		add_place(agreement, class, process, copied->frames[at - 1].ip);
}

/* --- telling -------------------------------------------------------------------------------- */

static const char *const class_names[AGREE_CLASSES] = {
	[AGREE_SAME] = "are the same",
	[AGREE_CUT] = "are the same as far as the copy reaches",
	[AGREE_FURTHER] = "go on where the walk of the copy ends",
	[AGREE_SHORTER] = "end where the walk of the copy goes on",
	[AGREE_EARLY] = "were taken from the copy, since rows were not there (yet)",
	[AGREE_GUESSED] = "part where frame pointers were followed for want of rows",
	[AGREE_NO_FILE] = "part behind code that was made at run time",
	[AGREE_DIFFERENT] = "are different",
};

static void tell_place(const struct place *place, uint64_t count, struct modules *modules)
{
	const struct module *module = modules_get(modules, place->module);

	log_info("stacks: %8" PRIu64 " %s behind %s+%#" PRIx64, count, class_names[place->class],
		 module ? module->path : "(no file)", place->offset);
}

/* The place that has the most below `limit`; places with the same count come in the map's order. */
static uint64_t tell_most(const struct agreement *agreement, struct modules *modules,
			  uint64_t limit, unsigned *told)
{
	uint64_t most = 0, *value;
	const void *key;

	for (size_t cursor = 0; map_next(agreement->places, &cursor, &key, &value);) {
		if (*value<limit && * value> most)
			most = *value;
	}
	for (size_t cursor = 0; most && map_next(agreement->places, &cursor, &key, &value);) {
		if (*value == most && (*told)++ < PLACES_TOLD)
			tell_place(key, *value, modules);
	}
	return most;
}

void agreement_tell(const struct agreement *agreement, struct modules *modules)
{
	uint64_t total = 0, known, same, most = UINT64_MAX;
	unsigned told = 0;

	if (!agreement)
		return;
	for (int i = 0; i < AGREE_CLASSES; i++)
		total += agreement->counts[i];
	same = agreement->counts[AGREE_SAME] + agreement->counts[AGREE_CUT];
	known = total - agreement->counts[AGREE_NO_FILE] - agreement->counts[AGREE_EARLY];
	log_info("stacks: %" PRIu64 " walked by rows and from copies; of %" PRIu64
		 " that rows describe %.3f %% agree",
		 total, known, known ? 100.0 * (double)same / (double)known : 0.0);
	for (int i = 0; i < AGREE_CLASSES; i++) {
		if (agreement->counts[i])
			log_info("stacks: %8" PRIu64 " %s", agreement->counts[i], class_names[i]);
	}
	while (most && told < PLACES_TOLD)
		most = tell_most(agreement, modules, most, &told);
}
