/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.c: splits batches of samples. */
#include "flow_parts.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SIZE_SANE (UINT64_C(1) << 48) /* as for unbatched samples */

static bool is_sane(const struct gcprof_sample *sample)
{
	return sample->sample && sample->size && sample->size < SIZE_SANE && sample->period &&
	       sample->period < SIZE_SANE && sample->kind >= GCPROF_SAMPLE_NURSERY &&
	       sample->kind <= GCPROF_SAMPLE_MANUAL;
}

/* A time outside these bounds would stay in the merger for long, or precede the profile. */
static bool is_time(const struct event_samples *batch, uint64_t time)
{
	return time >= batch->since && time <= batch->header.time;
}

/* Was the sample taken before this recording? */
static bool is_before(const struct event_samples *batch, uint64_t time, uint64_t began)
{
	return is_time(batch, time) && time < began;
}

/* The stacks become an event of their own, right before the first sample. */
static void split_stacks(const struct event_samples *batch, uint64_t began, batches_visit *visit,
			 void *context)
{
	struct {
		struct event_stacks event;
		uint64_t words[GCPROF_STACK_WORDS_MAX];
	} stacks;
	size_t size = batch->words * sizeof(uint64_t);

	stacks.event.header = batch->header;
	stacks.event.header.size = (uint32_t)(sizeof(stacks.event) + size);
	stacks.event.header.code = EVENT_stacks;
	for (uint32_t i = 0; i < batch->count; i++) {
		uint64_t time = batch->entries[i].time;

		if (is_time(batch, time) && time >= began && time < stacks.event.header.time)
			stacks.event.header.time = time;
	}
	memcpy(stacks.words, &batch->entries[batch->count], size);
	visit(context, &stacks.event.header, stacks.event.header.size);
}

/* Does the batch contain all samples and stacks that it should? */
static bool is_whole(const struct event_samples *batch, size_t size)
{
	size_t room = size - sizeof(*batch);

	return size >= sizeof(*batch) && batch->count && batch->count <= GCPROF_SAMPLES_MAX &&
	       batch->words <= GCPROF_STACK_WORDS_MAX &&
	       batch->count * sizeof(batch->entries[0]) + batch->words * sizeof(uint64_t) <= room;
}

int batches_split(const struct event_samples *batch, size_t size, uint64_t began,
		  struct batches_faults *faults, batches_visit *visit, void *context)
{
	struct event_alloc event = {.header = batch->header,
				    .provider = batch->header.provider,
				    .batched = 1,
				    .since = batch->since};

	if (!is_whole(batch, size))
		return -EBADMSG;
	if (batch->words)
		split_stacks(batch, began, visit, context);
	event.header.size = sizeof(event);
	event.header.code = EVENT_alloc;
	event.header.fiber = 0;
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct gcprof_sample *sample = &batch->entries[i];

		if (!is_sane(sample)) {
			faults->refused++;
			continue;
		}
		if (is_before(batch, sample->time, began))
			continue;
		event.sample = sample->sample;
		event.type = sample->type;
		event.bytes = sample->size;
		event.period = sample->period;
		event.kind = sample->kind;
		event.key = sample->stack;
		event.header.time = sample->time;
		if (!is_time(batch, sample->time)) {
			faults->misdated++;
			event.header.time = batch->header.time;
		}
		visit(context, &event.header, sizeof(event));
	}
	return 0;
}
