/* SPDX-License-Identifier: BSD-2-Clause */
/* import_vmprof.c: tests of the import of VMProf's profiles and PyPy's logs. */
#include <errno.h>

#include "commands/import/vmprof.h"
#include "synthetic.h"
#include "vmprof_make.h"

struct imported {
	struct vmprof_result result;
	struct model *model;
	int error;
};

static struct imported import_bytes(const void *data, size_t size, const struct pypylog *log)
{
	struct vmprof_import import = {.name = "test.prof", .log = log};
	struct imported imported = {0};
	struct source *source;
	struct sink *sink;
	char *out = NULL;
	size_t out_size = 0;

	CHECK_EQ(sink_memory_create(&out, &out_size, &sink), 0);
	imported.error = vmprof_convert(data, size, &import, sink, &imported.result);
	if (!imported.error) {
		CHECK_EQ(source_memory_open(out, out_size, &source), 0);
		CHECK_EQ(model_load(source, "test.data", &imported.model), 0);
		CHECK_EQ(imported.model->refused, 0);
	}
	free(out);
	return imported;
}

static struct imported import_vm(const struct vm *vm, const struct pypylog *log)
{
	return import_bytes(vm->out.data, vm->out.size, log);
}

static const struct model_function *function_of(const struct model *model, const char *name)
{
	for (size_t i = 0; i < model->n_functions; i++)
		if (strcmp(model->functions[i].name, name) == 0)
			return &model->functions[i];
	test_fail(__FILE__, __LINE__, "no function %s", name);
	return NULL;
}

TEST(allocation_samples_have_types_and_fates)
{
	struct imported imported;
	const struct model *model;
	const struct model_function *leaf;
	struct vm vm;

	vm_pypy(&vm, 100);
	imported = import_vm(&vm, NULL);
	CHECK_EQ(imported.error, 0);
	model = imported.model;
	CHECK_EQ(imported.result.gc_samples, 300);
	CHECK_EQ(imported.result.unmatched, 0);
	CHECK_EQ(model->alloc.samples, 300);
	CHECK_EQ(model->alloc.period, 4096);
	CHECK(is_near(model->alloc.bytes.value, 300 * 4104.0, 10));
	CHECK_EQ(model->n_types, 2);
	CHECK_STR(model->types[0].name, "list");
	CHECK_EQ(model->types[0].samples, 200);
	CHECK(model->types[0].survived.value == 0);
	CHECK_STR(model->types[1].name, "dict");
	CHECK(model->types[1].survived.value == 1);
	CHECK(is_near(model->alloc.live_bytes, 100 * 4104.0, 10));
	/* Compiled and interpreted it is one function. */
	leaf = function_of(model, "leaf");
	CHECK_EQ(leaf->runtime, RUNTIME_MANAGED);
	CHECK_STR(leaf->file, "/src/app.py");
	CHECK_EQ(leaf->line, 10);
	CHECK(is_near(leaf->alloc_self_bytes, model->alloc.bytes.value, 1));
	CHECK(is_near(function_of(model, "outer")->alloc_total_bytes, model->alloc.bytes.value, 1));
	CHECK_EQ(model->cpu.samples, 100);
	CHECK_EQ(model->run.frequency, 1000);
	CHECK_EQ(model->gc.heap_peak_bytes, 200000);
	CHECK_EQ(model->gc.rss_peak_bytes, 5000 << 10);
	/* When collections began is not in the file. */
	CHECK_EQ(model->gc.minor.count, 0);
	CHECK_EQ(model->gc.unpaired, 100);
	CHECK_EQ(model->run.start, UINT64_C(50000000000));
	CHECK_EQ(model->run.realtime, UINT64_C(1000000000000));
	CHECK_EQ(model->state, PROFILE_COMPLETE);
	model_free(imported.model);
	buffer_free(&vm.out);
}

TEST(older_versions_have_time_samples)
{
	static const uint64_t plain[] = {16, 0x401, 32}, lines[] = {7, 16, 8, 32};
	struct imported imported;
	struct vm vm;

	for (unsigned version = 0; version <= 6; version++) {
		vm_begin(&vm, version, 0, "cpython");
		for (int i = 0; i < 10; i++)
			vm_sample(&vm, 1, 0, plain, 3, 7);
		vm_name(&vm, 2, 16, "py:leaf:10:/a.py");
		vm_name(&vm, 2, 32, "py:outer:20:/a.py");
		vm_name(&vm, 8, 0x401, "n:memcpy:0:-");
		vm_end(&vm, 1001);
		imported = import_vm(&vm, NULL);
		CHECK_EQ(imported.error, 0);
		CHECK_EQ(imported.result.version, version);
		CHECK(!imported.result.torn);
		CHECK_EQ(imported.model->cpu.samples, 10);
		CHECK_EQ(function_of(imported.model, "leaf")->cpu_samples, 10);
		CHECK(function_of(imported.model, "leaf")->cpu_self_ns > 0);
		CHECK(function_of(imported.model, "outer")->cpu_self_ns == 0);
		CHECK_EQ(function_of(imported.model, "memcpy")->runtime, RUNTIME_NATIVE);
		CHECK_EQ(imported.model->threads[0].tid, version ? 7 : 0);
		model_free(imported.model);
		buffer_free(&vm.out);
	}
	vm_begin(&vm, 6, VM_LINES, "cpython");
	vm_sample(&vm, 1, 0, lines, 4, 7);
	vm_name(&vm, 2, 16, "py:leaf:10:/a.py");
	vm_end(&vm, 1001);
	imported = import_vm(&vm, NULL);
	CHECK(function_of(imported.model, "leaf")->cpu_self_ns > 0);
	model_free(imported.model);
	buffer_free(&vm.out);
}

