/* SPDX-License-Identifier: BSD-2-Clause */
/* export_json.c: tests of the export of stacks for programs. */
#include "export_rig.h"
#include "synthetic_waits.h"

/* The sum of one key over a list of objects, whose paths are checked. */
static double sum_of(json_t *object, const char *list, const char *key)
{
	size_t functions = json_array_size(json_object_get(object, "functions")), i, j;
	json_t *row, *function;
	double sum = 0;

	json_array_foreach(json_object_get(object, list), i, row)
	{
		CHECK(json_is_number(json_object_get(row, key)));
		sum += json_number_value(json_object_get(row, key));
		json_array_foreach(json_object_get(row, "path"), j, function)
			CHECK((size_t)json_integer_value(function) < functions);
	}
	return sum;
}

TEST(stacks_add_up_to_the_report)
{
	struct app app;
	struct exported exported;
	struct model *model;
	json_t *object;
	double gc;

	synthetic_app(&app, 100, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	model = synthetic_model(&app.synthetic);
	exported = export_as(&app.synthetic, "json", NULL);
	object = parse_json(&exported);
	CHECK(is_near(sum_of(object, "time", "cpu_ns"), (double)model->cpu.on_cpu_ns, 100));
	CHECK(is_near(sum_of(object, "time", "syscall_ns"), (double)model->syscall_stack_ns, 100));
	CHECK(is_near(sum_of(object, "allocations", "bytes"), model->alloc.bytes.value, 100));
	gc = sum_of(object, "allocations", "gc_ns") +
	     json_number_value(json_object_get(object, "gc_without_samples_ns"));
	CHECK(is_near(gc, (double)model->gc.minor.total_ns, 100));
	CHECK_EQ(json_integer_value(json_object_get(object, "duration_ns")), model->run.duration);
	json_decref(object);
	model_free(model);
	free(exported.data);
	synthetic_free(&app.synthetic);
}

TEST(waits_stand_beside_cpu_time)
{
	struct synthetic synthetic;
	struct exported exported;
	json_t *object;

	synthetic_waits(&synthetic);
	exported = export_as(&synthetic, "json", NULL);
	object = parse_json(&exported);
	CHECK(is_near(sum_of(object, "time", "off_cpu_ns"), WAITS_STACK_NS, 0.1));
	CHECK_EQ(sum_of(object, "time", "faults"), 0);
	json_decref(object);
	free(exported.data);
	synthetic_free(&synthetic);
}

TEST(hostile_names_stay_valid)
{
	struct synthetic synthetic;
	struct exported exported;
	json_t *object;

	hostile_profile(&synthetic);
	exported = export_as(&synthetic, "json", NULL);
	object = parse_json(&exported);
	CHECK_EQ(json_array_size(json_object_get(object, "functions")), 2 * HOSTILE_TEXTS);
	CHECK_EQ(json_array_size(json_object_get(object, "time")), HOSTILE_TEXTS);
	json_decref(object);
	free(exported.data);
	synthetic_free(&synthetic);
}
