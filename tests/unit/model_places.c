/* SPDX-License-Identifier: BSD-2-Clause */
/* model_places.c: tests of findings on small profiles: what below the program's functions counts.
 */
#include "synthetic.h"

enum {
	MS = 1000000,
	READ = 0,
	WRITE = 1,
	CONNECT = 42,
	ACCEPT = 43,
	RECVFROM = 45,
	EPOLL_WAIT = 232
};

/* A program with stacks that end in these functions, each at a place of its own. */
struct app {
	struct synthetic synthetic;
	uint64_t offset, time;
	struct model *model;
};

static void app_begin(struct app *app)
{
	*app = (struct app){.time = 1000};
	synthetic_program(&app->synthetic, 1000);
}

static uint64_t frame(struct app *app, const char *module, const char *name)
{
	return synthetic_function(&app->synthetic, module, app->offset += 64, name);
}

static void ticks(struct app *app, uint64_t stack, int count)
{
	for (int i = 0; i < count; i++)
		PUT(&app->synthetic, cpu, .time = app->time += MS, .thread = 1, .stack = stack,
		    .mode = 1);
}

/* The first finding. */
static const struct model_finding *app_end(struct app *app)
{
	static const struct model_finding none = {.kind = "none", .text = ""};

	synthetic_end(&app->synthetic, app->time + 1);
	app->model = synthetic_model(&app->synthetic);
	for (size_t i = 0; i < app->model->n_findings; i++)
		printf("%s: %s\n", app->model->findings[i].kind, app->model->findings[i].text);
	return app->model->n_findings ? app->model->findings : &none;
}

static void app_free(struct app *app)
{
	model_free(app->model);
	synthetic_free(&app->synthetic);
}

/* Begins a program that has run for 50 ms in serve(). Returns that stack. */
static uint64_t app_serves(struct app *app)
{
	uint64_t serve;

	app_begin(app);
	serve = synthetic_stack(&app->synthetic, (uint64_t[]){frame(app, "/srv/app", "serve"), 0});
	ticks(app, serve, 50);
	return serve;
}

static void connects(struct app *app, uint64_t descriptor)
{
	PUT(&app->synthetic, syscall, .time = app->time, .thread = 1, .number = CONNECT,
	    .duration = 1000, .arg0 = descriptor, .stands = 1);
}

/* So many calls that took so long each. */
static void total(struct app *app, uint64_t number, uint64_t count, uint64_t ns)
{
	PUT(&app->synthetic, syscall_total, .time = app->time, .process = 1, .number = number,
	    .count = count, .total_ns = count * ns, .max_ns = ns);
}

TEST(the_function_that_was_called_first_counts_for_the_nearest_own_one)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t start, of_main, parse, regcomp, copy, library;

	app_begin(&app);
	start = frame(&app, "/lib/libc.so.6", "__libc_start_main");
	of_main = frame(&app, "/srv/app", "main");
	parse = frame(&app, "/srv/app", "parse");
	library = frame(&app, "/lib/libhelp.so.1", "helper");
	regcomp = frame(&app, "/lib/libc.so.6", "regcomp");
	copy = frame(&app, "/lib/libc.so.6", "__memcpy_avx");
	/* The copy is part of regcomp, and the recursion of one function. */
	ticks(&app,
	      synthetic_stack(&app.synthetic, (uint64_t[]){start, of_main, parse, parse, library,
							   regcomp, copy, 0}),
	      300);
	ticks(&app, synthetic_stack(&app.synthetic, (uint64_t[]){start, of_main, 0}), 300);
	finding = app_end(&app);
	CHECK_STR(finding->kind, "repeated");
	CHECK_STR(finding->function, "parse");
	CHECK_STR(finding->called_by, "main");
	CHECK(finding->time_lost_ns > 299e6 && finding->time_lost_ns < 301e6);
	CHECK(finding->share > 0.49 && finding->share < 0.51);
	app_free(&app);
}

TEST(the_caller_with_most_of_the_time_is_named)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t few, most, parse, regcomp;

	app_begin(&app);
	few = frame(&app, "/srv/app", "few");
	most = frame(&app, "/srv/app", "most");
	parse = frame(&app, "/srv/app", "parse");
	regcomp = frame(&app, "/lib/libc.so.6", "regcomp");
	ticks(&app, synthetic_stack(&app.synthetic, (uint64_t[]){few, parse, regcomp, 0}), 100);
	ticks(&app, synthetic_stack(&app.synthetic, (uint64_t[]){most, parse, regcomp, 0}), 200);
	finding = app_end(&app);
	CHECK_STR(finding->kind, "repeated");
	CHECK_STR(finding->called_by, "most");
	CHECK(finding->time_lost_ns > 299e6);
	app_free(&app);
}

