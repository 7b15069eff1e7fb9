/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h: command-line options as table rows; the source for parsing, checks, --help and lint.
 */
#ifndef GCPROF_OPTIONS_H
#define GCPROF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_FLAG,   /* int: 1 if given */
	OPTION_COUNT,  /* int: number of times given, more than once is allowed */
	OPTION_TEXT,   /* const char * */
	OPTION_LIST,   /* struct option_list: may be repeated */
	OPTION_NUMBER, /* uint64_t, decimal */
	OPTION_SIZE,   /* uint64_t bytes, with suffix K M G T (powers of 1024) */
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
	size_t offset;        /* of the value in the verb's struct of options */
	uint64_t min, max;    /* for numbers, sizes and times; max 0: no limit */
	const char *argument; /* placeholder in the help: "HZ" */
	const char *help;     /* one line without a final dot; states the default */
};

struct command {
	const char *name;
	const char *usage;                /* "[OPTIONS] -- COMMAND [ARGUMENTS]" */
	const char *summary;              /* one line */
	const struct option_row *options; /* terminated by a row without a name; may be NULL */
	bool needs_root; /* if not set, the verb runs with the invoker's rights only */
	int (*run)(int argc, char **argv);
};

/*
 * A row that is no list and no count may be given once.
 * Fills `values` from argv (argv[0] is the verb) and returns the index of the first non-option
 * word. Stops at that word or after "--". Prints the help and exits 0 on --help. On a mistake
 * prints the problem and how to get help, and returns -EINVAL.
 */
int options_parse(const struct command *command, void *values, int argc, char **argv);

/*
 * The same for a verb whose options may stand before, between and after its words: stores these in
 * words[] and returns their number. More than `max` are a mistake.
 */
int options_parse_words(const struct command *command, void *values, int argc, char **argv,
			const char **words, int max);

/* Prints the --help text of the command on stdout. */
void options_help(const struct command *command);

/* Parse single values, for tests and the environment; -EINVAL or -ERANGE. */
int parse_number(const char *text, uint64_t *out);
int parse_size(const char *text, uint64_t *out);
int parse_time(const char *text, uint64_t *out);

/* Exit codes of every verb. */
enum { EXIT_USAGE = 2 };

#endif
