// SPDX-License-Identifier: BSD-2-Clause
/* source_unit.c: the functions of a DWARF compilation unit, with those inlined into them. */
/*
 * The tree of entries is walked once. Functions and inlined calls become scopes in tree order, so
 * the contents of a scope follow it. The functions' sorted ranges lead to the scopes.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "../util/monotonic.h"
#include "../util/sorted.h"
#include "source_lines.h"

#define DEPTH_MAX   128  /* nesting of entries */
#define RANGES_MAX  4096 /* per scope */
#define CLOCK_EVERY 32
#define LOOK_BACK   32 /* ranges allowed between an address and the range that contains it */

struct source_unit {
	struct buffer scopes; /* struct source_scope[] */
	struct buffer ranges; /* struct source_range[], in scope order */
	struct buffer starts; /* struct source_range[] of the functions, sorted */
};

struct walk {
	struct source_unit *unit;
	struct source_budget *budget;
	uint64_t last; /* last reading of the clock */
	bool failed;   /* no memory, or the budget is exhausted */
};

static struct source_scope *scopes(const struct source_unit *unit)
{
	return (struct source_scope *)(void *)unit->scopes.data;
}

static const struct source_range *ranges(const struct buffer *buffer)
{
	return (const struct source_range *)(const void *)buffer->data;
}

/* --- ranges ----------------------------------------------------------------------------- */

int source_ranges_add(struct buffer *all, Dwarf_Die *entry, uint32_t number, size_t max)
{
	struct source_range range = {.number = number};
	Dwarf_Addr base;
	ptrdiff_t offset = 0;

	for (size_t i = 0;
	     i < max && (offset = dwarf_ranges(entry, offset, &base, &range.low, &range.high)) > 0;
	     i++) {
		if (range.low < range.high && buffer_append(all, &range, sizeof(range)))
			return -ENOMEM;
	}
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct source_range *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void source_ranges_sort(struct buffer *all)
{
	if (all->size)
		qsort(all->data, all->size / sizeof(struct source_range),
		      sizeof(struct source_range), by_address);
}

const struct source_range *source_ranges_find(const struct buffer *all, uint64_t address)
{
	const struct source_range *items = ranges(all);
	size_t n = sorted_up_to(items, all->size / sizeof(*items), sizeof(*items), address);
	size_t first = n > LOOK_BACK ? n - LOOK_BACK : 0;

	for (; n > first; n--)
		if (address < items[n - 1].high)
			return &items[n - 1];
	return NULL;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Accounts for reading an entry; false if the budget is exhausted. */
static bool spend(struct walk *walk)
{
	struct source_budget *budget = walk->budget;
	uint64_t time, spent;

	if (walk->failed || !budget->entries || !budget->ns)
		return false;
	if (--budget->entries % CLOCK_EVERY)
		return true;
	time = monotonic_ns();
	spent = time - walk->last;
	walk->last = time;
	budget->ns = spent < budget->ns ? budget->ns - spent : 0;
	return budget->ns != 0;
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, unsigned depth);

/* Adds a function or an inlined call and, if it has code, its contents. */
static void add_scope(struct walk *walk, Dwarf_Die *entry, bool inlined, unsigned depth)
{
	struct source_unit *unit = walk->unit;
	size_t index = unit->scopes.size / sizeof(struct source_scope);
	struct source_scope scope = {
		.entry = dwarf_dieoffset(entry),
		.inlined = inlined,
		.first_range = unit->ranges.size / sizeof(struct source_range),
	};

	if (source_ranges_add(&unit->ranges, entry, (uint32_t)index, RANGES_MAX))
		walk->failed = true;
	scope.n_ranges = unit->ranges.size / sizeof(struct source_range) - scope.first_range;
	/* Without code it is only a template for inlining elsewhere. */
	if (!scope.n_ranges || index >= UINT32_MAX - 1)
		return;
	if (buffer_append(&unit->scopes, &scope, sizeof(scope)) ||
	    (!inlined && buffer_append(&unit->starts, ranges(&unit->ranges) + scope.first_range,
				       scope.n_ranges * sizeof(struct source_range))))
		walk->failed = true;
	else
		walk_children(walk, entry, depth);
	if (index < unit->scopes.size / sizeof(scope))
		scopes(unit)[index].end = (uint32_t)(unit->scopes.size / sizeof(scope));
}

static void walk_entry(struct walk *walk, Dwarf_Die *entry, unsigned depth)
{
	switch (dwarf_tag(entry)) {
	case DW_TAG_subprogram:
		add_scope(walk, entry, false, depth);
		break;
	case DW_TAG_inlined_subroutine:
		add_scope(walk, entry, true, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		walk_children(walk, entry, depth);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die entry;

	if (depth >= DEPTH_MAX || dwarf_child(parent, &entry))
		return;
	do {
		if (!spend(walk))
			return;
		walk_entry(walk, &entry, depth + 1);
	} while (!dwarf_siblingof(&entry, &entry));
}

struct source_unit *source_unit_read(Dwarf_Die *die, struct source_budget *budget)
{
	struct source_unit *unit = calloc(1, sizeof(*unit));
	struct walk walk = {.unit = unit, .budget = budget, .last = monotonic_ns()};

	if (!unit)
		return NULL;
	walk_children(&walk, die, 0);
	source_ranges_sort(&unit->starts);
	return unit;
}

void source_unit_free(struct source_unit *unit)
{
	if (!unit)
		return;
	buffer_free(&unit->scopes);
	buffer_free(&unit->ranges);
	buffer_free(&unit->starts);
	free(unit);
}

static bool holds(const struct source_unit *unit, const struct source_scope *scope,
		  uint64_t address)
{
	const struct source_range *range = ranges(&unit->ranges) + scope->first_range;

	for (size_t i = 0; i < scope->n_ranges; i++) {
		if (address >= range[i].low && address < range[i].high)
			return true;
	}
	return false;
}

size_t source_unit_find(const struct source_unit *unit, uint64_t address,
			const struct source_scope **out, size_t max)
{
	const struct source_scope *all = scopes(unit);
	const struct source_range *function = source_ranges_find(&unit->starts, address);
	uint32_t end;
	size_t n = 0;

	if (!function || !max)
		return 0;
	out[n++] = &all[function->number];
	end = all[function->number].end;
	for (uint32_t i = function->number + 1; i < end;) {
		if (n < max && all[i].inlined && holds(unit, &all[i], address)) {
			out[n++] = &all[i];
			end = all[i].end;
			i++;
		} else {
			i = all[i].end;
		}
	}
	return n;
}
