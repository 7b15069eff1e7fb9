/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: a heap's options as rows: defaults, ranges and environment. */
#include "options.h"
#include "os.h"

#include <errno.h>

#define K UINT64_C(1024)
#define ROW(name, variable, kind, standard, min, max)                                        \
	{                                                                                    \
#name, variable, kind, offsetof(struct gc_options, name), standard, min, max \
	}

/* min_heap's default depends on the nursery's size, and growth is not an integer: see below. */
static const struct gcprof_option options[] = {
	ROW(nursery_size, "GC_NURSERY", GCPROF_OPTION_SIZE, 4 * K * K, 16 * K, K *K *K),
	ROW(buffer_size, NULL, GCPROF_OPTION_SIZE, 32 * K, K, 16 * K * K),
	ROW(large_size, NULL, GCPROF_OPTION_SIZE, 128 * K, K, 256 * K),
	ROW(min_heap, "GC_MIN_HEAP", GCPROF_OPTION_SIZE, 0, 0, INT64_MAX),
	ROW(max_heap, "GC_MAX_HEAP", GCPROF_OPTION_SIZE, 0, 0, INT64_MAX),
	ROW(stop_the_world, "GC_INCREMENTAL", GCPROF_OPTION_UNLESS, 0, 0, 1),
};

enum { N_OPTIONS = sizeof(options) / sizeof(*options), MIN_HEAP_NURSERIES = 7 };

#define GROWTH_DEFAULT 1.82
#define GROWTH_MIN     1.05
#define GROWTH_MAX     100.0

const char *gc_error(void)
{
	return gcprof_error();
}

/* A large nursery is mostly used in small parts, and promotes accordingly. */
static size_t least_heap(const struct gc_options *out)
{
	size_t part = out->nursery_size;

	return MIN_HEAP_NURSERIES * (part < NURSERY_CACHED ? part : NURSERY_CACHED);
}

int gc_options_default(struct gc_options *out)
{
	int result;

	memset(out, 0, sizeof(*out));
	out->growth = GROWTH_DEFAULT;
	result = gcprof_options_fill(options, N_OPTIONS, out, 1);
	if (!result)
		result = gcprof_options_default(&out->sampling);
	if (!result && !out->min_heap)
		out->min_heap = least_heap(out);
	return result;
}

static size_t round_to(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Adapts sizes to each other: a small nursery has small buffers. */
static void fit(struct gc_options *out)
{
	size_t half;

	out->nursery_size = round_to(out->nursery_size, OS_PAGE);
	half = out->nursery_size / 2;
	if (out->large_size > half)
		out->large_size = half;
	out->large_size = GC_ALIGN(out->large_size);
	if (out->buffer_size > out->large_size)
		out->buffer_size = out->large_size;
	out->buffer_size = GC_ALIGN(out->buffer_size);
}

int options_check(const struct gc_options *given, struct gc_options *out)
{
	int result;

	*out = *given;
	if (out->growth == 0)
		out->growth = GROWTH_DEFAULT;
	result = gcprof_options_fill(options, N_OPTIONS, out, 0);
	if (result)
		return result;
	if (!(out->growth >= GROWTH_MIN && out->growth <= GROWTH_MAX))
		return gcprof_error_set(-EINVAL, "growth: %g is out of range, from %g to %g",
					out->growth, GROWTH_MIN, GROWTH_MAX);
	fit(out);
	if (out->max_heap && out->max_heap / 2 < out->nursery_size)
		return gcprof_error_set(-EINVAL, "max_heap: %zu is less than two nurseries",
					out->max_heap);
	if (!out->min_heap)
		out->min_heap = least_heap(out);
	return 0;
}
