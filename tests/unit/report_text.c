/* SPDX-License-Identifier: BSD-2-Clause */
/* report_text.c: tests of the report for people: widths, units, names, what it says. */
#include "model/world/text.h"
#include "model/world/timeline.h"
#include "provider/probe_args.h"
#include "report/page.h"
#include "report/report.h"
#include "util/units.h"
#include "synthetic_app.h"
#include "../../userspace/model/world/world.h"
#include "synthetic_runtime.h"

static char *print(const struct model *model, const struct report_options *options)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK_EQ(report_text(model, options, out), 0);
	CHECK_EQ(fclose(out), 0);
	return text;
}

/* The widest line; every character must be printable UTF-8. */
static int widest_line(const char *text)
{
	int widest = 0;

	while (*text) {
		size_t size = strcspn(text, "\n");
		char *line = strndup(text, size);
		int width = text_width(line);
		uint32_t character;

		for (size_t at = 0, length; at < size; at += length) {
			length = utf8_decode(line + at, size - at, &character);
			CHECK(length > 0 && character >= 32 && character != 127);
		}
		widest = width > widest ? width : widest;
		CHECK(size == 0 || line[size - 1] != ' ');
		free(line);
		text += size + (text[size] == '\n');
	}
	return widest;
}

TEST(no_line_is_wider_than_the_page)
{
	struct app app;
	struct model *model;

	synthetic_app(&app, 40, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	for (int width = REPORT_WIDTH_MIN; width <= 220; width += 7) {
		struct report_options options = {.width = width, .verbose = width % 2};
		char *text = print(model, &options);

		printf("%d: %d\n", width, widest_line(text));
		CHECK(widest_line(text) <= width);
		free(text);
	}
	synthetic_close(&app.synthetic, model);
}

/* As an agent of a runtime reports them that frees most objects at once, and collects the others.
 */
TEST(objects_that_the_program_frees_are_charged_with_no_collection)
{
	struct synthetic synthetic;
	struct report_options options = {.width = 100};
	struct model *model;
	uint64_t stack;
	char *text;

	synthetic_program(&synthetic, 1000);
	stack = synthetic_stack(
		&synthetic, (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "keep"), 0});
	PUT(&synthetic, alloc, .time = 2000, .thread = 1, .stack = stack, .sample = 1, .size = 4000,
	    .period = 1000, .kind = GCPROF_SAMPLE_MANUAL);
	PUT(&synthetic, gc_begin, .time = 3000, .thread = 1, .heap = 2, .cycle = 1, .kind = 1);
	PUT(&synthetic, gc_end, .time = 5000, .thread = 1, .heap = 2, .cycle = 1, .kind = 1);
	model = synthetic_loaded(&synthetic, 9000);
	CHECK(is_near(model->gc.unattributed_ns, 2000, 1e-6));
	text = print(model, &options);
	CHECK(strstr(text, "2.00 us of the pauses is charged to no object: 2.00 us of processes "
			   "without samples of"));
	CHECK(strstr(text, "live: not freed at the end"));
	/* There is no type to be shown, and no collection time. */
	CHECK(strstr(text, "  allocated in < called by"));
	CHECK(!strstr(text, "type  allocated in") && !strstr(text, "(several)"));
	CHECK(!strstr(text, "(no samples)") && !strstr(text, "GC caused"));
	free(text);
	synthetic_close(&synthetic, model);
}

