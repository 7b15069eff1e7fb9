// SPDX-License-Identifier: BSD-2-Clause
/* control.c: registers the recorder and its settings in programs' control blocks. */
/*
 * A control block is found by its symbol, and the opener verifies its first bytes. There is one
 * request at a time for a block; what is wanted by the end of that is requested next
 * (block_step()).
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../machine/clock.h"
#include "control.h"
#include "../opener/undo.h"
#include "../../util/log.h"
#include "../../util/quota.h"
#include "../../../gc/provider/frame.h"

enum { BLOCKS_MAX = 3000 }; /* fits into the opener's queue */

#define END_NS     UINT64_C(10000000000) /* to remove all rows */
#define PENDING_NS UINT64_C(1000000000)  /* an answer that takes longer may never come */

/* A control block of a process. */
struct block {
	struct block *next;
	struct control *control;
	struct event_mmap mapping;
	uint32_t user;              /* who pays for it */
	struct opener_memory order; /* its location, and the pending request */
	undo_slot undo;             /* removes our row if we die */
	bool busy;                  /* a request is pending */
	bool joined;                /* it has our row, with `ceiling` and `paused` */
	uint64_t since;             /* a time when it had it, ns */
	bool leaves;                /* our row is to be removed */
	int err;                    /* why it has no row */
	uint64_t ceiling;
	bool paused;
	uint64_t asked; /* begin of the pending request, ns */
};

struct control {
	struct opener *opener;
	struct control_options options;
	struct block *blocks;
	struct quota shares;
	bool paused;
	control_joined *visitor;
	void *context;
};

int control_create(struct opener *opener, const struct control_options *options,
		   struct control **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->opener = opener;
	(*out)->options = *options;
	(*out)->shares.most = BLOCKS_MAX;
	return 0;
}

void control_set_visitor(struct control *control, control_joined *joined, void *context)
{
	control->visitor = joined;
	control->context = context;
}

/* --- a block ------------------------------------------------------------------------------ */

static opener_done block_done;

/* Its row would keep the program sampling. */
static void block_list(struct block *block)
{
	struct opener_memory leave = block->order;

	leave.change = OPENER_LEAVE;
	undo_put(opener_undo_list(block->control->opener), &block->undo, &leave);
}

static void block_send(struct block *block, enum opener_change change)
{
	const struct control_options *options = &block->control->options;

	block->order.change = change;
	block->order.request = (struct gcprof_request){
		.recorder = (uint32_t)getpid(),
		/* The row stays, so that names and outcomes are reported. */
		.period = block->control->paused ? GCPROF_NO_SAMPLES : options->period,
		.ceiling = options->ceiling,
		.flags = options->flags,
	};
	if (change == OPENER_JOIN)
		block_list(block);
	block->err = opener_memory(block->control->opener, &block->order, block_done, block);
	block->busy = !block->err;
	block->asked = clock_now();
}

/* Sends its next request, if one is needed. */
static void block_step(struct block *block)
{
	if (block->busy || block->err)
		return;
	if (block->leaves && block->joined)
		block_send(block, OPENER_LEAVE);
	else if (!block->leaves &&
		 (!block->joined || block->ceiling != block->control->options.ceiling ||
		  block->paused != block->control->paused))
		block_send(block, OPENER_JOIN);
}

static void block_done(void *context, const struct opener_result *result)
{
	struct block *block = context;
	const struct control *control = block->control;
	const struct control_answer answer = {result->err, result->block.recorded,
					      result->block.written};
	bool joins = block->order.change == OPENER_JOIN;
	bool was_joined = block->joined;

	block->busy = false;
	block->err = result->err;
	block->joined = joins && !result->err;
	if (block->joined && !was_joined)
		block->since = clock_now();
	/* Where our row could not be removed in time, it may be later. */
	if (!block->joined && result->err != -ETIME)
		undo_put(opener_undo_list(control->opener), &block->undo, NULL);
	block->ceiling = block->order.request.ceiling;
	block->paused = block->order.request.period == GCPROF_NO_SAMPLES;
	if (!result->err)
		block->order.started = result->block.started;
	if (result->block.freed && !result->err)
		log_info("process %u still did what a gcprof that was killed had asked for, and "
			 "does not any more",
			 block->order.pid);
	if (joins && !was_joined && control->visitor)
		control->visitor(control->context, &block->mapping, block->order.address, &answer);
	block_step(block);
}

