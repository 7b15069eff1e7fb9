/* SPDX-License-Identifier: BSD-2-Clause */
/* unlike.c: says in what two recordings differ that should be alike to be compared. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "diff.h"
#include "../util/path_base.h"
#include "../util/units.h"

/* Appends a text, unless it has no room. */
static __attribute__((format(printf, 2, 3))) void put(struct diff_fact *out, const char *format,
						      ...)
{
	size_t used = strlen(out->text), room = sizeof(out->text) - used;
	va_list arguments;

	va_start(arguments, format);
	if ((size_t)vsnprintf(out->text + used, room, format, arguments) >= room)
		out->text[used] = 0;
	va_end(arguments);
}

/* Wherever the program lies: each version may have a folder. */
static void command(const struct model *model, struct diff_fact *out)
{
	for (size_t i = 0; i < model->run.n_command; i++)
		put(out, "%s%s", i ? " " : "",
		    i ? model->run.command[i] : path_base(model->run.command[i]));
}

static int by_version(const struct model_runtime *a, const struct model_runtime *b)
{
	int order = strcmp(a->name, b->name);

	return order ? order : strcmp(a->version ? a->version : "", b->version ? b->version : "");
}

/* Each once, in order, whichever process came first. */
static void runtimes(const struct model *model, struct diff_fact *out)
{
	const struct model_runtime *last = NULL, *next;

	for (;; last = next) {
		next = NULL;
		for (size_t i = 0; i < model->n_runtimes; i++) {
			const struct model_runtime *row = &model->runtimes[i];

			if ((!last || by_version(row, last) > 0) &&
			    (!next || by_version(row, next) < 0))
				next = row;
		}
		if (!next)
			return;
		put(out, "%s%s %s", last ? ", " : "", next->name,
		    next->version ? next->version : "");
	}
}

static void timer(const struct model *model, struct diff_fact *out)
{
	if (model->run.frequency)
		put(out, "%" PRIu64 " Hz", model->run.frequency);
}

static void period(const struct model *model, struct diff_fact *out)
{
	if (model->alloc.period)
		put(out, "%" PRIu64 " bytes", model->alloc.period);
}

/* One that was not merged has no number. */
static void recordings(const struct model *model, struct diff_fact *out)
{
	put(out, "%" PRIu64, model->run.files ? model->run.recordings : 1);
}

static void wall(const struct model *model, struct diff_fact *out)
{
	put(out, "%s", unit_time((double)model->run.wall).text);
}

/* A program that became slower is still like itself. */
static bool is_wall_alike(const struct model_run *before, const struct model_run *after)
{
	return before->wall / 2 <= after->wall && after->wall / 2 <= before->wall;
}

static const struct {
	const char *name;
	size_t text; /* of struct model_run, unless a function writes it */
	void (*write)(const struct model *model, struct diff_fact *out);
	bool (*is_alike)(const struct model_run *before, const struct model_run *after);
} facts[DIFF_FACTS] = {
	{"command", 0, command, NULL},
	{"runtimes", 0, runtimes, NULL},
	{"kernel", offsetof(struct model_run, kernel), NULL, NULL},
	{"CPU model", offsetof(struct model_run, cpu_model), NULL, NULL},
	{"CPUs", offsetof(struct model_run, cpus), NULL, NULL},
	{"recorder", offsetof(struct model_run, tool), NULL, NULL},
	{"timer", 0, timer, NULL},
	{"allocation period", 0, period, NULL},
	{"recordings", 0, recordings, NULL},
	{"recorded time", 0, wall, is_wall_alike},
};

/* An empty text: it is unknown. */
static struct diff_fact fact_of(const struct model *model, unsigned fact)
{
	const char *const *text = (const void *)((const char *)&model->run + facts[fact].text);
	struct diff_fact out = {""};

	if (facts[fact].write)
		facts[fact].write(model, &out);
	else
		put(&out, "%s", *text ? *text : "");
	return out;
}

bool diff_unlike(const struct diff *diff, unsigned fact, struct diff_unlike *out)
{
	out->name = facts[fact].name;
	out->before = fact_of(diff->before, fact);
	out->after = fact_of(diff->after, fact);
	if (diff->per_cpu || !*out->before.text || !*out->after.text)
		return false;
	return facts[fact].is_alike ? !facts[fact].is_alike(&diff->before->run, &diff->after->run)
				    : strcmp(out->before.text, out->after.text) != 0;
}
