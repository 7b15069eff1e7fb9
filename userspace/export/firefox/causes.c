/* SPDX-License-Identifier: BSD-2-Clause */
/* causes.c: whose allocations caused a collection. */
/*
 * The model knows this of the longest pauses. Of all others, each process has running sums of the
 * samples since its last collection of a kind: bytes allocated, and the part of them that a
 * collection kept, which costs most. A collection takes the largest of them; if there was no
 * sample, it has the causes of the last one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../model/rows/sites.h"
#include "firefox.h"

enum { COMBOS_MAX = 128 }; /* combinations in a sum; of further ones only the bytes count */

struct recent {
	struct {
		double bytes, kept;
		uint32_t combo;
	} items[COMBOS_MAX];
	size_t count;
	double bytes, kept; /* of all */
};

static void add(struct recent *recent, uint32_t combo, double bytes, double kept)
{
	size_t i = 0;

	recent->bytes += bytes;
	recent->kept += kept;
	while (i < recent->count && recent->items[i].combo != combo)
		i++;
	if (i == COMBOS_MAX)
		return;
	if (i == recent->count) {
		recent->items[recent->count].combo = combo;
		recent->items[recent->count].bytes = recent->items[recent->count].kept = 0;
		recent->count++;
	}
	recent->items[i].bytes += bytes;
	recent->items[i].kept += kept;
}

int firefox_cause(struct ff_process *process, uint32_t combo, double bytes, double kept)
{
	for (int kind = 0; kind < CAUSE_KINDS; kind++) {
		if (!process->recent[kind])
			process->recent[kind] = calloc(1, sizeof(struct recent));
		if (!process->recent[kind])
			return -ENOMEM;
		add(process->recent[kind], combo, bytes, kept);
	}
	return 0;
}

/* The share of a combination; `taken` excludes those that were chosen before. */
static double share_of(const struct recent *recent, size_t i, const struct causes_found *taken)
{
	for (size_t j = 0; j < taken->count; j++)
		if (taken->items[j].combo == recent->items[i].combo)
			return 0;
	return recent->kept > 0 ? recent->items[i].kept / recent->kept
				: recent->items[i].bytes / recent->bytes;
}

int64_t firefox_take_causes(struct firefox *firefox, struct ff_process *process,
			    enum cause_kind kind)
{
	struct recent *recent = process->recent[kind];
	struct causes_found found = {.count = 0};

	for (size_t n = 0; recent && recent->bytes > 0 && n < CAUSES_SHOWN; n++) {
		double share = 0, most = 0;

		for (size_t i = 0; i < recent->count; i++) {
			share = share_of(recent, i, &found);
			if (share <= most)
				continue;
			most = share;
			found.items[n].combo = recent->items[i].combo;
		}
		if (most <= 0)
			break;
		found.items[n].share = most;
		found.count++;
	}
	if (recent)
		*recent = (struct recent){.count = 0};
	if (!found.count)
		return process->causes[kind];
	if (array_reserve(&firefox->causes, &firefox->causes_capacity, firefox->n_causes,
			  sizeof(found)) < 0)
		return -ENOMEM;
	firefox->causes[firefox->n_causes] = found;
	process->causes[kind] = (uint32_t)firefox->n_causes;
	return (int64_t)firefox->n_causes++;
}

/* --- texts --------------------------------------------------------------------------- */

/* A cause in words: its share, type, and functions (the allocating one first; NULL: no more). */
static size_t print(char *text, size_t size, double share, const char *type,
		    const char *const *functions)
{
	size_t used = (size_t)snprintf(text, size, "%.0f %% %.60s", 100 * share, type);

	for (int i = 0; i < SITE_FUNCTIONS && functions[i]; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%.60s", i ? " < " : " of ",
					 functions[i]);
	return used;
}

static void put(struct firefox *firefox, const char *text, uint64_t time, uint32_t stack)
{
	struct output *output = firefox->job.output;

	output_text(output, ",\"causedBy\":");
	output_string(output, text);
	output_text(output, ",\"cause\":{\"time\":");
	output_milliseconds(output, firefox_time(firefox, time));
	output_format(output, ",\"stack\":%u}", firefox_stack(firefox, stack));
}

void firefox_put_causes(struct firefox *firefox, uint32_t number, uint64_t time)
{
	const struct causes_found *found = &firefox->causes[number];
	const struct world *world = firefox->world;
	char text[CAUSES_TEXT] = "";
	size_t used = 0;

	for (size_t i = 0; number && i < found->count; i++) {
		const struct combo *combo = &firefox->combo_items[found->items[i].combo];
		const char *type = world->types.items[combo->type].name;
		const char *names[SITE_FUNCTIONS] = {"(no stack)"};
		uint32_t rows[SITE_FUNCTIONS] = {0};

		sites_functions(world, combo->stack, rows);
		for (int j = 0; j < SITE_FUNCTIONS && rows[j]; j++)
			names[j] = world->functions.rows[rows[j] - 1].name;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", i ? "; " : "");
		used += print(text + used, sizeof(text) - used, found->items[i].share,
			      type ? type : "?", names);
	}
	if (number)
		put(firefox, text, time, firefox->combo_items[found->items[0].combo].stack);
}

void firefox_put_pause_causes(struct firefox *firefox, const struct model_pause *pause)
{
	char text[CAUSES_TEXT] = "";
	size_t used = 0;

	for (size_t i = 0; i < pause->n_sites && i < CAUSES_SHOWN; i++) {
		const struct pause_site *site = &pause->sites[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", i ? "; " : "");
		used += print(text + used, sizeof(text) - used, pause_site_share(pause, site),
			      site->type, site->functions);
	}
	put(firefox, text, pause->start, pause->sites[0].stack);
}
