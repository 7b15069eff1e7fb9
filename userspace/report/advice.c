/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.c: what is wrong with a recording, each with evidence and a remedy. */
/*
 * Each rule inspects the model and, if it finds something, writes its evidence and a remedy. What
 * the program does wrong is among the model's findings.
 */
#include "advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/path_base.h"
#include "../util/plural.h"
#include "../util/units.h"

/* Where a rule writes its sentences; the remedy may stay empty. Each rule writes something and
 * returns true if the model shows it. */
struct words {
	FILE *evidence, *remedy;
};

/* Writes how many events of each stream are missing; returns their number. */
static uint64_t write_lost_events(const struct model *model, FILE *out)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < model->n_streams; i++)
		lost += model->streams[i].lost;
	if (!lost)
		return 0;
	fprintf(out, "%s event%s lost (", unit_count(lost).text,
		plural(lost, "[ was|s were]").text);
	for (size_t i = 0, named = 0; i < model->n_streams; i++)
		if (model->streams[i].lost)
			fprintf(out, "%s%s %s", named++ ? ", " : "", model->streams[i].name,
				unit_count(model->streams[i].lost).text);
	fprintf(out, "): their figures are too low.");
	return lost;
}

/* The options that make fewer events of a stream; NULL: none. */
static const char *fewer_by(const char *stream)
{
	static const char *const options[][2] = {
		{"alloc", "a larger -R"},
		{"cpu", "a lower -F"},
		{"syscall", "--syscalls slow=TIME"},
		{"sched", "--no-off-cpu"},
		{"fault", "no --faults"},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(options[i][0], stream))
			return options[i][1];
	return NULL;
}

/* What would have kept the losses that come from too many events. */
static void write_fewer(const struct model *model, FILE *out)
{
	bool fewer = false;
	int named = 0;

	for (size_t i = 0; i < model->n_streams; i++) {
		const char *option = fewer_by(model->streams[i].name);
		bool has = false;

		for (size_t j = 0; j < model->n_losses; j++)
			has |= model->losses[j].fewer &&
			       model->losses[j].severity_code == SEVERITY_LOST &&
			       !strcmp(model->losses[j].stream, model->streams[i].name);
		fewer |= has;
		if (has && option)
			fprintf(out, "%s%s", named++ ? ", " : "Record fewer events (", option);
	}
	if (fewer)
		fprintf(out, "%s other load on the machine.",
			named ? "), or reduce" : "The recorder could not keep up: reduce");
}

static bool find_children(const struct model *model, struct words *words)
{
	uint64_t count = model->run.children ? strtoull(model->run.children, NULL, 10) : 0;

	if (!count)
		return false;
	fprintf(words->evidence,
		"%s %s that the recorded ones had started before %s not recorded; those of a "
		"server do its work.",
		unit_count(count).text, plural(count, "process[|es]").text,
		plural(count, "[is|are]").text);
	fprintf(words->remedy, "Add them to record -p, or record their --cgroup.");
	return true;
}

static bool find_lost(const struct model *model, struct words *words)
{
	uint64_t lost = write_lost_events(model, words->evidence);

	for (size_t i = 0; i < model->n_losses; i++) {
		const struct model_loss *loss = &model->losses[i];

		if (loss->severity_code != SEVERITY_LOST || !strcmp(loss->unit, "events"))
			continue;
		fprintf(words->evidence, "%s%s %s.", lost ? " " : "", unit_count(loss->count).text,
			loss->text);
		lost += loss->count;
	}
	write_fewer(model, words->remedy);
	return lost > 0;
}

static bool find_unfinished_stacks(const struct model *model, struct words *words)
{
	const struct model_stacks *stacks = &model->stacks;
	uint64_t cut = stacks->samples - stacks->complete;
	uint64_t guessed = stacks->reasons[REASON_USER_GUESSED];
	int most = REASON_USER_END;

	cut -= guessed < cut ? guessed : cut;
	if (stacks->samples < 100 || (double)cut < 0.05 * (double)stacks->samples)
		return false;
	fprintf(words->evidence, "%s of %s stacks are truncated: totals of callers are too low.",
		unit_percent((double)cut / (double)stacks->samples).text,
		unit_count(stacks->samples).text);
	for (int i = 0; i < STACK_REASONS; i++)
		if (i != REASON_USER_GUESSED && stacks->reasons[i] > stacks->reasons[most])
			most = i;
	fprintf(words->evidence, " Mostly: %s.", stack_reason_text(most));
	return true;
}

/* Nothing is known of these: neither unwind rows nor names. */
static bool has_unread_files(const struct model *model)
{
	for (size_t i = 0; i < model->n_losses; i++)
		if (!strcmp(model->losses[i].name, "NAMES_FILE"))
			return true;
	return false;
}

static bool find_guessed_stacks(const struct model *model, struct words *words)
{
	const struct model_stacks *stacks = &model->stacks;
	uint64_t guessed = stacks->reasons[REASON_USER_GUESSED];
	bool generated = stacks->guessed_generated > guessed / 2, named = false;
	bool early = stacks->guessed_early > guessed / 2;

	if (stacks->samples < 100 || (double)guessed < 0.05 * (double)stacks->samples)
		return false;
	fprintf(words->evidence,
		"%s of %s stacks were unwound by frame pointers through code without unwind "
		"rows%s%s: callers may be missing there.",
		unit_percent((double)guessed / (double)stacks->samples).text,
		unit_count(stacks->samples).text, generated ? ", which was made at run time" : "",
		early ? ", most of them in the first 2 s, before gcprof had read its files" : "");
	for (size_t i = 0; i < model->n_runtimes && !generated; i++)
		named |= model->runtimes[i].names != NULL;
	/* What a runtime's own compiler makes has no such option. */
	if (has_unread_files(model))
		fprintf(words->remedy, "A file could not be opened or read: record -v says which "
				       "and why.");
	else if (!generated && !named && !early)
		fprintf(words->remedy,
			"Build that code with -fno-omit-frame-pointer, or with frame information.");
	return true;
}

