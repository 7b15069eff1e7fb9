/* SPDX-License-Identifier: BSD-2-Clause */
/* export_sql.c: tests of the export to SQLite and of questions in SQL. */
#include <sqlite3.h>

#include "export/sql/database.h"
#include "export/sql/query.h"
#include "export_rig.h"
#include "synthetic_runtime.h"
#include "synthetic_waits.h"

/* The answer to a statement, or what was wrong with it. */
struct answered {
	char *text; /* ended by a zero, the caller's */
	int error;
	struct query_result result;
};

static struct answered ask(const struct synthetic *synthetic, const char *sql,
			   enum query_format format)
{
	struct query_request request = {sql, "test.data", format};
	struct answered answered = {0};
	struct source *source;
	struct sink *sink;
	size_t size = 0;

	CHECK_EQ(source_memory_open(synthetic->data, synthetic->size, &source), 0);
	CHECK_EQ(sink_memory_create(&answered.text, &size, &sink), 0);
	answered.error = query_run(&request, source, sink, &answered.result);
	answered.text = realloc(answered.text, size + 1);
	CHECK(answered.text);
	answered.text[size] = 0;
	return answered;
}

static double number(const struct synthetic *synthetic, const char *sql)
{
	struct answered answered = ask(synthetic, sql, QUERY_CSV);
	double value = 0;

	if (answered.error)
		test_fail(__FILE__, __LINE__, "%s: %s", sql, answered.result.message);
	CHECK_EQ(sscanf(answered.text, "%*[^\n]\n%lf", &value), 1);
	free(answered.text);
	return value;
}

static void expect(const struct synthetic *synthetic, const char *sql, enum query_format format,
		   const char *wanted)
{
	struct answered answered = ask(synthetic, sql, format);

	if (answered.error)
		test_fail(__FILE__, __LINE__, "%s: %s", sql, answered.result.message);
	CHECK_STR(answered.text, wanted);
	free(answered.text);
}

/* A small profile with one of everything that is joined; all times in ns. */
static void joined_profile(struct synthetic *synthetic)
{
	uint64_t frame, stack;

	synthetic_program(synthetic, 1000);
	frame = synthetic_function(synthetic, "/bin/app", 1, "work");
	stack = synthetic_stack(synthetic, (uint64_t[]){frame, 0});
	PUT(synthetic, type, .process = 1, .type = 5, .name = synthetic_string(synthetic, "thing"));
	for (uint64_t i = 1; i <= 4; i++)
		PUT(synthetic, alloc, .time = 1000 + i, .thread = 1, .stack = stack, .sample = i,
		    .type = 5, .size = 100, .period = 1000, .kind = i == 4 ? 3 : 1);
	PUT(synthetic, gc_begin, .time = 2000, .thread = 1, .heap = 1, .cycle = 1, .kind = 1,
	    .reason = 1);
	PUT(synthetic, cpu, .time = 2100, .thread = 1, .stack = stack, .mode = 1);
	PUT(synthetic, fault, .time = 2200, .thread = 1, .minor = 1);
	PUT(synthetic, wait, .time = 2300, .thread = 1, .duration = 50, .reason = 1);
	PUT(synthetic, fate, .time = 2500, .process = 1, .sample = 1, .outcome = 1, .age = 70);
	PUT(synthetic, fate, .time = 2500, .process = 1, .sample = 2, .outcome = 2, .age = 80,
	    .collections = 1);
	PUT(synthetic, fate, .time = 2500, .process = 1, .sample = 3, .outcome = 3, .age = 90,
	    .collections = 1);
	PUT(synthetic, gc_end, .time = 2500, .thread = 1, .heap = 1, .cycle = 1, .kind = 1,
	    .has_stats = 1, .promoted_bytes = 100, .arena_bytes = 8192, .rss_bytes = 4096);
	PUT(synthetic, phase, .time = 3000, .thread = 1, .heap = 1, .phase = 2);
	PUT(synthetic, cpu, .time = 3100, .thread = 1, .stack = stack, .mode = 2);
	PUT(synthetic, cpu, .time = 3150, .thread = 1, .stack = stack, .mode = 2);
	PUT(synthetic, syscall, .time = 3200, .thread = 1, .number = 0, .duration = 80,
	    .result = -4);
	PUT(synthetic, cpu, .time = 3250, .thread = 1, .stack = stack, .mode = 2);
	PUT(synthetic, cpu, .time = 3300, .thread = 1, .stack = stack, .mode = 1);
	PUT(synthetic, syscall, .time = 3400, .thread = 1, .number = 1, .duration = 1200,
	    .result = 7, .gc_ns = 300);
	PUT(synthetic, phase, .time = 3500, .thread = 1, .heap = 1, .phase = 3);
	PUT(synthetic, alloc, .time = 3600, .thread = 1, .stack = stack, .sample = 5, .type = 5,
	    .size = 100, .period = 1000, .kind = 1);
	PUT(synthetic, fate, .time = 3700, .process = 1, .sample = 2, .outcome = 4, .age = 180,
	    .collections = 3);
	PUT(synthetic, gc_begin, .time = 4000, .thread = 1, .heap = 1, .cycle = 2, .kind = 2,
	    .reason = 3);
	PUT(synthetic, cpu, .time = 4100, .thread = 1, .stack = stack, .mode = 1);
	PUT(synthetic, fault, .time = 4200, .thread = 1, .minor = 1);
	PUT(synthetic, wait, .time = 4300, .thread = 1, .duration = 50, .reason = 1);
	synthetic_end(synthetic, 5000);
}

