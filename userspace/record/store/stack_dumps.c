// SPDX-License-Identifier: BSD-2-Clause
/* stack_dumps.c: has a reader unwind stack dumps, with the files that were mapped. */
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../reader/reader.h"
#include "../../reader/worker.h"
#include "../../util/log.h"
#include "../world/files.h"

#define CPU_NS  UINT64_C(500000000) /* for one stack */
#define WALL_NS UINT64_C(2000000000)

struct stack_dumps {
	struct files *files;
	struct worker *worker;
	bool skipped; /* the pending answer is not needed any more */
	struct stack_walk walk;
};

int stack_dumps_create(struct files *files, struct stack_dumps **out)
{
	struct stack_dumps *dumps = calloc(1, sizeof(*dumps));
	int err = dumps ? worker_create(WORKER_READER, true, &dumps->worker) : -ENOMEM;

	if (err) {
		free(dumps);
		return err;
	}
	dumps->files = files;
	*out = dumps;
	return 0;
}

void stack_dumps_free(struct stack_dumps *dumps)
{
	if (!dumps)
		return;
	worker_free(dumps->worker);
	free(dumps);
}

static int ask(struct stack_dumps *dumps, const struct process *process,
	       const struct event_copy *copy, const void *bytes)
{
	const struct dump_request head = {process->id, process->changes};
	char data[WORKER_MESSAGE_MAX];
	struct worker_order order = {
		.kind = READ_STACK,
		.data = data,
		.size = sizeof(head) + sizeof(*copy) + copy->size,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = sizeof(dumps->walk),
	};

	if (order.size > sizeof(data))
		return -E2BIG;
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), copy, sizeof(*copy));
	memcpy(data + sizeof(head) + sizeof(*copy), bytes, copy->size);
	return worker_start(dumps->worker, &order);
}

/* The reader needs the mapping at an address. */
static void supply(struct stack_dumps *dumps, const struct process *process,
		   const struct worker_answer *question)
{
	struct dump_mapping answer = {0};
	const struct mapping *mapping = NULL;
	const struct file *file = NULL;
	uint64_t ip;

	if (question->size == sizeof(ip)) {
		memcpy(&ip, question->data, sizeof(ip));
		mapping = mappings_find(process->mappings, ip);
	}
	if (mapping)
		file = files_by_module(dumps->files, mapping->module);
	if (file)
		answer = (struct dump_mapping){mapping->start, mapping->end, mapping->offset,
					       mapping->module, strcmp(file->path, "[vdso]") == 0};
	worker_supply(dumps->worker, &answer, sizeof(answer), file ? file->fd : -1);
}

/* Takes the stack of an answer, if it is valid. */
static void take(struct stack_dumps *dumps, const struct worker_answer *answer)
{
	if (!answer->err && answer->size == sizeof(dumps->walk))
		memcpy(&dumps->walk, answer->data, sizeof(dumps->walk));
	if (answer->err || answer->size != sizeof(dumps->walk) ||
	    dumps->walk.count > STACK_DEPTH_MAX)
		dumps->walk = (struct stack_walk){.quality = STACK_USER_FAILED};
	if (answer->err)
		log_verbose("a stack dump could not be walked: %s", strerror(-answer->err));
	if (answer->fd >= 0)
		close(answer->fd);
}

void stack_dumps_skip(struct stack_dumps *dumps)
{
	if (dumps)
		dumps->skipped |= worker_is_busy(dumps->worker);
}

/* Drops an answer that is not needed any more; false if it has not arrived. */
static bool drop_skipped(struct stack_dumps *dumps)
{
	static const struct dump_mapping nothing;
	struct worker_answer answer;
	enum worker_state state;

	if (!dumps->skipped)
		return true;
	while ((state = worker_poll(dumps->worker, &answer)) == WORKER_QUESTION)
		worker_supply(dumps->worker, &nothing, sizeof(nothing), -1);
	if (state != WORKER_ANSWERED)
		return false;
	if (answer.fd >= 0)
		close(answer.fd);
	dumps->skipped = false;
	return true;
}

int stack_dumps_walk(struct stack_dumps *dumps, const struct process *process,
		     const struct event_copy *copy, const void *bytes,
		     const struct stack_walk **out)
{
	struct worker_answer answer = {.fd = -1};
	enum worker_state state = WORKER_ANSWERED;

	if (!drop_skipped(dumps))
		return -EAGAIN;
	if (!worker_is_busy(dumps->worker))
		answer.err = ask(dumps, process, copy, bytes);
	if (!answer.err) {
		while ((state = worker_poll(dumps->worker, &answer)) == WORKER_QUESTION)
			supply(dumps, process, &answer);
	}
	if (state != WORKER_ANSWERED)
		return -EAGAIN;
	take(dumps, &answer);
	*out = &dumps->walk;
	return 0;
}