static struct block *block_add(struct control *control, const struct event_mmap *mapping,
			       uint64_t address, uint32_t user)
{
	struct block *block;

	if (!quota_take(&control->shares, user, 1))
		return NULL;
	block = calloc(1, sizeof(*block));
	if (!block) {
		quota_return(&control->shares, user, 1);
		return NULL;
	}
	block->user = user;
	block->control = control;
	block->mapping = *mapping;
	block->order = (struct opener_memory){
		.pid = mapping->header.tid,
		.mapping = opener_mapping_of(mapping),
		.address = address,
		.size = sizeof(struct gcprof_control),
	};
	block->next = control->blocks;
	control->blocks = block;
	return block;
}

static void block_free(struct control *control, struct block **at)
{
	struct block *block = *at;

	*at = block->next;
	quota_return(&control->shares, block->user, 1);
	opener_cancel(control->opener, block);
	undo_put(opener_undo_list(control->opener), &block->undo, NULL);
	free(block);
}

/* --- programs ----------------------------------------------------------------------------- */

int control_mapped(struct control *control, const struct event_mmap *event, uint64_t address,
		   uint32_t user)
{
	struct block *block;

	for (struct block **at = &control->blocks; *at;) {
		bool is_same = (*at)->mapping.header.process == event->header.process &&
			       (*at)->order.address == address;

		/* A discovered process is reported twice, and so are the parts of a mapping, in any
		 * order. A later mapping may be another block at the same address. */
		if (is_same && (*at)->mapping.header.time >= event->header.time)
			return 0;
		if (is_same)
			block_free(control, at);
		else
			at = &(*at)->next;
	}
	block = block_add(control, event, address, user);
	if (!block)
		return -ENOMEM;
	if (control->options.forbidden) {
		const struct control_answer answer = {.err = -EPERM};

		block->err = -EPERM;
		if (control->visitor)
			control->visitor(control->context, event, address, &answer);
		return 2;
	}
	block_step(block);
	return block->err ? block->err : 1;
}

int control_forked(struct control *control, const struct process *child)
{
	int err = 0;

	for (struct block *block = control->blocks; block; block = block->next) {
		struct block *own;

		if (block->mapping.header.process != child->parent)
			continue;
		own = block_add(control, &block->mapping, block->order.address, child->user);
		if (!own) {
			err = -ENOMEM;
			continue;
		}
		own->mapping.header.process = (uint32_t)child->id;
		own->mapping.header.pid = child->pid;
		own->mapping.header.tid = own->order.pid = child->proc_pid;
		own->joined = block->joined && child->begin > block->since;
		own->since = child->begin;
		own->err = control->options.forbidden ? -EPERM : 0;
		own->order.request.recorder = (uint32_t)getpid();
		if (own->joined)
			block_list(own);
		own->ceiling = block->ceiling;
		own->paused = block->paused;
		block_step(own);
	}
	return err;
}

void control_forget(struct control *control, uint64_t process, uint64_t time)
{
	for (struct block **at = &control->blocks; *at;) {
		if ((*at)->mapping.header.process == process && (*at)->mapping.header.time < time)
			block_free(control, at);
		else
			at = &(*at)->next;
	}
}

uint64_t control_pending(const struct control *control, uint64_t now)
{
	uint64_t first = UINT64_MAX;

	for (const struct block *block = control->blocks; block; block = block->next)
		if (block->busy && !block->joined && block->asked < first &&
		    now < block->asked + PENDING_NS)
			first = block->asked;
	return first;
}

static void blocks_step(struct control *control)
{
	for (struct block *block = control->blocks; block; block = block->next)
		block_step(block);
}

size_t control_ceiling(struct control *control, uint64_t ceiling)
{
	control->options.ceiling = ceiling;
	blocks_step(control);
	return control->shares.used;
}

void control_pause(struct control *control, bool on)
{
	control->paused = on;
	blocks_step(control);
}

int control_state(const struct control *control, uint32_t proc_pid)
{
	int joined = 0, err = 0;

	for (const struct block *block = control->blocks; block; block = block->next) {
		if (block->order.pid != proc_pid)
			continue;
		joined += block->joined;
		/* It has the symbol, but its first bytes are wrong. */
		if (!block->joined && block->err != -ENOENT)
			err = block->err ? block->err : -ETIME;
	}
	return joined ? joined : err;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	control->visitor = NULL;
	for (struct block *block = control->blocks; block; block = block->next) {
		block->leaves = true;
		block_step(block);
	}
	opener_settle(control->opener, END_NS);
	while (control->blocks) {
		/* What hangs is left to a process that may wait. */
		if (control->blocks->joined || control->blocks->busy)
			control->blocks->undo = 0;
		block_free(control, &control->blocks);
	}
	quota_free(&control->shares);
	free(control);
}
