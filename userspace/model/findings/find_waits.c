/* SPDX-License-Identifier: BSD-2-Clause */
/* find_waits.c: time in system calls. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../util/plural.h"
#include "../../util/units.h"
#include "../traits.h"
#include "finding.h"

enum {
	CALLS_MIN = 10000,
	SHORT_NS = 50000,
	MEMORY_NS = 10000, /* no disk answers so fast */
	BLOCK_BYTES = 4096,
	OPENED_FOR = 8,      /* other calls: opening, looking at, reading and closing a file */
	LARGE_BYTES = 65536, /* no call is asked to do more at once */
	FAILED_MIN = 1000,
	STARTED_MIN = 50,
	SLOW_STARTED_MIN = 10, /* of programs that take long to start */
	HALVES_MIN = 10,
	LOCK_SAMPLES_MIN = 4,
	MESSAGES_MOST = 2 /* for each that comes back */
};
#define SHORT_LIFE_NS 50e6 /* of CPU time of each process */
#define SLOW_LIFE_NS  300e6
#define LOCK_CPU_MIN \
	0.02 /* of the CPU time of own functions: only a contended lock takes so much */
#define CONTENDED_MIN 0.1  /* of the samples in it: waiting, or waking who waits */
#define LOCK_ONLY     0.3  /* of it: the program does little else */
#define CERTAIN       0.35 /* standard errors, of the value */
#define HELD_KNOWN    0.05 /* of the waits: what holders did in this part stands for all */
#define HELD_MOST     0.4  /* of what is known */

static bool is_of(const struct place *place, enum pattern_class class)
{
	return place->pattern && place->pattern->class == class;
}

static const char *call_name(const struct evidence *evidence, const struct place *place)
{
	const struct model_syscall *row = call_of(evidence, place->call);

	return row ? row->name : "a call";
}

/* One call that stands for a hundred is no reason to speak of it. */
static bool is_certain(const struct place *place)
{
	return place->call_variance <= CERTAIN * CERTAIN * place->call_ns * place->call_ns;
}

static double in_lock(const struct evidence *evidence, const struct place *place)
{
	bool lock = is_of(place, PATTERN_LOCK), gil = is_of(place, PATTERN_GIL);

	if (is_of(place, PATTERN_TAKE))
		return place->call ? 0 : place->cpu_ns;
	if (!lock && !gil)
		return 0;
	if (!place->call)
		return has_trait(evidence->model, MOVES_FIBERS) ? place->cpu_ns : 0;
	return place->class == CALL_FUTEX && is_certain(place)
		       ? fmax(place->call_ns - place->call_cpu_ns, 0)
		       : 0;
}

static double own_cpu(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->function && !place->call ? place->cpu_ns : 0;
}

/*
 * Threads that a runtime schedules itself wait without the kernel's knowledge: only the CPU time of
 * taking and releasing the lock shows that there are several. If the program does little else, it
 * waits for it; else what the lock's function does is done by one thread at a time, at worst.
 */
static double lost_by_lock(const struct evidence *evidence, const struct spot_sum *sum)
{
	const struct model_run *run = &evidence->model->run;
	double cpus = run->cpus ? strtod(run->cpus, NULL) : 0, all = 0;

	if (sum->value > LOCK_ONLY * places_sum(evidence, own_cpu))
		return fmax((double)run->wall - cpu_of(evidence), 0);
	for (size_t i = 1; i < evidence->n_places; i++)
		if (evidence->places[i].function == sum->function)
			all += own_cpu(evidence, &evidence->places[i]);
	return cpus > 1 ? all * (1 - 1 / cpus) : 0;
}

static bool find_busy_lock(const struct evidence *evidence, const struct spot_sum *sum,
			   struct candidate *out)
{
	double own = places_sum(evidence, own_cpu);
	uint64_t samples = 0, contended = 0;

	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *place = &evidence->places[i];

