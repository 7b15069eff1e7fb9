/* SPDX-License-Identifier: BSD-2-Clause */
/* counters.c: the running figures of a recording: losses, system call totals, clocks. */
#include "counters.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/config.h"
#include "../../util/map.h"
#include "../kernel/session.h"
#include "../machine/clock.h"
#include "../machine/group_limits.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	TOTALS_BATCH = 256, /* more than ever share a bucket of the kernel's table */
	FINALITIES = 256,
};

/* Have the totals of this process stopped growing? Index 0 is no process. */
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

struct counters {
	struct profile_writer *writer;
	struct store *store;
	const struct session *session;
	const struct call_tracing *tracing; /* NULL: calls are always traced */
	uint64_t windows_end;               /* end of the windows in the profile */
	uint64_t gaps_ns;                   /* untraced time up to then */
	uint64_t paused;                    /* when the recording was paused; 0: it is not */
	uint64_t own[LOSS_MAX];             /* losses counted by the recorder */
	uint64_t written[LOSS_MAX];         /* total in the profile */
	struct map *calls;                  /* struct syscall_key: struct call_written * */
	struct map *cpus;                   /* process: struct call_cpu *, last written */
	struct group_limits *limits;
	uint64_t syscalls;
	uint64_t unwritten; /* calls of processes that the store does not know (yet) */
	bool fresh;         /* only write what the profile has nothing of yet */
	struct totals_batch *batch;
};

int counters_create(struct profile_writer *writer, struct store *store,
		    const struct session *session, struct counters **out)
{
	struct counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return -ENOMEM;
	counters->writer = writer;
	counters->store = store;
	counters->session = session;
	counters->calls = map_create(sizeof(struct syscall_key));
	counters->cpus = map_create(sizeof(uint32_t));
	counters->batch = calloc(1, sizeof(*counters->batch));
	if (!counters->calls || !counters->cpus || !counters->batch ||
	    group_limits_create(&counters->limits)) {
		counters_free(counters);
		return -ENOMEM;
	}
	*out = counters;
	return 0;
}

void counters_follow_limits(struct counters *counters, uint32_t pid)
{
	group_limits_follow(counters->limits, pid);
}

void counters_set_loss(struct counters *counters, enum loss loss, uint64_t count)
{
	counters->own[loss] = count;
}

void counters_add_loss(struct counters *counters, enum loss loss, uint64_t count)
{
	counters->own[loss] += count;
}

static int put_losses(struct counters *counters, uint64_t now)
{
	uint64_t kernel[LOSS_KERNEL_MAX] = {0};
	int err = table_losses(counters->session, kernel);

	for (int loss = 0; !err && loss < LOSS_MAX; loss++) {
		uint64_t count = loss < LOSS_KERNEL_MAX
					 ? kernel[loss]
					 : counters->own[loss] +
						   store_loss(counters->store, (enum loss)loss);
		struct record record = {
			.kind = RECORD_loss,
			.loss = {.time = now,
				 .kind = (uint64_t)loss,
				 .count = count - counters->written[loss]},
		};

		if (count <= counters->written[loss])
			continue;
		err = profile_writer_put(counters->writer, &record);
		counters->written[loss] = count;
	}
	return err ? err : group_limits_put(counters->limits, counters->writer, now);
}

static void *pointer(const uint64_t *place)
{
	return (void *)(uintptr_t)*place;
}

/* Takes over `written`; NULL: no memory. */
static int replace(uint64_t *place, void *written)
{
	if (!written)
		return -ENOMEM;
	free(pointer(place));
	*place = (uintptr_t)written;
	return 0;
}

static int put_total(struct counters *counters, uint64_t now, const void *key, const void *value)
{
	const struct syscall_total *total = value;
	uint64_t *place = map_put(counters->calls, key, NULL);
	struct syscall_total more = *total;
	int err;

	if (!place)
		return -ENOMEM;
	if (!call_written_subtract(pointer(place), &more))
		return 0;
	err = store_syscall_total(counters->store, now, key, &more);
	/* Its first events are pending: next time, if there is one. */
	if (err == -ENOENT)
		counters->unwritten += total->count;
	if (err)
		return err;
	counters->syscalls += more.count;
	return replace(place, call_written_of(total));
}

/*
 * Have the totals of this process stopped growing? The kernel side forgets a process after its last
 * call was counted. Those of a process that it did not keep, since its user had too many, begin
 * anew if it goes on: a call that ends just then may be missing.
 */
static bool is_final(const struct counters *counters, uint32_t process)
{
	return !table_has_process(counters->session, process);
}

/* The same, with one lookup per process where entries of several are mixed. */
static bool is_known_final(struct counters *counters, uint32_t process)
{
	struct finality *known = &counters->batch->final[process % FINALITIES];

	if (known->process != process)
		*known = (struct finality){process, is_final(counters, process)};
	return known->final;
}

