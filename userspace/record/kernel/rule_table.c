// SPDX-License-Identifier: BSD-2-Clause
/* rule_table.c: unwind rules in the kernel's map, each once, for as long as a file has it. */
/*
 * Numbers are used again. The kernel side keeps rules that it found by content,
 * not by number, so it cannot be misled by that.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "rule_table.h"
#include "../../util/map.h"

struct entry {
	struct unwind_rule rule;
	uint32_t holders; /* files */
};

struct rule_table {
	int fd;
	struct map *numbers; /* struct unwind_rule to its number */
	uint32_t used;       /* numbers with holders */
	uint32_t last;       /* the number that was given out last */
	struct entry entries[UNWIND_RULES_MAX];
};

int rule_table_create(int fd, struct rule_table **out)
{
	struct rule_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->fd = fd;
	table->numbers = map_create(sizeof(struct unwind_rule));
	if (!table->numbers) {
		free(table);
		return -ENOMEM;
	}
	*out = table;
	return 0;
}

void rule_table_free(struct rule_table *table)
{
	if (!table)
		return;
	map_free(table->numbers);
	free(table);
}

uint32_t rule_table_room(const struct rule_table *table)
{
	return UNWIND_RULES_MAX - 1 - table->used;
}

/* A number that nobody holds; there is one. 0 is that of the empty rule. */
static uint32_t find_unused(const struct rule_table *table)
{
	uint32_t number = table->last;

	do
		number = (number + 1) % UNWIND_RULES_MAX;
	while (!number || table->entries[number].holders);
	return number;
}

/* Gives the rule a number. */
static uint32_t add(struct rule_table *table, const struct unwind_rule *rule)
{
	uint64_t *slot;
	uint32_t number;

	if (!rule_table_room(table))
		return 0;
	number = find_unused(table);
	slot = map_put(table->numbers, rule, NULL);
	if (!slot)
		return 0;
	if (bpf_map_update_elem(table->fd, &number, rule, BPF_ANY)) {
		map_remove(table->numbers, rule);
		return 0;
	}
	*slot = number;
	table->entries[number].rule = *rule;
	table->last = number;
	table->used++;
	return number;
}

uint32_t rule_table_hold(struct rule_table *table, const struct unwind_rule *rule)
{
	const uint64_t *slot;
	uint32_t number;

	if (!rule->cfa)
		return 0;
	slot = map_get(table->numbers, rule);
	number = slot ? (uint32_t)*slot : add(table, rule);
	if (number)
		table->entries[number].holders++;
	return number;
}

void rule_table_release(struct rule_table *table, uint32_t number)
{
	struct entry *entry = &table->entries[number];

	if (!number || --entry->holders)
		return;
	map_remove(table->numbers, &entry->rule);
	table->used--;
}