TEST(events_are_joined)
{
	struct synthetic synthetic;

	joined_profile(&synthetic);
	expect(&synthetic,
	       "SELECT id, cycle, phase, survived, fate, age, died, kind FROM samples ORDER BY id",
	       QUERY_CSV,
	       "id,cycle,phase,survived,fate,age,died,kind\n"
	       "1,1,,0,died young,70,2500,nursery\n"
	       "2,1,,1,promoted,180,3700,nursery\n"
	       "3,1,,1,pinned,90,,nursery\n"
	       "4,1,,,,,,born old\n"
	       "5,2,sweeping,,,,,nursery\n");
	/* The end of the second collection was lost: nobody knows what lies in it. */
	expect(&synthetic, "SELECT time, mode, collection, syscall, cycle, phase FROM ticks",
	       QUERY_CSV,
	       "time,mode,collection,syscall,cycle,phase\n"
	       "2100,user,1,,1,\n"
	       "3100,kernel,,,2,marking\n"
	       "3150,kernel,,1,2,marking\n"
	       "3250,kernel,,,2,marking\n"
	       "3300,user,,,2,marking\n"
	       "4100,user,,,2,sweeping\n");
	expect(&synthetic, "SELECT time, collection FROM faults", QUERY_CSV,
	       "time,collection\n2200,1\n4200,\n");
	expect(&synthetic, "SELECT finish, collection FROM waits", QUERY_CSV,
	       "finish,collection\n2300,1\n4300,\n");
	expect(&synthetic,
	       "SELECT id, start, finish, name, result, gc_ns, collection, phase FROM syscalls",
	       QUERY_CSV,
	       "id,start,finish,name,result,gc_ns,collection,phase\n"
	       "1,3120,3200,read,-4,0,,marking\n"
	       "2,2200,3400,write,7,300,1,marking\n");
	expect(&synthetic,
	       "SELECT id, cycle, kind, reason, start, finish, pause_ns, promoted_bytes"
	       " FROM collections",
	       QUERY_CSV,
	       "id,cycle,kind,reason,start,finish,pause_ns,promoted_bytes\n"
	       "1,1,minor,nursery,2000,2500,500,100\n"
	       "2,2,step,threshold,4000,,,\n");
	expect(&synthetic, "SELECT phase, start, finish FROM phases ORDER BY start", QUERY_CSV,
	       "phase,start,finish\nmarking,3000,3500\nsweeping,3500,\n");
	expect(&synthetic, "SELECT DISTINCT type, function, module FROM allocations", QUERY_CSV,
	       "type,function,module\nthing,work,/bin/app\n");
	expect(&synthetic, "SELECT old_bytes, rss_bytes FROM heap", QUERY_CSV,
	       "old_bytes,rss_bytes\n8192,4096\n");
	synthetic_free(&synthetic);
}