		if (place->function != sum->function || place->call)
			continue;
		contended += is_of(place, PATTERN_LOCK) ? place->cpu_samples : 0;
		samples += is_of(place, PATTERN_LOCK) || is_of(place, PATTERN_TAKE)
				   ? place->cpu_samples
				   : 0;
	}
	/* A lock that is free costs something as well. */
	if (sum->value < LOCK_CPU_MIN * own || samples < LOCK_SAMPLES_MIN ||
	    (double)contended < CONTENDED_MIN * (double)samples)
		return false;
	out->lost_ns = fmax(sum->value, lost_by_lock(evidence, sum));
	fprintf(out->text, "Goroutines wait for a lock");
	write_place(out->text, evidence, out->place);
	fprintf(out->text,
		": taking and releasing it is %s of the CPU time of the program's own functions "
		"(%s).",
		unit_percent(fmin(sum->value / own, 1)).text, unit_time(sum->value).text);
	fprintf(out->evidence,
		"How long they wait is not recorded; if it is held all the time, up to %s are "
		"lost.",
		unit_time(out->lost_ns).text);
	write_remedy(out, evidence, TOPIC_LOCK);
	write_callers(out, evidence);
	return true;
}

/* What those that hold the lock do most. Timer samples and waits know only a part of it. */
static void write_holder(FILE *out, const struct evidence *evidence, const struct spot_sum *sum)
{
	const struct lock_held *most = NULL;
	const struct model_syscall *call;
	char name[PLACE_NAME_SIZE];
	double all = 0;

	for (size_t i = 0; i < evidence->n_held; i++) {
		const struct lock_held *held = &evidence->held[i];

		if (held->lock != sum->function)
			continue;
		all += held->ns;
		if (!most || held->ns > most->ns)
			most = held;
	}
	if (!most || all < HELD_KNOWN * sum->value || most->ns < HELD_MOST * all)
		return;
	call = call_of(evidence, most->call);
	fprintf(out, " The thread that holds it mostly ");
	if (!most->call)
		fprintf(out, "is on a CPU");
	else if (most->call == HELD_WITHOUT_CPU)
		fprintf(out, "is ready to run, but without a CPU");
	else if (place_name(evidence, most->callee, name, sizeof(name)))
		fprintf(out, "waits in %s", name);
	else
		fprintf(out, "waits in %s", call ? call->name : "a call");
	if (place_name(evidence, most->function, name, sizeof(name)))
		fprintf(out, " in %s", name);
	fprintf(out, " (%s of what is recorded of it).", unit_percent(most->ns / all).text);
}

/* Whoever waits for a thread that has no CPU gains nothing by another lock. */
static double without_cpu(const struct evidence *evidence, const struct spot_sum *sum)
{
	double all = 0, queued = 0;

	for (size_t i = 0; i < evidence->n_held; i++) {
		const struct lock_held *held = &evidence->held[i];

		if (held->lock != sum->function)
			continue;
		all += held->ns;
		queued += held->call == HELD_WITHOUT_CPU ? held->ns : 0;
	}
	return all >= HELD_KNOWN * sum->value && all > 0 ? queued / all : 0;
}

bool find_lock(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	struct spot_sum sum;
	bool gil;

	if (!spot_find(evidence, in_lock, n, &sum) || !sum.place->function)
		return false;
	gil = is_of(sum.place, PATTERN_GIL);
	out->lost_ns = sum.value * (1 - without_cpu(evidence, &sum));
	out->place = sum.place;
	if (!sum.place->call)
		return find_busy_lock(evidence, &sum, out);
	fprintf(out->text, "%s of the time (%s, of all threads) is waiting for %s",
		unit_percent(fmin(sum.value / evidence->busy_ns, 1)).text,
		unit_time(sum.value).text, gil ? "the lock of the interpreter (GIL)" : "a lock");
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
	fprintf(out->evidence, "%s waits in futex, %s each on average.",
		unit_count((uint64_t)sum.place->calls).text,
		unit_time(sum.place->call_ns / fmax(sum.place->calls, 1)).text);
	write_holder(out->evidence, evidence, &sum);
	write_pattern_remedy(out, evidence, gil ? TOPIC_GIL : TOPIC_LOCK);
	write_callers(out, evidence);
	return true;
}

static enum topic slow_topic(enum call_class class)
{
	static const enum topic topics[CALL_CLASSES] = {
		[CALL_DISK] = TOPIC_DISK,           [CALL_PEER] = TOPIC_PEER,
		[CALL_PIPE] = TOPIC_CHILD,          [CALL_CHILD] = TOPIC_CHILD,
		[CALL_FILE_LOCK] = TOPIC_FILE_LOCK,
	};

	return topics[class];
}

/* Of a file; copying what is in memory is no wait. */
static bool is_read(const struct evidence *evidence, const struct place *place)
{
	return strstr(call_name(evidence, place), "read") != NULL;
}

