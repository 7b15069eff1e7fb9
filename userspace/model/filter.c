/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.c: what part of a profile is asked for, as a user writes it. */
#include "filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../util/options.h"

static const char *const keys[FILTER_KEYS] = {
	[FILTER_FUNCTION] = "function", [FILTER_MODULE] = "module", [FILTER_TYPE] = "type",
	[FILTER_THREAD] = "thread",     [FILTER_PHASE] = "phase",   [FILTER_DURING] = "during",
	[FILTER_TIME] = "time",
};

/* Matches pattern[size] with * for any characters: one pass, going back to the last star. */
static bool matches_one(const char *pattern, size_t size, const char *name)
{
	const char *end = pattern + size, *star = NULL, *retry = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			retry = name;
		} else if (pattern < end && *pattern == *name) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

bool filter_matches(const char *alternatives, const char *name)
{
	for (const char *at = alternatives;; at++) {
		size_t size = strcspn(at, "|");

		if (matches_one(at, size, name))
			return true;
		at += size;
		if (!*at)
			return false;
	}
}

/* One end of a time range: nothing is the default. */
static int parse_end(const char *text, size_t size, uint64_t *out)
{
	char copy[32];

	if (!size)
		return 0;
	if (size >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, size);
	copy[size] = 0;
	return parse_time(copy, out);
}

static int parse_range(struct filter_term *term, char *fault, size_t size)
{
	const char *dots = strstr(term->value, "..");

	term->from = 0;
	term->to = UINT64_MAX;
	if (!dots || parse_end(term->value, (size_t)(dots - term->value), &term->from) ||
	    parse_end(dots + 2, strlen(dots + 2), &term->to) || term->from >= term->to) {
		snprintf(fault, size,
			 "a time is a range since the start: 1.5s..2s, ..300ms or 10s..");
		return -EINVAL;
	}
	return 0;
}

/* Every alternative must be one of the words. */
static int check_phase(const char *value, char *fault, size_t size)
{
	static const char words[] = "mutator|gc|minor|major|scanning|marking|sweeping|finalizing";
	char word[16];

	for (const char *at = value;; at++) {
		size_t length = strcspn(at, "|");

		snprintf(word, sizeof(word), "%.*s", (int)(length < 15 ? length : 15), at);
		if (!filter_matches(words, word) || length > 15) {
			snprintf(fault, size,
				 "a phase is mutator, gc, minor, major, scanning, marking, "
				 "sweeping or "
				 "finalizing");
			return -EINVAL;
		}
		at += length;
		if (!*at)
			return 0;
	}
}

static int check_value(struct filter_term *term, char *fault, size_t size)
{
	if (!*term->value) {
		snprintf(fault, size, "nothing stands behind the %s", term->negated ? "!=" : "=");
		return -EINVAL;
	}
	if (term->key == FILTER_TIME)
		return parse_range(term, fault, size);
	if (term->key == FILTER_PHASE)
		return check_phase(term->value, fault, size);
	if (term->key == FILTER_DURING && strcmp(term->value, "syscall") != 0 &&
	    (strncmp(term->value, "syscall:", 8) != 0 || !term->value[8])) {
		snprintf(fault, size,
			 "events can be selected during=syscall or during=syscall:NAME");
		return -EINVAL;
	}
	return 0;
}

int filter_add(struct filter *filter, const char *text, char *fault, size_t size)
{
	size_t length = strcspn(text, "!=");
	struct filter_term term = {.text = text, .key = FILTER_KEYS};
	int error;

	if (filter->count == FILTER_TERMS_MAX) {
		snprintf(fault, size, "at most %d terms", FILTER_TERMS_MAX);
		return -E2BIG;
	}
	for (int i = 0; i < FILTER_KEYS; i++)
		if (strlen(keys[i]) == length && memcmp(keys[i], text, length) == 0)
			term.key = (enum filter_key)i;
	term.negated = text[length] == '!';
	if (term.key == FILTER_KEYS || text[length + term.negated] != '=') {
		snprintf(fault, size,
			 "a term is KEY=VALUE or KEY!=VALUE; keys are function, module, type, "
			 "thread, "
			 "phase, during and time");
		return -EINVAL;
	}
	term.value = text + length + term.negated + 1;
	error = check_value(&term, fault, size);
	if (!error)
		filter->terms[filter->count++] = term;
	return error;
}
