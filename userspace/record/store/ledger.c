/* SPDX-License-Identifier: BSD-2-Clause */
/* ledger.c: the running figures of a recording: losses, system call totals, clocks. */
#include "ledger.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/config.h"
#include "../../util/map.h"
#include "../machine/clock.h"
#include "../kernel/tables.h"

enum {
	TOTALS_BATCH = 256, /* more than ever share a bucket of the kernel's table */
	FINALITIES = 256,
};

/* Is nothing added any more to the totals of this process? Index 0 is of no process. */
struct finality {
	uint32_t process;
	bool final;
};

/* Room for entries of either table. */
struct totals_batch {
	_Alignas(8) char keys[TOTALS_BATCH * sizeof(struct syscall_key)];
	_Alignas(8) char values[TOTALS_BATCH * sizeof(struct syscall_total)];
	struct finality final[FINALITIES];
};

struct ledger {
	struct profile_writer *writer;
	struct store *store;
	const struct session *session;
	const struct call_tracing *tracing; /* NULL: calls are always looked at */
	uint64_t looked;                    /* until when the profile says that they were */
	uint64_t own[LOSS_MAX];             /* counted by the recorder */
	uint64_t written[LOSS_MAX];         /* what the profile says so far */
	struct map *calls;                  /* struct syscall_key: the count last written */
	struct map *cpus;                   /* process: the CPU time last written */
	uint64_t syscalls;
	uint64_t unwritten; /* calls of processes that the store does not know (yet) */
	struct totals_batch *batch;
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
	ledger->cpus = map_create(sizeof(uint32_t));
	ledger->batch = calloc(1, sizeof(*ledger->batch));
	if (!ledger->calls || !ledger->cpus || !ledger->batch) {
		ledger_free(ledger);
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

static int put_total(struct ledger *ledger, uint64_t now, const void *key, const void *value)
{
	const struct syscall_total *total = value;
	uint64_t *count = map_put(ledger->calls, key, NULL);
	int err;

	if (!count)
		return -ENOMEM;
	if (*count == total->count)
		return 0;
	err = store_syscall_total(ledger->store, now, key, total);
	/* Its first events are still on their way: next time, if there is one. */
	if (err == -ENOENT)
		ledger->unwritten += total->count;
	if (err)
		return err;
	ledger->syscalls += total->count - *count;
	*count = total->count;
	return 0;
}

/*
 * Will nothing be added to the totals of this process any more? The kernel side
 * forgets a process after its last call was counted. If it could not keep the
 * state of some process, that is unknown.
 */
static bool is_final(const struct ledger *ledger, uint32_t process)
{
	struct process_state state;

	return !ledger->written[LOSS_PROCESS_STATE] &&
	       table_lookup(ledger->session, TABLE_PROCESSES, &process, &state);
}

/* The same, asked once for each process where they come by turns. */
static bool is_known_final(struct ledger *ledger, uint32_t process)
{
	struct finality *known = &ledger->batch->final[process % FINALITIES];

	if (known->process != process)
		*known = (struct finality){process, is_final(ledger, process)};
	return known->final;
}

static int put_cpu(struct ledger *ledger, uint64_t now, const void *key, const void *value)
{
	const struct call_cpu *cpu = value;
	const uint32_t *process = key;
	uint64_t *written = map_put(ledger->cpus, process, NULL);
	uint64_t ns = cpu->traced_ns + cpu->untraced_ns;
	int err;

	if (!written)
		return -ENOMEM;
	if (*written == ns)
		return 0;
	err = store_call_cpu(ledger->store, now, *process, cpu);
	if (!err)
		*written = ns;
	return err;
}

/* A table of the kernel side whose keys begin with a process, and what writes an entry of it:
 * -ENOENT if the store does not know the process. */
struct table {
	enum session_table table;
	size_t key_size, value_size;
	struct map *written;
	int (*put)(struct ledger *ledger, uint64_t now, const void *key, const void *value);
};

/* The last word: what was read before the process was known to be gone may be outdated. Makes room
 * in the kernel's table. */
static int move_entry(struct ledger *ledger, uint64_t now, const struct table *table,
		      const void *key)
{
	_Alignas(8) char value[sizeof(struct syscall_total)];
	int err;

	if (table_lookup(ledger->session, table->table, key, value))
		return 0;
	err = table->put(ledger, now, key, value);
	if (err)
		return err;
	table_forget(ledger->session, table->table, key);
	map_remove(table->written, key);
	return 0;
}

static int put_entry(struct ledger *ledger, uint64_t now, const struct table *table, uint32_t i)
{
	const void *key = ledger->batch->keys + i * table->key_size;
	const void *value = ledger->batch->values + i * table->value_size;
	int err = is_known_final(ledger, *(const uint32_t *)key)
			  ? move_entry(ledger, now, table, key)
			  : table->put(ledger, now, key, value);

	return err == -ENOENT ? 0 : err;
}

/*
 * Reads a table by the batch: asking for each key and each value by itself took a fifth of the
 * recorder's time where many processes make calls of many kinds.
 */
static int put_table(struct ledger *ledger, uint64_t now, const struct table *table)
{
	uint32_t place = 0;
	int got = 0, err = 0;

	while (!got && !err) {
		uint32_t count = TOTALS_BATCH;

		got = table_lookup_batch(ledger->session, table->table, &place, ledger->batch->keys,
					 ledger->batch->values, &count);
		/* -ENOENT: these are the last. */
		if (got && got != -ENOENT)
			return got;
		for (uint32_t i = 0; i < count && !err; i++)
			err = put_entry(ledger, now, table, i);
	}
	return err;
}

static int put_totals(struct ledger *ledger, uint64_t now)
{
	const struct table totals = {TABLE_SYSCALLS, sizeof(struct syscall_key),
				     sizeof(struct syscall_total), ledger->calls, put_total};
	const struct table cpus = {TABLE_CALL_CPUS, sizeof(uint32_t), sizeof(struct call_cpu),
				   ledger->cpus, put_cpu};
	int err;

	ledger->unwritten = 0;
	memset(ledger->batch->final, 0, sizeof(ledger->batch->final));
	err = put_table(ledger, now, &totals);
	return err || !ledger->tracing ? err : put_table(ledger, now, &cpus);
}

/* What the totals grew by since the last time they did between these two times. */
static int put_look(struct ledger *ledger, uint64_t now)
{
	const struct call_tracing *tracing = ledger->tracing;
	uint64_t begin, end;
	struct record record = {.kind = RECORD_look};
	int err;

	if (!tracing)
		return 0;
	begin = tracing->begun > ledger->looked ? tracing->begun : ledger->looked;
	end = tracing->on ? now : tracing->ended;
	if (end <= begin)
		return 0;
	record.look.begin = begin;
	record.look.end = end;
	record.look.call_ns = (uint64_t)tracing->traced_ns;
	err = profile_writer_put(ledger->writer, &record);
	ledger->looked = end;
	return err;
}

static int put_calls(struct ledger *ledger, uint64_t now)
{
	int err = put_totals(ledger, now);

	return err ? err : put_look(ledger, now);
}

void ledger_watch_calls(struct ledger *ledger, const struct call_tracing *tracing)
{
	ledger->tracing = tracing;
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

uint64_t ledger_events(const struct ledger *ledger, enum stream stream)
{
	return store_count(ledger->store, stream);
}

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	map_free(ledger->calls);
	map_free(ledger->cpus);
	free(ledger->batch);
	free(ledger);
}
