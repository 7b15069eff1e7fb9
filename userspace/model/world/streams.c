/* SPDX-License-Identifier: BSD-2-Clause */
/* streams.c: what was recorded, what was not and what was lost, and why stacks are incomplete. */
#include "world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../profile/codes.h"
#include "../../util/plural.h"
#include "arena.h"
#include "text.h"

int streams_stream(struct streams *streams, struct arena *arena, const struct record_stream *record)
{
	struct stream_state *stream;

	if (!record->stream || record->stream >= STREAM_END)
		return -EBADMSG;
	stream = &streams->streams[record->stream];
	stream->reported = true;
	stream->attached = record->attached;
	stream->why = record->why;
	stream->why_not = name_clean(arena, record->why_not);
	return stream->why_not ? 0 : -ENOMEM;
}

int streams_loss_kind(struct streams *streams, struct arena *arena,
		      const struct record_loss_kind *record)
{
	struct loss_state *loss;

	if (record->kind >= LOSS_MAX || record->stream >= STREAM_END)
		return -EBADMSG;
	loss = &streams->losses[record->kind];
	loss->stream = (uint32_t)record->stream;
	loss->severity = (uint32_t)(record->severity & 7);
	loss->name = name_clean(arena, record->name);
	loss->text = name_clean(arena, record->text);
	loss->one = record->one.size ? name_clean(arena, record->one) : loss->text;
	return loss->name && loss->text && loss->one ? 0 : -ENOMEM;
}

int streams_loss(struct streams *streams, const struct record_loss *record)
{
	if (record->kind >= LOSS_MAX)
		return -EBADMSG;
	streams->losses[record->kind].count += record->count;
	return 0;
}

void streams_count(struct streams *streams, const struct record *record)
{
	streams->streams[record_stream(record)].events++;
}

static void add_streams(const struct streams *streams, struct model *model)
{
	bool reported = false;

	for (unsigned code = 1; code < STREAM_END; code++)
		reported |= streams->streams[code].reported;
	for (unsigned code = 1; code < STREAM_END; code++) {
		const struct stream_state *state = &streams->streams[code];
		const char *why_not =
			stream_why_not(code, state->attached ? 0 : state->why, state->why_not);
		struct model_stream *row;

		if (!stream_name(code))
			continue;
		row = &model->streams[model->n_streams++];
		row->name = stream_name(code);
		/* A truncated profile may lack the stream record; then events decide. */
		row->attached = state->reported ? state->attached : state->events > 0;
		if (!row->attached && state->why == WHY_UNASKED)
			row->option = stream_option(code);
		if (row->attached && state->reported && *why_not)
			row->partly = why_not;
		else if (!row->attached && state->reported && *why_not)
			row->why_not = why_not;
		else if (!row->attached)
			row->why_not = reported ? "unknown to the gcprof that recorded this"
						: "the recording ended before it could begin";
		row->events = state->events;
		model->recorded |= row->attached ? UINT32_C(1) << code : 0;
		for (unsigned kind = 0; kind < LOSS_MAX; kind++) {
			const struct loss_state *loss = &streams->losses[kind];

			if (!loss->name || loss->stream != code || !loss_counts_events(kind))
				continue;
			row->lost += loss->severity == SEVERITY_LOST ? loss->count : 0;
			row->cut += loss->severity == SEVERITY_CUT ? loss->count : 0;
			row->held += loss->severity == SEVERITY_HELD ? loss->count : 0;
		}
	}
}

/* Probes are attached, but no runtime has a sampler there: nothing is known of allocation. */
static void note_unsampled(struct model *model)
{
	struct model_stream *alloc = NULL;

	for (size_t i = 0; i < model->n_runtimes; i++)
		if (model->runtimes[i].has_sampler)
			return;
	for (size_t i = 0; i < model->n_streams; i++)
		if (strcmp(model->streams[i].name, stream_name(STREAM_ALLOC)) == 0)
			alloc = &model->streams[i];
	if (!alloc || !alloc->attached || alloc->events || !model->n_runtimes)
		return;
	alloc->attached = false;
	alloc->why_not = model->runtimes[0].note && *model->runtimes[0].note
				 ? model->runtimes[0].note
				 : "the program's runtime has no sampler";
	model->recorded &= ~(UINT32_C(1) << STREAM_ALLOC);
}

int streams_finish(const struct streams *streams, struct model *model)
{
	model->streams = calloc(STREAM_END, sizeof(*model->streams));
	model->losses = calloc(LOSS_MAX, sizeof(*model->losses));
	if (!model->streams || !model->losses)
		return -ENOMEM;
	add_streams(streams, model);
	note_unsampled(model);
	for (unsigned kind = 0; kind < LOSS_MAX; kind++) {
		const struct loss_state *loss = &streams->losses[kind];
		struct model_loss *row = &model->losses[model->n_losses];

		if (!loss->count)
			continue;
		row->name = loss->name ? loss->name : "unknown";
		row->text = !loss->name        ? "events were lost for an unknown reason"
			    : loss->count == 1 ? loss->one
					       : loss->text;
		row->stream = stream_name(loss->stream) ? stream_name(loss->stream) : "unknown";
		row->count = loss->count;
		row->unit = loss_unit_name(loss_info(kind)->unit);
		row->fewer = loss_info(kind)->remedy == REMEDY_FEWER;
		row->severity_code = loss->name ? loss->severity : SEVERITY_LOST;
		row->severity = severity_name(row->severity_code);
		model->n_losses++;
	}
	return 0;
}

/* Until then the recorder may still read the files of what runs. */
#define EARLY_NS UINT64_C(2000000000)

void quality_count(struct world *world, uint64_t stack, uint64_t quality, uint64_t ns)
{
	static const uint64_t bits[STACK_REASONS] = {
		[REASON_USER_FAILED] = STACK_USER_FAILED,
		[REASON_USER_CUT] = STACK_USER_CUT,
		[REASON_KERNEL_FAILED] = STACK_KERNEL_FAILED,
		[REASON_KERNEL_CUT] = STACK_KERNEL_CUT,
		[REASON_MANAGED_TORN] = STACK_MANAGED_TORN,
		[REASON_MANAGED_CUT] = STACK_MANAGED_CUT,
		[REASON_USER_END] = STACK_USER_END,
		[REASON_USER_GUESSED] = STACK_USER_GUESSED,
		[REASON_LOST] = STACK_LOST,
		[REASON_JAVA_END] = STACK_JAVA_END,
		[REASON_JAVA_FROZEN] = STACK_JAVA_FROZEN,
		[REASON_NARROW] = STACK_NARROW,
	};
	struct model_stacks *stacks = &world->model->stacks;

	if (!stack && !quality)
		return;
	stacks->samples++;
	if (quality & STACK_USER_END && tree_begins_properly(&world->tree, stack))
		quality &= ~(uint64_t)STACK_USER_END;
	if (quality & STACK_NARROW)
		quality &= ~(uint64_t)STACK_USER_END; /* that is why */
	if (!quality)
		stacks->complete++;
	if (quality & STACK_USER_GUESSED)
		stacks->guessed_generated += tree_has_generated(&world->tree, stack);
	stacks->guessed_early += quality & STACK_USER_GUESSED && ns < EARLY_NS;
	for (int i = 0; quality && i < STACK_REASONS; i++)
		stacks->reasons[i] += (quality & bits[i]) != 0;
}