/* A second in a call of descriptor 7, which is below serve(). */
static void receive_by(struct app *app, uint64_t serve, uint64_t number)
{
	for (int i = 0; i < 10; i++)
		PUT(&app->synthetic, syscall, .time = app->time += 100 * MS, .thread = 1,
		    .number = number, .duration = 100 * MS, .result = 1, .arg0 = 7, .stack = serve,
		    .stands = 1);
	total(app, number, 10, 100 * MS);
}

static void receive(struct app *app, uint64_t serve)
{
	receive_by(app, serve, RECVFROM);
}

TEST(a_server_is_waited_for_and_a_client_is_not)
{
	static const struct {
		uint64_t number, arg0;
		int64_t result;
		bool found;
	} rows[] = {{CONNECT, 7, 0, true}, {ACCEPT, 3, 7, false}, {READ, 5, 1, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct model_finding *finding;
		struct app app;
		uint64_t serve = app_serves(&app);

		PUT(&app.synthetic, syscall, .time = app.time, .thread = 1,
		    .number = rows[i].number, .duration = 1000, .arg0 = rows[i].arg0,
		    .result = rows[i].result, .stands = 1);
		receive(&app, serve);
		finding = app_end(&app);
		CHECK_STR(finding->kind, rows[i].found ? "slow_call" : "hot");
		if (rows[i].found) {
			CHECK(strstr(finding->text, "recvfrom in serve"));
			CHECK(finding->time_lost_ns > 999e6 && finding->time_lost_ns < 1001e6);
		}
		app_free(&app);
	}
}

TEST(records_are_scaled_to_the_total_of_their_call)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t serve = app_serves(&app);

	connects(&app, 7);
	receive(&app, serve);
	/* As many calls again, without records. */
	total(&app, RECVFROM, 10, 100 * MS);
	finding = app_end(&app);
	CHECK(finding->time_lost_ns > 1999e6);
	app_free(&app);
}

/* Idle threads, whose waits were never over, wait for nothing that a function asked for. */
TEST(waits_that_were_never_over_belong_to_no_place)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t serve = app_serves(&app);

	connects(&app, 7);
	receive(&app, serve);
	total(&app, RECVFROM, 2, 30000 * (uint64_t)MS);
	finding = app_end(&app);
	CHECK(finding->time_lost_ns < 1201e6);
	app_free(&app);
}

/* A thread reads a file, while its process has a connection to a server. */
TEST(what_a_wait_was_for_tells_a_file_from_a_server)
{
	for (uint64_t file = 0; file < WAIT_FILES; file++) {
		const struct model_finding *finding;
		struct app app;
		uint64_t serve = app_serves(&app);

		connects(&app, 9);
		PUT(&app.synthetic, wait, .time = app.time + 90 * MS, .thread = 1,
		    .duration = 80 * MS, .reason = WAIT_CALL, .number = READ, .flags = WAIT_IN_CALL,
		    .stack = serve, .file = file);
		receive_by(&app, serve, READ);
		finding = app_end(&app);
		CHECK_STR(finding->kind, "slow_call");
		CHECK_EQ(strstr(finding->remedy, "Read ahead") != NULL, file == WAIT_DISK_FILE);
		app_free(&app);
	}
}

/* 20,000 requests of 10 bytes come, and an answer goes for each: or several pieces of it. */
TEST(an_answer_for_each_request_leaves_nothing_to_collect)
{
	for (uint64_t pieces = 1; pieces <= 3; pieces += 2) {
		const struct model_finding *finding;
		struct app app;
		uint64_t serve;

		app_begin(&app);
		PUT(&app.synthetic, recording, .start = 1000, .arguments = 1);
		serve = synthetic_stack(&app.synthetic,
					(uint64_t[]){frame(&app, "/srv/app", "serve"), 0});
		for (int i = 0; i < 100; i++) {
			PUT(&app.synthetic, syscall, .time = app.time += MS, .thread = 1,
			    .number = READ, .duration = 10, .arg0 = 7, .result = 10, .stack = serve,
			    .stands = 200);
			for (uint64_t j = 0; j < pieces; j++)
				PUT(&app.synthetic, syscall, .time = app.time += MS, .thread = 1,
				    .number = WRITE, .duration = 1000, .arg0 = 7, .result = 10,
				    .stack = serve, .stands = 200);
			PUT(&app.synthetic, cpu, .time = app.time, .thread = 1, .stack = serve,
			    .call = WRITE + 1, .ns = MS);
		}
		total(&app, READ, 20000, 10);
		total(&app, WRITE, 20000 * pieces, 1000);
		finding = app_end(&app);
		CHECK_STR(finding->kind, "many_calls");
		CHECK_EQ(strstr(finding->remedy, "pipelining") != NULL, pieces == 1);
		app_free(&app);
	}
}

