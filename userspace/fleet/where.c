/* SPDX-License-Identifier: BSD-2-Clause */
/* where.c: parses conditions on a fleet's profiles and prints them as SQL. */
#include "where.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "block.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

/* Names that are columns; other labels are looked up in profiles. */
static const struct {
	const char *name;
	bool of_rows;  /* in samples, pauses, calls and threads */
	bool of_hours; /* in hourly, too */
} columns[] = {
	{"service", true, true}, {"version", true, true},     {"process", true, false},
	{"host", false, false},  {"container", false, false},
};

enum { N_COLUMNS = sizeof(columns) / sizeof(*columns) };

static int find_column(const char *name)
{
	int i = 0;

	while (i < N_COLUMNS && strcmp(columns[i].name, name) != 0)
		i++;
	return i;
}

static int complain(char *fault, size_t size, const char *what, const char *at)
{
	snprintf(fault, size, "%s at \"%.40s\"", what, at);
	return -EINVAL;
}

/* Parses a time, or an age. Ages in hours or days are rounded down to a full hour. */
static int parse_when(const char *text, uint64_t now, uint64_t *out)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
	char *end;

	if (*text == '-' && isdigit((unsigned char)text[1])) {
		uint64_t number = strtoull(text + 1, &end, 10);
		uint64_t unit = *end == 'd' ? DAY : *end == 'h' ? HOUR : *end == 'm' ? 60 : 0;

		if (!unit || end[1] || number > now / unit)
			return -EINVAL;
		*out = now - number * unit;
		*out -= unit >= HOUR ? *out % HOUR : 0;
		return 0;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm = {0};

		end = strptime(text, formats[i], &tm);
		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		*out = (uint64_t)timegm(&tm);
		return timegm(&tm) < 0 || *out > UINT32_MAX ? -EINVAL : 0;
	}
	return -EINVAL;
}

static const char *skip_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

/* Parses a word, or a text in quotes, where a doubled quote stands for one. NULL: invalid. */
static const char *take_value(const char *at, char value[WHERE_VALUE])
{
	char quote = *at == '\'' || *at == '"' ? *at++ : '\0';
	size_t n = 0;

	for (; *at && (quote || !isspace((unsigned char)*at)); at++) {
		if (quote && *at == quote && *++at != quote) {
			value[n] = '\0';
			return at;
		}
		if (n == WHERE_VALUE - 1)
			return NULL;
		value[n++] = *at;
	}
	value[n] = '\0';
	return quote || !n ? NULL : at;
}

/* Parses the operator: '=', '!' (for !=), '<', '>'; 0: none of them. */
static const char *take_sign(const char *at, char *sign)
{
	size_t n = *at == '!' ? (at[1] == '=' ? 2 : 0) : *at && strchr("=<>", *at) ? 1 : 0;

	*sign = n ? *at : '\0';
	return at + n;
}

/* Parses one term at *at and moves *at past it. */
static int take_term(struct where *where, const char **at, uint64_t now, char *fault, size_t size)
{
	struct where_term *term = &where->terms[where->count++];
	size_t n = strspn(*at, LABEL_CHARACTERS);
	const char *begin = *at, *value;
	bool time;
	char sign;
	int column;

	if (!n || n >= sizeof(term->name))
		return complain(fault, size, "expected a label name", begin);
	memcpy(term->name, begin, n);
	term->name[n] = '\0';
	time = !strcmp(term->name, "time");
	value = take_sign(skip_blanks(begin + n), &sign);
	if (!sign || time != (sign == '<' || sign == '>'))
		return complain(fault, size,
				time ? "time needs < or >" : "a label needs = or !=", begin);
	*at = take_value(skip_blanks(value), term->value);
	if (!*at)
		return complain(fault, size,
				"the value is missing, too long or has no closing quote", begin);
	term->differs = sign == '!';
	term->from = sign == '>';
	term->to = sign == '<';
	if (time && parse_when(term->value, now, &term->time))
		return complain(fault, size,
				"expected a time such as 2026-11-26, 2026-11-26T08:30 (UTC), -90m, "
				"-24h or -30d",
				begin);
	column = find_column(term->name);
	where->process |= !strcmp(term->name, "process");
	where->hourly &= time ? term->time % HOUR == 0
			      : column < N_COLUMNS && columns[column].of_hours;
	return 0;
}

int where_parse(const char *text, uint64_t now, struct where *out, char *fault, size_t size)
{
	const char *at = skip_blanks(text);
	int err;

	out->count = 0;
	out->process = false;
	out->hourly = true;
	while (*at) {
		if (out->count == WHERE_TERMS)
			return complain(fault, size, "too many terms", at);
		err = take_term(out, &at, now, fault, size);
		if (err)
			return err;
		at = skip_blanks(at);
		if (!*at)
			break;
		if (strncasecmp(at, "AND", 3) != 0 || !isspace((unsigned char)at[3]))
			return complain(fault, size, "expected AND", at);
		at = skip_blanks(at + 3);
		if (!*at)
			return complain(fault, size, "expected a term after AND", at);
	}
	return 0;
}

static void print_label(const struct where_term *term, FILE *out)
{
	int column = find_column(term->name);
	bool of_profiles = column == N_COLUMNS || !columns[column].of_rows;

	if (of_profiles)
		fprintf(out, "profile %s (SELECT profile FROM profiles WHERE ",
			term->differs ? "GLOBAL NOT IN" : "GLOBAL IN");
	if (column < N_COLUMNS)
		fputs(term->name, out);
	else
		fprintf(out, "label_values[indexOf(label_names, '%s')]", term->name);
	fputs(term->differs && !of_profiles ? " != " : " = ", out);
	quote_print(out, term->value);
	if (of_profiles)
		putc(')', out);
}

void where_print(const struct where *where, const char *time, FILE *out)
{
	/* Leaves out markers of blocks, which have the time 0. */
	fprintf(out, "%s > toDateTime(0)", time);
	for (size_t i = 0; i < where->count; i++) {
		const struct where_term *term = &where->terms[i];

		fputs(" AND ", out);
		if (term->from || term->to)
			fprintf(out, "%s %s toDateTime(%" PRIu64 ")", time, term->from ? ">=" : "<",
				term->time);
		else
			print_label(term, out);
	}
}
