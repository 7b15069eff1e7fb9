/* SPDX-License-Identifier: BSD-2-Clause */
/* rows_page.c: prints gcprof-rows(5), the tables of userspace/model/rows.def, for make. */
#include <stdio.h>
#include <string.h>

/* Backslashes and dashes have a meaning in roff. */
static void print(const char *text)
{
	for (; *text; text++)
		printf(*text == '-' ? "\\-" : *text == '\\' ? "\\e" : "%c", *text);
}

/* The name of the tables of JSON, unless these lie deeper there. */
static void table(const char *rows, const char *sql, const char *doc)
{
	const char *name = strrchr(rows, '.') ? sql : rows;

	printf(".SS %s\n", *name ? name : rows);
	print(doc);
	if (*sql && strcmp(sql, name) != 0)
		printf("; in a database\n.B %s", sql);
	printf("\n");
}

static void figure(const char *key, const char *kind, const char *needs, const char *sort,
		   const char *doc)
{
	printf(".TP\n.B %s\n", key);
	print(*doc ? doc : key);
	printf(" (%s%s", kind, strcmp(needs, "NONE") != 0 ? "; needs " : "");
	for (const char *at = strcmp(needs, "NONE") != 0 ? needs : ""; *at; at++)
		printf("%c", *at == '_' ? '+' : *at | 0x20);
	printf("%s%s)\n", *sort ? "; sort keys: " : "", sort);
}

#define FIGURE_KIND(kind, type, unit) static const char *const unit_##kind = unit;
#include "../userspace/model/rows.def"

int main(void)
{
	puts(".TH GCPROF\\-ROWS 5 2026-11-29 gcprof \"gcprof manual\"\n"
	     ".SH NAME\ngcprof\\-rows \\- the figures of gcprof's tables\n"
	     ".SH DESCRIPTION\n"
	     "Each figure has one name, in\n.BR \"gcprof report \\-\\-json\" ,\nin the database "
	     "of\n"
	     ".BR gcprof\\-query (1)\nand in the page of\n.BR \"gcprof export \\-f html\" .\n"
	     "Behind its meaning stand its unit, the streams that it needs, and the keys of\n"
	     ".B \\-\\-sort\nby which it sorts its table.\n"
	     "A figure whose streams were not recorded is null, as is one that is unknown;\n"
	     "0 means that there was none.\n"
	     "The figures\n.B time_*\nof a thread are in an object\n.B time\nin JSON, without that "
	     "begin of "
	     "their names; they sum to\n.BR wall_ns .\n"
	     "An estimate with an interval is an object with\n.IR estimate ,\n.I low\nand\n.I "
	     "high\n"
	     "in JSON; in a database, as everywhere for shares, its ends are in columns of their\n"
	     "own, with\n.B _low\nand\n.B _high\nbehind its name. There, each row has an\n.BR id "
	     ".");
#define ROWS(row, rows, count, sql, doc) table(#rows, #sql, doc);
#define AS(row, kind, member, key, needs, known, heading, sort, doc) \
	figure(#key, unit_##kind, #needs, sort, doc);
#include "../userspace/model/rows.def"
	puts(".SH SEE ALSO\n.BR gcprof\\-report (1),\n.BR gcprof\\-query (1),\n.BR gcprof\\-export "
	     "(1)");
	return 0;
}
