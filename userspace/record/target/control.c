// SPDX-License-Identifier: BSD-2-Clause
/* control.c: what programs that run already are asked for: a sampling period, their names. */
/*
 * A block is found by its symbol, and the opener takes it for one only if it begins with
 * what it must. There is one request at a time for a block; what is wanted of it by the
 * time that has ended comes next (block_step()).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../machine/clock.h"
#include "control.h"
#include "../world/snapshot.h"
#include "../../../gc/provider/frame.h"

enum { BLOCKS_MAX = 3000 }; /* of one struct control: the opener's queue has room for that */

#define WAIT_NS UINT64_C(3000000000)  /* for what processes are asked for, all of them */
#define END_NS  UINT64_C(10000000000) /* for all to be as they were */

/* A block of a program, to be made or kept as asked for. */
struct block {
	struct block *next;
	struct control *control;
	struct opener_memory order; /* where it is, and the request that is on its way */
	bool busy;                  /* there is one */
	bool asked;                 /* `before` is what it was, `after` what it was made */
	bool leave;                 /* is to be as it was before */
	bool leaving;               /* the request makes it so */
	bool counted;               /* gcprof_singly */
	uint64_t period, ceiling;   /* are to be asked for */
	struct gcprof_control before, after;
};

struct control {
	struct files *files;
	struct opener *opener;
	struct block *blocks;
	size_t n_blocks;
	uint64_t until; /* time up to which files and programs are waited for */
	int err;        /* of the last block that could not be asked */
};

int control_create(struct files *files, struct control **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->files = files;
	(*out)->opener = files_opener(files);
	(*out)->until = clock_now() + WAIT_NS;
	return 0;
}

/* --- searching ---------------------------------------------------------------------------- */

/* A search in one process. */
struct block_search {
	struct files *files;
	enum control_block block;
	control_found *found;
	void *context;
	uint64_t last; /* address: a file may be mapped in several pieces */
};

static void meet_file(void *context, struct event_mmap *event, const char *path)
{
	struct block_search *search = context;

	if (event->inode)
		files_meet(search->files, event, path);
}

static void search_mapping(void *context, struct event_mmap *event, const char *path)
{
	struct block_search *search = context;
	const struct file *file =
		files_find(search->files, event->major, event->minor, event->inode);
	uint64_t address;

	(void)path;
	if (!event->inode || !file || file->state != FILE_KNOWN ||
	    !file->facts.blocks[search->block] ||
	    !facts_locate(&file->facts, event->address, event->offset,
			  file->facts.blocks[search->block], &address) ||
	    address == search->last)
		return;
	search->last = address;
	search->found(search->context, event, address);
}

int control_search(struct files *files, uint32_t proc_pid, uint64_t until, enum control_block block,
		   control_found *found, void *context)
{
	struct block_search search = {files, block, found, context, 0};
	uint64_t now = clock_now();
	int err;

	if (until) {
		err = snapshot_mappings(proc_pid, 0, meet_file, &search);
		if (err)
			return err;
		files_settle(files, until > now ? until - now : 0);
	}
	return snapshot_mappings(proc_pid, 0, search_mapping, &search);
}

/* --- a block ------------------------------------------------------------------------------ */

static struct opener_memory order_of(const struct event_mmap *mapping, uint64_t address)
{
	return (struct opener_memory){
		.pid = mapping->header.tid,
		.mapping = opener_mapping_of(mapping),
		.address = address,
	};
}

/* For gcprof_control of a program; `counted`: for its gcprof_singly. */
static struct opener_memory block_order(const struct event_mmap *mapping, uint64_t address,
					bool counted)
{
	struct opener_memory order = order_of(mapping, address);

	order.magic = counted ? GCPROF_SINGLY_MAGIC : GCPROF_CONTROL_MAGIC;
	order.version = counted ? GCPROF_SINGLY_VERSION : GCPROF_CONTROL_VERSION;
	order.size = counted ? sizeof(struct gcprof_singly) : sizeof(struct gcprof_control);
	return order;
}

static void block_remove(struct block *block)
{
	struct control *control = block->control;
	struct block **at = &control->blocks;

	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
	control->n_blocks--;
	free(block);
}

static opener_done block_done;

static void block_send(struct block *block, enum opener_change change)
{
	block->order.change = change;
	block->busy = !opener_memory(block->control->opener, &block->order, block_done, block);
}

