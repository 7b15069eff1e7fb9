/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: command-line options as rows; parsing, checking, --help and lint come from them. */
#ifndef GCPROF_OPTIONS_H
#define GCPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,   /* int: counts how often it was given */
	OPTION_TEXT,   /* const char * */
	OPTION_LIST,   /* struct option_list: may be given several times */
	OPTION_NUMBER, /* uint64_t, decimal */
	OPTION_SIZE,   /* uint64_t bytes, with suffix K M G T (1024) */
	OPTION_TIME,   /* uint64_t ns; plain numbers are seconds (1.5); suffix ns us ms s m h */
};

enum { OPTION_LIST_MAX = 16 };

struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t count;
};

struct option_row {
	const char *name; /* long name without the dashes */
	char letter;      /* short name or 0 */
	enum option_kind kind;
	size_t offset;        /* of the value in the verb's options struct */
	uint64_t min, max;    /* for numbers, sizes and times; max 0: no limit */
	const char *argument; /* shown in the help: "HZ" */
	const char *help;     /* one line, ends without a dot; states the default */
};

struct command {
	const char *name;
	const char *usage;                /* "[OPTIONS] -- COMMAND [ARGUMENTS]" */
	const char *summary;              /* one line */
	const struct option_row *options; /* ended by a row without a name; may be NULL */
	bool needs_root;                  /* else it runs with the rights of the invoker only */
	int (*run)(int argc, char **argv);
};

/*
 * Fills `values` from argv (argv[0] is the verb) and returns the index of the
 * first word that is no option; stops at the first such word or behind "--".
 * Prints the help and exits 0 on --help. On a mistake it prints what is wrong
 * and how to get help, and returns -EINVAL.
 */
int options_parse(const struct command *command, void *values, int argc, char **argv);

/*
 * The same for a verb whose options stand before, between and behind its words:
 * puts these, at most `max`, into words[] and returns how many. One too many is
 * a mistake.
 */
int options_parse_words(const struct command *command, void *values, int argc, char **argv,
			const char **words, int max);

/* Prints what --help of the command prints, on stdout. */
void options_help(const struct command *command);

/* Parsers of single values, for tests and the environment; -EINVAL or -ERANGE. */
int parse_number(const char *text, uint64_t *out);
int parse_size(const char *text, uint64_t *out);
int parse_time(const char *text, uint64_t *out);

/* Exit codes of every verb. */
enum { EXIT_USAGE = 2 };

#endif