static bool find_few_samples(const struct model *model, struct words *words)
{
	const struct model_alloc *alloc = &model->alloc;

	if (!alloc->samples || alloc->samples >= 100 || alloc->bytes.value <= 0)
		return false;
	fprintf(words->evidence,
		"Only %" PRIu64 " allocation%s sampled: the total may be anywhere from %s to %s, "
		"and single types and sites are even less certain.",
		alloc->samples, plural(alloc->samples, "[ was|s were]").text,
		unit_bytes(alloc->bytes.low).text, unit_bytes(alloc->bytes.high).text);
	fprintf(words->remedy, "Record for longer, or with more samples: -R %" PRIu64 "K.",
		alloc->period >= 16 * 1024 ? alloc->period / 16 / 1024 : 1);
	return true;
}

/* Code without names that was generated at run time, of the process with the most of it. */
static bool find_unnamed(const struct model *model, struct words *words)
{
	const size_t prefix = strlen(GENERATED_UNNAMED);
	const struct model_function *row = NULL;
	const char *names = NULL;

	for (size_t i = 0; i < model->n_functions && !row; i++)
		if (strncmp(model->functions[i].name, GENERATED_UNNAMED, prefix) == 0)
			row = &model->functions[i];
	if (!row || row->cpu_samples < 100 ||
	    row->cpu_total_ns < 0.1 * (double)model->cpu.on_cpu_ns)
		return false;
	fprintf(words->evidence,
		"%s of the CPU time is spent in, or below, code without names that %.60s made at "
		"run time.",
		unit_percent(row->cpu_total_ns / (double)model->cpu.on_cpu_ns).text,
		row->name + prefix);
	for (size_t i = 0; i < model->n_runtimes && !names; i++)
		if (!strcmp(model->runtimes[i].program, row->name + prefix))
			names = model->runtimes[i].names;
	if (names)
		fputs(names, words->remedy);
	return true;
}

/* Whether it is named by its place in a file without symbols. */
static bool is_place(const struct model_function *row)
{
	const char *base = row->module ? path_base(row->module) : "";
	size_t length = strlen(base);

	return length && row->runtime == RUNTIME_NATIVE && strncmp(row->name, base, length) == 0 &&
	       strncmp(row->name + length, "+0x", 3) == 0;
}

/* The runtime whose program this file is, or belongs to as sbcl.core does to sbcl; NULL: none. */
static const struct model_runtime *runtime_of(const struct model *model, const char *module)
{
	for (size_t i = 0; i < model->n_runtimes; i++) {
		const char *program = model->runtimes[i].program;

		if (model->runtimes[i].names && *program &&
		    !strncmp(program, path_base(module), strlen(program)))
			return &model->runtimes[i];
	}
	return NULL;
}

/* How the functions of a file get names. Only packages of the system have some with symbols. */
static void write_symbols(const struct model *model, const char *module, FILE *out)
{
	const struct model_runtime *runtime = runtime_of(model, module);
	bool packaged = !strncmp(module, "/usr/", 5) && strncmp(module, "/usr/local/", 11);

	if (runtime && runtime->names_file)
		fputs(runtime->names, out);
	else if (packaged || !strncmp(module, "/lib", 4))
		fprintf(out, "Install the debug symbols of its package, and record again.");
	else if (!runtime)
		fprintf(out, "Build it without -s or strip, and record again.");
}

/* Functions without symbols, of the file whose costliest one leads. */
static bool find_stripped(const struct model *model, struct words *words)
{
	const struct model_function *most = NULL;
	bool managed = false, unread = has_unread_files(model);
	double sum = 0;

	for (size_t i = 0; i < model->n_functions; i++)
		managed |= model->functions[i].runtime == RUNTIME_MANAGED &&
			   strncmp(model->functions[i].name, GENERATED_UNNAMED,
				   strlen(GENERATED_UNNAMED)) != 0;
	for (size_t i = 0; i < model->n_functions; i++)
		if (is_place(&model->functions[i]) &&
		    (!most || model->functions[i].cpu_self_ns > most->cpu_self_ns))
			most = &model->functions[i];
	for (size_t i = 0; most && i < model->n_functions; i++)
		if (is_place(&model->functions[i]) &&
		    strcmp(model->functions[i].module, most->module) == 0)
			sum += model->functions[i].cpu_self_ns;
	if (!most || model->cpu.samples < 100 || sum < 0.1 * (double)model->cpu.on_cpu_ns)
		return false;
	fprintf(words->evidence,
		"%s of the CPU time is in functions of %.100s that have no names: the file has no "
		"symbols for them%s.",
		unit_percent(sum / (double)model->cpu.on_cpu_ns).text, path_base(most->module),
		unread ? ", or could not be read" : "");
	if (unread)
		fprintf(words->remedy, "record -v says which files could not be read, and why.");
	else
		write_symbols(model, most->module, words->remedy);
	if (managed)
		fprintf(words->remedy,
			"%sWith --frames managed, their time counts for the functions of the "
			"program's own language that called them.",
			ftell(words->remedy) > 0 ? " " : "");
	return true;
}

static const struct rule {
	const char *name;
	bool (*find)(const struct model *model, struct words *words);
} rules[] = {
	{"lost_data", find_lost},
	{"children", find_children},
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
