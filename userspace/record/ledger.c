/* SPDX-License-Identifier: BSD-2-Clause */
/* ledger.c: the running figures of a recording: losses, system call totals, clocks. */
#include "ledger.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../util/map.h"
#include "clock.h"

struct ledger {
	struct profile_writer *writer;
	struct store *store;
	const struct session *session;
	uint64_t own[LOSS_MAX];     /* counted by the recorder */
	uint64_t written[LOSS_MAX]; /* what the profile says so far */
	struct map *calls;          /* struct syscall_key: the count last written */
	uint64_t syscalls;
};

int ledger_create(struct profile_writer *writer, struct store *store, const struct session *session,
		  struct ledger **out)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger)
		return -ENOMEM;
	ledger->writer = writer;
	ledger->store = store;
	ledger->session = session;
	ledger->calls = map_create(sizeof(struct syscall_key));
	if (!ledger->calls) {
		free(ledger);
		return -ENOMEM;
	}
	*out = ledger;
	return 0;
}

void ledger_set_loss(struct ledger *ledger, enum loss loss, uint64_t count)
{
	ledger->own[loss] = count;
}

void ledger_add_loss(struct ledger *ledger, enum loss loss, uint64_t count)
{
	ledger->own[loss] += count;
}

static int put_losses(struct ledger *ledger, uint64_t now)
{
	uint64_t kernel[LOSS_KERNEL_MAX] = {0};
	int err = session_losses(ledger->session, kernel);

	for (int loss = 0; !err && loss < LOSS_MAX; loss++) {
		uint64_t count =
			loss < LOSS_KERNEL_MAX
				? kernel[loss]
				: ledger->own[loss] + store_loss(ledger->store, (enum loss)loss);
		struct record record = {
			.kind = RECORD_loss,
			.loss = {.time = now, .kind = (uint64_t)loss, .count = count},
		};

		if (count == ledger->written[loss])
			continue;
		err = profile_writer_put(ledger->writer, &record);
		ledger->written[loss] = count;
	}
	return err;
}

static int put_total(struct ledger *ledger, uint64_t now, const struct syscall_key *key,
		     const struct syscall_total *total)
{
	uint64_t *count = map_put(ledger->calls, key, NULL);

	if (!count)
		return -ENOMEM;
	if (*count == total->count)
		return 0;
	ledger->syscalls += total->count - *count;
	*count = total->count;
	return store_syscall_total(ledger->store, now, key, total);
}

static int put_totals(struct ledger *ledger, uint64_t now)
{
	int fd = session_totals_fd(ledger->session);
	struct syscall_key key, next;
	struct syscall_total total;
	bool first = true;

	while (!bpf_map_get_next_key(fd, first ? NULL : &key, &next)) {
		int err;

		first = false;
		key = next;
		if (bpf_map_lookup_elem(fd, &key, &total))
			continue;
		err = put_total(ledger, now, &key, &total);
		if (err)
			return err;
	}
	return 0;
}

int ledger_put(struct ledger *ledger)
{
	struct record record = {.kind = RECORD_clock, .clock = clock_read()};
	uint64_t now = clock_now();
	int err = profile_writer_put(ledger->writer, &record);

	err = err ? err : put_losses(ledger, now);
	return err ? err : put_totals(ledger, now);
}

uint64_t ledger_loss(const struct ledger *ledger, enum loss loss)
{
	return ledger->written[loss];
}

uint64_t ledger_syscalls(const struct ledger *ledger)
{
	return ledger->syscalls;
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	map_free(ledger->calls);
	free(ledger);
}
