/* SPDX-License-Identifier: BSD-2-Clause */
/* losses.c: describes what is missing from a profile. */
#include <inttypes.h>
#include <string.h>

#include "../util/plural.h"
#include "advice_rules.h"
#include "sections.h"
#include "units.h"

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
