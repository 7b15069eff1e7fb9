// SPDX-License-Identifier: BSD-2-Clause
/* undo.c: restores what was written into programs if the recorder dies before it does so. */
#include "undo.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../machine/capabilities.h"
#include "../machine/clock.h"
#include "../../reader/worker.h"
#include "../../util/log.h"

#define START_NS UINT64_C(200000000) /* for its process; if that takes longer, we go on */
#define LIMIT_NS UINT64_C(60000000000)

struct undo {
	struct worker *worker;
	int file;
	bool is_running;
	bool is_used[UNDO_MAX + 1];
	uint32_t n;
};

int undo_create(struct undo **out)
{
	struct undo *undo = calloc(1, sizeof(*undo));

	if (!undo)
		return -ENOMEM;
	undo->file = -1;
	if (worker_create(WORKER_OPENER, true, &undo->worker)) {
		free(undo);
		return -ENOMEM;
	}
	worker_lend(undo->worker, capabilities_lend);
	*out = undo;
	return 0;
}

/* The process has the file, and no longer dies with its parent, when it has answered. */
static int start(struct undo *undo)
{
	const struct opener_memory none = {0};
	char body[sizeof(struct opener_head) + sizeof(none) + 1] = {0};
	struct worker_order order = {
		.kind = OPENER_UNDO,
		.data = body,
		.size = sizeof(body),
		.fds = &undo->file,
		.n_fds = 1,
		.cpu_ns = LIMIT_NS,
		.wall_ns = LIMIT_NS,
		.answer_max = sizeof(struct opener_block),
	};
	uint64_t end = clock_now() + START_NS;
	struct worker_answer answer;
	int err;

	undo->file = memfd_create("undo", MFD_CLOEXEC);
	err = undo->file < 0 ? -errno : worker_start(undo->worker, &order);
	while (!err && clock_now() < end && worker_wait(undo->worker, &answer) != WORKER_ANSWERED)
		;
	return err;
}

static bool begin(struct undo *undo)
{
	int err = undo->is_running ? 0 : start(undo);

	if (err)
		log_verbose("what gcprof writes into programs stays there if it is killed: %s",
			    strerror(-err));
	undo->is_running = true;
	return undo->file >= 0;
}

/* 0: none. */
static undo_slot find_free(const struct undo *undo)
{
	undo_slot slot = 1;

	if (undo->n == UNDO_MAX)
		return 0;
	while (undo->is_used[slot])
		slot++;
	return slot;
}

void undo_put(struct undo *undo, undo_slot *slot, const struct opener_memory *order)
{
	struct undo_row row = {.used = order != NULL};
	undo_slot at = *slot;

	if ((!order && !at) || (order && !begin(undo)))
		return;
	at = at ? at : find_free(undo);
	*slot = 0;
	if (!at)
		return;
	if (order)
		row.order = *order;
	if (pwrite(undo->file, &row, sizeof(row), (off_t)(at * sizeof(row))) != sizeof(row))
		row.used = false;
	undo->n += (uint32_t)row.used - (uint32_t)undo->is_used[at];
	undo->is_used[at] = row.used;
	*slot = row.used ? at : 0;
}

void undo_free(struct undo *undo)
{
	if (!undo)
		return;
	if (undo->n)
		worker_leave(undo->worker);
	worker_free(undo->worker);
	if (undo->file >= 0)
		close(undo->file);
	free(undo);
}