TEST(no_window_has_more_cpu_time_than_the_machine)
{
	struct report_options options = {.width = 100};
	struct app app;
	struct model *model;
	char *text;

	synthetic_app(&app, 40, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	model->timeline->windows[0].cpu_ns = UINT64_C(1) << 60;
	text = print(model, &options);
	CHECK(strstr(text, "up to 8.00 CPUs") != NULL);
	free(text);
	synthetic_close(&app.synthetic, model);
}

TEST(it_uses_the_words_of_the_runtime)
{
	static const char *const phrases[] = {
		"runtime go 1.2.3: What is never freed is not seen.",
		"8.00 ms, 8.0% of wall time",
		"pause young ",
		"other stops ",
		"mark termination ",
		"1 for \"allocation failure\"",
		"\nConcurrent cycles\n",
		"on average the heap had 48.0 MiB before and 32.0 MiB after them, 24.0 MiB of it "
		"alive",
		"for \"heap has doubled\"",
		"heap has doubled",
		"mark and sweep",
		"2, 2.00 ms", /* pauses of the first cycle */
		"runtime go 1.2.3: What is never freed",
		"provider agent 4.5\n",
		"\nEntry functions\n",
		"main.serve.func1",
	};
	struct report_options options = {.width = 160, .parts = PART_GC};
	struct synthetic_runtime runtime;
	struct model *model;
	char *gc, *all;

	synthetic_runtime(&runtime, "go");
	model = synthetic_loaded(&runtime.synthetic, runtime.time);
	gc = print(model, &options);
	options.parts = 0;
	all = print(model, &options);
	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
		if (!strstr(gc, phrases[i]) && !strstr(all, phrases[i]))
			test_fail(__FILE__, __LINE__, "\"%s\" is not in\n%s\n%s", phrases[i], gc,
				  all);
	CHECK(!strstr(gc, "unknown reason"));
	free(gc);
	free(all);
	synthetic_close(&runtime.synthetic, model);
}

TEST(it_says_what_there_is)
{
	static const char *const phrases[] = {
		"build/workloads/indexer /usr/share/doc\n",
		"exit status 0",
		"somewhere-else",
		"not enabled: sched (--off-cpu)",
		"40 collection pauses",
		"timer 999 Hz; an allocation sample every 512 KiB",
		"gc_minor_collect",
		"(index-file path)",
		"indexer.lisp:42",
		"posting",
		"node of the tree",
		"\nTypes\n",
		"\nAllocation sites\n",
		"\nOver time\n",
		"\n  heap after GC ",
		"\nWhat stands out\n",
		"program, on the CPU",
		"40 because the nursery was full",
		"pauses left the program ",
		"\nSystem calls\n",
		"\nThreads\n",
		"1,234 timer samples were lost: the ring was full",
	};
	struct report_options options = {.width = 160};
	struct app app;
	struct model *model;
	char *text;

	synthetic_app(&app, 40, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	text = print(model, &options);
	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
		if (!strstr(text, phrases[i]))
			test_fail(__FILE__, __LINE__, "\"%s\" is not in\n%s", phrases[i], text);
	CHECK(!strstr(text, "Nothing was lost"));
	CHECK(!strstr(text, "end of this profile is missing"));
	CHECK(!strchr(text, '\033'));
	free(text);
	options.colour = true;
	options.top = 3;
	text = print(model, &options);
	CHECK(strchr(text, '\033') != NULL);
	CHECK(strstr(text, "Functions (3 of 15, ") != NULL);
	free(text);
	synthetic_close(&app.synthetic, model);
}

TEST(what_a_collector_does_not_report_is_not_zero)
{
	struct report_options options = {.width = 100};
	struct synthetic synthetic;
	struct model *model;
	char *text;

	synthetic_program(&synthetic, 1000);
	PUT(&synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 1, .cycle = 1, .kind = 3,
	    .reason = 4);
	PUT(&synthetic, gc_end, .time = 3000, .thread = 1, .heap = 1, .cycle = 1, .kind = 3);
	model = synthetic_loaded(&synthetic, 9000);
	text = print(model, &options);
	CHECK(strstr(text, "because the program asked") != NULL);
	CHECK(!strstr(text, "peak heap"));
	CHECK(!strstr(text, "promoted 0 B"));
	free(text);
	synthetic_close(&synthetic, model);
}

/* One of each program, as in a recording of a system: the name alone says nothing. */
TEST(functions_of_one_name_are_told_apart)
{
	static const char *const modules[] = {"/usr/bin/one", "/usr/bin/two"};
	struct report_options options = {.width = 80, .parts = PART_FUNCTIONS};
	struct synthetic synthetic;
	struct model *model;
	char *text;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 0; i < 2; i++)
		PUT(&synthetic, cpu, .time = 2000 + i, .thread = 1, .mode = 1,
		    .stack = synthetic_stack(
			    &synthetic,
			    (uint64_t[]){synthetic_function(&synthetic, modules[i], 1, "work"),
					 0}));
	PUT(&synthetic, cpu, .time = 2002, .thread = 1, .mode = 1,
	    .stack = synthetic_stack(
		    &synthetic,
		    (uint64_t[]){synthetic_function(&synthetic, modules[0], 2, "rest"), 0}));
	model = synthetic_loaded(&synthetic, 4000);
	text = print(model, &options);
	printf("%s", text);
	CHECK(strstr(text, "work (one)") != NULL);
	CHECK(strstr(text, "work (two)") != NULL);
	CHECK(strstr(text, "rest (") == NULL);
	free(text);
	synthetic_close(&synthetic, model);
}

TEST(a_missing_end_stands_at_the_top)
{
	struct report_options options = {.width = 80};
	struct app app;
	struct model *model;
	char *text, *warning;

	synthetic_app(&app, 10, false);
	CHECK_EQ(profile_writer_close(app.synthetic.writer), 0);
	model = synthetic_load(&app.synthetic, app.synthetic.size);
	CHECK_EQ(model->state, PROFILE_UNFINISHED);
	text = print(model, &options);
	warning = strstr(text, "The end of this profile is missing");
	CHECK(warning && warning < strstr(text, "Functions"));
	CHECK(strstr(text, "Nothing was lost") != NULL);
	free(text);
	synthetic_close(&app.synthetic, model);
}

TEST(an_empty_profile_is_a_report_too)
{
	struct report_options options = {.width = 80, .verbose = true};
	struct synthetic synthetic;
	struct model *model;
	char *text;

	synthetic_begin(&synthetic);
	CHECK_EQ(profile_writer_close(synthetic.writer), 0);
	model = synthetic_load(&synthetic, synthetic.size);
	text = print(model, &options);
	CHECK(widest_line(text) <= 80);
	CHECK(strstr(text, "CPU time was not recorded") != NULL);
	free(text);
	synthetic_close(&synthetic, model);
}

/* Names in every place where a profile can put one. */
TEST(hostile_names_are_harmless)
{
	static const char evil[] = "\033]0;owned\007\xff\xfe\r\n\xe2\x80\xae evil \xc2\x9b 31m";
	struct report_options options = {.width = 100};
	struct synthetic synthetic;
	struct model *model;
	char *printed;
	uint64_t frame, name;

	synthetic_begin(&synthetic);
	PUT(&synthetic, argument, .text = {evil, sizeof(evil)});
	PUT(&synthetic, meta, .key = bytes_of("host"), .value = bytes_of(evil));
	PUT(&synthetic, meta, .key = bytes_of("kernel"), .value = bytes_of(evil));
	PUT(&synthetic, stream, .stream = 5, .name = bytes_of(evil), .why_not = bytes_of(evil));
	synthetic_process(&synthetic, 1000);
	name = synthetic_string(&synthetic, evil);
	frame = synthetic_function(&synthetic, evil, 1, evil);
	PUT(&synthetic, comm, .time = 1, .thread = 1, .name = name);
	PUT(&synthetic, type, .process = 1, .type = 1, .name = name);
	PUT(&synthetic, alloc, .time = 2000, .thread = 1, .sample = 1, .type = 1, .size = 1000000,
	    .period = 1, .stack = synthetic_stack(&synthetic, (uint64_t[]){frame, 0}));
	PUT(&synthetic, loss_kind, .kind = 3, .stream = 1, .severity = 1, .name = bytes_of(evil),
	    .text = bytes_of(evil));
	PUT(&synthetic, loss, .time = 1500, .kind = 3, .count = 3);
	model = synthetic_loaded(&synthetic, 3000);
	printed = print(model, &options);
	CHECK(widest_line(printed) <= 100);
	CHECK(strstr(printed, "\\x1b]0;owned\\x07") != NULL);
	free(printed);
	synthetic_close(&synthetic, model);
}

/* A command over several lines: the head of a report is one, however wide that may be. */
static void check_head(const char *script, int width, const char *expected)
{
	struct report_options options = {.width = width};
	struct synthetic synthetic;
	struct model *model;
	char *printed;

	synthetic_begin(&synthetic);
	PUT(&synthetic, argument, .text = bytes_of("sh"));
	PUT(&synthetic, argument, .text = bytes_of("-c"));
	PUT(&synthetic, argument, .text = bytes_of(script));
	PUT(&synthetic, argument, .text = bytes_of(""));
	model = synthetic_loaded(&synthetic, 3000);
	printed = print(model, &options);
	printed[strcspn(printed, "\n")] = '\0';
	CHECK_STR(printed, expected);
	CHECK_EQ(model->run.n_command, 4);
	free(printed);
	synthetic_close(&synthetic, model);
}

TEST(commands_are_on_one_line)
{
	check_head("a\nb", 100, "sh -c a b");
	check_head("\n\tfor x in 1 2;  do\r\n    echo $x\n\tdone\n", 100,
		   "sh -c for x in 1 2; do echo $x done");
	check_head(" \n ", 100, "sh -c");
	/* What stands there in letters is no line end. */
	check_head("printf 'a\\x0ab\\n' \033[1m", 100, "sh -c printf 'a\\x0ab\\n' \\x1b[1m");
	check_head("123456789-123456789-123456789-123456789-123456789-1234", 60,
		   "sh -c 123456789-123456789-123456789-123456789-123456789-1234");
	check_head("123456789-123456789-123456789-123456789-123456789-12345", 60,
		   "sh -c 123456789-123456789-123456789-123456789-123456789-123\xe2\x80\xa6");
}

/* A second sample with this period instead of 1000, which changed for `reason`. */
static void check_rarely(uint32_t reason, uint64_t period, const char *expected)
{
	struct report_options options = {.width = 100};
	struct synthetic synthetic;
	struct model *model;
	char *printed;
	uint64_t name, frame;

	synthetic_program(&synthetic, 1000);
	name = synthetic_string(&synthetic, "node");
	frame = synthetic_function(&synthetic, "make", 1, "a.c");
	PUT(&synthetic, type, .process = 1, .type = 1, .name = name);
	PUT(&synthetic, alloc, .time = 1200, .thread = 1, .sample = 2, .type = 1, .size = 64,
	    .period = 1000);
	PUT(&synthetic, period, .time = 1500, .thread = 1, .old_period = 1000, .new_period = period,
	    .reason = reason);
	PUT(&synthetic, alloc, .time = 2000, .thread = 1, .sample = 1, .type = 1, .size = 64,
	    .period = period, .stack = synthetic_stack(&synthetic, (uint64_t[]){frame, 0}));
	model = synthetic_loaded(&synthetic, 3000);
	printed = print(model, &options);
	if (!strstr(printed, expected))
		test_fail(__FILE__, __LINE__, "no \"%s\" in %s", expected, printed);
	free(printed);
	synthetic_close(&synthetic, model);
}

TEST(report_text_says_why_samples_came_less_often)
{
	check_rarely(GCPROF_PERIOD_CEILING, 10240, ", at times every 10.0 KiB to limit the cost\n");
	check_rarely(GCPROF_PERIOD_REQUEST, 10240, ", at times every 10.0 KiB\n");
	/* A runtime rounds the period. */
	check_rarely(GCPROF_PERIOD_REQUEST, 1001,
		     "an allocation sample every 0.98 KiB on average\n");
}

/* A runtime without probes, and two providers whose samples have these periods; 0: none. */
static void check_periods(const uint64_t periods[3], const char *last, const char *expected)
{
	/* The runtime was found after the first provider. */
	static const uint64_t places[3] = {1, 0, 2}, providers[3] = {0, 1, 3};
	const char *const names[3] = {"go", "agent", last};
	struct report_options options = {.width = 100};
	struct synthetic synthetic;
	struct model *model;
	char *printed;

	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 0; i < 3; i++) {
		PUT(&synthetic, runtime, .process = 1,
		    .name = synthetic_string(&synthetic, names[i]), .provider = providers[i]);
		for (uint64_t sample = 1; sample < 10 && periods[i]; sample++)
			PUT(&synthetic, alloc, .time = 1200 + 10 * i + sample, .thread = 1,
			    .sample = sample | places[i] << 44, .size = 64,
			    .period = i ? periods[i] * (1 + sample % 3)
					: periods[i] / (1 + sample % 3));
	}
	model = synthetic_loaded(&synthetic, 3000);
	printed = print(model, &options);
	if (!strstr(printed, expected))
		test_fail(__FILE__, __LINE__, "no \"%s\" in %s", expected, printed);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(model->runtimes[i].period, periods[i]);
	free(printed);
	synthetic_close(&synthetic, model);
}

