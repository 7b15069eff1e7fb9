/* SPDX-License-Identifier: BSD-2-Clause */
/* fibers.c: the fibers (goroutines, for example) that ran. */
#include "fibers.h"

#include <errno.h>

#include "../../util/map.h"
#include "world.h"

#define FIBERS_MAX (1 << 20) /* others are not counted */

struct fiber_key {
	uint64_t process, fiber;
};

void fibers_free(struct fibers *fibers)
{
	map_free(fibers->numbers);
	buffer_free(&fibers->stacks);
}

struct sighting {
	uint64_t thread, fiber, stack;
};

static struct sighting sighting_of(const struct record *record)
{
	switch (record->kind) {
	case RECORD_alloc:
		return (struct sighting){record->alloc.thread, record->alloc.fiber,
					 record->alloc.stack};
	case RECORD_cpu:
		return (struct sighting){record->cpu.thread, record->cpu.fiber, record->cpu.stack};
	case RECORD_syscall:
		return (struct sighting){record->syscall.thread, record->syscall.fiber,
					 record->syscall.stack};
	case RECORD_wait:
		return (struct sighting){record->wait.thread, record->wait.fiber,
					 record->wait.stack};
	default:
		return (struct sighting){0};
	}
}

/* The stacks of a fiber, created if needed. NULL: too many fibers, or *err is -ENOMEM. */
static struct fiber_stacks *stacks_of(struct fibers *fibers, const struct fiber_key *key, int *err)
{
	static const struct fiber_stacks none;
	uint64_t *number;

	*err = 0;
	if (!fibers->numbers)
		fibers->numbers = map_create(sizeof(*key));
	if (!fibers->numbers) {
		*err = -ENOMEM;
		return NULL;
	}
	number = map_get(fibers->numbers, key);
	if (!number && map_count(fibers->numbers) == FIBERS_MAX)
		return NULL;
	if (!number) {
		number = map_put(fibers->numbers, key, NULL);
		*err = number ? buffer_append(&fibers->stacks, &none, sizeof(none)) : -ENOMEM;
		if (*err)
			return NULL;
		*number = fibers->stacks.size / sizeof(none);
	}
	return (struct fiber_stacks *)(void *)fibers->stacks.data + *number - 1;
}

static void add_stack(const struct tree *tree, struct fiber_stacks *stacks, uint32_t stack)
{
	uint32_t outermost = stack, i = 0;

	for (uint32_t id = stack; id; id = tree_node(tree, id)->parent)
		outermost = id;
	while (i < stacks->count && stacks->outermost[i] != outermost)
		i++;
	if (i == FIBER_STACKS || (i < stacks->count && stack == outermost))
		return;
	/* The last counts: the first goroutine runs the program's initialisation first. */
	stacks->stacks[i] = stack;
	stacks->outermost[i] = outermost;
	stacks->count += i == stacks->count;
}

int fibers_record(struct fibers *fibers, const struct world *world, const struct record *record)
{
	const struct sighting seen = sighting_of(record);
	const struct thread *thread = seen.fiber ? tasks_find_thread(&world->tasks, seen.thread)
						 : NULL;
	struct fiber_stacks *stacks;
	struct fiber_key key;
	int err;

	if (!thread)
		return 0;
	key = (struct fiber_key){thread->process, seen.fiber};
	stacks = stacks_of(fibers, &key, &err);
	/* Ignores an undefined stack: its record will be refused. */
	if (stacks && seen.stack && tree_node(&world->tree, seen.stack))
		add_stack(&world->tree, stacks, (uint32_t)seen.stack);
	return err;
}

size_t fibers_count(const struct fibers *fibers)
{
	return fibers->stacks.size / sizeof(struct fiber_stacks);
}

const struct fiber_stacks *fibers_get(const struct fibers *fibers, size_t index)
{
	return (const struct fiber_stacks *)(const void *)fibers->stacks.data + index;
}
