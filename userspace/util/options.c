/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: parses command-line options from table rows, and prints their help. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "suggest.h"

enum { HELP_LEFT = 24, HELP_RIGHT = 72 }; /* columns for names and for their meaning */

enum { OPTIONS_MAX = 48, FIRST_LONG = 256, CHOICE_HELP = 1000 };

struct suffix {
	const char *text;
	double factor;
};

static const struct suffix size_suffixes[] = {
	{"", 1},
	{"B", 1},
	{"K", 1024.0},
	{"KiB", 1024.0},
	{"M", 1024.0 * 1024},
	{"MiB", 1024.0 * 1024},
	{"G", 1024.0 * 1024 * 1024},
	{"GiB", 1024.0 * 1024 * 1024},
	{"T", 1024.0 * 1024 * 1024 * 1024},
	{"TiB", 1024.0 * 1024 * 1024 * 1024},
	{NULL, 0},
};

static const struct suffix time_suffixes[] = {
	{"", 1e9},   {"s", 1e9},  {"ms", 1e6},   {"us", 1e3},
	{"ns", 1e0}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0},
};

/* Parses a decimal number with one of the suffixes (in either case) into an integer. */
static int parse_suffixed(const char *text, const struct suffix *suffix, uint64_t *out)
{
	char *end;
	double value;

	if (*text < '0' || *text > '9' || text[strspn(text, "0123456789")] == 'x')
		return -EINVAL;
	value = strtod(text, &end);
	for (; suffix->text; suffix++) {
		if (strcasecmp(end, suffix->text) == 0)
			break;
	}
	if (!suffix->text)
		return -EINVAL;
	value = value * suffix->factor;
	if (!(value < 9e18))
		return -ERANGE;
	if (suffix->factor == 1 && value != floor(value))
		return -EINVAL;
	*out = (uint64_t)llround(value);
	return 0;
}

int parse_number(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	if (text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno ? -ERANGE : 0;
}

int parse_size(const char *text, uint64_t *out)
{
	return parse_number(text, out) ? parse_suffixed(text, size_suffixes, out) : 0;
}

int parse_time(const char *text, uint64_t *out)
{
	return parse_suffixed(text, time_suffixes, out);
}

/* Prints to the right of the names, breaking between words. */
static void print_help(const char *text)
{
	while (strlen(text) > HELP_RIGHT) {
		int length = HELP_RIGHT;

		while (length && text[length] != ' ')
			length--;
		if (!length)
			break;
		printf("%.*s\n  %*s  ", length, text, HELP_LEFT, "");
		text += length + 1;
	}
	puts(text);
}

static void print_row(const struct option_row *row)
{
	char left[64];
	int n = 0;

	n += snprintf(left, sizeof(left), row->letter ? "-%c, " : "    ", row->letter);
	n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", row->name);
	if (row->argument)
		snprintf(left + n, sizeof(left) - (size_t)n, " %s", row->argument);
	if (strlen(left) > HELP_LEFT)
		printf("  %s\n  %*s  ", left, HELP_LEFT, "");
	else
		printf("  %-*s  ", HELP_LEFT, left);
	print_help(row->help);
}

void options_help(const struct command *command)
{
	static const struct option_row help = {
		.name = "help", .letter = 'h', .help = "show this help and exit"};

	printf("Usage: gcprof %s %s\n%c%s.\n\nOptions:\n", command->name, command->usage,
	       toupper((unsigned char)*command->summary), command->summary + 1);
	for (const struct option_row *row = command->options; row && row->name; row++)
		print_row(row);
	print_row(&help);
	printf("\nSee gcprof-%s(1).\n", command->name);
}

static int options_complain(const struct command *command, const char *word, const char *fault)
{
	log_error("%s: %s\nTry 'gcprof %s --help'.", word, fault, command->name);
	return -EINVAL;
}

static int complain_unknown(const struct command *command, const char *word)
{
	char name[64], hint[64], fault[96];
	struct suggestion suggestion = {.word = name};

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	if (strncmp(name, "--", 2) == 0)
		suggestion.word += 2;
	for (const struct option_row *row = command->options; row && row->name; row++)
		suggestion_offer(&suggestion, row->name);
	suggestion_text(&suggestion, "--", hint, sizeof(hint));
	snprintf(fault, sizeof(fault), "unknown option%s", hint);
	return options_complain(command, word, fault);
}

static int complain_option(const struct command *command, const struct option_row *row,
			   const char *fault)
{
	char word[64];

	snprintf(word, sizeof(word), "--%s", row->name);
	return options_complain(command, word, fault);
}

static void print_bound(const struct option_row *row, uint64_t value, char *out, size_t size)
{
	if (row->kind == OPTION_TIME)
		snprintf(out, size, "%.9gs", (double)value / 1e9);
	else
		snprintf(out, size, "%llu", (unsigned long long)value);
}

static int store_value(const struct command *command, const struct option_row *row,
		       const char *text, uint64_t *out)
{
	char word[128], fault[128], low[32], high[32];
	uint64_t value = 0;
	int err;

	snprintf(word, sizeof(word), "--%s %s", row->name, text);
	if (row->kind == OPTION_NUMBER)
		err = parse_number(text, &value);
	else if (row->kind == OPTION_SIZE)
		err = parse_size(text, &value);
	else
		err = parse_time(text, &value);
	if (err == -EINVAL)
		return options_complain(command, word,
					row->kind == OPTION_NUMBER ? "not a number"
					: row->kind == OPTION_SIZE
						? "not a size such as 512K or 4M"
						: "not a time such as 10, 1.5s or 20ms");
	if (err || value < row->min || (row->max && value > row->max)) {
		print_bound(row, row->min, low, sizeof(low));
		print_bound(row, row->max, high, sizeof(high));
		snprintf(fault, sizeof(fault),
			 row->max ? "out of range, %s to %s" : "out of range, at least %s", low,
			 high);
		return options_complain(command, word, fault);
	}
	*out = value;
	return 0;
}

static int store_item(const struct command *command, const struct option_row *row, const char *text,
		      struct option_list *list)
{
	if (!*text)
		return complain_option(command, row, "must not be empty");
	if (list->count == OPTION_LIST_MAX)
		return complain_option(command, row, "given too many times");
	list->items[list->count++] = text;
	return 0;
}

static int store_option(const struct command *command, const struct option_row *row, char *text,
			void *values)
{
	void *at = (char *)values + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_COUNT:
		++*(int *)at;
		return 0;
	case OPTION_TEXT:
		if (!*text)
			return complain_option(command, row, "must not be empty");
		*(const char **)at = text;
		return 0;
	case OPTION_LIST:
		return store_item(command, row, text, at);
	default:
		return store_value(command, row, text, at);
	}
}

