/* SPDX-License-Identifier: BSD-2-Clause */
/* filter.c: parses and matches filter terms. */
#include "filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../util/options.h"

static const char *const keys[FILTER_KEYS] = {
	[FILTER_FUNCTION] = "function", [FILTER_MODULE] = "module",   [FILTER_TYPE] = "type",
	[FILTER_THREAD] = "thread",     [FILTER_PROCESS] = "process", [FILTER_PHASE] = "phase",
	[FILTER_FIBER] = "fiber",       [FILTER_DURING] = "during",   [FILTER_REASON] = "reason",
	[FILTER_TIME] = "time",
};

/*
 * Matches pattern[size], where * stands for any characters: one pass that backtracks to the last
 * star.
 */
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

/* One end of a time range; if empty, *out stays as it is. */
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

/* Is every alternative one of `words`? */
static bool are_words(const char *value, const char *words)
{
	char word[16];

	for (const char *at = value;; at++) {
		size_t length = strcspn(at, "|");

		snprintf(word, sizeof(word), "%.*s", (int)(length < 15 ? length : 15), at);
		if (length > 15 || !filter_matches(words, word))
			return false;
		at += length;
		if (!*at)
			return true;
	}
}

static int check_words(const struct filter_term *term, char *fault, size_t size)
{
	bool phase = term->key == FILTER_PHASE;
	const char *words = phase ? "mutator|gc|minor|major|scanning|marking|sweeping|finalizing"
				  : "call|fault|preempted|stopped";

	if (are_words(term->value, words))
		return 0;
	snprintf(fault, size, "%s",
		 phase ? "a phase is mutator, gc, minor, major, scanning, marking, sweeping or "
			 "finalizing"
		       : "a thread waits for the reason call (in a system call), fault (a page), "
			 "preempted (others ran) or stopped");
	return -EINVAL;
}

static int parse_during(struct filter_term *term, char *fault, size_t size)
{
	static const char call[] = "syscall";
	const char *rest = term->value + strlen(call);

	if (strcmp(term->value, "wait") == 0)
		return 0;
	if (strncmp(term->value, call, strlen(call)) == 0 &&
	    (!*rest || (*rest == ':' && rest[1]))) {
		term->calls = *rest ? rest + 1 : rest;
		return 0;
	}
	snprintf(fault, size,
		 "events can be selected during=syscall, during=syscall:NAME or during=wait");
	return -EINVAL;
}

static int check_value(struct filter_term *term, char *fault, size_t size)
{
	if (!*term->value) {
		snprintf(fault, size, "nothing stands behind the %s", term->negated ? "!=" : "=");
		return -EINVAL;
	}
	if (term->key == FILTER_TIME)
		return parse_range(term, fault, size);
	if (term->key == FILTER_PHASE || term->key == FILTER_REASON)
		return check_words(term, fault, size);
	return term->key == FILTER_DURING ? parse_during(term, fault, size) : 0;
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
			 "thread, process, fiber, phase, during, reason and time");
		return -EINVAL;
	}
	term.value = text + length + term.negated + 1;
	error = check_value(&term, fault, size);
	if (!error)
		filter->terms[filter->count++] = term;
	return error;
}
