/* SPDX-License-Identifier: BSD-2-Clause */
/* spots.c: which of the program's own functions a stack belongs to, and what that called. */
/*
 * A stack is walked from its outermost frame inwards. Each of the program's own functions becomes
 * the one that counts; what it calls first of patterns.def is what it loses time by.
 */
#include "spots.h"

#include <stdlib.h>
#include <string.h>

#include "../rows/function_sums.h"
#include "../world/allocating.h"
#include "../world/world.h"
#include "patterns.h"

/* What is known of a function. */
struct trait {
	const struct pattern *pattern;
	bool own;
};

struct step {
	uint32_t node;
	struct spot spot; /* of the path up to here */
};

struct spot_walk {
	const struct world *world;
	struct trait *traits; /* by row of world->functions */
	size_t depth;
	struct step steps[STACK_NODES_MAX + 1]; /* from 1 on, outermost first */
	uint32_t path[STACK_NODES_MAX];         /* nodes of the next stack, innermost first */
};

/*
 * From which owner on functions count as the program's own: a program that was installed as a
 * package has little more than its beginning elsewhere.
 */
static enum owner least_owner(const struct functions *functions)
{
	uint64_t most[OWNER_PROGRAM + 1] = {0};

	for (size_t i = 0; i < functions->n_rows; i++) {
		const struct model_function *row = &functions->rows[i];
		uint64_t ns = functions->sums[i].total.cpu_ns;
		enum owner owner = is_entry(row) ? OWNER_SYSTEM : owner_of(row);

		most[owner] = ns > most[owner] ? ns : most[owner];
	}
	return most[OWNER_PACKAGE] / 4 > most[OWNER_PROGRAM] ? OWNER_PACKAGE : OWNER_PROGRAM;
}

struct spot_walk *spot_walk_create(const struct world *world)
{
	const struct functions *functions = &world->functions;
	struct spot_walk *walk = calloc(1, sizeof(*walk));
	enum owner least = least_owner(functions);

	if (!walk)
		return NULL;
	walk->world = world;
	walk->traits = calloc(functions->n_rows + 1, sizeof(*walk->traits));
	for (size_t i = 0; walk->traits && i < functions->n_rows; i++)
		walk->traits[i] = (struct trait){.pattern = pattern_of(&functions->rows[i]),
						 .own = owner_of(&functions->rows[i]) >= least};
	if (walk->traits)
		return walk;
	free(walk);
	return NULL;
}

void spot_walk_free(struct spot_walk *walk)
{
	if (walk)
		free(walk->traits);
	free(walk);
}

/* Go's deferred calls and closures run as "F.func1" of F. */
static bool is_closure_of(const struct functions *functions, uint32_t inner, uint32_t outer)
{
	const char *name = functions->rows[inner].name, *of = functions->rows[outer].name;
	size_t size = strlen(of);

	return strncmp(name, of, size) == 0 && strncmp(name + size, ".func", 5) == 0;
}

static void enter_own(const struct functions *functions, struct spot *spot, uint32_t row)
{
	bool same = spot->function == row + 1 ||
		    (spot->function && is_closure_of(functions, row, spot->function - 1));

	*spot = (struct spot){.function = same ? spot->function : row + 1,
			      .caller = same ? spot->caller : spot->function};
}

/* The outermost counts, unless it may be what the program is for, and the other one is not. */
static bool is_told_by(const struct pattern *known, const struct pattern *found)
{
	static const bool weak[PATTERN_CLASSES] = {
		[PATTERN_MATCHING] = true, [PATTERN_WRITES] = true, [PATTERN_READS] = true};
	static const bool strong[PATTERN_CLASSES] = {
		[PATTERN_REPEATED] = true, [PATTERN_SLOW_WAY] = true, [PATTERN_ERRORS] = true};

	return !known || (known->class == PATTERN_TAKE && found->class == PATTERN_LOCK) ||
	       (weak[known->class] && strong[found->class]);
}

static void enter(struct spot_walk *walk, uint32_t node)
{
	const struct world *world = walk->world;
	const struct frame *frame = tree_frame(&world->tree, tree_node(&world->tree, node)->frame);
	struct spot spot = walk->steps[walk->depth].spot;
	bool allocator = is_own_frame(&world->tree, frame);

	for (uint32_t i = 0; i < frame->n_functions; i++) {
		uint32_t row = world->functions.of_frames[frame->first_function + i];
		const struct trait *trait = &walk->traits[row];
		enum work_kind work = (enum work_kind)world->functions.sums[row].work;

		if (trait->own && !allocator)
			enter_own(&world->functions, &spot, row);
		else if (trait->pattern && is_told_by(spot.pattern, trait->pattern))
			spot.pattern = trait->pattern;
		if (spot.function && !spot.callee && !trait->own)
			spot.callee = row + 1;
		spot.collector |= work == WORK_COLLECTOR;
		spot.compiler |= work == WORK_COMPILER;
	}
	walk->steps[++walk->depth] = (struct step){node, spot};
}

struct spot spot_walk_to(struct spot_walk *walk, uint32_t stack)
{
	const struct tree *tree = &walk->world->tree;
	size_t length = 0, common = 0;

	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent)
		walk->path[length++] = id;
	while (common < length && common < walk->depth &&
	       walk->steps[common + 1].node == walk->path[length - 1 - common])
		common++;
	walk->depth = common;
	while (walk->depth < length)
		enter(walk, walk->path[length - 1 - walk->depth]);
	return walk->steps[walk->depth].spot;
}