/* Reads that half the time find the data in memory: what these take is no wait. */
static double from_memory(const struct evidence *evidence, const struct place *place)
{
	const struct model_syscall *row = call_of(evidence, place->call);

	return place->class == CALL_DISK && row && row->p50_ns < MEMORY_NS
		       ? place->calls * (double)row->p50_ns
		       : 0;
}

static double in_slow_call(const struct evidence *evidence, const struct place *place)
{
	if (!place->call || !slow_topic(place->class) || !is_placed(evidence, place) ||
	    !is_certain(place))
		return 0;
	return place->class == CALL_DISK && !is_read(evidence, place)
		       ? place->call_ns
		       : place->call_ns - fmax(place->call_cpu_ns, from_memory(evidence, place));
}

bool find_slow_call(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_syscall *row;
	const struct place *place;
	struct spot_sum sum;
	enum topic topic;

	if (!spot_find(evidence, in_slow_call, n, &sum) || sum.place->calls < 1)
		return false;
	place = out->place = sum.place;
	row = call_of(evidence, place->call);
	/* While a child works, nothing is lost by waiting for it. */
	if (place->class == CALL_CHILD || place->class == CALL_PIPE)
		sum.value = fmax(sum.value - evidence->children_ns, 0);
	out->lost_ns = sum.value;
	fprintf(out->text, "%s of the time (%s) is waiting in %s",
		unit_percent(fmin(sum.value / evidence->busy_ns, 1)).text,
		unit_time(sum.value).text, call_name(evidence, place));
	write_place(out->text, evidence, place);
	fprintf(out->text, ".");
	if (row && row->count >= HALVES_MIN)
		fprintf(out->evidence, "Of %s calls half took %s or less, and 99 %% %s or less",
			unit_count(row->count).text, unit_time((double)row->p50_ns).text,
			unit_time((double)row->p99_ns).text);
	else if (row)
		fprintf(out->evidence, "%s %s took %s", unit_count(row->count).text,
			plural(row->count, "call[|s]").text, unit_time((double)row->total_ns).text);
	if (place->path)
		fprintf(out->evidence, "; the longest was for %.100s", place->path);
	fprintf(out->evidence, ".");
	topic = place->class == CALL_DISK && is_read(evidence, place) ? TOPIC_READS
								      : slow_topic(place->class);
	if (is_of(place, PATTERN_PEER))
		write_pattern_remedy(out, evidence, topic);
	else
		write_remedy(out, evidence, topic);
	write_command(out, "--filter", "syscall=", call_name(evidence, place));
	return true;
}

static double in_disk_fault(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->class == CALL_FAULT && place->function ? place->call_ns : 0;
}

bool find_disk_faults(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	struct spot_sum sum;

	if (!spot_find(evidence, in_disk_fault, n, &sum))
		return false;
	out->place = sum.place;
	out->lost_ns = sum.value;
	fprintf(out->text, "%s of the time (%s) is waiting for pages of files that are mapped",
		unit_percent(fmin(sum.value / evidence->busy_ns, 1)).text,
		unit_time(sum.value).text);
	write_place(out->text, evidence, sum.place);
	fprintf(out->text, ".");
	fprintf(out->evidence, "%s waits.", unit_count((uint64_t)sum.place->calls).text);
	write_remedy(out, evidence, TOPIC_DISK_FAULTS);
	write_callers(out, evidence);
	return true;
}

/* Many calls that do little each; fewer would cost less. */
static bool is_frequent(const struct evidence *evidence, const struct model_syscall *row)
{
	const struct model_cpu *cpu = &evidence->model->cpu;
	double usual = row ? (double)row->p50_ns * (double)row->count : 0;
	/* Where threads wait for CPUs, that is in some calls as well. */
	double busy = (double)cpu->on_cpu_ns / fmax((double)(cpu->on_cpu_ns + cpu->queued_ns), 1);

	return row && row->count >= CALLS_MIN && row->p50_ns <= SHORT_NS &&
	       (double)row->total_ns * busy <= 6 * usual && strcmp(row->name, "sched_yield") != 0 &&
	       system_call_find(row->name)->class != CALL_FUTEX &&
	       system_call_find(row->name)->class != CALL_IDLE;
}