/* 12.8 s by one record are as well nothing; by many they are known. */
TEST(a_call_that_stands_for_many_is_not_spoken_of)
{
	for (int records = 1; records <= 20; records += 19) {
		const struct model_finding *finding;
		struct app app;
		uint64_t serve = app_serves(&app);

		connects(&app, 7);
		for (int i = 0; i < records; i++)
			PUT(&app.synthetic, syscall, .time = app.time += 100 * MS, .thread = 1,
			    .number = RECVFROM, .duration = 100 * MS, .result = 1, .arg0 = 7,
			    .stack = serve, .stands = 128);
		total(&app, RECVFROM, 128 * (uint64_t)records, 100 * MS);
		finding = app_end(&app);
		CHECK_STR(finding->kind, records > 1 ? "slow_call" : "none");
		app_free(&app);
	}
}

TEST(deferred_calls_of_go_belong_to_their_function)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t of_main, handle, closure, panic;

	app_begin(&app);
	of_main = frame(&app, "/srv/app", "main.main");
	handle = frame(&app, "/srv/app", "main.handle");
	closure = frame(&app, "/srv/app", "main.handle.func1");
	panic = frame(&app, "/lib/libgo.so.1", "runtime.gopanic");
	ticks(&app,
	      synthetic_stack(&app.synthetic, (uint64_t[]){of_main, handle, closure, panic, 0}),
	      200);
	finding = app_end(&app);
	CHECK_STR(finding->kind, "errors");
	CHECK_STR(finding->function, "main.handle");
	CHECK_STR(finding->called_by, "main.main");
	app_free(&app);
}

TEST(a_wait_within_taking_a_lock_is_a_wait)
{
	const struct model_finding *finding;
	struct app app;
	uint64_t handle, lock, slow;

	app_begin(&app);
	PUT(&app.synthetic, runtime, .process = 1, .name = synthetic_string(&app.synthetic, "go"),
	    .version = synthetic_string(&app.synthetic, "1.22"));
	handle = frame(&app, "/srv/app", "main.handle");
	lock = frame(&app, "/lib/libgo.so.1", "sync.(*Mutex).Lock");
	slow = frame(&app, "/lib/libgo.so.1", "sync.(*Mutex).lockSlow");
	ticks(&app, synthetic_stack(&app.synthetic, (uint64_t[]){handle, lock, 0}), 200);
	ticks(&app, synthetic_stack(&app.synthetic, (uint64_t[]){handle, lock, slow, 0}), 100);
	finding = app_end(&app);
	CHECK_STR(finding->kind, "lock");
	CHECK_STR(finding->function, "main.handle");
	app_free(&app);
}

/* A loop waits for one of many connections; what it reads then says which. */
/* By the same thread or by another one, unless that has read from a client before. */
TEST(a_wait_for_many_is_for_the_one_that_is_read)
{
	static const struct {
		uint64_t reader, descriptor;
		bool client, answered;
	} rows[] = {{1, 8, false, false},
		    {1, 7, false, true},
		    {2, 7, false, true},
		    {2, 7, true, false}};

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		const bool answered = rows[row].answered;
		const struct model_finding *finding;
		struct app app;

		app_serves(&app);
		connects(&app, 7);
		PUT(&app.synthetic, syscall, .time = app.time, .thread = 1, .number = ACCEPT,
		    .duration = 1000, .arg0 = 3, .result = 9, .stands = 1);
		PUT(&app.synthetic, thread, .id = 2, .process = 1, .tid = 101);
		for (int i = 0; i < 10; i++) {
			PUT(&app.synthetic, syscall, .time = app.time += 100 * MS, .thread = 1,
			    .number = EPOLL_WAIT, .duration = 100 * MS, .result = 1, .arg0 = 4,
			    .stands = 1);
			if (rows[row].client)
				PUT(&app.synthetic, syscall, .time = app.time += 1000, .thread = 1,
				    .number = RECVFROM, .duration = 500, .result = 1, .arg0 = 9,
				    .stands = 1);
			PUT(&app.synthetic, syscall, .time = app.time += 1000,
			    .thread = rows[row].reader, .number = RECVFROM, .duration = 500,
			    .result = 1, .arg0 = rows[row].descriptor, .stands = 1);
		}
		total(&app, EPOLL_WAIT, 10, 100 * MS);
		finding = app_end(&app);
		CHECK_STR(finding->kind, answered ? "slow_call" : "hot");
		if (answered)
			CHECK(strstr(finding->text, "waiting in epoll_wait."));
		app_free(&app);
	}
}
