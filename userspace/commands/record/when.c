/* SPDX-License-Identifier: BSD-2-Clause */
/* when.c: `gcprof record --keep --when`: conditions under which a snapshot is taken. */
/*
 * when_record() sees all records on their way to the profile. Resident memory is read every second
 * and reported at the end of each collection.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../bpf/events.h"
#include "record.h"
#include "../../model/world/estimate.h"
#include "../../record/machine/clock.h"
#include "../../util/log.h"
#include "../../util/map.h"
#include "../../util/options.h"
#include "../../util/proc_file.h"

enum { OPEN_MAX = 1 << 16 /* pauses */, TEXTS_MAX = 1 << 16, NAME_MAX_SIZE = 16 };

#define SECOND_NS UINT64_C(1000000000)
#define QUIET_NS  (60 * SECOND_NS) /* between two snapshots, if a size is kept */

enum quantity {
	QUANTITY_PAUSE,
	QUANTITY_CALL,
	QUANTITY_RESIDENT,
	QUANTITY_ALLOCATED,
	QUANTITY_STATUS,
	QUANTITY_OOM,
};

static int parse_rate(const char *text, uint64_t *out);
static int parse_nothing(const char *text, uint64_t *out);

/* The quantities that conditions compare. */
static const struct {
	const char *name, *relation;
	enum quantity quantity;
	int (*parse)(const char *text, uint64_t *out);
	const char *unit; /* NULL: none */
	double scale;     /* 0: there is no value */
} quantities[] = {
	{"pause", ">", QUANTITY_PAUSE, parse_time, "ms", 1e6},
	{"syscall:", ">", QUANTITY_CALL, parse_time, "ms", 1e6},
	{"rss", ">", QUANTITY_RESIDENT, parse_size, "MiB", 1024 * 1024},
	{"alloc", ">", QUANTITY_ALLOCATED, parse_rate, "MiB/s", 1024 * 1024},
	{"exit", "!=", QUANTITY_STATUS, parse_number, NULL, 1},
	{"oom", "", QUANTITY_OOM, parse_nothing, NULL, 0},
};

enum { QUANTITIES = sizeof(quantities) / sizeof(*quantities) };

struct condition {
	const char *text; /* as given */
	size_t kind;      /* index among the quantities */
	uint64_t limit;
	uint64_t number; /* of a system call */
};

struct when {
	struct condition conditions[OPTION_LIST_MAX];
	size_t count;
	struct map *threads;   /* thread: its process */
	struct map *processes; /* process: struct process_name * */
	struct map *texts;     /* string that may be a process's name: a copy */
	struct map *pauses;    /* struct pause_key: start of the pause */
	struct map *rates;     /* process: struct rate * */
	uint64_t next_check;   /* when to read resident memory */
	char why[WHEN_TEXT];   /* condition that came true since the last round; empty: none */
};

struct process_name {
	uint64_t leader; /* the thread whose name is the process's */
	uint32_t pid;
	char name[NAME_MAX_SIZE]; /* empty: unknown */
};

struct pause_key {
	uint64_t process, heap, cycle;
};

/* What a process allocated in the current second, which began with a sample. */
struct rate {
	uint64_t begin;
	struct tally bytes;
};

/* --- conditions ------------------------------------------------------------------------------- */

static int find_call(const char *name, size_t size, uint64_t *number)
{
	static const struct {
		uint64_t number;
		const char *name;
	} calls[] = {
#define SYSCALL(number, name, arguments) {number, #name},
#include "../../../bpf/syscalls_x86_64.def"
#undef SYSCALL
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		*number = calls[i].number;
		if (strlen(calls[i].name) == size && memcmp(calls[i].name, name, size) == 0)
			return 0;
	}
	return -EINVAL;
}

/* 1G/s */
static int parse_rate(const char *text, uint64_t *out)
{
	size_t size = strlen(text);
	char number[32];

	if (size < 3 || size - 2 >= sizeof(number) || strcmp(text + size - 2, "/s") != 0)
		return -EINVAL;
	snprintf(number, sizeof(number), "%.*s", (int)(size - 2), text);
	return parse_size(number, out);
}

