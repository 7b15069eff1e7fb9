/* SPDX-License-Identifier: BSD-2-Clause */
/* sampling.c: how often samples were taken. */
#include <inttypes.h>
#include <string.h>

#include "sections.h"
#include "units.h"

enum { PERIODS_SHOWN = 4 };

/* Whether an earlier runtime has the same period, and the same name if `name`. */
static bool is_repeated(const struct model *model, size_t runtime, bool name)
{
	const struct model_runtime *row = &model->runtimes[runtime];

	for (size_t i = 0; i < runtime; i++)
		if (model->runtimes[i].period &&
		    strcmp(unit_bytes((double)model->runtimes[i].period).text,
			   unit_bytes((double)row->period).text) == 0 &&
		    (!name || strcmp(model->runtimes[i].name, row->name) == 0))
			return true;
	return false;
}

/* "512 KiB (gcprof-malloc) or 32.0 KiB (toy)"; without names if there is one period. Returns the
 * longest. */
static uint64_t describe_periods(const struct model *model, char *out, size_t size)
{
	uint64_t most = model->alloc.period;
	size_t used, n = 0, periods = 0;

	/* The first period that was announced may be that of a provider without samples. */
	for (size_t i = 0; i < model->n_runtimes; i++) {
		periods += model->runtimes[i].period && !is_repeated(model, i, false);
		if (model->runtimes[i].period && model->runtimes[i].period < most)
			most = model->runtimes[i].period;
	}
	used = (size_t)snprintf(out, size, "%s", unit_bytes((double)most).text);
	for (size_t i = 0; periods > 1 && i < model->n_runtimes && n <= PERIODS_SHOWN; i++) {
		const struct model_runtime *row = &model->runtimes[i];

		if (!row->period || is_repeated(model, i, true))
			continue;
		used = n ? used : 0;
		most = row->period > most ? row->period : most;
		if (n++ == PERIODS_SHOWN)
			snprintf(out + used, size - used, " ...");
		else
			used += (size_t)snprintf(out + used, size - used, "%s%s (%.30s)",
						 n > 1 ? " or " : "",
						 unit_bytes((double)row->period).text, row->name);
	}
	return most;
}

void section_sampling(const struct section *section)
{
	const struct model_alloc *alloc = &section->model->alloc;
	const struct model_cpu *cpu = &section->model->cpu;
	char periods[PERIODS_SHOWN * 64];
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
	if (alloc->period_max > most &&
	    strcmp(unit_bytes((double)alloc->period_max).text, unit_bytes((double)most).text) != 0)
		snprintf(rarely, sizeof(rarely), ", at times every %s%s",
			 unit_bytes((double)alloc->period_max).text,
			 alloc->period_changes ? " to limit the cost" : "");
	page_paragraph(section->page, STYLE_PLAIN, 2, "%s; an allocation sample every %s%s", timer,
		       periods, rarely);
}