static bool moves_data(const char *name)
{
	return (strstr(name, "read") && !strstr(name, "link")) || strstr(name, "write") ||
	       strstr(name, "send") || strstr(name, "recv");
}

/* Bytes for each call, of all places; 0: unknown. */
static double moved_each(const struct evidence *evidence, const struct place *place)
{
	double bytes = 0, calls = 0;

	if (!moves_data(call_name(evidence, place)))
		return 0;
	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *other = &evidence->places[i];

		bytes += other->call == place->call ? other->moved_bytes : 0;
		calls += other->call == place->call ? other->calls : 0;
	}
	return calls > 0 ? bytes / calls : 0;
}

static double in_frequent_call(const struct evidence *evidence, const struct place *place)
{
	return place->call && is_frequent(evidence, call_of(evidence, place->call)) &&
			       moved_each(evidence, place) < LARGE_BYTES
		       ? place->call_cpu_ns
		       : 0;
}

static bool is_read_call(const struct evidence *evidence, const struct place *place)
{
	const char *name = call_name(evidence, place);

	return strstr(name, "read") || strstr(name, "recv");
}

static uint64_t count_of(const struct evidence *evidence, const char *call)
{
	const struct model *model = evidence->model;

	for (size_t i = 0; i < model->n_syscalls; i++)
		if (!strcmp(model->syscalls[i].name, call))
			return model->syscalls[i].count;
	return 0;
}

/*
 * As many of them come as go, on the same connections: each is a request or an answer. Who reads
 * and writes a file goes to and fro in it.
 */
static bool are_messages(const struct evidence *evidence, const struct place *place)
{
	double there = 0, back = 0;

	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *other = &evidence->places[i];
		bool same = is_read_call(evidence, other) == is_read_call(evidence, place);

		*(same ? &there : &back) += other->messages;
	}
	return place->messages > 0.5 * place->calls && there < MESSAGES_MOST * back &&
	       (double)count_of(evidence, "lseek") < 0.5 * place->messages;
}

/* Who opens a file for every few other calls has no use for a buffer. */
static enum topic frequent_topic(const struct evidence *evidence, const struct place *place,
				 const struct model_syscall *row)
{
	bool socket = strstr(row->name, "recv") || strstr(row->name, "send");
	const struct model *model = evidence->model;
	uint64_t opens = 0;

	if (are_messages(evidence, place))
		return TOPIC_MESSAGES;
	for (size_t i = 0; i < model->n_syscalls; i++)
		if (!strncmp(model->syscalls[i].name, "open", 4))
			opens += model->syscalls[i].count;
	if (!socket && OPENED_FOR * opens >= row->count)
		return TOPIC_REOPEN;
	if (!moves_data(row->name))
		return TOPIC_FEWER;
	return !socket && moved_each(evidence, place) >= BLOCK_BYTES ? TOPIC_BLOCKS : TOPIC_CALLS;
}

bool find_many_calls(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_syscall *row;
	struct spot_sum sum;
	double each;

	if (!spot_find(evidence, in_frequent_call, n, &sum))
		return false;
	row = call_of(evidence, sum.place->call);
	out->lost_ns = sum.value;
	out->place = sum.place;
	fprintf(out->text, "%s of the CPU time (%s) is short system calls, most of them %s",
		unit_percent(fmin(sum.value / cpu_of(evidence), 1)).text, unit_time(sum.value).text,
		row->name);
	write_place(out->text, evidence, sum.place);
	fprintf(out->text, ".");
	fprintf(out->evidence, "%s%s calls of %s took %s, half of them %s or less.",
		row->estimated ? "About " : "",
		row->estimated ? unit_rough((double)row->count).text : unit_count(row->count).text,
		row->name, unit_time((double)row->total_ns).text,
		unit_time((double)row->p50_ns).text);
	each = moved_each(evidence, sum.place);
	if (each > 0)
		fprintf(out->evidence, " They moved %s each on average.", unit_bytes(each).text);
	write_remedy(out, evidence, frequent_topic(evidence, sum.place, row));
	write_callers(out, evidence);
	return true;
}

/* Calls that ask for a file by name. Others fail in normal use, as a read of a socket without data
 * or a wait with a time limit. */
static bool asks_for_file(const char *call)
{
	static const char *const calls[] = {
		"open",     "openat", "openat2", "stat",       "lstat",     "statx",  "newfstatat",
		"readlink", "access", "execve",  "readlinkat", "faccessat", "unlink", "faccessat2"};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i], call))
			return true;
	return false;
}

