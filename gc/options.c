/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: a heap's options as rows: defaults, ranges, environment, and error sentences. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum option_kind {
	OPTION_SIZE,   /* size_t bytes, with a suffix K M G */
	OPTION_BYTES,  /* the same in a uint64_t */
	OPTION_NUMBER, /* uint64_t */
	OPTION_RATE,   /* uint64_t; 0 in the environment means no limit, stored as UINT64_MAX */
	OPTION_FACTOR, /* double */
	OPTION_STRIDE, /* uint32_t: "exponential", "fixed" or "every" */
	OPTION_FLAG,   /* uint32_t: 0 or 1, not in the environment */
	OPTION_UNLESS, /* uint32_t: 0 or 1; the environment says the contrary */
};

struct option {
	const char *name;
	const char *variable; /* of the environment, or NULL */
	enum option_kind kind;
	size_t offset;
	uint64_t standard;
	uint64_t min, max;
};

#define K UINT64_C(1024)
#define ROW(name, variable, kind, standard, min, max)                                        \
	{                                                                                    \
#name, variable, kind, offsetof(struct gc_options, name), standard, min, max \
	}

/* min_heap's default depends on the nursery's size, growth's is no integer: see below. */
static const struct option options[] = {
	ROW(nursery_size, "GC_NURSERY", OPTION_SIZE, 4 * K * K, 16 * K, K *K *K),
	ROW(buffer_size, NULL, OPTION_SIZE, 32 * K, K, 16 * K * K),
	ROW(large_size, NULL, OPTION_SIZE, 128 * K, K, 256 * K),
	ROW(min_heap, "GC_MIN_HEAP", OPTION_SIZE, 0, 0, INT64_MAX),
	ROW(max_heap, "GC_MAX_HEAP", OPTION_SIZE, 0, 0, INT64_MAX),
	ROW(growth, NULL, OPTION_FACTOR, 0, 0, 0),
	ROW(pause_goal, "GC_PAUSE", OPTION_RATE, 0, 0, UINT64_MAX),
	ROW(period, "GCPROF_PERIOD", OPTION_BYTES, 512 * K, 1, K *K *K *K),
	ROW(ceiling, "GCPROF_CEILING", OPTION_RATE, 2000, 1, UINT64_MAX),
	ROW(gc_ceiling, "GCPROF_GC_CEILING", OPTION_RATE, 100, 1, UINT64_MAX),
	ROW(seed, "GCPROF_SEED", OPTION_NUMBER, 0, 0, UINT64_MAX),
	ROW(fixed_stride, "GCPROF_STRIDE", OPTION_STRIDE, 0, 0, STRIDE_EVERY),
	ROW(unbatched, "GCPROF_BATCH", OPTION_UNLESS, 0, 0, 1),
	ROW(always_sample, NULL, OPTION_FLAG, 0, 0, 1),
	ROW(stop_the_world, "GC_INCREMENTAL", OPTION_UNLESS, 0, 0, 1),
};

enum { N_OPTIONS = sizeof(options) / sizeof(*options), MIN_HEAP_NURSERIES = 7 };

#define GROWTH_DEFAULT 1.82
#define GROWTH_MIN     1.05
#define GROWTH_MAX     100.0

static _Thread_local char last_error[256] = "no error";

const char *gc_error(void)
{
	return last_error;
}

/* Keeps the sentence for gc_error() and returns `result`. */
int error_set(int result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_error, sizeof(last_error), format, arguments);
	va_end(arguments);
	return result;
}

static uint64_t get(const struct gc_options *from, const struct option *option)
{
	const void *field = (const char *)from + option->offset;

	switch (option->kind) {
	case OPTION_SIZE:
		return *(const size_t *)field;
	case OPTION_STRIDE:
	case OPTION_FLAG:
	case OPTION_UNLESS:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}

static void set(struct gc_options *to, const struct option *option, uint64_t value)
{
	void *field = (char *)to + option->offset;

	switch (option->kind) {
	case OPTION_SIZE:
		*(size_t *)field = value;
		break;
	case OPTION_STRIDE:
	case OPTION_FLAG:
	case OPTION_UNLESS:
		*(uint32_t *)field = (uint32_t)value;
		break;
	default:
		*(uint64_t *)field = value;
	}
}

static bool is_size(const struct option *option)
{
	return option->kind == OPTION_SIZE || option->kind == OPTION_BYTES;
}

/* Digits, and behind them a suffix where sizes are meant. */
static bool parse(const struct option *option, const char *text, uint64_t *out)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	char *end;
	uint64_t value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (*end && is_size(option)) {
		suffix = strchr(suffixes, *end >= 'a' ? *end - 'a' + 'A' : *end);
		if (!suffix || __builtin_mul_overflow(value, K << 10 * (suffix - suffixes), &value))
			return false;
		end++;
	}
	*out = value;
	return !*end;
}