TEST(report_text_gives_the_period_of_each_provider)
{
	check_periods((uint64_t[]){4096, 1024, 2048}, "toy",
		      "an allocation sample every 4.00 KiB (go) or "
		      "1.00 KiB (agent) or 2.00 KiB (toy), at\n"
		      "  times every 6.00 KiB\n");
	check_periods((uint64_t[]){0, 1024, 2048}, "toy",
		      "every 1.00 KiB (agent) or 2.00 KiB (toy), at times every\n  6.00 KiB\n");
	check_periods((uint64_t[]){0, 0, 512}, "toy", "every 512 B, at times every 1.50 KiB\n");
	check_periods((uint64_t[]){512, 512, 512}, "toy", "every 512 B, at times every 1.50 KiB\n");
	/* Of the same name, as in two processes of which another recorder attached to one. */
	check_periods((uint64_t[]){4096, 1024, 2048}, "agent",
		      "every 4.00 KiB (go) or 1.00 KiB to 2.00 KiB (agent), at");
	check_periods((uint64_t[]){0, 2048, 1024}, "agent",
		      "every 1.00 KiB to 2.00 KiB, at times every 6.00 KiB\n");
}

/* A name that was announced to an earlier recorder only. */
TEST(what_has_no_name_has_the_number_of_its_provider)
{
	char text[40];

	runtimes_unnamed("type", 7, text, sizeof(text));
	CHECK_STR(text, "type 7");
	runtimes_unnamed("code", (UINT64_C(1) << 44) + 7, text, sizeof(text));
	CHECK_STR(text, "code 7 of provider 2");
	runtimes_unnamed("type", (UINT64_C(1) << 48) - 1, text, sizeof(text));
	CHECK_STR(text, "type 17592186044415 of provider 16");
}