static int parse_nothing(const char *text, uint64_t *out)
{
	*out = 0;
	return *text ? -EINVAL : 0;
}

static int parse_condition(const char *text, struct condition *out)
{
	for (size_t i = 0; i < QUANTITIES; i++) {
		size_t size = strlen(quantities[i].name);
		const char *name = text + size, *relation = text + strcspn(text, ">!=");
		size_t length = strlen(quantities[i].relation);

		if (strncmp(text, quantities[i].name, size) || relation < name ||
		    strncmp(relation, quantities[i].relation, length))
			continue;
		*out = (struct condition){.text = text, .kind = i};
		if (quantities[i].quantity == QUANTITY_CALL
			    ? find_call(name, (size_t)(relation - name), &out->number)
			    : relation != name)
			return -EINVAL;
		return quantities[i].parse(relation + length, &out->limit) ? -EINVAL : 0;
	}
	return -EINVAL;
}

int when_parse(struct record_options *options, struct when **out)
{
	struct when *when = calloc(1, sizeof(*when));
	int err = when ? 0 : -ENOMEM;

	for (size_t i = 0; i < options->when.count && !err; i++) {
		struct condition *condition = &when->conditions[when->count++];

		err = parse_condition(options->when.items[i], condition);
		options->when_oom |= !err && quantities[condition->kind].quantity == QUANTITY_OOM;
		if (err)
			log_error("--when %s: not one of pause>TIME, syscall:NAME>TIME, rss>SIZE, "
				  "alloc>SIZE/s, exit!=STATUS and oom",
				  options->when.items[i]);
		else if (quantities[condition->kind].quantity == QUANTITY_CALL &&
			 (options->syscall_mode == SYSCALLS_OFF ||
			  options->syscall_mode == SYSCALLS_COUNT ||
			  condition->limit < options->syscall_slow))
			err = -ERANGE;
		if (err == -ERANGE)
			log_error("--when %s: shorter calls do not all have records "
				  "(--syscalls slow=TIME)",
				  options->when.items[i]);
	}
	if (!err) {
		when->threads = map_create(sizeof(uint64_t));
		when->processes = map_create(sizeof(uint64_t));
		when->texts = map_create(sizeof(uint64_t));
		when->pauses = map_create(sizeof(struct pause_key));
		when->rates = map_create(sizeof(uint64_t));
		if (!when->threads || !when->processes || !when->texts || !when->pauses ||
		    !when->rates)
			err = -ENOMEM;
	}
	if (err)
		when_free(when);
	else
		*out = when;
	return err;
}

void when_free(struct when *when)
{
	if (!when)
		return;
	map_free(when->threads);
	map_free_all(when->processes, free);
	map_free_all(when->texts, free);
	map_free(when->pauses);
	map_free_all(when->rates, free);
	free(when);
}

/* --- records ---------------------------------------------------------------------------------- */

/* "pause>20ms: 31.2 ms, shop (1234)" */
static void describe(const struct condition *condition, uint64_t value,
		     const struct process_name *process, char out[WHEN_TEXT])
{
	const char *unit = quantities[condition->kind].unit;
	double scale = quantities[condition->kind].scale;
	char figure[32] = "", owner[NAME_MAX_SIZE + 16] = "";

	if (scale > 0)
		snprintf(figure, sizeof(figure), " %.4g%s%s", (double)value / scale,
			 unit ? " " : "", unit ? unit : "");
	if (process)
		snprintf(owner, sizeof(owner), "%s%s%s(%" PRIu32 ")", scale > 0 ? ", " : " ",
			 process->name, *process->name ? " " : "", process->pid);
	snprintf(out, WHEN_TEXT, "%.60s:%s%s", condition->text, figure, owner);
}

/* `process` may be NULL: unknown. */
static void compare(struct when *when, enum quantity quantity, uint64_t number, uint64_t value,
		    const struct process_name *process)
{
	for (size_t i = 0; i < when->count && !when->why[0]; i++) {
		const struct condition *condition = &when->conditions[i];
		size_t kind = condition->kind;

		if (quantities[kind].quantity != quantity || condition->number != number ||
		    (quantity == QUANTITY_STATUS ? value == condition->limit
						 : value <= condition->limit))
			continue;
		describe(condition, value, process, when->why);
	}
}

