/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_regress.h: what tests of known faults share: an observer that keeps all, and a model. */
#ifndef GCPROF_GC_REGRESS_H
#define GCPROF_GC_REGRESS_H

#include "gc_test.h"

enum { SEEN_MAX = 1 << 20, PERIODS_MAX = 4096 };

/* A sample and what was reported of it later. Ids count from 1 in every test's process. */
struct seen_sample {
	struct probe_sample sample;
	struct gcprof_fate fate; /* the last one */
	uint32_t promoted;       /* how often it was reported so */
	uint32_t died;           /* young or old */
};

static struct {
	struct seen_sample of[SEEN_MAX];
	struct probe_period periods[PERIODS_MAX];
	uint64_t last; /* id of the last sample, and how many there were */
	uint32_t n_periods, n_fates, n_pieces, n_types;
	uint64_t typed[64]; /* ids of the types that were reported */
} seen;

static inline void seen_fates(const struct probe_fate *piece)
{
	const struct gcprof_fate *fates = piece->entries;

	CHECK(piece->count >= 1 && piece->count <= GCPROF_FATE_MAX);
	seen.n_pieces++;
	for (uint64_t i = 0; i < piece->count; i++) {
		struct seen_sample *of = &seen.of[fates[i].sample];

		CHECK(fates[i].sample >= 1 && fates[i].sample <= seen.last);
		/* Promotion once, death once, nothing behind it. */
		CHECK_EQ(of->died, 0);
		if (fates[i].outcome == GCPROF_PROMOTED)
			CHECK_EQ(of->promoted++, 0);
		else
			CHECK_EQ(fates[i].outcome,
				 of->promoted ? GCPROF_DIED_OLD : GCPROF_DIED_YOUNG);
		of->died += fates[i].outcome != GCPROF_PROMOTED;
		of->fate = fates[i];
		seen.n_fates++;
	}
}

static inline void seen_observe(enum probe_number probe, const void *arguments)
{
	const struct probe_sample *sample = arguments;
	const struct probe_type *type = arguments;

	switch (probe) {
	case PROBE_sample:
		CHECK_EQ(sample->sample, ++seen.last);
		CHECK(seen.last < SEEN_MAX);
		seen.of[seen.last].sample = *sample;
		break;
	case PROBE_fate:
		seen_fates(arguments);
		break;
	case PROBE_period:
		CHECK(seen.n_periods < PERIODS_MAX);
		seen.periods[seen.n_periods++] = *(const struct probe_period *)arguments;
		break;
	case PROBE_type:
		if (seen.n_types < 64)
			seen.typed[seen.n_types++] = type->type;
		break;
	default:
		break;
	}
}

/* A small heap that samples at `period` bytes in the given mode, and is observed. */
static inline struct gc_options seen_options(uint32_t stride, uint64_t period)
{
	struct gc_options options = small_options();

	probe_observer = seen_observe;
	options.sampling.always_sample = 1;
	options.sampling.fixed_stride = stride;
	options.sampling.period = period;
	options.sampling.ceiling = UINT64_MAX;
	options.sampling.seed = 1;
	return options;
}

static inline void seen_open(struct fixture *f, uint32_t stride, uint64_t period)
{
	struct gc_options options = seen_options(stride, period);

	fixture_open(f, &options);
}

/* Where points of a fixed stride lie: byte numbers, from 1, of all that one thread allocated. */
struct points {
	uint64_t stride;
	uint64_t at;
	uint64_t next;
};

static inline struct points points_begin(uint64_t stride)
{
	return (struct points){.stride = stride, .next = stride};
}

/* An object of `size` bytes follows: does it contain a point? */
static inline bool points_hit(struct points *points, size_t size)
{
	bool hit = points->next <= points->at + size;

	points->at += size;
	while (points->next <= points->at)
		points->next += points->stride;
	return hit;
}

/* An array of `size` bytes in all, 16 at least. */
static inline void *new_bytes(struct fixture *f, size_t size)
{
	return gc_alloc_array(f->thread, f->bytes, size - sizeof(struct bytes));
}

static inline size_t random_size(uint64_t *random, uint64_t words)
{
	return sizeof(struct bytes) + 8 * (test_random(random) % words);
}

/* Allocates and checks that exactly the objects that contain a point are sampled. */
static inline bool new_checked(struct fixture *f, struct points *points, size_t size)
{
	uint64_t before = seen.last;
	bool hit = points_hit(points, size);

	CHECK(new_bytes(f, size));
	CHECK_EQ(seen.last, before + hit);
	if (hit)
		CHECK_EQ(seen.of[seen.last].sample.size, size);
	CHECK(f->thread->head.limit == limit_wanted(f->thread));
	return hit;
}

static inline uint64_t minors(const struct fixture *f)
{
	return f->heap->stats.minor_collections;
}

#endif
