/* SPDX-License-Identifier: BSD-2-Clause */
/* workload.h: what the programs to profile share: errors, option values, clocks. */
#ifndef GCPROF_WORKLOAD_H
#define GCPROF_WORKLOAD_H

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A function that must keep its name in a native profile. Not inlining it is not
 * enough: the compiler also merges functions that happen to have the same code,
 * and clones them for constant arguments.
 */
#if defined(__has_attribute) && __has_attribute(noipa)
#define NAMED_FUNCTION __attribute__((noipa))
#else
#define NAMED_FUNCTION __attribute__((noinline))
#endif

enum { EXIT_USAGE = 2 };

/* Prints one sentence after the program's name and ends the program: at once, because other
 * threads may be running and the heap is in use. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void die(const char *format, ...)
{
	va_list args;
	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(EXIT_FAILURE);
}

/* Ends the program after getopt said what was wrong with the command line. */
_Noreturn static inline void die_usage(void)
{
	fprintf(stderr, "Try '%s --help'.\n", program_invocation_short_name);
	exit(EXIT_USAGE);
}

/* Ends the program because `text` makes no sense as the value of `option`. */
_Noreturn static inline void die_value(const char *option, const char *text, const char *wanted)
{
	fprintf(stderr, "%s: %s: '%s' is not %s\n", program_invocation_short_name, option, text,
		wanted);
	die_usage();
}

/* Digits and nothing else, up to *end. Returns 0, or -EINVAL. */
static inline int parse_digits(const char *text, char **end, uint64_t *out)
{
	if (*text < '0' || *text > '9') /* strtoull would take blanks and a sign */
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, end, 10);
	return -errno;
}

/* A whole number between `min` and `max`; anything else ends the program. */
static inline uint64_t option_number(const char *option, const char *text, uint64_t min,
				     uint64_t max)
{
	char wanted[80];
	char *end;
	uint64_t value;
	if (!parse_digits(text, &end, &value) && !*end && value >= min && value <= max)
		return value;
	snprintf(wanted, sizeof(wanted), "a whole number between %llu and %llu",
		 (unsigned long long)min, (unsigned long long)max);
	die_value(option, text, wanted);
}

/* Bytes, with an optional suffix K, M or G (powers of 1024). *end is what follows.
 * Returns 0, or -EINVAL. */
static inline int parse_size(const char *text, char **end, uint64_t *out)
{
	uint64_t unit = 1;
	uint64_t value;
	if (parse_digits(text, end, &value))
		return -EINVAL;
	switch (**end) {
	case 'K':
		unit = UINT64_C(1) << 10;
		break;
	case 'M':
		unit = UINT64_C(1) << 20;
		break;
	case 'G':
		unit = UINT64_C(1) << 30;
		break;
	}
	if (unit > 1)
		(*end)++;
	return __builtin_mul_overflow(value, unit, out) ? -EINVAL : 0;
}

/* A size between `min` and `max` bytes; anything else ends the program. */
static inline uint64_t option_size(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char wanted[100];
	char *end;
	uint64_t value;
	if (!parse_size(text, &end, &value) && !*end && value >= min && value <= max)
		return value;
	snprintf(wanted, sizeof(wanted),
		 "a size between %llu and %llu bytes (K, M and G are understood)",
		 (unsigned long long)min, (unsigned long long)max);
	die_value(option, text, wanted);
}

/* What `clock` says, in nanoseconds. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* malloc that ends the program instead of failing; never NULL, also for 0 bytes. */
static inline void *must_alloc(size_t size)
{
	void *memory = calloc(1, size ? size : 1);
	if (!memory)
		die("out of memory");
	return memory;
}

#endif