static uint64_t process_of(const struct when *when, uint64_t thread)
{
	const uint64_t *process = map_get(when->threads, &thread);

	return process ? *process : 0;
}

/* NULL: unknown. */
static struct process_name *name_of(const struct when *when, uint64_t thread)
{
	const uint64_t process = process_of(when, thread);
	const uint64_t *place = map_get(when->processes, &process);

	return place ? (struct process_name *)(uintptr_t)*place : NULL;
}

static int take_begin(struct when *when, const struct record_gc_begin *begin)
{
	const struct pause_key key = {process_of(when, begin->thread), begin->heap, begin->cycle};
	uint64_t *time;

	/* Drop begins whose ends were lost. */
	if (map_count(when->pauses) >= OPEN_MAX)
		map_clear(when->pauses);
	time = map_put(when->pauses, &key, NULL);
	if (!time)
		return -ENOMEM;
	*time = begin->time;
	return 0;
}

static void take_end(struct when *when, const struct record_gc_end *end)
{
	const struct pause_key key = {process_of(when, end->thread), end->heap, end->cycle};
	const uint64_t *begin = map_get(when->pauses, &key);

	compare(when, QUANTITY_RESIDENT, 0, end->rss_bytes, name_of(when, end->thread));
	if (!begin)
		return;
	compare(when, QUANTITY_PAUSE, 0, end->time > *begin ? end->time - *begin : 0,
		name_of(when, end->thread));
	map_remove(when->pauses, &key);
}

/* Compares the lower end of the interval, so that chance does not trigger a snapshot. */
static int take_sample(struct when *when, const struct record_alloc *sample)
{
	const uint64_t process = process_of(when, sample->thread);
	double probability = sample_probability(sample->size, sample->period);
	uint64_t *place = map_put(when->rates, &process, NULL);
	struct rate *rate;

	if (place && !*place)
		*place = (uintptr_t)calloc(1, sizeof(*rate));
	rate = place ? (struct rate *)(uintptr_t)*place : NULL;
	if (!rate)
		return -ENOMEM;
	if (sample->time - rate->begin >= SECOND_NS)
		*rate = (struct rate){.begin = sample->time};
	tally_add(&rate->bytes, (double)sample->size, probability);
	compare(when, QUANTITY_ALLOCATED, 0, (uint64_t)tally_estimate(&rate->bytes).low,
		name_of(when, sample->thread));
	return 0;
}

static void forget(struct map *map, uint64_t process)
{
	uint64_t *place = map_get(map, &process);

	if (!place)
		return;
	free((void *)(uintptr_t)*place);
	map_remove(map, &process);
}

/* Names are short; others are unknown once there are too many strings. */
static int take_string(struct when *when, const struct record_string *string)
{
	uint64_t *place;

	if (string->text.size >= NAME_MAX_SIZE || map_count(when->texts) >= TEXTS_MAX)
		return 0;
	place = map_put(when->texts, &string->id, NULL);
	if (place && !*place)
		*place = (uintptr_t)strndup(string->text.data, string->text.size);
	return place && *place ? 0 : -ENOMEM;
}

static int take_process(struct when *when, const struct record_process *process)
{
	uint64_t *place = map_put(when->processes, &process->id, NULL);
	struct process_name *name;

	if (place && !*place)
		*place = (uintptr_t)calloc(1, sizeof(struct process_name));
	name = place ? (struct process_name *)(uintptr_t)*place : NULL;
	if (!name)
		return -ENOMEM;
	name->pid = (uint32_t)process->pid;
	return 0;
}

static int take_thread(struct when *when, const struct record_thread *thread)
{
	uint64_t *process = map_put(when->threads, &thread->id, NULL);
	struct process_name *name;

	if (!process)
		return -ENOMEM;
	*process = thread->process;
	name = name_of(when, thread->id);
	if (name && name->pid == thread->tid)
		name->leader = thread->id;
	return 0;
}