/* Sends the next request for it, if one is needed. False if there is nothing to keep of it. */
static bool block_step(struct block *block)
{
	struct opener_memory *order = &block->order;

	if (block->busy)
		return true;
	if (!block->asked) {
		if (block->leave)
			return false;
		order->wanted.period = block->period;
		order->wanted.ceiling = block->ceiling;
		block_send(block, block->counted ? OPENER_RAISE : OPENER_ASK);
		return block->busy;
	}
	order->expected = order->wanted = block->after;
	block->leaving = block->leave;
	if (block->leave) {
		order->wanted = block->before;
		block_send(block, block->counted ? OPENER_LOWER : OPENER_SWAP);
	} else if (!block->counted && block->after.ceiling != block->ceiling) {
		order->wanted.ceiling = block->ceiling;
		opener_count_change(&order->wanted);
		block_send(block, OPENER_SWAP);
	}
	return true;
}

/* Takes over what came of its request; false if it is not as it was asked to be any more. */
static bool block_take(struct block *block, const struct opener_result *result)
{
	const struct opener_memory *order = &block->order;
	bool changed = !result->err && result->block.changed;

	if (!block->asked) {
		block->control->err = result->err;
		block->asked = changed;
		block->before = result->block.before;
		block->order.started = result->block.started;
	} else if (order->change == OPENER_READ) {
		return !result->err &&
		       !memcmp(&result->block.before, &block->after, sizeof(block->after));
	} else if (block->leaving) {
		block->asked = block->leaving = false;
		return true;
	}
	if (changed)
		block->after = result->block.after;
	return changed;
}

static void search_control(struct control *control, uint32_t proc_pid, uint64_t ceiling);

static bool has_blocks(const struct control *control, uint32_t proc_pid)
{
	for (const struct block *block = control->blocks; block; block = block->next)
		if (block->order.pid == proc_pid && !block->counted)
			return true;
	return false;
}

static void block_done(void *context, const struct opener_result *result)
{
	struct block *block = context;
	struct control *control = block->control;
	uint32_t proc_pid = block->order.pid;
	uint64_t ceiling = block->ceiling;
	bool again;

	block->busy = false;
	if (block_take(block, result)) {
		if (!block_step(block))
			block_remove(block);
		return;
	}
	/* Another program may run in its place. */
	again = block->order.change == OPENER_READ && !block->leave && result->err != -ETIME;
	block_remove(block);
	if (again && !has_blocks(control, proc_pid))
		search_control(control, proc_pid, ceiling);
}

/* --- what is asked for -------------------------------------------------------------------- */

/* A search in one process. */
struct search {
	struct control *control;
	uint64_t period, ceiling;
	bool counted;
	int err;
};

static void add_block(void *context, const struct event_mmap *mapping, uint64_t address)
{
	struct search *search = context;
	struct control *control = search->control;
	struct block *block;

	block = control->n_blocks < BLOCKS_MAX ? calloc(1, sizeof(*block)) : NULL;
	if (!block) {
		search->err = -ENOMEM;
		return;
	}
	block->control = control;
	block->counted = search->counted;
	block->order = block_order(mapping, address, search->counted);
	block->period = search->period;
	block->ceiling = search->ceiling;
	block->next = control->blocks;
	control->blocks = block;
	control->n_blocks++;
	if (!block_step(block)) {
		block_remove(block);
		search->err = -ENOBUFS;
	}
}

static void search_control(struct control *control, uint32_t proc_pid, uint64_t ceiling)
{
	struct search search = {.control = control, .ceiling = ceiling};

	control_search(control->files, proc_pid, 0, BLOCK_CONTROL, add_block, &search);
}

/* How many blocks of a process are as asked for. */
static int count_asked(const struct control *control, uint32_t proc_pid, bool counted)
{
	int count = 0;

	for (const struct block *block = control->blocks; block; block = block->next)
		count += block->order.pid == proc_pid && block->counted == counted && block->asked;
	return count;
}

static uint64_t left(uint64_t until)
{
	uint64_t now = clock_now();

	return until > now ? until - now : 0;
}

