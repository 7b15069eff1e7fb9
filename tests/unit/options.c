/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c: tests of option rows and of the parsers of numbers, sizes and times. */
#include "test.h"

#include <errno.h>

#include "util/options.h"

struct values {
	uint64_t number, size, time;
	const char *text;
	int count, flag;
	struct option_list list;
};

static const struct option_row rows[] = {
	{"number", 'n', OPTION_NUMBER, offsetof(struct values, number), 1, 10, "N", "a number"},
	{"size", 0, OPTION_SIZE, offsetof(struct values, size), 64, 0, "BYTES", "a size"},
	{"time", 't', OPTION_TIME, offsetof(struct values, time), 0, 0, "TIME", "a time"},
	{"text", 'o', OPTION_TEXT, offsetof(struct values, text), 0, 0, "FILE", "a text"},
	{"list", 'l', OPTION_LIST, offsetof(struct values, list), 0, 0, "WORD", "a list"},
	{"count", 'v', OPTION_COUNT, offsetof(struct values, count), 0, 0, NULL, "a count"},
	{"flag", 'q', OPTION_FLAG, offsetof(struct values, flag), 0, 0, NULL, "a flag"},
	{0},
};

static const struct command command = {"try", "[OPTIONS] [WORD]", "Tries", rows, false, NULL};

static int parse(struct values *values, const char *line)
{
	static char copy[256];
	char *argv[16] = {"try"}, *save = NULL;
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	*values = (struct values){0};
	return options_parse(&command, values, argc, argv);
}

TEST(options_of_every_kind)
{
	struct values values;

	CHECK_EQ(parse(&values, "-n 7 --size 4K -t 1.5 --text=x -vv word -n 8"), 9);
	CHECK_EQ(values.number, 7);
	CHECK_EQ(values.size, 4096);
	CHECK_EQ(values.time, 1500000000);
	CHECK_STR(values.text, "x");
	CHECK_EQ(values.count, 2);
	CHECK_EQ(parse(&values, "-l a --list b"), 5);
	CHECK_EQ(values.list.count, 2);
	CHECK_STR(values.list.items[1], "b");
	CHECK_EQ(parse(&values, "-v -- -n 8"), 3);
	CHECK_EQ(values.number, 0);
	CHECK_EQ(parse(&values, ""), 1);
}

TEST(options_refuse_mistakes)
{
	static const char *const lines[] = {
		"-n 0",
		"-n 11",
		"-n x",
		"-n -1",
		"-n 1.5",
		"--size 12Q",
		"--size 63",
		"--size -1K",
		"--what",
		"-x",
		"-n",
		"--time 3weeks",
		"--size 1e30",
		"--time nan",
		"--text=",
		"--flag=1",
		"--size 0x40",
		/* Given twice, in either spelling. */
		"-n 1 -n 1",
		"-n 1 --number 2",
		"--size 64 --size 65",
		"-t 1 --time 1",
		"-o a -o b",
		"-q -q",
		"-qq",
		"-q --flag",
	};
	struct values values;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int err = parse(&values, lines[i]);

		if (err != -EINVAL)
			test_fail(__FILE__, __LINE__, "%s: accepted with %d", lines[i], err);
	}
}

TEST(options_stand_before_between_and_behind_words)
{
	char *argv[] = {"try", "-v", "one", "--number", "7", "two", "-v", NULL};
	const char *words[2] = {NULL, NULL};
	struct values values = {0};

	CHECK_EQ(options_parse_words(&command, &values, 7, argv, words, 2), 2);
	CHECK_STR(words[0], "one");
	CHECK_STR(words[1], "two");
	CHECK_EQ(values.number, 7);
	CHECK_EQ(options_parse_words(&command, &values, 7, argv, words, 1), -EINVAL);
	CHECK_EQ(options_parse_words(&command, &values, 1, argv, words, 0), 0);
	/* Given twice, with words in between. */
	argv[6] = "-n9";
	CHECK_EQ(options_parse_words(&command, &values, 7, argv, words, 2), -EINVAL);
}

TEST(options_parse_units)
{
	static const struct {
		const char *text;
		uint64_t value;
	} sizes[] = {{"0", 0},          {"512K", 524288},     {"512k", 524288},
		     {"4MiB", 4194304}, {"1.5G", 1610612736}, {"18446744073709551615", UINT64_MAX}},
	  times[] = {{"10", 10000000000},
		     {"20ms", 20000000},
		     {"1.5us", 1500},
		     {"7ns", 7},
		     {"2m", 120000000000}};
	uint64_t value;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		CHECK_EQ(parse_size(sizes[i].text, &value), 0);
		CHECK_EQ(value, sizes[i].value);
	}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		CHECK_EQ(parse_time(times[i].text, &value), 0);
		CHECK_EQ(value, times[i].value);
	}
	CHECK_EQ(parse_number("99999999999999999999", &value), -ERANGE);
	CHECK_EQ(parse_size("1.5", &value), -EINVAL);
}