static void take_comm(struct when *when, const struct record_comm *comm)
{
	struct process_name *name = name_of(when, comm->thread);
	const uint64_t *text = map_get(when->texts, &comm->name);

	if (name && name->leader == comm->thread)
		snprintf(name->name, sizeof(name->name), "%s",
			 text ? (const char *)(uintptr_t)*text : "");
}

static void take_exit(struct when *when, const struct record_exit *exit)
{
	/* As a shell shows it. */
	if (exit->last) {
		compare(when, QUANTITY_STATUS, 0,
			(uint64_t)end_exit_status(END_EXITED, exit->status),
			name_of(when, exit->thread));
		forget(when->rates, process_of(when, exit->thread));
		forget(when->processes, process_of(when, exit->thread));
	}
	map_remove(when->threads, &exit->thread);
}

int when_record(void *context, const struct record *record)
{
	struct when *when = context;

	switch (record->kind) {
	case RECORD_string:
		return take_string(when, &record->string);
	case RECORD_process:
		return take_process(when, &record->process);
	case RECORD_comm:
		take_comm(when, &record->comm);
		return 0;
	case RECORD_thread:
		return take_thread(when, &record->thread);
	case RECORD_gc_begin:
		return take_begin(when, &record->gc_begin);
	case RECORD_gc_end:
		take_end(when, &record->gc_end);
		return 0;
	case RECORD_gc_summary:
		compare(when, QUANTITY_PAUSE, 0, record->gc_summary.max_ns,
			name_of(when, record->gc_summary.thread));
		return 0;
	case RECORD_syscall:
		if (!(record->syscall.flags & SYSCALL_COMPAT))
			compare(when, QUANTITY_CALL, record->syscall.number,
				record->syscall.duration, name_of(when, record->syscall.thread));
		return 0;
	case RECORD_alloc:
		return take_sample(when, &record->alloc);
	case RECORD_oom:
		compare(when, QUANTITY_OOM, 0, 1, name_of(when, record->oom.thread));
		return 0;
	case RECORD_exit:
		take_exit(when, &record->exit);
		return 0;
	default:
		return 0;
	}
}

/* --- every round ------------------------------------------------------------------------------ */

static void check_resident(struct when *when, pid_t pid)
{
	struct process_name process = {.pid = (uint32_t)pid};
	char text[128];
	uint64_t pages;

	if (!proc_file_read((uint32_t)pid, "comm", process.name, sizeof(process.name)))
		process.name[strcspn(process.name, "\n")] = '\0';

	if (!proc_file_read((uint32_t)pid, "statm", text, sizeof(text)) &&
	    sscanf(text, "%*u %" SCNu64, &pages) == 1)
		compare(when, QUANTITY_RESIDENT, 0, pages * (uint64_t)sysconf(_SC_PAGESIZE),
			&process);
}

void recording_when(struct recording *recording)
{
	struct keeping *keeping = &recording->keeping;
	struct when *when = keeping->when;
	const struct record_options *options = &recording->options;
	uint64_t now = clock_now();

	if (!when)
		return;
	if (now >= when->next_check) {
		when->next_check = now + SECOND_NS;
		if (recording->target)
			check_resident(when, target_pid(recording->target));
		for (size_t i = 0; i < recording->running.count; i++)
			check_resident(when, recording->running.pids[i]);
	}
	if (when->why[0] && now >= keeping->quiet) {
		keeping->quiet =
			now + options->after + (options->keep_ns ? options->keep_ns : QUIET_NS);
		snprintf(keeping->why, sizeof(keeping->why), "%s", when->why);
		log_info("%s: taking a snapshot", keeping->why);
		recording_ask(recording);
	}
	when->why[0] = '\0';
}

int recording_put_why(struct recording *recording)
{
	const struct keeping *keeping = &recording->keeping;
	const char *why = keeping->why;
	struct record record = {.kind = RECORD_meta, .meta = {.key = {"snapshot", 8}}};

	/* A condition that came true last, or whose snapshot is not yet written. */
	if (keeping->when && keeping->when->why[0] && clock_now() >= keeping->quiet)
		why = keeping->when->why;
	else if (keeping->split)
		why = keeping->written;
	record.meta.value = (struct bytes){why, strlen(why)};
	return *why ? profile_writer_put(recording->writer, &record) : 0;
}
