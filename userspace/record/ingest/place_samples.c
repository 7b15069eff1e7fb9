/* SPDX-License-Identifier: BSD-2-Clause */
/* place_samples.c: turns places into events of sampled and freed objects. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "firing.h"
#include "../store/stacks.h"
#include "../../profile/codes.h"
#include "../../util/log.h"
#include "../../../bpf/frame_place.h"

/* Plausible number of sampling points in an object: POINTS_MORE, plus POINTS_TIMES its size in
 * periods. An object is small if a period has room for more than SMALL_PART of its size. */
#define POINTS_MORE  8
#define POINTS_TIMES 4
#define SMALL_PART   64
#define PERIOD_LEAST 1024 /* bytes: smaller values are no period */

#define SIZE_SANE (UINT64_C(1) << 48) /* as for samples of our own probes */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * The period of a sample whose weight only is known, which is its number of sampling points times
 * the period. The period divides all weights; for a first weight it is assumed to be the largest
 * power of two, as allocators use it. Periods may change, however. Small objects nearly always have
 * one point: two in a row that seem to have several mean a longer period, as does an object too
 * small for as many.
 */
static uint64_t weighed(struct places *places, const struct firing *firing)
{
	const struct place_key key = {firing->event->header.process, 0};
	const struct place_key doubtful = {firing->event->header.process, UINT64_MAX};
	const uint64_t *last = map_get(places->counters, &key);
	uint64_t weight = firing->values.of[VALUE_WEIGHT], bytes = firing->values.of[VALUE_BYTES];
	uint64_t period = last && *last ? common_divisor(weight, *last) : weight & -weight;
	uint64_t before, points, *doubt;

	if (period < PERIOD_LEAST)
		return weight;
	points = weight / period;
	if (points > 1 && bytes >= period / SMALL_PART)
		return points <= POINTS_MORE + POINTS_TIMES * (bytes / period) ? period : weight;
	doubt = places_value(places, places->counters, &doubtful);
	if (!doubt)
		return weight;
	before = *doubt;
	*doubt = points > 1 ? weight : 0;
	return points > 1 && before == weight ? weight : period;
}

/*
 * The period with which the distance to this sample was drawn: the value of its counter at its last
 * sample, because a change in between does not affect a distance already drawn. 0: not a sample.
 * For counters for which there is no room, the present value.
 */
static uint64_t period_of(struct places *places, const struct firing *firing)
{
	const uint64_t *of = firing->values.of;
	const struct place_key key = {firing->event->header.process,
				      firing->runtime->threads_count ? firing->event->header.tid
								     : of[VALUE_COUNTER]};
	uint64_t *last = map_get(places->counters, &key);
	uint64_t drawn = firing->runtime->threads_count ? of[VALUE_PERIOD] : of[VALUE_DRAWN];

	if (!key.number)
		return of[VALUE_PERIOD];
	if (last)
		drawn = *last;
	last = places_value(places, places->counters, &key);
	if (last)
		*last = of[VALUE_PERIOD];
	else
		drawn = of[VALUE_PERIOD];
	return of[VALUE_FORCES] && drawn != of[VALUE_PERIOD] ? 0 : drawn;
}

/* Reports the period with the first sample of a process, and after each change. */
static void emit_period(struct places *places, const struct firing *firing)
{
	const struct place_key key = {firing->event->header.process, 0};
	struct event_period event = {.header = firing->event->header,
				     .new_period = firing->values.of[VALUE_PERIOD]};
	uint64_t *last = places_value(places, places->counters, &key);

	if (!last || *last == event.new_period)
		return;
	event.old_period = *last;
	event.reason = !*last                     ? GCPROF_PERIOD_START
		       : event.new_period > *last ? GCPROF_PERIOD_CEILING
						  : GCPROF_PERIOD_RECOVERY;
	*last = event.new_period;
	places_put(places, &event.header, EVENT_period, sizeof(event));
}

/* The period at which a sample has the probability of a point in SPAN bytes. */
static uint64_t spanned(uint64_t period, const struct place_values *values)
{
	double span = (double)values->of[VALUE_SPAN];
	double scaled = (double)period * (double)values->of[VALUE_BYTES] / span;

	return span <= 0 ? period : scaled > 1 ? (uint64_t)scaled : 1;
}

/* Upper half of a counter's number, which a thread's id has not; four more after each pause. */
enum { COUNTED = 1, GROWTH, WEIGHT };

