/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.c: findings that stand out in a profile, each with evidence and a remedy. */
/*
 * Each rule inspects the model and, if it finds something, writes its evidence and a
 * remedy. The thresholds select what is worth a developer's time, such as a twentieth of
 * the wall time or a third of the promoted bytes. A rule that would rest on a handful of
 * samples stays silent.
 */
#include "advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../gc/provider/probe_args.h"
#include "../util/plural.h"
#include "advice_rules.h"
#include "units.h"

#define QUEUED_MIN_NS 200e6

static double wall_of(const struct model *model)
{
	return (double)model->run.wall;
}

static double pauses_of(const struct model *model)
{
	return model_gc_ns(&model->gc);
}

/* A name too long for a sentence loses the directories of its import path, then its end. */
static void write_name(FILE *out, const char *name)
{
	const size_t most = 60;

	if (strlen(name) > most)
		for (size_t i = strcspn(name, "([ "); i > 0; i--)
			if (name[i - 1] == '/') {
				name += i;
				break;
			}
	fprintf(out, "%.*s", (int)most, name);
}

static void write_site(FILE *out, const struct model_site *site)
{
	write_name(out, site->functions[0]);
	if (!site->functions[1])
		return;
	fputs(" (called by ", out);
	write_name(out, site->functions[1]);
	fputc(')', out);
}

/* The site with the most bytes that were promoted and then died. */
static const struct model_site *worst_site(const struct model *model)
{
	const struct model_site *worst = NULL;

	for (size_t i = 0; i < model->n_sites; i++)
		if (!worst || model->sites[i].life.premature_bytes > worst->life.premature_bytes)
			worst = &model->sites[i];
	return worst;
}

static bool find_premature_promotion(const struct model *model, struct words *words)
{
	const struct model_site *site = worst_site(model);
	double promoted = 0, premature = 0;

	for (size_t i = 0; i < model->n_types; i++) {
		promoted += model->types[i].life.promoted_bytes;
		premature += model->types[i].life.premature_bytes;
	}
	/* At least some 20 samples, and a significant part of the run. */
	if (!site || premature < 20 * (double)model->alloc.period || premature < promoted / 3)
		return false;
	fprintf(words->evidence,
		"%s of the %s promoted was dead by the next major collection; %s of that comes "
		"from ",
		unit_percent(premature / promoted).text, unit_bytes(promoted).text,
		unit_percent(site->life.premature_bytes / premature).text);
	write_site(words->evidence, site);
	fprintf(words->evidence, ", which caused %s of collection time.",
		unit_time(site->gc_ns).text);
	fprintf(words->remedy, "Shorten the lifetime of these objects (keep fewer at a time), or "
			       "make the nursery larger");
	if (model->gc.nursery_bytes)
		fprintf(words->remedy, " than %s",
			unit_bytes((double)model->gc.nursery_bytes).text);
	fprintf(words->remedy, ".");
	return true;
}

static bool find_small_nursery(const struct model *model, struct words *words)
{
	const struct model_gc *gc = &model->gc;
	double minor = (double)gc->minor.total_ns, count = (double)gc->minor.count;

	if (minor < 0.05 * wall_of(model) || count < 20 || gc->fixed_ns * count < minor / 2)
		return false;
	if (gc->overlap)
		fprintf(words->evidence, "%s minor collections took %s in all threads",
			unit_count(gc->minor.count).text, unit_time(minor).text);
	else
		fprintf(words->evidence, "Minor collections came every %s and took %s of wall time",
			unit_time(wall_of(model) / count).text,
			unit_percent(minor / wall_of(model)).text);
	fprintf(words->evidence,
		", most of which (about %s each) does not depend on what they copy.",
		unit_time(gc->fixed_ns).text);
	fprintf(words->remedy, "Make the nursery larger");
	if (gc->nursery_bytes)
		fprintf(words->remedy, " (%s now)", unit_bytes((double)gc->nursery_bytes).text);
	fprintf(words->remedy, ": fewer collections then do the same work.");
	return true;
}

static bool find_costly_site(const struct model *model, struct words *words)
{
	const struct model_site *site = NULL;
	double pauses = pauses_of(model);

	/* The table may be sorted by anything. */
	for (size_t i = 0; i < model->n_sites; i++)
		if (!site || model->sites[i].gc_ns > site->gc_ns)
			site = &model->sites[i];
	if (!site || pauses < 0.05 * wall_of(model) || site->gc_ns < pauses / 4 ||
	    site->life.samples < 10)
		return false;
	fprintf(words->evidence, "%s of the time in collections is caused by allocations in ",
		unit_percent(site->gc_ns / pauses).text);
	write_site(words->evidence, site);
	fprintf(words->evidence, ": %s", unit_bytes(site->bytes.value).text);
	if (site->type && strcmp(site->type, TYPE_UNKNOWN) != 0)
		fprintf(words->evidence, " of type %.60s", site->type);
	if (site->survived.value >= 0)
		fprintf(words->evidence, ", of which %s survives",
			unit_percent(site->survived.value).text);
	fprintf(words->evidence, ".");
	fprintf(words->remedy, "Allocate or keep less there first.");
	return true;
}

