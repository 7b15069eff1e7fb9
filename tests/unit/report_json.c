/* SPDX-License-Identifier: BSD-2-Clause */
/* report_json.c: tests of the report for programs: it is JSON, and every key is there. */
#include "json_at.h"
#include "report/report.h"
#include "synthetic_app.h"
#include "synthetic_runtime.h"

static json_t *parse_parts(const struct model *model, uint64_t top, unsigned parts)
{
	struct report_options options = {.top = top, .parts = parts};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_error_t error;
	json_t *object;

	CHECK_EQ(report_json(model, &options, out), 0);
	CHECK_EQ(fclose(out), 0);
	object = json_loadb(text, size, 0, &error);
	if (!object)
		test_fail(__FILE__, __LINE__, "%s in line %d", error.text, error.line);
	free(text);
	return object;
}

static json_t *parse(const struct model *model, uint64_t top)
{
	return parse_parts(model, top, 0);
}

/* i integer, n number, s text, b truth, a list, o object, 0 null; with ? also null. */
static const char *const keys[] = {
	"file s",
	"command.0 s",
	"clock s",
	"duration_ns i",
	"exit_status i",
	"streams.alloc.attached b",
	"streams.alloc.why_not s?",
	"streams.alloc.events i",
	"streams.alloc.lost i",
	"streams.gc.attached b",
	"streams.cpu.lost i",
	"streams.syscall.events i",
	"streams.sched.why_not s",
	"streams.process.attached b",
	"alloc.samples i",
	"alloc.period i",
	"alloc.bytes.estimate i",
	"alloc.bytes.low i",
	"alloc.bytes.high i",
	"alloc.objects.estimate i",
	"alloc.objects.low i",
	"alloc.objects.high i",
	"alloc.types.0.name s",
	"alloc.types.0.samples i",
	"alloc.types.0.bytes.estimate i",
	"alloc.types.0.objects.high i",
	"alloc.types.0.survived n",
	"alloc.types.0.live_bytes i",
	"alloc.types.0.survived_low n",
	"alloc.types.0.survived_high n",
	"gc.minor.count i",
	"gc.minor.total_ns i",
	"gc.minor.p50_ns i",
	"gc.minor.p99_ns i",
	"gc.minor.max_ns i",
	"pauses.0.start_ns i",
	"pauses.0.pause_ns i",
	"pauses.0.kind s",
	"pauses.0.reason s",
	"pauses.0.tid i",
	"pauses.0.thread s?",
	"pauses.0.promoted_bytes i",
	"pauses.0.kept_bytes i",
	"pauses.0.kept_samples i",
	"pauses.0.sites.0.functions.0 s",
	"pauses.0.sites.0.type s",
	"pauses.0.sites.0.samples i",
	"pauses.0.syscalls i",
	"pauses.0.futex_ns i",
	"pauses.0.own_cpu_ns i",
	"pauses.0.ready_ns i",
	"pauses.0.workers i",
	"gc.major.count i",
	"gc.major.p50_ns 0",
	"gc.major.cycles i",
	"gc.promoted_bytes i",
	"gc.heap_peak_bytes i",
	"cpu.samples i",
	"cpu.frequency_hz i",
	"cpu.on_cpu_ns i",
	"cpu.in_gc_ns i",
	"cpu.collector_ns i",
	"cpu.compiler_ns i",
	"cpu.recording_ns i",
	"functions.0.name s",
	"functions.0.module s?",
	"functions.0.runtime s",
	"functions.0.cpu_self_ns i",
	"functions.0.cpu_total_ns i",
	"functions.0.alloc_self_bytes i",
	"functions.0.alloc_total_bytes i",
	"functions.0.survived_bytes i",
	"functions.0.gc_ns i",
	"functions.0.gc_self_ns i",
	"functions.0.syscall_ns i",
	"functions.0.file s?",
	"functions.0.line i?",
	"syscalls.0.name s",
	"syscalls.0.count i",
	"syscalls.0.errors i",
	"syscalls.0.total_ns i",
	"syscalls.0.p50_ns i",
	"syscalls.0.p99_ns i",
	"syscalls.0.max_ns i",
	"syscalls.0.in_gc_count i",
	"syscalls.0.in_gc_ns i",
	"threads.0.tid i",
	"threads.0.pid i",
	"threads.0.name s?",
	"threads.0.cpu_ns i",
	"threads.0.alloc_bytes i",
	"threads.0.samples i",
	"programs.0.name s?",
	"programs.0.processes i",
	"programs.0.cpu_ns i",
	"programs.0.alloc.low i",
	"programs.0.pause_ns i",
	"programs.0.syscalls i",
	"stacks.complete n",
	"stacks.unfinished.user_end i",
	"losses.0.count i",
	"losses.0.unit s",
	"alloc.types.0.promoted_then_died_bytes i",
	"alloc.types.0.ages.0.died_bytes i",
	"gc.reasons.nursery.count i",
	"gc.utilisation.0.window_ns i",
	"gc.utilisation.0.minimum n",
	"gc.any_ns i",
	"gc.nursery_bytes i",
	"functions.0.alloc_self.low i",
	"functions.0.alloc_total.high i",
	"functions.0.survived n?",
	"threads.0.alloc.high i",
	"sites.0.functions.0 s",
	"sites.0.type s?",
	"sites.0.gc_ns i",
	"sites.0.bytes.low i",
	"sites.0.live_bytes i",
	"timeline.step_ns i",
	"timeline.windows.0.alloc.estimate i",
	"timeline.windows.0.pause_ns i",
	"timeline.windows.0.lost i",
	"warnings.0.name s",
	"warnings.0.evidence s",
	"warnings.0.remedy s",
};