/* Adds to a sum of the process; returns it, or 0 where there is no room. */
static double add_counted(struct places *places, const struct firing *firing, uint64_t which,
			  double bytes)
{
	const struct place_key key = {firing->event->header.process, which << 32};
	uint64_t *sum = places_value(places, places->counters, &key);

	return sum ? (double)(*sum += (uint64_t)bytes) : 0;
}

/* Bytes that the thread has allocated since its last sample; negative: unknown. */
static double counted_growth(struct places *places, const struct firing *firing)
{
	const struct place_key key = {firing->event->header.process,
				      (COUNTED + 4 * (uint64_t)places->pauses) << 32 |
					      firing->event->header.tid};
	uint64_t *last = places_value(places, places->counters, &key);
	uint64_t total = firing->values.of[VALUE_COUNTED], before = last ? *last : 0;

	if (last)
		*last = total;
	return before ? (double)total - (double)before : -1;
}

/*
 * Some samplers take too few objects of some sizes, but the runtime counts what a thread allocates:
 * the growth between two of its samples is what the second one stands for. So all weights are
 * multiplied by the ratio of the sums of growths and of weights (a ratio estimator), as if there
 * had been COUNTED_PRIOR samples before, with a ratio of 1. A thread that seems to have allocated
 * COUNTED_GAP periods without a sample has none for another reason; COUNTED_LATE, because bytes in
 * a buffer count when it is given up.
 */
#define COUNTED_PRIOR 32
#define COUNTED_GAP   32
#define COUNTED_LATE  (32 << 20)
#define COUNTED_MOST  4.0

static uint64_t counted(struct places *places, const struct firing *firing, uint64_t period)
{
	double bytes = (double)firing->values.of[VALUE_BYTES];
	double usual = (double)firing->values.of[VALUE_PERIOD], prior = COUNTED_PRIOR * usual;
	double weight = bytes / -expm1(-bytes / (double)period), growth, ratio, wanted;
	bool known;

	if (!firing->values.of[VALUE_COUNTED])
		return period;
	growth = counted_growth(places, firing);
	known = growth >= 0 && growth < COUNTED_GAP * usual + COUNTED_LATE;
	ratio = (add_counted(places, firing, GROWTH, known ? growth : 0) + prior) /
		(add_counted(places, firing, WEIGHT, known ? weight : 0) + prior);
	/* The program's memory says what it likes. */
	wanted = weight * fmin(fmax(ratio, 1 / COUNTED_MOST), COUNTED_MOST);
	return wanted > bytes ? (uint64_t)(bytes / -log1p(-bytes / wanted)) + 1 : period;
}

/* Has the program not announced this type yet? */
static bool is_new(struct places *places, const struct firing *firing, uint64_t number)
{
	const struct event_header *event = &firing->event->header;
	const struct place_key key = {event->process, number};
	uint64_t *said = map_get(places->types, &key);

	if (!number || (said && !places_is_stale(places, event, *said)))
		return false;
	said = places_value(places, places->types, &key);
	if (said)
		*said = event->time;
	return said;
}

static void emit_type(struct places *places, const struct firing *firing)
{
	struct {
		struct event_name event;
		char text[NAME_BYTES_MAX + 8];
	} type = {
		.event = {.header = firing->event->header,
			  .number = firing->values.of[VALUE_TYPE],
			  .kind = GCPROF_NAME_TYPE,
			  .code = firing->event->text_size[0] ? 0 : firing->values.of[VALUE_CODE]}};
	char text[NAME_BYTES_MAX];

	places_text(firing, 0, text, sizeof(text));
	if (firing->runtime->type_name)
		firing->runtime->type_name(text, type.text, NAME_BYTES_MAX);
	else
		memcpy(type.text, text, sizeof(text));
	type.event.name_size = (uint16_t)strlen(type.text);
	places_put(places, &type.event.header, EVENT_name,
		   sizeof(type.event) + ((type.event.name_size + 7u) & ~7u));
}

/*
 * The number of innermost frames in the runtime's own code. Others are left out where mappings are
 * known (stacks.c): those of a dump, once it is unwound, and those of code that a runtime may map a
 * second time.
 */
static uint16_t own_frames(const struct firing *firing)
{
	const struct event_native *frames = (const void *)firing->rest;
	size_t count = firing->event->stack.n_user;
	uint64_t places[STACK_DEPTH_MAX], moved;

	if (firing->event->stack.n_kernel || !count || count > STACK_DEPTH_MAX ||
	    count * sizeof(*frames) > firing->rest_size || firing->facts->around.end)
		return 0;
	moved = frames[0].ip - firing->facts->sampled;
	for (size_t i = 0; i < count; i++)
		places[i] = frame_place_is_made(frames[i].ip) ? frames[i].ip
							      : frames[i].ip - (i > 0) - moved;
	return (uint16_t)stacks_own_frames(firing->facts, places, count);
}

