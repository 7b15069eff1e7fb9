// SPDX-License-Identifier: BSD-2-Clause
/* paused.c: the times in which recordings were paused, from their `paused` records. */
#include "paused.h"

#include <errno.h>

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
	struct paused_time pause = {record->recording, 0, record->time};
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
}

struct paused_time *paused_times(const struct paused *paused, size_t *count)
{
	*count = paused->times.size / sizeof(struct paused_time);
	return (void *)paused->times.data;
}