TEST(any_part_of_a_file_is_read_as_far_as_it_goes)
{
	struct imported imported;
	uint64_t before = 0;
	struct vm vm;

	vm_pypy(&vm, 10);
	/* From the head on by a prime number of bytes: ends are anywhere in words and records. */
	for (size_t size = 0; size < vm.out.size; size += size < 64 ? 1 : 7) {
		char *part = malloc(size + 1);

		/* A copy of its own: reading behind its end is found. */
		if (!part)
			abort();
		memcpy(part, vm.out.data, size);
		imported = import_bytes(part, size, NULL);
		CHECK_EQ(imported.error, size < 40 ? -EBADMSG : 0);
		if (!imported.error) {
			CHECK(imported.result.gc_samples >= before);
			before = imported.result.gc_samples;
			model_free(imported.model);
		}
		free(part);
	}
	CHECK_EQ(before, 30);
	buffer_free(&vm.out);
}

TEST(other_files_are_refused)
{
	static const uint64_t words32[] = {UINT64_C(3) << 32, 0, 0, 0, 0};
	static const uint64_t windows[] = {0, 3, 0, 1000, 1};
	struct vm vm;

	CHECK_EQ(import_bytes("hello", 5, NULL).error, -EBADMSG);
	CHECK_EQ(import_bytes(words32, sizeof(words32), NULL).error, -ENOTSUP);
	CHECK_EQ(import_bytes(windows, sizeof(windows), NULL).error, -ENOTSUP);
	vm_begin(&vm, 8, 0, "cpython");
	CHECK_EQ(import_vm(&vm, NULL).error, -EPROTO);
	buffer_free(&vm.out);
}

/* Lengths and counts far beyond the file, times that are no numbers. */
TEST(hostile_numbers_do_no_harm)
{
	static const uint64_t stack[] = {1, 16};
	struct imported imported;
	struct vm vm;
	uint64_t random = 5;

	vm_begin(&vm, 7, VM_RPYTHON, "pypy");
	vm_byte(&vm, 9);
	vm_word(&vm, UINT64_MAX);
	vm_word(&vm, UINT64_MAX / 8 + 2);
	imported = import_vm(&vm, NULL);
	CHECK_EQ(imported.error, 0);
	CHECK(imported.result.torn);
	model_free(imported.model);
	buffer_free(&vm.out);
	vm_begin(&vm, 7, VM_RPYTHON, "pypy");
	vm_sample(&vm, 1, 0.0 / 0.0, stack, 2, UINT64_MAX);
	vm_sample(&vm, 1, 1e300, stack, 2, 0);
	vm_sample(&vm, 9, -1e300, stack, 2, 0);
	vm_meta(&vm, "sample_allocated_bytes", "1e999");
	vm_meta(&vm, "start_time_offset", "nan");
	vm_end(&vm, 1001);
	imported = import_vm(&vm, NULL);
	CHECK_EQ(imported.error, 0);
	model_free(imported.model);
	buffer_free(&vm.out);
	vm_pypy(&vm, 20);
	for (int i = 0; i < 1000; i++) {
		char *at = &vm.out.data[test_random(&random) % vm.out.size], old = *at;

		*at = (char)test_random(&random);
		imported = import_vm(&vm, NULL);
		if (!imported.error)
			model_free(imported.model);
		*at = old;
	}
	buffer_free(&vm.out);
}

/* 1000 ticks are 1 us; tick 0 is at 50 s. */
static const struct pypylog_clock clock = {
	.tsc = 1000000, .monotonic = UINT64_C(50001000000), .ns_per_tick = 1};

TEST(a_log_is_placed_by_its_clock)
{
	static const char text[] = "[f4240] {gc-minor\nminor collect\n"
				   "[f4300] {gc-minor-walkroots\n[f4340] gc-minor-walkroots}\n"
				   "[f4630] gc-minor}\n"
				   "[1e8480] {gc-collect-step\n[1e8868] {gc-minor\n"
				   "[1e8c50] gc-minor}\n[1e9038] gc-collect-step}\n"
				   "[200000] gc-minor}\n[20";
	struct imported imported;
	struct pypylog log;
	struct vm vm;

	CHECK_EQ(pypylog_read(&log, text, sizeof(text) - 1, &clock), 0);
	CHECK_EQ(log.n_gcs, 3);
	CHECK_EQ(log.bad_lines, 1);
	CHECK_EQ(log.gcs[0].begin, UINT64_C(50001000000));
	CHECK_EQ(log.gcs[0].end, UINT64_C(50001001008));
	CHECK_EQ(log.gcs[1].section, PYPYLOG_STEP);
	CHECK_EQ(log.gcs[1].begin, UINT64_C(50002000000));
	vm_pypy(&vm, 10);
	imported = import_vm(&vm, &log);
	CHECK_EQ(imported.model->gc.minor.count, 2);
	CHECK_EQ(imported.model->gc.minor.total_ns, 1008 + 1000);
	CHECK_EQ(imported.model->gc.major.count, 1);
	CHECK_EQ(imported.model->gc.major.total_ns, 2000);
	CHECK_EQ(imported.result.log_before + imported.result.log_behind, 0);
	model_free(imported.model);
	buffer_free(&vm.out);
	pypylog_free(&log);
	CHECK_EQ(pypylog_read(&log, "hello\n[zz] {gc\n", 15, &clock), -EBADMSG);
	pypylog_free(&log);
}