/* Samples of the process cannot be read: reports that once, also in the profile. */
static bool is_unreadable(struct places *places, const struct firing *firing)
{
	enum unsampled why = firing->runtime->unreadable
				     ? firing->runtime->unreadable(firing->event->values)
				     : 0;

	if (why && is_new(places, firing, UINT64_MAX)) {
		log_warning("process %u (%s): %s: no allocation samples", firing->event->header.pid,
			    firing->runtime->name, unsampled_why(why));
		places_announce(places, &firing->event->header, firing->facts, why);
	}
	return why;
}

/* The kernel side follows the object, instead of an earlier one: names both (followed.c). */
static void emit_followed(struct places *places, const struct firing *firing)
{
	struct event_followed event = {.header = firing->event->header,
				       .sample = firing->event->number};
	struct {
		struct event_fate event;
		struct gcprof_fate entry;
	} replaced = {.event = {.header = firing->event->header, .count = 1},
		      .entry = {.sample = firing->event->replaced, .outcome = GCPROF_REPLACED}};

	event.header.provider = 0;
	if (event.sample)
		places_put(places, &event.header, EVENT_followed, sizeof(event));
	if (replaced.entry.sample)
		places_put(places, &replaced.event.header, EVENT_fate, sizeof(replaced));
}

int places_sample(struct places *places, struct firing *firing)
{
	struct place_values *values = &firing->values;
	uint16_t own = own_frames(firing);
	size_t left_out = own * sizeof(struct event_native);
	size_t size = sizeof(struct event_alloc) + firing->rest_size - left_out;
	struct event_alloc *event;
	uint64_t period;

	if (is_unreadable(places, firing))
		return 0;
	if (values->of[VALUE_WEIGHT])
		values->of[VALUE_PERIOD] = weighed(places, firing);
	if (!values->of[VALUE_BYTES] || values->of[VALUE_BYTES] >= SIZE_SANE ||
	    !values->of[VALUE_PERIOD] || values->of[VALUE_PERIOD] >= SIZE_SANE)
		return -EBADMSG;
	emit_period(places, firing);
	period = period_of(places, firing);
	if (!period)
		return 0;
	event = calloc(1, size);
	if (!event)
		return -ENOMEM;
	if (firing->event->text_size[0] ||
	    (values->of[VALUE_CODE] && is_new(places, firing, values->of[VALUE_TYPE])))
		emit_type(places, firing);
	event->header = firing->event->header;
	event->stack = firing->event->stack;
	event->type = values->of[VALUE_TYPE];
	event->bytes = values->of[VALUE_BYTES];
	event->period = counted(places, firing, spanned(period, values));
	event->address = values->of[VALUE_ADDRESS];
	event->heap = values->of[VALUE_HEAP];
	event->kind = values->of[VALUE_KIND] ? (uint32_t)values->of[VALUE_KIND]
					     : GCPROF_SAMPLE_FOREIGN;
	event->stack.n_user = (uint16_t)(event->stack.n_user - own);
	memcpy(event + 1, firing->rest + left_out, firing->rest_size - left_out);
	places_put(places, &event->header, EVENT_alloc, size);
	free(event);
	emit_followed(places, firing);
	return 1;
}

int places_freed(struct places *places, const struct firing *firing)
{
	struct event_freed event = {.header = firing->event->header,
				    .address = firing->values.of[VALUE_ADDRESS]};
	bool is_wanted = true;

	for (size_t i = 0; i < PROBE_ARGUMENTS; i++)
		if (firing->place->arguments[i].value == VALUE_WANTED)
			is_wanted = firing->values.of[VALUE_WANTED];
	if (is_wanted)
		places_put(places, &event.header, EVENT_freed, sizeof(event));
	return 0;
}

int places_sampler(struct places *places, const struct firing *firing)
{
	if (!firing->values.of[VALUE_PERIOD] || firing->values.of[VALUE_PERIOD] >= SIZE_SANE)
		return -EBADMSG;
	emit_period(places, firing);
	return 0;
}

/* The main thread's heap ends with the program: what is alive then is alive at the end. */
int places_heap_end(struct places *places, const struct firing *firing)
{
	struct event_freed event = {.header = firing->event->header,
				    .address = firing->values.of[VALUE_HEAP],
				    .is_heap = 1};

	if (event.header.tid != event.header.pid)
		places_put(places, &event.header, EVENT_freed, sizeof(event));
	return 0;
}