static int set_and_wait(struct search *search, uint32_t proc_pid)
{
	struct control *control = search->control;
	int err, count;

	control->err = 0;
	err = control_search(control->files, proc_pid, control->until,
			     search->counted ? BLOCK_SINGLY : BLOCK_CONTROL, add_block, search);
	opener_settle(control->opener, left(control->until));
	count = count_asked(control, proc_pid, search->counted);
	err = err ? err : search->err;
	/* What has the symbol, but does not begin as it must, is none. */
	if (!err && control->err != -ENOENT)
		err = control->err;
	return count || !err ? count : err;
}

int control_set(struct control *control, uint32_t proc_pid, uint64_t period, uint64_t ceiling)
{
	struct search search = {.control = control, .period = period, .ceiling = ceiling};

	return set_and_wait(&search, proc_pid);
}

int control_singly(struct control *control, uint32_t proc_pid)
{
	struct search search = {.control = control, .counted = true};

	return set_and_wait(&search, proc_pid);
}

void control_keep(struct control *control, uint32_t proc_pid, uint64_t ceiling)
{
	bool known = false;

	for (struct block *block = control->blocks; block; block = block->next) {
		if (block->order.pid != proc_pid || block->counted)
			continue;
		known = true;
		block->leave = false;
		block->ceiling = ceiling;
		if (block->asked && !block->busy && block->after.ceiling == ceiling)
			block_send(block, OPENER_READ);
		else
			block_step(block);
	}
	if (!known)
		search_control(control, proc_pid, ceiling);
}

static void ignore(void *context, const struct opener_result *result)
{
	(void)context;
	(void)result;
}

void control_repeat(struct control *control)
{
	for (struct block *block = control ? control->blocks : NULL; block; block = block->next) {
		struct opener_memory order = block->order;

		order.change = OPENER_BEGIN;
		if (block->counted && block->asked)
			(void)opener_memory(control->opener, &order, ignore, NULL);
	}
}

int control_arrive(struct opener *opener, const struct event_mmap *mapping, uint64_t address,
		   opener_done *done, void *context)
{
	struct opener_memory order = order_of(mapping, address);

	order.magic = GCPROF_ARRIVALS_MAGIC;
	order.version = GCPROF_ARRIVALS_VERSION;
	order.size = sizeof(struct gcprof_arrivals);
	order.change = OPENER_RAISE;
	return opener_memory(opener, &order, done, context);
}

/* --- taking it back ----------------------------------------------------------------------- */

/* What a recorder that was killed left in one process. */
struct reclaiming {
	struct opener *opener;
	bool counted;
	int found, err;
};

static void reclaimed(void *context, const struct opener_result *result)
{
	struct reclaiming *reclaiming = context;

	reclaiming->found += !result->err && result->block.changed;
	if (result->err && result->err != -ENOENT)
		reclaiming->err = result->err;
}

static void reclaim(void *context, const struct event_mmap *mapping, uint64_t address)
{
	struct reclaiming *reclaiming = context;
	struct opener_memory order = block_order(mapping, address, reclaiming->counted);

	order.change = OPENER_CLEAR;
	(void)opener_memory(reclaiming->opener, &order, reclaimed, reclaiming);
}

int control_reclaim(struct files *files, uint32_t proc_pid)
{
	struct opener *opener = files_opener(files);
	struct reclaiming reclaiming = {.opener = opener};
	uint64_t until = clock_now() + WAIT_NS;
	int err = control_search(files, proc_pid, until, BLOCK_CONTROL, reclaim, &reclaiming);

	reclaiming.counted = true;
	if (!err)
		err = control_search(files, proc_pid, 0, BLOCK_SINGLY, reclaim, &reclaiming);
	opener_settle(opener, left(until));
	opener_cancel(opener, &reclaiming);
	err = err ? err : reclaiming.err;
	return reclaiming.found || !err ? reclaiming.found : err;
}

void control_restore(struct control *control)
{
	struct block *next;

	for (struct block *block = control->blocks; block; block = next) {
		next = block->next;
		block->leave = true;
		if (!block_step(block))
			block_remove(block);
	}
}

void control_free(struct control *control)
{
	uint64_t end = clock_now() + END_NS;

	if (!control)
		return;
	while (control->blocks && clock_now() < end) {
		control_restore(control);
		if (!opener_waiting(control->opener))
			break;
		opener_settle(control->opener, end - clock_now());
	}
	while (control->blocks) {
		opener_cancel(control->opener, control->blocks);
		block_remove(control->blocks);
	}
	free(control);
}