static bool is_of_kind(const json_t *value, const char *kind)
{
	return (kind[0] == 'i' && json_is_integer(value)) ||
	       (kind[0] == 'n' && json_is_number(value)) ||
	       (kind[0] == 's' && json_is_string(value)) ||
	       (kind[0] == 'b' && json_is_boolean(value)) ||
	       ((kind[0] == '0' || kind[1] == '?') && json_is_null(value));
}

static void check_keys(json_t *object, const char *const *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char path[64], kind[4];
		const json_t *value;

		CHECK_EQ(sscanf(wanted[i], "%63s %3s", path, kind), 2);
		value = json_at(object, path);
		if (!value)
			test_fail(__FILE__, __LINE__, "there is no %s", path);
		if (!is_of_kind(value, kind))
			test_fail(__FILE__, __LINE__, "%s is of another kind", path);
	}
}

TEST(every_promised_key_is_there)
{
	struct app app;
	struct model *model;
	json_t *object;

	synthetic_app(&app, 40, true);
	/* A stack that ends early, outside the C library. */
	PUT(&app.synthetic, cpu, .time = app.time, .thread = 1, .quality = 64,
	    .stack = synthetic_stack(
		    &app.synthetic,
		    (uint64_t[]){profile_writer_native(app.synthetic.writer, 0, 1), 0}));
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	object = parse(model, 0);
	check_keys(object, keys, sizeof(keys) / sizeof(*keys));
	CHECK_STR(json_string_value(json_at(object, "clock")), "CLOCK_MONOTONIC");
	CHECK_EQ(json_array_size(json_at(object, "functions")), model->n_functions);
	json_decref(object);
	object = parse(model, 2);
	CHECK_EQ(json_array_size(json_at(object, "functions")), 2);
	CHECK_EQ(json_array_size(json_at(object, "alloc.types")), 2);
	json_decref(object);
	synthetic_close(&app.synthetic, model);
}

TEST(a_runtime_has_its_names_and_cycles)
{
	static const char *const more[] = {
		"runtimes.0.name s",
		"runtimes.0.version s",
		"runtimes.0.note s",
		"gc.stops.count i",
		"runtimes.0.provider i",
		"gc.other_stops.p99_ns i",
		"gc.named.0.name s",
		"gc.named.0.total_ns i",
		"gc.named_reasons.0.count i",
		"gc.cycles.p50_ns i",
		"gc.cycles.of_wall n",
		"gc.cycles.rows.0.reason s",
		"gc.cycles.rows.0.live_bytes i",
		"gc.cycles.rows.1.pauses i",
		"entries.0.name s",
		"entries.0.module s?",
		"entries.0.syscall_ns i?",
		"pauses.0.name s",
		"pauses.0.heap_size_bytes i",
	};
	struct synthetic_runtime runtime;
	struct model *model;
	json_t *object;

	synthetic_runtime(&runtime, "go");
	model = synthetic_loaded(&runtime.synthetic, runtime.time);
	object = parse(model, 0);
	check_keys(object, more, sizeof(more) / sizeof(*more));
	CHECK_EQ(json_integer_value(json_at(object, "gc.other_stops.count")), 3);
	CHECK_EQ(json_integer_value(json_at(object, "gc.stops.count")), 4);
	CHECK_EQ(json_integer_value(json_at(object, "gc.cycles.count")), 2);
	CHECK_EQ(json_integer_value(json_at(object, "gc.cycles.rows.0.pauses")), 2);
	CHECK_STR(json_string_value(json_at(object, "runtimes.1.name")), "agent");
	CHECK_EQ(json_integer_value(json_at(object, "runtimes.1.provider")), 2);
	CHECK_STR(json_string_value(json_at(object, "entries.0.name")), "main.serve.func1");
	CHECK_EQ(json_integer_value(json_at(object, "entries.0.cpu_ns")), 2000000);
	CHECK_EQ(json_integer_value(json_at(object, "entries.0.fibers")), 1);
	CHECK_STR(json_string_value(json_at(object, "entries.1.name")), "main.work");
	CHECK_EQ(json_integer_value(json_at(object, "entries.1.fibers")), 2);
	CHECK_EQ(json_integer_value(json_at(object, "entries.1.alloc_bytes")), 1000000);
	CHECK_STR(json_string_value(json_at(object, "entries.2.name")), "(none)");
	CHECK_STR(json_string_value(json_at(object, "gc.named.1.kind")), "stop");
	CHECK_STR(json_string_value(json_at(object, "pauses.0.reason")), "allocation failure");
	json_decref(object);
	synthetic_close(&runtime.synthetic, model);
}