TEST(waits_are_joined_and_add_up)
{
	struct synthetic synthetic;

	synthetic_waits(&synthetic);
	expect(&synthetic,
	       "SELECT start, finish, reason, number, name, syscall, held, held_ns, unfinished,"
	       " collection, stack FROM waits",
	       QUERY_CSV,
	       "start,finish,reason,number,name,syscall,held,held_ns,unfinished,collection,stack\n"
	       "2500,3000,call,0,read,1,2,100,0,,1\n"
	       "3850,3900,fault,,,,0,0,0,1,\n"
	       "3700,4000,preempted,,,,0,0,0,1,2\n"
	       "5000,9000,call,202,futex,,0,0,1,,2\n");
	expect(&synthetic, "SELECT name, reason, count, total_ns, max_ns FROM wait_totals",
	       QUERY_CSV,
	       "name,reason,count,total_ns,max_ns\n"
	       "futex,call,1,4000,4000\nread,call,4,700,500\n"
	       "preempted,preempted,1,300,300\npage fault,fault,3,90,50\n");
	expect(&synthetic,
	       "SELECT tid, wall_ns, off_cpu_ns, minor_faults, major_faults FROM threads",
	       QUERY_CSV,
	       "tid,wall_ns,off_cpu_ns,minor_faults,major_faults\n"
	       "100,8000,790,7,2\n101,8000,4300,4,0\n");
	CHECK_EQ(number(&synthetic, "SELECT sum(off_cpu_ns) FROM costs"), WAITS_STACK_NS);
	CHECK_EQ(number(&synthetic, "SELECT sum(off_cpu_self_ns) FROM functions"), WAITS_STACK_NS);
	CHECK_EQ(number(&synthetic, "SELECT off_cpu_ns FROM syscall_totals WHERE name = 'read'"),
		 700);
	CHECK_EQ(number(&synthetic, "SELECT count(*) FROM timeline WHERE what = 'wait'"), 4);
	synthetic_free(&synthetic);
}

TEST(sums_are_those_of_the_report)
{
	static const char live[] = "SELECT sum(bytes) FROM samples WHERE"
				   " (survived = 1 OR kind = 'born old') AND died IS NULL";
	struct app app;
	struct model *model;

	synthetic_app(&app, 100, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	CHECK(is_near(number(&app.synthetic, "SELECT sum(bytes) FROM samples"),
		      model->alloc.bytes.value, 1));
	CHECK(is_near(number(&app.synthetic, "SELECT bytes_low(size, probability) FROM samples"),
		      model->alloc.bytes.low, 1));
	CHECK(is_near(number(&app.synthetic, "SELECT objects_low(size, period) FROM samples"),
		      model->alloc.objects.low, 1));
	CHECK(is_near(number(&app.synthetic, "SELECT objects_high(size, period) FROM samples"),
		      model->alloc.objects.high, 1));
	CHECK(is_near(number(&app.synthetic, live), model->alloc.live_bytes, 1));
	CHECK(is_near(number(&app.synthetic, "SELECT sum(ns) FROM ticks"),
		      (double)model->cpu.on_cpu_ns, 2));
	CHECK_EQ(number(&app.synthetic, "SELECT count(collection) FROM ticks"),
		 model->cpu.gc_samples);
	CHECK(model->cpu.gc_samples > 10);
	CHECK_EQ(number(&app.synthetic, "SELECT sum(pause_ns) FROM collections"),
		 model->gc.minor.total_ns + model->gc.major.total_ns);
	CHECK_EQ(number(&app.synthetic, "SELECT percentile(pause_ns, 99) FROM collections"),
		 model->gc.minor.p99_ns);
	CHECK(is_near(number(&app.synthetic, "SELECT sum(gc_self_ns) FROM functions"),
		      model->cpu.collector_ns, 10));
	CHECK(is_near(number(&app.synthetic, "SELECT sum(gc_ns) FROM costs"),
		      model->cpu.collector_ns - model->gc.unattributed_ns, 10));
	CHECK(is_near(number(&app.synthetic,
			     "SELECT sum(gc_ns) + max(gc_unattributed_ns) - max(collector_ns)"
			     " FROM sites, recording"),
		      0, 10));
	CHECK(is_near(number(&app.synthetic, "SELECT sum(bytes) FROM type_totals"),
		      model->alloc.bytes.value, 1));
	CHECK_EQ(number(&app.synthetic, "SELECT sum(duration_ns) FROM syscalls"),
		 model->syscall_ns);
	CHECK_EQ(number(&app.synthetic, "SELECT sum(total_ns) FROM syscall_totals"),
		 model->syscall_ns);
	CHECK_EQ(number(&app.synthetic, "SELECT sum(count) FROM losses"), 1234);
	synthetic_close(&app.synthetic, model);
}

TEST(a_runtime_has_its_names_and_cycles)
{
	struct synthetic_runtime runtime;
	struct synthetic *synthetic = &runtime.synthetic;

	synthetic_runtime(&runtime, "go");
	synthetic_end(synthetic, runtime.time);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM collections WHERE kind = 'stop' AND"
				   " name = 'mark termination' AND reason IS NULL"),
		 3);
	/* One row, of the thread that began it. */
	CHECK_EQ(number(synthetic, "SELECT sum(pause_ns) FROM collections JOIN threads ON"
				   " threads.id = thread WHERE tid = 100"),
		 8 * RUNTIME_MS);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM collections WHERE name = 'pause young'"
				   " AND reason = 'allocation failure' AND heap_size = 268435456"),
		 1);
	CHECK_EQ(number(synthetic, "SELECT sum(pauses * 1000000) - sum(pause_ns) + sum(finish -"
				   " start - duration_ns) FROM gc_cycles WHERE"
				   " name = 'mark and sweep' AND reason = 'heap has doubled'"),
		 0);
	CHECK_EQ(number(synthetic, "SELECT max(live_bytes) FROM heap"), 24 << 20);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM heap_areas JOIN collections ON"
				   " collections.id = collection WHERE heap_areas.name ="
				   " 'old space' AND used_before = heap_before AND used_after ="
				   " heap_after AND committed = heap_size AND in_heap"
				   " AND max_bytes = 536870912 AND gc_cycle IS NULL"),
		 4);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM heap_areas JOIN gc_cycles ON"
				   " gc_cycles.id = gc_cycle WHERE used_before = heap_before AND"
				   " time = finish AND collection IS NULL"),
		 2);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM timeline WHERE what = 'gc cycle'"), 2);
	CHECK_EQ(number(synthetic, "SELECT count(*) FROM runtimes WHERE name = 'go' AND"
				   " version = '1.2.3' AND note LIKE 'What%' AND provider = 0"),
		 1);
	CHECK_EQ(number(synthetic, "SELECT provider FROM runtimes WHERE name = 'agent' AND"
				   " version = '4.5' AND note IS NULL"),
		 2);
	synthetic_free(synthetic);
}

