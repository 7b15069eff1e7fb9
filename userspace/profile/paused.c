// SPDX-License-Identifier: BSD-2-Clause
/* paused.c: the times in which recordings were paused, from their `paused` records. */
#include "paused.h"

#include <errno.h>
#include <stdlib.h>

struct state {
	uint64_t since; /* when the current pause began; 0: none */
	uint64_t until; /* end of the last one */
};

void paused_free(struct paused *paused)
{
	buffer_free(&paused->times);
	buffer_free(&paused->states);
}

static struct state *state_of(const struct paused *paused, uint64_t recording)
{
	struct state *states = (void *)paused->states.data;

	return recording < paused->states.size / sizeof(*states) ? &states[recording] : NULL;
}

/* A file of a series repeats the last state, so a resume may come without a pause. */
int paused_add(struct paused *paused, const struct record_paused *record)
{
	const struct state none = {0, 0};
	struct paused_time pause = {.recording = record->recording, .end = record->time};
	struct state *state;
	int err = record->recording < RECORDINGS_MAX ? 0 : -EBADMSG;

	while (!err && !(state = state_of(paused, record->recording)))
		err = buffer_append(&paused->states, &none, sizeof(none));
	if (err)
		return err;
	pause.begin = state->since;
	if (record->on) {
		state->since = state->since ? state->since : record->time;
		return 0;
	}
	state->since = 0;
	pause.begin = pause.begin && pause.begin < state->until ? state->until : pause.begin;
	if (!pause.begin || pause.end <= pause.begin)
		return 0;
	state->until = pause.end;
	err = buffer_append(&paused->times, &pause, sizeof(pause));
	return err ? err : 1;
}

static int by_time(const void *a, const void *b)
{
	const struct paused_time *x = a, *y = b;

	if (x->recording != y->recording)
		return x->recording < y->recording ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void paused_clip(struct paused *paused, uint64_t begin, uint64_t end)
{
	struct paused_time *all = (void *)paused->times.data;
	size_t count = paused->times.size / sizeof(*all), n = 0;

	for (size_t i = 0; i < count; i++) {
		struct paused_time time = all[i];

		time.begin = time.begin < begin ? begin : time.begin;
		time.end = time.end > end ? end : time.end;
		if (time.begin < time.end)
			all[n++] = time;
	}
	paused->times.size = n * sizeof(*all);
	if (n)
		qsort(all, n, sizeof(*all), by_time);
	for (size_t i = 0; i < n; i++)
		all[i].before = i && all[i].recording == all[i - 1].recording
					? all[i - 1].before + all[i - 1].end - all[i - 1].begin
					: 0;
}

/* How long the recording had been paused by then. */
static uint64_t paused_until(const struct paused_time *times, size_t count, uint64_t recording,
			     uint64_t time)
{
	const struct paused_time key = {.recording = recording, .begin = time};
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_time(&times[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || times[low - 1].recording != recording)
		return 0;
	times += low - 1;
	return times->before + (time < times->end ? time : times->end) - times->begin;
}

uint64_t paused_between(const struct paused_time *times, size_t count, uint64_t recording,
			uint64_t begin, uint64_t end)
{
	return end <= begin ? 0
			    : paused_until(times, count, recording, end) -
				      paused_until(times, count, recording, begin);
}

struct paused_time *paused_times(const struct paused *paused, size_t *count)
{
	*count = paused->times.size / sizeof(struct paused_time);
	return (void *)paused->times.data;
}
