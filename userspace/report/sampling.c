/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.c: how often samples were taken. */
#include <inttypes.h>
#include <string.h>

#include "sections.h"
#include "units.h"

enum { PERIODS_SHOWN = 4 };

/* Periods of the providers of one name: those of several processes may differ. */
struct span {
	uint64_t least, most;
	bool is_first; /* no earlier provider has the name */
};

static struct span span_of(const struct model *model, size_t provider)
{
	const struct model_runtime *rows = model->runtimes;
	struct span span = {rows[provider].period, rows[provider].period,
			    rows[provider].period != 0};

	for (size_t i = 0; i < model->n_runtimes; i++) {
		if (!rows[i].period || strcmp(rows[i].name, rows[provider].name) != 0)
			continue;
		span.is_first &= i >= provider;
		span.least = rows[i].period < span.least ? rows[i].period : span.least;
		span.most = rows[i].period > span.most ? rows[i].period : span.most;
	}
	return span;
}

/* Do they read the same? */
static bool is_alike(uint64_t a, uint64_t b)
{
	return strcmp(unit_bytes((double)a).text, unit_bytes((double)b).text) == 0;
}

/* "32.0 KiB", or "32.0 KiB to 512 KiB" */
static size_t put_span(char *out, size_t size, uint64_t least, uint64_t most)
{
	return (size_t)snprintf(out, size, "%s%s%s", unit_bytes((double)least).text,
				is_alike(least, most) ? "" : " to ",
				is_alike(least, most) ? "" : unit_bytes((double)most).text);
}

/* "512 KiB (gcprof-malloc) or 32.0 KiB (toy)"; without names if all are alike, or there is one.
 * Returns the longest. */
static uint64_t describe_periods(const struct model *model, char *out, size_t size)
{
	struct span all = {UINT64_MAX, 0, false};
	size_t used = 0, n = 0, names = 0;

	for (size_t i = 0; i < model->n_runtimes; i++) {
		struct span span = span_of(model, i);

		names += span.is_first;
		if (span.least && span.least < all.least)
			all.least = span.least;
		all.most = span.most > all.most ? span.most : all.most;
	}
	if (is_alike(all.least, all.most) || !names) {
		/* The first period that was announced may be that of a provider without samples. */
		all.most = model->alloc.period < all.least ? model->alloc.period : all.least;
		all.least = all.most;
	}
	if (names < 2 || is_alike(all.least, all.most)) {
		put_span(out, size, all.least, all.most);
		return all.most;
	}
	for (size_t i = 0; i < model->n_runtimes && n <= PERIODS_SHOWN; i++) {
		struct span span = span_of(model, i);

		if (!span.is_first)
			continue;
		if (n++ == PERIODS_SHOWN) {
			snprintf(out + used, size - used, " ...");
			break;
		}
		used += (size_t)snprintf(out + used, size - used, "%s", n > 1 ? " or " : "");
		used += put_span(out + used, size - used, span.least, span.most);
		used += (size_t)snprintf(out + used, size - used, " (%.30s)",
					 model->runtimes[i].name);
	}
	return all.most;
}

void section_sampling(const struct section *section)
{
	const struct model_alloc *alloc = &section->model->alloc;
	const struct model_cpu *cpu = &section->model->cpu;
	char periods[PERIODS_SHOWN * 96];
	uint64_t most;
	char timer[80] = "no timer", rarely[80] = " on average";

	if (section->model->run.frequency)
		snprintf(timer, sizeof(timer), "timer %" PRIu64 " Hz%s",
			 section->model->run.frequency,
			 cpu->records < cpu->samples ? ", later reduced to limit the cost" : "");
	if (!alloc->period) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "%s", timer);
		return;
	}
	most = describe_periods(section->model, periods, sizeof(periods));
	if (alloc->period_max > most && !is_alike(alloc->period_max, most))
		snprintf(rarely, sizeof(rarely), ", at times every %s%s",
			 unit_bytes((double)alloc->period_max).text,
			 alloc->period_changes ? " to limit the cost" : "");
	page_paragraph(section->page, STYLE_PLAIN, 2, "%s; an allocation sample every %s%s", timer,
		       periods, rarely);
}