TEST(stacks_are_flattened)
{
	struct app app;
	struct model *model;

	synthetic_app(&app, 20, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	CHECK(is_near(
		number(&app.synthetic,
		       "SELECT sum(cpu_ns) FROM (SELECT DISTINCT stack FROM stack_frames"
		       " WHERE name = 'main') JOIN costs USING (stack)"),
		number(&app.synthetic, "SELECT cpu_total_ns FROM functions WHERE name = 'main'"),
		1));
	CHECK_EQ(number(&app.synthetic, "SELECT min(n) = max(depth) FROM (SELECT count(*) AS n,"
					" max(depth) AS depth FROM stack_frames JOIN stacks"
					" ON stacks.id = stack WHERE stack = (SELECT max(stack)"
					" FROM costs))"),
		 1);
	CHECK_EQ(number(&app.synthetic,
			"SELECT count(*) FROM stack_frames WHERE level = 0 AND name IS NULL"),
		 0);
	synthetic_close(&app.synthetic, model);
}

static void refuse(const struct synthetic *synthetic, const char *sql, int error, int offset)
{
	struct answered answered = ask(synthetic, sql, QUERY_TABLE);

	CHECK_EQ(answered.error, error);
	CHECK_EQ(answered.result.offset, offset);
	CHECK_STR(answered.text, "");
	CHECK(error != -EINVAL || *answered.result.message);
	free(answered.text);
}

TEST(nothing_but_reading_is_possible)
{
	static const char *const statements[] = {
		"DELETE FROM samples",
		"CREATE TABLE x (a)",
		"CREATE TEMP VIEW x AS SELECT 1",
		"DROP VIEW heap",
		"ATTACH '/tmp/other' AS other",
		"PRAGMA writable_schema = 1",
		"PRAGMA query_only = 0",
		"BEGIN",
		"VACUUM INTO '/tmp/gcprof-test-copy'",
		"SELECT load_extension('/tmp/x')",
		"INSERT INTO meta VALUES (1, 'a', 'b')",
		"WITH x AS (SELECT 1) UPDATE meta SET key = 'x'",
	};
	struct synthetic synthetic;

	joined_profile(&synthetic);
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++) {
		struct answered answered = ask(&synthetic, statements[i], QUERY_TABLE);

		if (answered.error != -EPERM)
			test_fail(__FILE__, __LINE__, "%s: %d", statements[i], answered.error);
		free(answered.text);
	}
	CHECK(access("/tmp/gcprof-test-copy", F_OK) != 0);
	refuse(&synthetic, "", -EINVAL, -1);
	refuse(&synthetic, " -- nothing", -EINVAL, -1);
	refuse(&synthetic, "SELECT nme FROM types", -EINVAL, 7);
	refuse(&synthetic, "SELECT 1; SELECT 2", -EINVAL, 9);
	refuse(&synthetic, "SELEC 1", -EINVAL, 0);
	synthetic_free(&synthetic);
}

