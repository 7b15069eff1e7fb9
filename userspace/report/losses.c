/* SPDX-License-Identifier: BSD-2-Clause */
/* losses.c: what is missing from a profile, and how often samples were taken. */
#include <inttypes.h>
#include <string.h>

#include "../util/plural.h"
#include "../util/units.h"
#include "advice.h"
#include "sections.h"

const char *stack_reason_text(enum stack_reason reason)
{
	static const char *const texts[STACK_REASONS] = {
		[REASON_USER_FAILED] = "the user stack could not be read",
		[REASON_USER_CUT] = "the user stack is deeper than the recorder follows",
		[REASON_KERNEL_FAILED] = "the kernel stack could not be read",
		[REASON_KERNEL_CUT] = "the kernel stack is deeper than the recorder follows",
		[REASON_MANAGED_TORN] = "a managed frame could not be read",
		[REASON_MANAGED_CUT] = "the managed stack is deeper than the recorder follows",
		[REASON_USER_END] =
			"the user stack is truncated (no unwind information for some function)",
		[REASON_USER_GUESSED] = "frame pointers were followed where unwind rows are "
					"missing: callers may be missing",
		[REASON_LOST] = "the sample that reported the stack was lost",
		[REASON_JAVA_END] = "the caller of a Java frame was not found",
		[REASON_JAVA_FROZEN] = "outer frames of a virtual thread were in the heap",
		[REASON_NARROW] = "a 32-bit program, of which only frame pointers are followed: "
				  "callers may be missing",
	};

	return texts[reason];
}

static void print_stacks(const struct section *section)
{
	const struct model_stacks *stacks = &section->model->stacks;

	if (!stacks->samples)
		return;
	if (stacks->samples == 1 && stacks->complete) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "The only stack is complete.");
		return;
	}
	if (stacks->complete == stacks->samples) {
		page_paragraph(section->page, STYLE_PLAIN, 2, "All %s stacks are complete.",
			       unit_count(stacks->samples).text);
		return;
	}
	page_paragraph(section->page, STYLE_PLAIN, 2, "%.1f%% of %s stack%s complete. The others:",
		       100.0 * (double)stacks->complete / (double)stacks->samples,
		       unit_count(stacks->samples).text,
		       plural(stacks->samples, "[ is|s are]").text);
	for (int i = 0; i < STACK_REASONS; i++)
		if (stacks->reasons[i])
			page_paragraph(section->page, STYLE_PLAIN, 4, "%s: %s",
				       unit_count(stacks->reasons[i]).text, stack_reason_text(i));
}

static void print_details(const struct section *section)
{
	const struct model *model = section->model;

	page_paragraph(
		section->page, STYLE_DIM, 2,
		"read %s records in %s chunk%s; %s of unknown kinds; %s left out because they "
		"contradict others; %s file, %s decompressed",
		unit_count(model->status.records).text, unit_count(model->status.chunks).text,
		plural(model->status.chunks, "[|s]").text, unit_count(model->status.unknown).text,
		unit_count(model->refused).text, unit_bytes((double)model->status.bytes).text,
		unit_bytes((double)model->status.plain_bytes).text);
	for (size_t i = 0; i < model->n_streams; i++)
		page_paragraph(section->page, STYLE_DIM, 2,
			       "stream %s: %s, %s event%s, %s lost, %s cut, %s held back",
			       model->streams[i].name,
			       model->streams[i].attached ? "attached" : "not attached",
			       unit_count(model->streams[i].events).text,
			       plural(model->streams[i].events, "[|s]").text,
			       unit_count(model->streams[i].lost).text,
			       unit_count(model->streams[i].cut).text,
			       unit_count(model->streams[i].held).text);
}

static bool is_about_stacks(const char *name)
{
	return strncmp(name, "STACK_", 6) == 0 || strncmp(name, "MANAGED_", 8) == 0;
}

int section_losses(const struct section *section)
{
	const struct model *model = section->model;
	uint64_t lost = 0;

	page_heading(section->page, "Losses");
	for (size_t i = 0; i < model->n_losses; i++) {
		const struct model_loss *loss = &model->losses[i];

		lost += loss->severity_code == SEVERITY_LOST;
		/* Losses of stacks are shown below, as shares of all stacks. */
		if (section->model->stacks.samples && is_about_stacks(loss->name))
			continue;
		page_paragraph(section->page,
			       loss->severity_code == SEVERITY_LOST ? STYLE_WARNING : STYLE_PLAIN,
			       2, "%s %s", unit_count(loss->count).text, loss->text);
	}
	if (!lost)
		page_paragraph(section->page, STYLE_PLAIN, 2, "Nothing was lost.");
	if (model->refused)
		page_paragraph(section->page, STYLE_WARNING, 2, "%s record%s left out.",
			       unit_count(model->refused).text,
			       plural(model->refused, "[ contradicts others and was|s contradict "
						      "others and were]")
				       .text);
	print_stacks(section);
	if (section->verbose)
		print_details(section);
	return 0;
}

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