TEST(parts_come_alone)
{
	struct app app;
	struct model *model;
	json_t *object;

	synthetic_app(&app, 40, true);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	object = parse_parts(model, 0, PART_TYPES | PART_THREADS);
	CHECK(json_at(object, "alloc.types.0.name") != NULL);
	CHECK(json_at(object, "threads.0.tid") != NULL);
	CHECK(json_at(object, "streams.gc.attached") != NULL);
	CHECK(json_at(object, "command.0") != NULL);
	CHECK(json_at(object, "functions") == NULL);
	CHECK(json_at(object, "syscalls") == NULL);
	CHECK(json_at(object, "gc") == NULL);
	json_decref(object);
	synthetic_close(&app.synthetic, model);
}

TEST(what_is_not_known_is_null)
{
	struct synthetic synthetic;
	struct model *model;
	json_t *object;

	synthetic_begin(&synthetic);
	PUT(&synthetic, stream, .stream = 1, .name = bytes_of("alloc"), .attached = 0,
	    .why_not = bytes_of("no gcprof probes"));
	CHECK_EQ(profile_writer_close(synthetic.writer), 0);
	model = synthetic_load(&synthetic, synthetic.size);
	object = parse(model, 0);
	CHECK(json_is_null(json_at(object, "exit_status")));
	CHECK(json_is_null(json_at(object, "alloc.bytes.estimate")));
	CHECK(json_is_null(json_at(object, "cpu.on_cpu_ns")));
	CHECK(json_is_null(json_at(object, "stacks.complete")));
	CHECK(json_is_null(json_at(object, "alloc.period")));
	CHECK_STR(json_string_value(json_at(object, "streams.alloc.why_not")), "no gcprof probes");
	CHECK(json_is_false(json_at(object, "streams.alloc.attached")));
	CHECK_EQ(json_array_size(json_at(object, "functions")), 0);
	json_decref(object);
	synthetic_close(&synthetic, model);
}

TEST(figures_agree_with_the_model)
{
	struct app app;
	struct model *model;
	json_t *object, *row;
	size_t i;
	double gc = 0, cpu = 0;

	synthetic_app(&app, 100, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	object = parse(model, 0);
	json_array_foreach(json_at(object, "functions"), i, row)
	{
		gc += json_number_value(json_at(row, "gc_self_ns"));
		cpu += json_number_value(json_at(row, "cpu_self_ns"));
	}
	CHECK(is_near(gc, json_number_value(json_at(object, "cpu.collector_ns")), 100));
	gc = json_number_value(json_at(object, "gc.gc_unattributed_ns"));
	json_array_foreach(json_at(object, "sites"), i, row)
	{
		gc += json_number_value(json_at(row, "gc_ns"));
	}
	CHECK(is_near(gc, json_number_value(json_at(object, "cpu.collector_ns")), 100));
	gc = 0;
	json_array_foreach(json_at(object, "timeline.windows"), i, row)
	{
		gc += json_number_value(json_at(row, "pause_ns"));
	}
	CHECK(is_near(gc, json_number_value(json_at(object, "gc.minor.total_ns")), 100));
	CHECK(is_near(cpu, json_number_value(json_at(object, "cpu.on_cpu_ns")), 100));
	CHECK_EQ(json_integer_value(json_at(object, "alloc.samples")), 600);
	CHECK_EQ(json_integer_value(json_at(object, "gc.minor.count")), 100);
	CHECK_EQ(json_integer_value(json_at(object, "streams.cpu.events")), 700);
	json_decref(object);
	synthetic_close(&app.synthetic, model);
}
