/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: options as rows: defaults, ranges, environment, and error messages. */
#include "data.h"
#include "provider.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K UINT64_C(1024)
#define ROW(name, variable, kind, standard, min, max)                                            \
	{                                                                                        \
#name, variable, kind, offsetof(struct gcprof_options, name), standard, min, max \
	}

static const struct gcprof_option provider_options[] = {
	ROW(period, "GCPROF_PERIOD", GCPROF_OPTION_BYTES, 512 * K, 1, K *K *K *K),
	ROW(ceiling, "GCPROF_CEILING", GCPROF_OPTION_RATE, 2000, 1, UINT64_MAX),
	ROW(gc_ceiling, "GCPROF_GC_CEILING", GCPROF_OPTION_RATE, 100, 1, UINT64_MAX),
	ROW(seed, "GCPROF_SEED", GCPROF_OPTION_NUMBER, 0, 0, UINT64_MAX),
	ROW(fixed_stride, "GCPROF_STRIDE", GCPROF_OPTION_STRIDE, 0, 0, GCPROF_STRIDE_EVERY),
	ROW(no_batching, "GCPROF_BATCH", GCPROF_OPTION_UNLESS, 0, 0, 1),
};

enum { N_OPTIONS = sizeof(provider_options) / sizeof(*provider_options) };

static _Thread_local char last_error[256] = "no error";

const char *gcprof_error(void)
{
	return last_error;
}

int gcprof_error_set(int result, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(last_error, sizeof(last_error), format, arguments);
	va_end(arguments);
	return result;
}

static uint64_t get(const void *from, const struct gcprof_option *option)
{
	const void *field = (const char *)from + option->offset;

	switch (option->kind) {
	case GCPROF_OPTION_SIZE:
		return *(const size_t *)field;
	case GCPROF_OPTION_STRIDE:
	case GCPROF_OPTION_UNLESS:
		return *(const uint32_t *)field;
	default:
		return *(const uint64_t *)field;
	}
}

static void set(void *to, const struct gcprof_option *option, uint64_t value)
{
	void *field = (char *)to + option->offset;

	switch (option->kind) {
	case GCPROF_OPTION_SIZE:
		*(size_t *)field = value;
		break;
	case GCPROF_OPTION_STRIDE:
	case GCPROF_OPTION_UNLESS:
		*(uint32_t *)field = (uint32_t)value;
		break;
	default:
		*(uint64_t *)field = value;
	}
}

static bool is_size(const struct gcprof_option *option)
{
	return option->kind == GCPROF_OPTION_SIZE || option->kind == GCPROF_OPTION_BYTES;
}

/* Parses digits, followed by a suffix for sizes. */
static bool parse(const struct gcprof_option *option, const char *text, uint64_t *out)
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

/* Indexed by GCPROF_STRIDE_*. */
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

static int read_variable(void *to, const struct gcprof_option *option, const char *text)
{
	const char *example = is_size(option) ? "a size such as 512K" : "a number";
	uint64_t value;

	if (option->kind == GCPROF_OPTION_STRIDE) {
		if (!parse_stride(text, &value))
			return gcprof_error_set(
				-EINVAL, "%s: \"%.40s\" is neither exponential, fixed nor every",
				option->variable, text);
	} else if (!parse(option, text, &value)) {
		return gcprof_error_set(-EINVAL, "%s: \"%.40s\" is not %s", option->variable, text,
					example);
	}
	if (option->kind == GCPROF_OPTION_RATE && value == 0)
		value = UINT64_MAX;
	if (value < option->min || value > option->max)
		return gcprof_error_set(-EINVAL, "%s: %.40s is out of range, from %llu to %llu%s",
					option->variable, text, (unsigned long long)option->min,
					(unsigned long long)option->max,
					is_size(option) ? " bytes" : "");
	set(to, option, option->kind == GCPROF_OPTION_UNLESS ? !value : value);
	return 0;
}

static int check_range(const void *options, const struct gcprof_option *option)
{
	uint64_t value = get(options, option);

	if (value < option->min || value > option->max)
		return gcprof_error_set(-EINVAL, "%s: %llu is out of range, from %llu to %llu",
					option->name, (unsigned long long)value,
					(unsigned long long)option->min,
					(unsigned long long)option->max);
	return 0;
}

static int fill(void *options, const struct gcprof_option *option, bool environment)
{
	const char *text = environment && option->variable ? getenv(option->variable) : NULL;

	set(options, option, option->standard);
	return text && *text ? read_variable(options, option, text) : 0;
}

int gcprof_options_fill(const struct gcprof_option *rows, size_t n, void *options, int environment)
{
	int result = 0;

	for (size_t i = 0; i < n && !result; i++) {
		if (get(options, &rows[i]) == 0)
			result = fill(options, &rows[i], environment);
		result = result ? result : check_range(options, &rows[i]);
	}
	return result;
}

int gcprof_options_default(struct gcprof_options *out)
{
	memset(out, 0, sizeof(*out));
	return gcprof_options_fill(provider_options, N_OPTIONS, out, 1);
}

static int check_gc_name(const struct gcprof_gc_name *name)
{
	static const bool known[] = {[0] = true,
				     [GCPROF_GC_MINOR] = true,
				     [GCPROF_GC_STEP] = true,
				     [GCPROF_GC_FULL] = true,
				     [GCPROF_GC_STOP] = true};

	if (name->number < GCPROF_GC_NAMES_FIRST || name->number >= GCPROF_GC_NAMES_END)
		return gcprof_error_set(
			-EINVAL, "gc_names: number %u is out of range, from %u to %u", name->number,
			GCPROF_GC_NAMES_FIRST, GCPROF_GC_NAMES_END - 1);
	if (!name->text || name->kind >= sizeof(known) || !known[name->kind])
		return gcprof_error_set(-EINVAL, "gc_names: number %u has no text or a wrong kind",
					name->number);
	return 0;
}

int provider_options_check(struct gcprof_options *options)
{
	int result = gcprof_options_fill(provider_options, N_OPTIONS, options, 0);

	for (uint32_t i = 0; i < options->n_gc_names && !result; i++)
		result = check_gc_name(&options->gc_names[i]);
	return result;
}