TEST(units_have_three_digits)
{
	CHECK_STR(unit_bytes(0).text, "0 B");
	CHECK_STR(unit_bytes(999).text, "999 B");
	CHECK_STR(unit_bytes(1000).text, "0.98 KiB");
	CHECK_STR(unit_bytes(1048576 * 1.5).text, "1.50 MiB");
	CHECK_STR(unit_bytes(1023.9 * 1024).text, "1.00 MiB");
	CHECK_STR(unit_bytes(1e30).text, "999999 EiB");
	CHECK_STR(unit_time(999).text, "999 ns");
	CHECK_STR(unit_time(9996).text, "10.0 us");
	CHECK_STR(unit_time(12345678).text, "12.3 ms");
	CHECK_STR(unit_time(999.6e6).text, "1.00 s");
	CHECK_STR(unit_time(3600e9).text, "60.0 min");
	CHECK_STR(unit_time(-1).text, "0 ns");
	CHECK_STR(unit_count(0).text, "0");
	CHECK_STR(unit_count(1234567).text, "1,234,567");
	CHECK_STR(unit_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	CHECK_STR(unit_percent(0.12345).text, "12.3%");
	CHECK_STR(unit_percent(0.0001).text, "<0.1%");
	CHECK_STR(unit_percent(1).text, "100%");
	CHECK_STR(unit_rough(12345).text, "12.3 k");
}

TEST(long_names_are_cut_in_the_middle)
{
	static const struct column columns[] = {{NULL, "n", false, 0, 0},
						{NULL, "name", true, 0, 10}};
	struct page page = {.width = 28};
	struct table *table = table_create(columns, 2);
	char *text = NULL;
	size_t size;

	page.out = open_memstream(&text, &size);
	table_cell(table, "1");
	table_cell(table, "begin_of_a_very_long_name_and_end");
	table_cell(table, "2");
	table_cell(table,
		   "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac"
		   "\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac\xe6\x97\xa5\xe6\x9c\xac");
	table_cell(table, "3");
	table_cell(table, "short");
	CHECK_EQ(table_print(table, &page), 0);
	table_free(table);
	fclose(page.out);
	CHECK(strstr(text, "1  begin_of_a_ve\xe2\x80\xa6"
			   "e_and_end\n") != NULL);
	CHECK(strstr(text, "3  short\n") != NULL);
	CHECK(widest_line(text) <= 28);
	free(text);
}

TEST(types_of_cplusplus_functions_give_way_before_their_names)
{
	static const struct {
		const char *text, *shown;
	} names[] = {
		{"a::copy(int, char)", "a::copy(int, char)"},
		{"space::a_class::copy(int (*)(char))", "space::a_class::copy"},
		{"void apply<int, long>(int, long const&)", "apply<int, long>"},
		{"space::a_class::operator()(int)", "space::a_cla…perator()"},
		/* In a tree they stay where they are. */
		{"    a_class::copy(int, char)", "    a_class::copy"},
		{"  + void apply<int>(int const&)", "  + apply<int>"},
		{"of_the_interpreter (file.lisp)", "of_the_inter…ile.lisp)"},
		{"inner(int) < outer(int) < more", "inner(int) <…t) < more"},
		/* Packages, from the left, in names with a class. */
		{"com.sun.Main.compile", "com.sun.Main.compile"},
		{"com.sun.tools.javac.Main.run", "c.s.t.javac.Main.run"},
		{"java.util.Map.put < com.x.A.b", "j.u.Map.put < c.x.A.b"},
		{"bufio.NewWriter < main.Handler", "bufio.NewWri…n.Handler"},
		/* Import paths have their last element, as in source code. */
		{"net/http.serverHandler.ServeHTTP", "http.serverH…ServeHTTP"},
		{"net/http.Get < main", "net/http.Get < main"},
		{"a.(*B[go.shape.[]int,go.shape.uint8]).F", "a.(*B[...]).F"},
		{"a.F[go.shape.int] < a.G[go.shape.[4]int]", "a.F[...] < a.G[...]"},
		{"unfinished.F[go.shape.[]int_and_more", "unfinished.F…_and_more"},
		{"example.com/a/b/pkg.(*T).F < net/http.Get", "pkg.(*T).F < http.Get"},
		{"main$$Lambda/0x7f0011223344.run", "main$$Lambda…23344.run"},
		{"a_variable.of_a_long_name.here", "a_variable.o…name.here"},
	};
	static const struct column column = {NULL, "name", true, 0, 8};
	struct table *table = table_create(&column, 1);
	struct page page = {.width = 24};
	char *text = NULL, *line;
	size_t size;

	page.out = open_memstream(&text, &size);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table_cell(table, names[i].text);
	CHECK_EQ(table_print(table, &page), 0);
	CHECK_EQ(fclose(page.out), 0);
	line = strtok(text, "\n");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		line = strtok(NULL, "\n");
		CHECK_STR(line ? line + 2 : "", names[i].shown);
	}
	table_free(table);
	free(text);
}
