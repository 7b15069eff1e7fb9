// SPDX-License-Identifier: BSD-2-Clause
/* copies.c: has stack dumps walked by a reader, with the files that were mapped. */
#include "copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../world/files.h"
#include "../../reader/dumps.h"
#include "../../reader/worker.h"
#include "../../util/log.h"

#define CPU_NS  UINT64_C(500000000) /* for one stack */
#define WALL_NS UINT64_C(2000000000)

struct copies {
	struct modules *modules;
	struct worker *worker;
	bool skipped; /* the answer on its way is not needed any more */
	struct stack_walk walk;
};

int copies_create(struct modules *modules, struct copies **out)
{
	struct copies *copies = calloc(1, sizeof(*copies));
	int err = copies ? worker_create(WORKER_READER, true, &copies->worker) : -ENOMEM;

	if (err) {
		free(copies);
		return err;
	}
	copies->modules = modules;
	*out = copies;
	return 0;
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	worker_free(copies->worker);
	free(copies);
}

static int ask(struct copies *copies, const struct process *process, const struct event_copy *copy,
	       const void *bytes)
{
	const struct dump_request head = {process->id, process->changes};
	char data[WORKER_MESSAGE_MAX];
	struct worker_order order = {
		.kind = READ_STACK,
		.data = data,
		.size = sizeof(head) + sizeof(*copy) + copy->size,
		.cpu_ns = CPU_NS,
		.wall_ns = WALL_NS,
		.answer_max = sizeof(copies->walk),
	};

	if (order.size > sizeof(data))
		return -E2BIG;
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), copy, sizeof(*copy));
	memcpy(data + sizeof(head) + sizeof(*copy), bytes, copy->size);
	return worker_start(copies->worker, &order);
}

/* The reader needs what is mapped at an address. */
static void supply(struct copies *copies, const struct process *process,
		   const struct worker_answer *question)
{
	struct dump_mapping answer = {0};
	const struct mapping *mapping = NULL;
	const struct module *module = NULL;
	const struct file *file = NULL;
	uint64_t ip;

	if (question->size == sizeof(ip)) {
		memcpy(&ip, question->data, sizeof(ip));
		mapping = mappings_find(process->mappings, ip);
	}
	if (mapping)
		module = modules_get(copies->modules, mapping->module);
	if (module && !module->process)
		file = modules_file(copies->modules, module);
	if (module)
		answer = (struct dump_mapping){mapping->start, mapping->end, mapping->offset,
					       mapping->module,
					       module->path && strcmp(module->path, "[vdso]") == 0};
	worker_supply(copies->worker, &answer, sizeof(answer), file ? file->fd : -1);
}

/* The walk of an answer, if it makes sense. */
static void take(struct copies *copies, const struct worker_answer *answer)
{
	if (!answer->err && answer->size == sizeof(copies->walk))
		memcpy(&copies->walk, answer->data, sizeof(copies->walk));
	if (answer->err || answer->size != sizeof(copies->walk) ||
	    copies->walk.count > STACK_DEPTH_MAX)
		copies->walk = (struct stack_walk){.quality = STACK_USER_FAILED};
	if (answer->err)
		log_verbose("a stack dump could not be walked: %s", strerror(-answer->err));
	if (answer->fd >= 0)
		close(answer->fd);
}

void copies_skip(struct copies *copies)
{
	if (copies)
		copies->skipped |= worker_is_busy(copies->worker);
}

/* Drops an answer that is not needed any more; false if it has not come yet. */
static bool is_rid(struct copies *copies)
{
	static const struct dump_mapping nothing;
	struct worker_answer answer;
	enum worker_state state;

	if (!copies->skipped)
		return true;
	while ((state = worker_poll(copies->worker, &answer)) == WORKER_QUESTION)
		worker_supply(copies->worker, &nothing, sizeof(nothing), -1);
	if (state != WORKER_ANSWERED)
		return false;
	if (answer.fd >= 0)
		close(answer.fd);
	copies->skipped = false;
	return true;
}

int copies_walk(struct copies *copies, const struct process *process, const struct event_copy *copy,
		const void *bytes, const struct stack_walk **out)
{
	struct worker_answer answer = {.fd = -1};
	enum worker_state state = WORKER_ANSWERED;

	if (!is_rid(copies))
		return -EAGAIN;
	if (!worker_is_busy(copies->worker))
		answer.err = ask(copies, process, copy, bytes);
	if (!answer.err) {
		while ((state = worker_poll(copies->worker, &answer)) == WORKER_QUESTION)
			supply(copies, process, &answer);
	}
	if (state != WORKER_ANSWERED)
		return -EAGAIN;
	take(copies, &answer);
	*out = &copies->walk;
	return 0;
}