static int put_cpu(struct counters *counters, uint64_t now, const void *key, const void *value)
{
	const struct call_cpu *cpu = value;
	const uint32_t *process = key;
	uint64_t *place = map_put(counters->cpus, process, NULL);
	const struct call_cpu *before = place ? pointer(place) : NULL;
	struct call_cpu more = *cpu, *written;
	int err;

	if (!place)
		return -ENOMEM;
	if (before) {
		more.traced_ns -= before->traced_ns;
		more.untraced_ns -= before->untraced_ns;
	}
	if (!more.traced_ns && !more.untraced_ns)
		return 0;
	err = store_call_cpu(counters->store, now, *process, &more);
	if (err)
		return err;
	written = malloc(sizeof(*written));
	if (written)
		*written = *cpu;
	return replace(place, written);
}

/* A table of the kernel side whose keys begin with a process, and a function that writes an entry:
 * -ENOENT if the store does not know the process. */
struct table {
	enum session_table table;
	size_t key_size, value_size, owner_at;
	struct map *written; /* of its entries: pointers */
	int (*put)(struct counters *counters, uint64_t now, const void *key, const void *value);
};

/* Reads the final value, since the one read before the process was known to have ended may be
 * outdated. Frees the entry in the kernel's table. */
static int move_entry(struct counters *counters, uint64_t now, const struct table *table,
		      const void *key)
{
	_Alignas(8) char value[sizeof(struct syscall_total)];
	const uint64_t *place;
	uint32_t owner;
	int err;

	if (table_lookup(counters->session, table->table, key, value))
		return 0;
	err = table->put(counters, now, key, value);
	if (err)
		return err;
	table_forget(counters->session, table->table, key);
	memcpy(&owner, value + table->owner_at, sizeof(owner));
	table_return(counters->session, table->table, owner);
	place = map_get(table->written, key);
	if (place)
		free(pointer(place));
	map_remove(table->written, key);
	return 0;
}

static int put_entry(struct counters *counters, uint64_t now, const struct table *table, uint32_t i)
{
	const void *key = counters->batch->keys + i * table->key_size;
	const void *value = counters->batch->values + i * table->value_size;
	const uint64_t *written = counters->fresh ? map_get(table->written, key) : NULL;
	int err;

	if (written && *written)
		return 0;
	err = is_known_final(counters, *(const uint32_t *)key)
		      ? move_entry(counters, now, table, key)
		      : table->put(counters, now, key, value);

	return err == -ENOENT ? 0 : err;
}

/*
 * Reads a table in batches: single lookups took a fifth of the recorder's time if many processes
 * make calls of many kinds.
 */
static int put_table(struct counters *counters, uint64_t now, const struct table *table)
{
	uint32_t place = 0;
	int got = 0, err = 0;

	while (!got && !err) {
		uint32_t count = TOTALS_BATCH;

		got = table_lookup_batch(counters->session, table->table, &place,
					 counters->batch->keys, counters->batch->values, &count);
		/* -ENOENT: these are the last. */
		if (got && got != -ENOENT)
			return got;
		for (uint32_t i = 0; i < count && !err; i++)
			err = put_entry(counters, now, table, i);
	}
	return err;
}

static int put_totals(struct counters *counters, uint64_t now)
{
	const struct table totals = {TABLE_SYSCALLS,
				     sizeof(struct syscall_key),
				     sizeof(struct syscall_total),
				     offsetof(struct syscall_total, owner),
				     counters->calls,
				     put_total};
	const struct table cpus = {TABLE_CALL_CPUS,         sizeof(uint32_t),
				   sizeof(struct call_cpu), offsetof(struct call_cpu, owner),
				   counters->cpus,          put_cpu};
	int err;

	counters->unwritten = 0;
	memset(counters->batch->final, 0, sizeof(counters->batch->final));
	err = put_table(counters, now, &totals);
	return err || !counters->tracing ? err : put_table(counters, now, &cpus);
}

/* The growth of the totals since the previous one between these two times. */
static int put_window(struct counters *counters, uint64_t now)
{
	const struct call_tracing *tracing = counters->tracing;
	uint64_t begin, end;
	struct record record = {.kind = RECORD_call_window};
	int err;

	if (!tracing)
		return 0;
	begin = tracing->begun > counters->windows_end ? tracing->begun : counters->windows_end;
	end = !tracing->on ? tracing->ended : counters->paused ? counters->paused : now;
	if (end <= begin)
		return 0;
	record.call_window.begin = begin;
	record.call_window.end = end;
	record.call_window.call_ns = (uint64_t)tracing->call_ns;
	err = profile_writer_put(counters->writer, &record);
	counters->gaps_ns += counters->windows_end ? begin - counters->windows_end : 0;
	counters->windows_end = end;
	return err;
}

static int put_calls(struct counters *counters, uint64_t now)
{
	int err = put_totals(counters, now);

	return err ? err : put_window(counters, now);
}

void counters_watch_calls(struct counters *counters, const struct call_tracing *tracing)
{
	counters->tracing = tracing;
}