static bool find_long_pauses(const struct model *model, struct words *words)
{
	const struct model_pauses *minor = &model->gc.minor, *major = &model->gc.major;
	const struct model_pauses *worse = minor->max_ns > major->max_ns ? minor : major;
	const struct model_pause *longest = model->n_pauses ? &model->pauses[0] : NULL;

	if (worse->max_ns < 100000000)
		return false;
	fprintf(words->evidence,
		"The longest pause, in a %s collection, took %s; 99 %% of %s took %s "
		"or less.",
		worse == minor ? "minor" : "major", unit_time((double)worse->max_ns).text,
		unit_count(worse->count).text, unit_time((double)worse->p99_ns).text);
	if (longest && longest->sums.own_wait_ns > longest->pause_ns / 2) {
		fprintf(words->evidence, " Its thread was off the CPU for %s of it.",
			unit_time((double)longest->sums.own_wait_ns).text);
		fprintf(words->remedy, "See what else ran then, or what the collector waited for: "
				       "report --gc and --off-cpu.");
		return true;
	}
	fprintf(words->remedy, "%s",
		worse == minor
			? "Minor pauses grow with the bytes they copy: report --gc shows whose "
			  "objects the longest ones copied, and what they delayed."
			: "If the collector can work in steps, find out why it did not: the "
			  "program asked for a full collection, or the heap was full.");
	return true;
}

/*
 * Calls that the collector itself makes or in which its threads wait for its end, and calls
 * in which a thread waits for a time or for work.
 */
static bool is_no_stall(const char *call)
{
	static const char *const names[] = {
		"mmap",       "munmap",      "madvise",    "mremap",          "brk",
		"mprotect",   "futex",       "membarrier", "sched_yield",     "nanosleep",
		"epoll_wait", "epoll_pwait", "poll",       "clock_nanosleep", "ppoll"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(call, names[i]) == 0)
			return true;
	return false;
}

/* A figure of a call, which may be an estimate. */
static struct unit_text figure_of(const struct model_syscall *call, uint64_t count)
{
	struct unit_text text = unit_rough((double)count), about;

	if (!call->estimated)
		return unit_count(count);
	snprintf(about.text, sizeof(about.text), "about %.24s", text.text);
	return about;
}

static bool find_stalled_calls(const struct model *model, struct words *words)
{
	const struct model_syscall *worst = NULL;

	for (size_t i = 0; i < model->n_syscalls; i++) {
		const struct model_syscall *call = &model->syscalls[i];

		if (!is_no_stall(call->name) && (!worst || call->in_gc_ns > worst->in_gc_ns))
			worst = call;
	}
	if (!worst || (double)worst->in_gc_ns < 0.01 * wall_of(model))
		return false;
	fprintf(words->evidence,
		"%s of %s %s of %s %s in progress during a collection, for %s of their %s.",
		figure_of(worst, worst->in_gc_count).text, figure_of(worst, worst->count).text,
		plural(worst->count, "call[|s]").text, worst->name,
		plural(worst->in_gc_count, "[was|were]").text,
		unit_time((double)worst->in_gc_ns).text, unit_time((double)worst->total_ns).text);
	fprintf(words->remedy,
		"The thread could not continue until the pause was over, or waited anyway: "
		"compare with --filter during=syscall:%s.",
		worst->name);
	return true;
}

static bool find_explicit(const struct model *model, struct words *words)
{
	bool most = model->gc.requests_missing;
	/* A request may take several collections. */
	uint64_t count = most ? model->gc.reasons[GCPROF_REASON_EXPLICIT].count
			      : model->gc.requests;
	double ns = (double)model->gc.reasons[GCPROF_REASON_EXPLICIT].total_ns;

	if (!count || ns < 0.02 * wall_of(model))
		return false;
	fprintf(words->evidence,
		"The program itself requested %s%s collection%s, which took %s (%s of wall time).",
		most ? "up to " : "", unit_count(count).text, plural(count, "[|s]").text,
		unit_time(ns).text, unit_percent(ns / wall_of(model)).text);
	fprintf(words->remedy, "Let the collector decide when to collect.");
	return true;
}

