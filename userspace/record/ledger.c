/* SPDX-License-Identifier: BSD-2-Clause */
/* ledger.c: the running figures of a recording: losses, system call totals, clocks. */
#include "ledger.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "../../bpf/config.h"
#include "../util/map.h"
#include "clock.h"

struct ledger {
	struct profile_writer *writer;
	struct store *store;
	const struct session *session;
	const struct calls_gate *gate; /* NULL: calls are always looked at */
	uint64_t looked;               /* until when the profile says that they were */
	uint64_t own[LOSS_MAX];        /* counted by the recorder */
	uint64_t written[LOSS_MAX];    /* what the profile says so far */
	struct map *calls;             /* struct syscall_key: the count last written */
	uint64_t syscalls;
	uint64_t unwritten; /* calls of processes that the store does not know (yet) */
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
	int err;

	if (!count)
		return -ENOMEM;
	if (*count == total->count)
		return 0;
	err = store_syscall_total(ledger->store, now, key, total);
	if (err)
		return err;
	ledger->syscalls += total->count - *count;
	*count = total->count;
	return 0;
}

/*
 * Will nothing be added to the totals of this process any more? The kernel side
 * forgets a process after its last call was counted. If it could not keep the
 * state of some process, nobody knows.
 */
static bool is_final(const struct ledger *ledger, uint32_t process)
{
	char state[sizeof(struct process_state)];

	return !ledger->written[LOSS_PROCESS_STATE] &&
	       bpf_map_lookup_elem(session_processes_fd(ledger->session), &process, state);
}

/* Writes one total, and makes room in the kernel's table if it was the last word. */
static int move_total(struct ledger *ledger, uint64_t now, const struct syscall_key *key)
{
	int fd = session_totals_fd(ledger->session);
	bool final = is_final(ledger, key->process);
	struct syscall_total total;
	int err = 0;

	if (bpf_map_lookup_elem(fd, key, &total))
		return 0;
	err = put_total(ledger, now, key, &total);
	if (err == -ENOENT) {
		/* Its first events are still on their way: next time, if there is one. */
		ledger->unwritten += total.count;
		return 0;
	}
	if (!err && final) {
		bpf_map_delete_elem(fd, key);
		map_remove(ledger->calls, key);
	}
	return err;
}

static int put_totals(struct ledger *ledger, uint64_t now)
{
	int fd = session_totals_fd(ledger->session);
	struct syscall_key key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &key);
	int err = 0;

	ledger->unwritten = 0;
	while (more && !err) {
		more = !bpf_map_get_next_key(fd, &key, &next);
		err = move_total(ledger, now, &key);
		key = next;
	}
	return err;
}

/* What the totals grew by since the last time they did between these two times. */
static int put_look(struct ledger *ledger, uint64_t now)
{
	const struct calls_gate *gate = ledger->gate;
	uint64_t begin, end;
	struct record record = {.kind = RECORD_look};
	int err;

	if (!gate)
		return 0;
	begin = gate->opened > ledger->looked ? gate->opened : ledger->looked;
	end = gate->open ? now : gate->closed;
	if (end <= begin)
		return 0;
	record.look.begin = begin;
	record.look.end = end;
	record.look.call_ns = (uint64_t)gate->followed_ns;
	err = profile_writer_put(ledger->writer, &record);
	ledger->looked = end;
	return err;
}

static int put_calls(struct ledger *ledger, uint64_t now)
{
	int err = put_totals(ledger, now);

	return err ? err : put_look(ledger, now);
}

void ledger_watch_calls(struct ledger *ledger, const struct calls_gate *gate)
{
	ledger->gate = gate;
}

int ledger_put_calls(struct ledger *ledger)
{
	return put_calls(ledger, clock_now());
}

int ledger_put(struct ledger *ledger)
{
	struct record record = {.kind = RECORD_clock, .clock = clock_read()};
	uint64_t now = clock_now();
	int err = profile_writer_put(ledger->writer, &record);

	err = err ? err : put_losses(ledger, now);
	return err ? err : put_calls(ledger, now);
}

int ledger_finish(struct ledger *ledger)
{
	int err = ledger_put(ledger);

	if (err || !ledger->unwritten)
		return err;
	ledger_add_loss(ledger, LOSS_UNKNOWN_PROCESS, ledger->unwritten);
	return put_losses(ledger, clock_now());
}

int ledger_put_losses(struct ledger *ledger)
{
	return put_losses(ledger, clock_now());
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