/* Nothing was there, again and again. */
static bool is_polling(const struct model_syscall *row)
{
	return row && moves_data(row->name) && row->count >= CALLS_MIN &&
	       (double)row->errors >= 0.9 * (double)row->count;
}

static bool is_failing(const struct model_syscall *row)
{
	if (is_polling(row))
		return true;
	return row && asks_for_file(row->name) && row->errors >= FAILED_MIN &&
	       row->errors >= row->count / 2;
}

static double in_failing_call(const struct evidence *evidence, const struct place *place)
{
	return place->call && is_failing(call_of(evidence, place->call)) ? place->call_cpu_ns : 0;
}

bool find_failing_calls(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_syscall *row;
	struct spot_sum sum;

	if (!spot_find(evidence, in_failing_call, n, &sum))
		return false;
	row = call_of(evidence, sum.place->call);
	out->lost_ns = sum.value * (double)row->errors / (double)row->count;
	out->place = sum.place;
	fprintf(out->text, "%s of the CPU time (%s) is calls of %s that fail",
		unit_percent(fmin(out->lost_ns / cpu_of(evidence), 1)).text,
		unit_time(out->lost_ns).text, row->name);
	write_place(out->text, evidence, sum.place);
	fprintf(out->text, ".");
	fprintf(out->evidence, "%s%s of %s calls failed.", row->estimated ? "About " : "",
		unit_count(row->errors).text, unit_count(row->count).text);
	write_remedy(out, evidence, is_polling(row) ? TOPIC_POLL : TOPIC_FILES);
	write_callers(out, evidence);
	return true;
}

static double in_start(const struct evidence *evidence, const struct place *place)
{
	const char *name = place->call && place->function ? call_name(evidence, place) : "";

	return !strcmp(name, "vfork") || !strcmp(name, "fork") || !strncmp(name, "clone", 5)
		       ? place->call_ns
		       : 0;
}

/* For other processes, in a function. */
static double waits_of(const struct evidence *evidence, uint32_t function)
{
	double sum = 0;

	for (size_t i = 1; i < evidence->n_places; i++)
		if (evidence->places[i].function == function)
			sum += in_slow_call(evidence, &evidence->places[i]);
	return sum;
}

/* Programs that start with hundreds of milliseconds of loading what they run. */
static bool is_interpreter(const char *name)
{
	static const struct {
		const char *begin;
		bool slow;
	} names[] = {
#define PROGRAM(begin, slow) {begin, slow},
#include "../../runtimes/reports.def"
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(*names); i++)
		if (names[i].slow && !strncmp(name, names[i].begin, strlen(names[i].begin)))
			return true;
	return false;
}

static bool are_short(const struct model_program *program)
{
	bool slow = is_interpreter(program->name);

	return program->processes >= (slow ? SLOW_STARTED_MIN : STARTED_MIN) &&
	       program->cpu_ns < (slow ? SLOW_LIFE_NS : SHORT_LIFE_NS) * (double)program->processes;
}

bool find_processes(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model *model = evidence->model;
	const struct model_program *most = NULL;
	struct spot_sum sum = {0};

	for (size_t i = 0; i < model->n_programs; i++) {
		const struct model_program *program = &model->programs[i];

		if (are_short(program) && (!most || program->cpu_ns > most->cpu_ns))
			most = program;
	}
	if (n || !most)
		return false;
	if (spot_find(evidence, in_start, 0, &sum))
		out->place = sum.place;
	out->lost_ns = fmax(most->cpu_ns + sum.value,
			    out->place ? waits_of(evidence, out->place->function) : 0);
	fprintf(out->text, "%s processes of %s were started", unit_count(most->processes).text,
		most->name);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, "; they took %s of the CPU time (%s).",
		unit_percent(fmin(most->cpu_ns / cpu_of(evidence), 1)).text,
		unit_time(most->cpu_ns).text);
	fprintf(out->evidence, "Each lived for %s of CPU time.",
		unit_time(most->cpu_ns / (double)most->processes).text);
	if (sum.value > 0)
		fprintf(out->evidence, " Starting them took another %s.",
			unit_time(sum.value).text);
	write_remedy(out, evidence, TOPIC_PROCESSES);
	fprintf(out->command, "gcprof report --programs");
	return true;
}
