// SPDX-License-Identifier: BSD-2-Clause
/* options.c: parses option values of `gcprof record`. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../profile/codes.h"
#include "../../util/options.h"
#include "options.h"

static const struct stack_ways modes[] = {
	[STACK_MODE_OFF] = {"off", false, false, false},
	[STACK_MODE_FP] = {"fp", true, false, false},
	[STACK_MODE_ROWS] = {"rows", true, true, false},
	[STACK_MODE_COPY] = {"copy", false, false, true},
};

int stack_mode_parse(const char *name, enum stack_mode *out)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(name, modes[i].name)) {
			*out = (enum stack_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

int syscall_mode_parse(const char *text, enum syscall_mode *out, uint64_t *slow)
{
	static const char *const words[] = {
		[SYSCALLS_OFF] = "off",
		[SYSCALLS_COUNT] = "count",
		[SYSCALLS_ALL] = "all",
	};

	if (strncmp(text, "slow=", 5) == 0) {
		*out = SYSCALLS_SLOW;
		return parse_time(text + 5, slow) ? -EINVAL : 0;
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!words[i] || strcmp(text, words[i]) != 0)
			continue;
		*out = (enum syscall_mode)i;
		return 0;
	}
	return -EINVAL;
}

int overhead_parse(const char *text, double *out)
{
	char *end;
	double percent = strtod(text, &end);

	if (strcmp(text, "off") == 0) {
		*out = 0;
		return 0;
	}
	if (end == text || strcmp(end, *end == '%' ? "%" : "") != 0 || !(percent >= 0.01) ||
	    percent > 100)
		return -EINVAL;
	*out = percent;
	return 0;
}

int span_parse(const char *text, uint64_t *ns, uint64_t *bytes)
{
	const char *unit = text + strspn(text, "0123456789.");
	int err;

	/* 10m are minutes. */
	*ns = *bytes = 0;
	err = *unit && strchr("KMGT", *unit) ? parse_size(text, bytes) : parse_time(text, ns);
	return err || (!*ns && !*bytes) ? -EINVAL : 0;
}

int ring_size_parse(const char *text, uint32_t *stream, uint32_t *bytes)
{
	size_t length = strcspn(text, "=");
	uint64_t size;

	if (!text[length] || parse_size(text + length + 1, &size) || size < 4096 ||
	    size > 1u << 30 || (size & (size - 1)))
		return -EINVAL;
	for (int i = 1; i < STREAM_END; i++) {
		const char *name = stream_name(i);

		if (!name || strlen(name) != length || memcmp(name, text, length) != 0)
			continue;
		*stream = (uint32_t)i;
		*bytes = (uint32_t)size;
		return 0;
	}
	return -EINVAL;
}

int rare_rate_parse(const char *text, uint32_t *out)
{
	uint64_t rate;

	if (parse_number(text, &rate) || !rate || rate > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)rate;
	return 0;
}

const struct stack_ways *stack_mode_ways(enum stack_mode mode)
{
	return &modes[mode];
}