int counters_put_calls(struct counters *counters)
{
	return put_calls(counters, clock_now());
}

void counters_pause(struct counters *counters, uint64_t time)
{
	counters->paused = time;
}

void counters_resume(struct counters *counters, uint64_t time)
{
	if (counters->windows_end)
		counters->windows_end += time - counters->paused;
	counters->paused = 0;
}

/* Has a window begun less than a second ago? */
static bool is_young(const struct counters *counters, uint64_t now)
{
	const struct call_tracing *tracing = counters->tracing;

	return tracing && tracing->on && tracing->begun > counters->windows_end &&
	       now < tracing->begun + SECOND_NS;
}

/* `calls`: the figures of system calls, too. */
static int put_all(struct counters *counters, uint64_t now, bool calls)
{
	struct record record = {.kind = RECORD_clock, .clock = clock_read()};
	uint64_t until = counters->paused ? counters->paused : now, untraced;
	int err = profile_writer_put(counters->writer, &record);

	if (calls)
		err = err ? err : put_calls(counters, now);
	else
		until = counters->tracing->begun;
	untraced = counters->gaps_ns + (counters->windows_end ? until - counters->windows_end : 0);
	counters_set_loss(counters, LOSS_SYSCALLS_UNTRACED, (untraced + 999999) / 1000000);
	return err ? err : put_losses(counters, now);
}

int counters_put(struct counters *counters)
{
	return put_all(counters, clock_now(), true);
}

int counters_put_second(struct counters *counters)
{
	uint64_t now = clock_now();
	bool young = is_young(counters, now);

	if (!young && counters->gaps_ns && counters->tracing->on)
		session_traced_cpu(counters->session);
	return put_all(counters, now, !young);
}

int counters_put_fresh(struct counters *counters, uint64_t time)
{
	int err;

	counters->fresh = true;
	err = put_totals(counters, time);
	counters->fresh = false;
	return err;
}

int counters_finish(struct counters *counters)
{
	int err = counters_put(counters);

	if (err || !counters->unwritten)
		return err;
	counters_add_loss(counters, LOSS_UNKNOWN_PROCESS, counters->unwritten);
	return put_losses(counters, clock_now());
}

int counters_put_losses(struct counters *counters, uint64_t time)
{
	return put_losses(counters, time);
}

uint64_t counters_loss(const struct counters *counters, enum loss loss)
{
	return counters->written[loss];
}

uint64_t counters_syscalls(const struct counters *counters)
{
	return counters->syscalls;
}

void counters_free(struct counters *counters)
{
	if (!counters)
		return;
	map_free_all(counters->calls, free);
	map_free_all(counters->cpus, free);
	group_limits_free(counters->limits);
	free(counters->batch);
	free(counters);
}

struct call_written {
	uint64_t count, errors, total_ns, max_ns, gc_count, gc_ns, waits, wait_ns, wait_max;
	uint32_t first, buckets; /* kept of the histogram */
	uint32_t histogram[];
};

struct call_written *call_written_of(const struct syscall_total *total)
{
	uint32_t first = 0, end = SYSCALL_BUCKETS;
	struct call_written *written;

	while (first < end && !total->histogram[first])
		first++;
	while (end > first && !total->histogram[end - 1])
		end--;
	written = malloc(sizeof(*written) + (end - first) * sizeof(*written->histogram));
	if (!written)
		return NULL;
	*written = (struct call_written){
		.count = total->count,
		.errors = total->errors,
		.total_ns = total->total_ns,
		.max_ns = total->max_ns,
		.gc_count = total->gc_count,
		.gc_ns = total->gc_ns,
		.waits = total->waits,
		.wait_ns = total->wait_ns,
		.wait_max = total->wait_max,
		.first = first,
		.buckets = end - first,
	};
	memcpy(written->histogram, total->histogram + first,
	       written->buckets * sizeof(*written->histogram));
	return written;
}

/* The lower bound of the longest duration in the histogram. */
static uint64_t longest(const struct syscall_total *total)
{
	uint32_t end = SYSCALL_BUCKETS;

	while (end && !total->histogram[end - 1])
		end--;
	return end ? syscall_bucket_floor(end - 1) : 0;
}

bool call_written_subtract(const struct call_written *written, struct syscall_total *total)
{
	if (!written)
		return total->count || total->total_ns;
	/* Calls that have not ended take time in each window. */
	if (total->count == written->count && total->total_ns == written->total_ns)
		return false;
	total->count -= written->count;
	total->errors -= written->errors;
	total->total_ns -= written->total_ns;
	total->gc_count -= written->gc_count;
	total->gc_ns -= written->gc_ns;
	total->waits -= written->waits;
	total->wait_ns -= written->wait_ns;
	for (uint32_t i = 0; i < written->buckets; i++)
		total->histogram[written->first + i] -= written->histogram[i];
	if (total->max_ns <= written->max_ns)
		total->max_ns = longest(total);
	if (total->wait_max <= written->wait_max)
		total->wait_max = 0;
	return true;
}