TEST(results_have_three_forms)
{
	static const char sql[] =
		"SELECT 'a\"b,' || char(10, 27) AS text, NULL AS none, 1.5 AS real, 7 AS n,"
		" 1e999 AS much UNION ALL SELECT 'x', 2, 0.1, -3, x'00ff'";
	struct synthetic synthetic;

	joined_profile(&synthetic);
	expect(&synthetic, sql, QUERY_CSV,
	       "text,none,real,n,much\n\"a\"\"b,\n\033\",,1.5,7,\nx,2,0.1,-3,");
	expect(&synthetic, "SELECT 'a\"b' || char(10, 27) AS t, NULL AS n, 0.1 AS r, 1e999 AS m",
	       QUERY_JSON, "[\n{\"t\":\"a\\\"b\\n\\u001b\",\"n\":null,\"r\":0.1,\"m\":null}\n]\n");
	expect(&synthetic, "SELECT 1 WHERE 0", QUERY_JSON, "[\n]\n");
	expect(&synthetic,
	       "SELECT 'a' || char(27) AS text, 12345 AS n, NULL AS none UNION ALL"
	       " SELECT 'longer', 1, 2.5",
	       QUERY_TABLE,
	       "text        n   none\n"
	       "------  -----  -----\n"
	       "a\\x1b   12345      -\n"
	       "longer      1  2.500\n");
	synthetic_free(&synthetic);
}

static int load_blob(const struct exported *exported, sqlite3 **out)
{
	CHECK_EQ(sqlite3_open(":memory:", out), SQLITE_OK);
	return sqlite3_deserialize(*out, "main", (unsigned char *)exported->data,
				   (sqlite3_int64)exported->size, (sqlite3_int64)exported->size, 0);
}

static int first_text(void *context, int columns, char **values, char **names)
{
	(void)columns;
	(void)names;
	snprintf(context, 64, "%s", values[0] ? values[0] : "");
	return 0;
}

TEST(an_export_is_a_sound_database)
{
	struct synthetic synthetic;
	struct exported exported;
	sqlite3 *database;
	char text[64];

	hostile_profile(&synthetic);
	exported = export_as(&synthetic, "sqlite", NULL);
	CHECK_EQ(load_blob(&exported, &database), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(database, "PRAGMA integrity_check", first_text, text, NULL),
		 SQLITE_OK);
	CHECK_STR(text, "ok");
	CHECK_EQ(sqlite3_exec(database, "SELECT count(*) FROM samples", first_text, text, NULL),
		 SQLITE_OK);
	CHECK_EQ(atoi(text), HOSTILE_TEXTS);
	CHECK_EQ(sqlite3_exec(database, "SELECT count(*) FROM types WHERE name LIKE '\"quotes\"%'",
			      first_text, text, NULL),
		 SQLITE_OK);
	CHECK_EQ(atoi(text), 1);
	/* What is printable stays, the rest is written out. */
	CHECK_EQ(sqlite3_exec(database,
			      "SELECT count(*) FROM types WHERE name GLOB '*[' || char(1) || '-' ||"
			      " char(31) || ']*'",
			      first_text, text, NULL),
		 SQLITE_OK);
	CHECK_EQ(atoi(text), 0);
	sqlite3_close(database);
	free(exported.data);
	synthetic_free(&synthetic);
}

TEST(hostile_names_stay_valid_in_every_form)
{
	struct synthetic synthetic;
	struct answered answered;
	json_error_t error;
	json_t *rows;

	hostile_profile(&synthetic);
	answered = ask(&synthetic, "SELECT * FROM functions, types, recording", QUERY_JSON);
	CHECK_EQ(answered.error, 0);
	rows = json_loads(answered.text, 0, &error);
	CHECK(rows);
	CHECK(json_array_size(rows) >= HOSTILE_TEXTS * HOSTILE_TEXTS);
	json_decref(rows);
	free(answered.text);
	answered = ask(&synthetic, "SELECT name FROM functions", QUERY_TABLE);
	CHECK_EQ(answered.error, 0);
	for (const char *at = answered.text; *at; at++)
		CHECK(*at == '\n' || (unsigned char)*at >= 0x20);
	free(answered.text);
	synthetic_free(&synthetic);
}