/* Builds getopt's tables; returns the number of rows. */
static int make_tables(const struct command *command, struct option *longs, char *shorts)
{
	int n = 0;

	*shorts++ = '+'; /* stop at the first non-option word */
	*shorts++ = ':';
	*shorts++ = 'h';
	for (const struct option_row *row = command->options; row && row->name; row++, n++) {
		bool takes = row->kind != OPTION_FLAG && row->kind != OPTION_COUNT;

		longs[n] = (struct option){row->name, takes, NULL, FIRST_LONG + n};
		if (row->letter)
			*shorts++ = row->letter;
		if (row->letter && takes)
			*shorts++ = ':';
	}
	longs[n] = (struct option){"help", 0, NULL, CHOICE_HELP};
	longs[n + 1] = (struct option){NULL, 0, NULL, 0};
	*shorts = '\0';
	return n;
}

static const struct option_row *find_row(const struct command *command, int choice)
{
	if (choice >= FIRST_LONG)
		return &command->options[choice - FIRST_LONG];
	for (const struct option_row *row = command->options; row && row->name; row++)
		if (row->letter == choice)
			return row;
	return NULL;
}

/* The last of two values would win, and nobody would see that the first is ignored. */
static int check_once(const struct command *command, const struct option_row *row, uint64_t *given)
{
	uint64_t bit = UINT64_C(1) << (row - command->options);
	bool again = *given & bit;

	*given |= bit;
	if (!again || row->kind == OPTION_LIST || row->kind == OPTION_COUNT)
		return 0;
	return complain_option(command, row, "given twice");
}

/* *given: the rows given so far. */
static int parse(const struct command *command, void *values, int argc, char **argv,
		 uint64_t *given)
{
	const struct option_row *row;
	struct option longs[OPTIONS_MAX + 2];
	char shorts[2 * OPTIONS_MAX + 4];
	int choice, err;

	make_tables(command, longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: restart parsing */
	while ((choice = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (choice == 'h' || choice == CHOICE_HELP) {
			options_help(command);
			exit(0);
		}
		if (choice == '?')
			return complain_unknown(command, argv[optind - 1]);
		if (choice == ':')
			return options_complain(command, argv[optind - 1], "needs a value");
		row = find_row(command, choice);
		err = check_once(command, row, given);
		err = err ? err : store_option(command, row, optarg, values);
		if (err)
			return err;
	}
	return optind;
}

int options_parse(const struct command *command, void *values, int argc, char **argv)
{
	uint64_t given = 0;

	return parse(command, values, argc, argv, &given);
}

int options_parse_words(const struct command *command, void *values, int argc, char **argv,
			const char **words, int max)
{
	uint64_t given = 0;
	int n = 0;

	for (int next; (next = parse(command, values, argc, argv, &given)) < argc;) {
		if (next < 0)
			return next;
		if (n == max) {
			log_error("%s: unexpected argument\nUsage: gcprof %s %s", argv[next],
				  command->name, command->usage);
			return -EINVAL;
		}
		words[n++] = argv[next];
		/* The last word parsed takes the place of the verb. */
		argv += next;
		argc -= next;
	}
	return n;
}
