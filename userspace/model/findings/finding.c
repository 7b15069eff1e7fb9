/* SPDX-License-Identifier: BSD-2-Clause */
/* finding.c: what those that look for findings share: sums over places, and words. */
#include "finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	enum topic topic;
	const char *runtime, *text;
} remedies[] = {
#define REMEDY(topic, runtime, text) {TOPIC_##topic, runtime, text},
#include "remedies.def"
};

enum { NAME_MAX_SHOWN = PLACE_NAME_SIZE - 1, SPOTS_MAX = 8 };

double places_sum(const struct evidence *evidence, place_measure *measure)
{
	double sum = 0;

	for (size_t i = 1; i < evidence->n_places; i++)
		sum += fmax(measure(evidence, &evidence->places[i]), 0);
	return sum;
}

/* Everything that the program's function allocated, below whatever it called. */
static void sum_function(const struct evidence *evidence, struct spot_sum *sum)
{
	struct caused caused = {0};
	struct tally bytes = {0};
	struct share survived = {0};

	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *place = &evidence->places[i];

		if (place->function != sum->function || place->call)
			continue;
		caused_merge(&caused, &place->caused);
		tally_merge(&bytes, &place->bytes);
		share_merge(&survived, &place->survived);
	}
	sum->bytes = bytes.value;
	if (bytes.value > 0)
		sum->gc =
			caused_figures(&caused, &evidence->model->gc.paces, &bytes, survived.some);
}

/* The function with the greatest sum below those already found. */
static bool next_greatest(const double *sums, size_t n, const struct spot_sum *found,
			  unsigned count, struct spot_sum *out)
{
	*out = (struct spot_sum){0};
	for (size_t i = 1; i < n; i++) {
		bool taken = false;

		for (unsigned j = 0; j < count; j++)
			taken |= found[j].function == i;
		if (!taken && sums[i] > out->value)
			*out = (struct spot_sum){.function = (uint32_t)i, .value = sums[i]};
	}
	if (!count && sums[0] > out->value)
		*out = (struct spot_sum){.value = sums[0]};
	return out->value > 0;
}

bool spot_find(const struct evidence *evidence, place_measure *measure, unsigned n,
	       struct spot_sum *out)
{
	double *sums = calloc(evidence->n_functions + 1, sizeof(*sums)), most = 0;
	struct spot_sum found[SPOTS_MAX];
	bool ok = sums && n < SPOTS_MAX;

	for (size_t i = 1; i < evidence->n_places && ok; i++)
		sums[evidence->places[i].function] +=
			fmax(measure(evidence, &evidence->places[i]), 0);
	for (unsigned i = 0; i <= n && ok; i++)
		ok = next_greatest(sums, evidence->n_functions + 1, found, i, &found[i]);
	free(sums);
	if (!ok)
		return false;
	*out = found[n];
	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *place = &evidence->places[i];
		double value = measure(evidence, place);

		if (place->function == out->function && value > most) {
			out->place = place;
			most = value;
		}
	}
	sum_function(evidence, out);
	return out->place != NULL;
}

double cpu_of(const struct evidence *evidence)
{
	const struct model_cpu *cpu = &evidence->model->cpu;

	return fmax((double)cpu->on_cpu_ns - (double)cpu->recording_ns, 0);
}

double collector_of(const struct evidence *evidence)
{
	return model_gc_cost(&evidence->model->gc, &evidence->model->cpu);
}

static bool has_runtime(const struct evidence *evidence, const char *name)
{
	for (size_t i = 0; i < evidence->model->n_runtimes; i++)
		if (strncmp(evidence->model->runtimes[i].name, name, strlen(name)) == 0)
			return true;
	return false;
}

/* A name too long for a sentence loses the directories of its import path, then its end. */
static void shorten(const char *name, char *out, size_t size)
{
	static const char *const added[] = {".constprop.", ".isra.", ".part.", ".cold", ".abi0"};
	size_t most;

	if (strlen(name) > NAME_MAX_SHOWN)
		for (size_t i = strcspn(name, "([ "); i > 0; i--)
			if (name[i - 1] == '/') {
				name += i;
				break;
			}
	/* Then the arguments, unless the name begins with a parenthesis. */
	most = strlen(name) > NAME_MAX_SHOWN ? 1 + strcspn(name + 1, "(") : NAME_MAX_SHOWN;
	snprintf(out, size, "%.*s", (int)(most < NAME_MAX_SHOWN ? most : NAME_MAX_SHOWN), name);
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		if (strstr(out, added[i]))
			*strstr(out, added[i]) = 0;
}

const char *place_name(const struct evidence *evidence, uint32_t function, char *out, size_t size)
{
	if (!function)
		return NULL;
	shorten(evidence->functions[function - 1].name, out, size);
	return out;
}

void write_place(FILE *out, const struct evidence *evidence, const struct place *place)
{
	char name[NAME_MAX_SHOWN + 1], caller[NAME_MAX_SHOWN + 1];

	if (!place || !place_name(evidence, place->function, name, sizeof(name)))
		return;
	fprintf(out, " in %s", name);
	if (place_name(evidence, place->caller, caller, sizeof(caller)))
		fprintf(out, " (called by %s)", caller);
}

void write_remedy(struct candidate *out, const struct evidence *evidence, enum topic topic)
{
	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++)
		if (remedies[i].topic == topic &&
		    (!*remedies[i].runtime || has_runtime(evidence, remedies[i].runtime))) {
			fprintf(out->remedy, "%s.", remedies[i].text);
			return;
		}
}

void write_pattern_remedy(struct candidate *out, const struct evidence *evidence, enum topic topic)
{
	const struct pattern *pattern = out->place->pattern;

	if (pattern && *pattern->remedy)
		fprintf(out->remedy, "%s.", pattern->remedy);
	else
		write_remedy(out, evidence, topic);
}

void write_command(struct candidate *out, const char *option, const char *key, const char *name)
{
	fprintf(out->command, "gcprof report %s '%s", option, key);
	for (; *name; name++)
		if (*name == '\'')
			fputs("'\\''", out->command);
		else
			fputc(*name, out->command);
	fputc('\'', out->command);
}

void write_callers(struct candidate *out, const struct evidence *evidence)
{
	const struct place *place = out->place;

	if (place && place->function)
		write_command(out, "--callees", "", evidence->functions[place->function - 1].name);
}

const struct model_syscall *call_of(const struct evidence *evidence, uint32_t call)
{
	for (size_t i = 0; i < evidence->model->n_syscalls; i++)
		if (evidence->model->syscalls[i].number + 1 == call)
			return &evidence->model->syscalls[i];
	return NULL;
}

bool is_placed(const struct evidence *evidence, const struct place *place)
{
	const struct model_syscall *row = call_of(evidence, place->call);

	return place->function || place->class == CALL_DISK ||
	       (place->class == CALL_PEER && row &&
		system_call_find(row->name)->class == CALL_IDLE);
}
