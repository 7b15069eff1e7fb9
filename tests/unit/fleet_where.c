/* SPDX-License-Identifier: BSD-2-Clause */
/* fleet_where.c: tests of conditions for a fleet, and the SQL that they become. */
#include "test.h"

#include <errno.h>

#include "fleet/where.h"

#define NOW UINT64_C(1764144930) /* 2025-11-26T08:15:30 */

static struct where where;
static char fault[200];

/* The SQL of a condition, behind that of all; a static text. */
static const char *sql(const char *text)
{
	static char *out;
	size_t size;
	FILE *file;

	free(out);
	if (where_parse(text, NOW, &where, fault, sizeof(fault)))
		return "refused";
	file = open_memstream(&out, &size);
	CHECK(file);
	where_print(&where, "time", file);
	CHECK(!fclose(file));
	CHECK(!strncmp(out, "time > toDateTime(0)", 20));
	return size > 25 ? out + 25 : out + 20;
}

TEST(terms_become_conditions)
{
	CHECK_STR(sql(""), "");
	CHECK_STR(sql("service=shop"), "service = 'shop'");
	CHECK_STR(sql(" version != 'a b' and process=\"x\" "),
		  "version != 'a b' AND process = 'x'");
	CHECK_STR(sql("host=h"),
		  "profile GLOBAL IN (SELECT profile FROM profiles WHERE host = 'h')");
	CHECK_STR(sql("zone!=z"), "profile GLOBAL NOT IN (SELECT profile FROM profiles WHERE "
				  "label_values[indexOf(label_names, 'zone')] = 'z')");
}

TEST(values_are_literals_whatever_is_in_them)
{
	CHECK_STR(sql("service='it''s'"), "service = 'it\\'s'");
	CHECK_STR(sql("service=\"a\"\"b'c\""), "service = 'a\"b\\'c'");
	CHECK_STR(sql("service=a\\'b"), "service = 'a\\\\\\'b'");
	CHECK_STR(sql("service='\\'"), "service = '\\\\'");
	CHECK_STR(sql("service=1;DROP"), "service = '1;DROP'");
}

TEST(times_have_seconds)
{
	CHECK_STR(sql("time>1970-01-02"), "time >= toDateTime(86400)");
	CHECK_STR(sql("time>1970-01-01T01:00"), "time >= toDateTime(3600)");
	CHECK_STR(sql("time<1970-01-01T01:00:01Z"), "time < toDateTime(3601)");
	CHECK_STR(sql("time>-15m"), "time >= toDateTime(1764144030)");
	CHECK_STR(sql("time>-1h"), "time >= toDateTime(1764140400)");
	CHECK_STR(sql("time < -1d"), "time < toDateTime(1764057600)");
}

TEST(hourly_sums_are_read_where_they_suffice)
{
	const struct {
		const char *text;
		bool hourly, process;
	} rows[] = {
		{"", true, false},
		{"service=a AND version!=b AND time>-30d AND time<2026-01-01", true, false},
		{"time>-15m", false, false},
		{"host=a", false, false},
		{"zone=a", false, false},
		{"process=a", false, true},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		(void)sql(rows[i].text);
		CHECK_EQ(where.hourly, rows[i].hourly);
		CHECK_EQ(where.process, rows[i].process);
	}
}

TEST(what_is_not_in_the_grammar_is_refused)
{
	static const char *const bad[] = {
		"service",
		"service=",
		"=a",
		"service='a",
		"service=a b",
		"service<a",
		"time=2026-01-01",
		"time!=-1h",
		"time>soon",
		"time>-1y",
		"a b=c",
		"service=a AND",
		"AND a=b",
		"a=b ANDc=d",
		"1=1) OR (1=1",
		"a.b=c",
		"a'=b",
		"time>-99999999999999999999d",
		"time>9999-01-01",
		"time>1960-01-01",
		"service!a",
		"time>=-1h",
		"a=b,c=d e",
	};
	char text[4000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		if (strcmp(sql(bad[i]), "refused") != 0)
			test_fail(__FILE__, __LINE__, "%s is %s", bad[i], sql(bad[i]));
	}
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CHECK_STR(sql(text), "refused");
	memcpy(text, "service=", 8);
	CHECK_STR(sql(text), "refused");
	text[8 + 1000] = '\0';
	CHECK(strcmp(sql(text), "refused") != 0);
	for (int i = 0; i <= WHERE_TERMS; i++)
		snprintf(text + 8 * i, 9, "a=b AND ");
	CHECK_STR(sql(text), "refused");
}
