/* SPDX-License-Identifier: BSD-2-Clause */
/* batches.c: takes batches of samples apart. */
#include "batches.h"

#include <errno.h>
#include <stdbool.h>

#define SIZE_SANE (UINT64_C(1) << 48) /* as for samples that come one by one */

static bool is_sane(const struct gcprof_sample *sample)
{
	return sample->sample && sample->type && sample->size && sample->size < SIZE_SANE &&
	       sample->period && sample->period < SIZE_SANE &&
	       sample->kind >= GCPROF_SAMPLE_NURSERY && sample->kind <= GCPROF_SAMPLE_FOREIGN;
}

int batches_split(const struct event_samples *batch, size_t size, struct batches_faults *faults,
		  batches_visit *visit, void *context)
{
	struct event_sample event;
	size_t room;

	if (size < sizeof(*batch))
		return -EBADMSG;
	room = (size - sizeof(*batch)) / sizeof(batch->entries[0]);
	if (!batch->count || batch->count > GCPROF_SAMPLES_MAX || batch->count > room)
		return -EBADMSG;
	event.header = batch->header;
	event.header.size = sizeof(event);
	event.header.code = EVENT_sample;
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct gcprof_sample *sample = &batch->entries[i];

		if (!is_sane(sample)) {
			faults->refused++;
			continue;
		}
		event.entry = *sample;
		event.header.time = sample->time;
		/* A time outside would stay in the merger for long, or begin the profile. */
		if (sample->time < batch->since || sample->time > batch->header.time) {
			faults->misdated++;
			event.header.time = batch->header.time;
		}
		visit(context, &event.header, sizeof(event));
	}
	return 0;
}