/* In the order of their numbers. */
static bool parse_stride(const char *text, uint64_t *out)
{
	static const char *const names[] = {"exponential", "fixed", "every"};

	for (uint64_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		*out = i;
		if (strcmp(text, names[i]) == 0)
			return true;
	}
	return false;
}

static int read_variable(struct gc_options *to, const struct option *option, const char *text)
{
	const char *example = is_size(option) ? "a size such as 512K" : "a number";
	uint64_t value;

	if (option->kind == OPTION_STRIDE) {
		if (!parse_stride(text, &value))
			return error_set(-EINVAL,
					 "%s: \"%.40s\" is neither exponential, fixed nor every",
					 option->variable, text);
	} else if (!parse(option, text, &value)) {
		return error_set(-EINVAL, "%s: \"%.40s\" is not %s", option->variable, text,
				 example);
	}
	if (option->kind == OPTION_RATE && value == 0)
		value = UINT64_MAX;
	if (value < option->min || value > option->max)
		return error_set(-EINVAL, "%s: %.40s is out of range, from %llu to %llu%s",
				 option->variable, text, (unsigned long long)option->min,
				 (unsigned long long)option->max, is_size(option) ? " bytes" : "");
	set(to, option, option->kind == OPTION_UNLESS ? !value : value);
	return 0;
}

int gc_options_default(struct gc_options *out)
{
	int result = 0;

	memset(out, 0, sizeof(*out));
	out->growth = GROWTH_DEFAULT;
	for (size_t i = 0; i < N_OPTIONS && !result; i++) {
		const struct option *option = &options[i];
		const char *text = option->variable ? getenv(option->variable) : NULL;

		if (option->kind != OPTION_FACTOR)
			set(out, option, option->standard);
		if (text && *text)
			result = read_variable(out, option, text);
	}
	if (!result && !out->min_heap)
		out->min_heap = MIN_HEAP_NURSERIES * out->nursery_size;
	return result;
}

static int check_range(const struct gc_options *given, const struct option *option)
{
	uint64_t value = get(given, option);

	if (option->kind == OPTION_FACTOR) {
		if (!(given->growth >= GROWTH_MIN && given->growth <= GROWTH_MAX))
			return error_set(-EINVAL, "growth: %g is out of range, from %g to %g",
					 given->growth, GROWTH_MIN, GROWTH_MAX);
		return 0;
	}
	if (value < option->min || value > option->max)
		return error_set(-EINVAL, "%s: %llu is out of range, from %llu to %llu",
				 option->name, (unsigned long long)value,
				 (unsigned long long)option->min, (unsigned long long)option->max);
	return 0;
}

static size_t round_to(size_t size, size_t unit)
{
	return (size + unit - 1) / unit * unit;
}

/* Sizes that depend on each other are made to fit: a small nursery has small buffers. */
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

/* Replaces zero fields by defaults, checks the rest, and makes sizes fit each other. */
int options_check(const struct gc_options *given, struct gc_options *out)
{
	int result = 0;

	*out = *given;
	if (out->growth == 0)
		out->growth = GROWTH_DEFAULT;
	for (size_t i = 0; i < N_OPTIONS && !result; i++) {
		if (options[i].kind != OPTION_FACTOR && get(out, &options[i]) == 0)
			set(out, &options[i], options[i].standard);
		result = check_range(out, &options[i]);
	}
	fit(out);
	if (out->max_heap && out->max_heap / 2 < out->nursery_size)
		result = error_set(-EINVAL, "max_heap: %zu is less than two nurseries",
				   out->max_heap);
	if (!out->min_heap)
		out->min_heap = MIN_HEAP_NURSERIES * out->nursery_size;
	return result;
}