static bool find_slow_stops(const struct model *model, struct words *words)
{
	const struct model_gc *gc = &model->gc;

	if (gc->stop_max_ns < 1000000 || (double)gc->stop_ns < 0.1 * pauses_of(model))
		return false;
	fprintf(words->evidence, "Stopping all threads took %s of the pauses, at most %s.",
		unit_percent((double)gc->stop_ns / pauses_of(model)).text,
		unit_time((double)gc->stop_max_ns).text);
	fprintf(words->remedy,
		"Some thread reaches its safepoint late: look for long loops and calls "
		"without one, or fewer threads than CPUs.");
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

static bool find_failing_calls(const struct model *model, struct words *words)
{
	const struct model_syscall *worst = NULL;

	for (size_t i = 0; i < model->n_syscalls; i++)
		if (asks_for_file(model->syscalls[i].name) &&
		    (!worst || model->syscalls[i].errors > worst->errors))
			worst = &model->syscalls[i];
	if (!worst || worst->errors < 1000 || worst->errors < worst->count / 2)
		return false;
	fprintf(words->evidence, "%s of %s calls of %s failed.",
		figure_of(worst, worst->errors).text, figure_of(worst, worst->count).text,
		worst->name);
	fprintf(words->remedy, "If the program keeps asking for something that rarely exists, "
			       "cache the answer.");
	return true;
}

/* The total time if every call took the median time. */
static double usual_ns(const struct model_syscall *call)
{
	return (double)call->p50_ns * (double)call->count;
}

static bool find_many_calls(const struct model *model, struct words *words)
{
	const struct model_syscall *call = NULL;

	for (size_t i = 0; i < model->n_syscalls; i++)
		if (!call || usual_ns(&model->syscalls[i]) > usual_ns(call))
			call = &model->syscalls[i];
	/* Long calls wait for something; many short calls are work. */
	if (!call || call->count < 10000 || call->p50_ns > 20000 ||
	    (double)call->total_ns < 0.1 * wall_of(model))
		return false;
	/* If a few calls take most of the time, making fewer calls would not help. */
	if ((double)call->total_ns > 4 * usual_ns(call))
		return false;
	fprintf(words->evidence,
		"%s calls of %s took %s, %s of wall time; half of them %s or less.",
		figure_of(call, call->count).text, call->name,
		unit_time((double)call->total_ns).text,
		unit_percent((double)call->total_ns / wall_of(model)).text,
		unit_time((double)call->p50_ns).text);
	fprintf(words->remedy, "Fewer, larger ones would cost less.");
	return true;
}

/* A machine or container with too few CPUs for its load. */
static bool find_queues(const struct model *model, struct words *words)
{
	double queued = (double)model->cpu.queued_ns, cpu = (double)model->cpu.on_cpu_ns;

	if (queued < QUEUED_MIN_NS || queued < 0.25 * (queued + cpu))
		return false;
	fprintf(words->evidence,
		"Threads were ready to run for %s but waited for a CPU, %s of the time in which "
		"they wanted one.",
		unit_time(queued).text, unit_percent(queued / (queued + cpu)).text);
	fprintf(words->remedy,
		"There are more threads than CPUs, other programs use the CPUs, or the quota of "
		"the cgroup is used up (nr_throttled in its cpu.stat).");
	return true;
}

static const struct rule {
	const char *name;
	bool (*find)(const struct model *model, struct words *words);
} rules[] = {
	{"lost_data", find_lost},
	{"premature_promotion", find_premature_promotion},
	{"costly_site", find_costly_site},
	{"small_nursery", find_small_nursery},
	{"long_pauses", find_long_pauses},
	{"explicit_collections", find_explicit},
	{"slow_stops", find_slow_stops},
	{"stalled_calls", find_stalled_calls},
	{"queues", find_queues},
	{"many_calls", find_many_calls},
	{"failing_calls", find_failing_calls},
	{"few_samples", find_few_samples},
	{"unfinished_stacks", find_unfinished_stacks},
	{"guessed_stacks", find_guessed_stacks},
	{"unnamed_code", find_unnamed},
	{"stripped_code", find_stripped},
};

_Static_assert(sizeof(rules) / sizeof(*rules) <= ADVICE_MAX, "raise ADVICE_MAX");

static int apply(const struct rule *rule, const struct model *model, struct advice_list *list)
{
	struct advice *advice = &list->items[list->count];
	size_t sizes[2];
	struct words words = {open_memstream(&advice->evidence, &sizes[0]),
			      open_memstream(&advice->remedy, &sizes[1])};
	bool found = words.evidence && words.remedy && rule->find(model, &words);
	bool failed = !words.evidence || !words.remedy;

	failed |= words.evidence && fclose(words.evidence) != 0;
	failed |= words.remedy && fclose(words.remedy) != 0;
	advice->name = rule->name;
	if (found && !failed) {
		list->count++;
		return 0;
	}
	free(advice->evidence);
	free(advice->remedy);
	*advice = (struct advice){0};
	return failed ? -ENOMEM : 0;
}

int advice_find(const struct model *model, struct advice_list *list)
{
	int error = 0;

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules) && !error; i++)
		error = apply(&rules[i], model, list);
	return error;
}

void advice_free(struct advice_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].evidence);
		free(list->items[i].remedy);
	}
	list->count = 0;
}
