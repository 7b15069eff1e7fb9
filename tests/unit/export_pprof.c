/* SPDX-License-Identifier: BSD-2-Clause */
/* export_pprof.c: tests of the export for pprof. */
#include "export_rig.h"
#include "export/pprof/profile.pb-c.h"
#include "synthetic_waits.h"

typedef Perftools__Profiles__Profile Profile;

#define ALLOC_OBJECTS "alloc_objects"
#define ALLOC_SPACE   "alloc_space"
#define INUSE_OBJECTS "inuse_objects"
#define INUSE_SPACE   "inuse_space"
#define CPU           "cpu"
#define GC_TIME       "gc_time"
#define OFF_CPU       "off_cpu"
#define FAULTS        "faults"

/* The place of a value in samples; -1: the profile has none, since it was not recorded. */
static int place_of(const Profile *profile, const char *value)
{
	for (size_t i = 0; i < profile->n_sample_type; i++)
		if (!strcmp(profile->string_table[profile->sample_type[i]->type], value))
			return (int)i;
	return -1;
}

static int64_t value_of(const Profile *profile, size_t sample, const char *value)
{
	int place = place_of(profile, value);

	return place < 0 ? 0 : profile->sample[sample]->value[place];
}

static Profile *export_pprof(const struct synthetic *synthetic)
{
	struct exported exported = export_as(synthetic, "pprof", NULL);
	Profile *profile = perftools__profiles__profile__unpack(NULL, exported.size,
								(const uint8_t *)exported.data);

	CHECK(profile);
	free(exported.data);
	return profile;
}

/* That all ids and indexes lead somewhere. */
static void check_profile(const Profile *profile)
{
	size_t strings = profile->n_string_table;

	CHECK(strings > 0);
	CHECK_STR(profile->string_table[0], "");
	for (size_t i = 0; i < profile->n_sample_type; i++)
		CHECK(profile->sample_type[i]->type > 0 &&
		      (size_t)profile->sample_type[i]->unit < strings);
	for (size_t i = 0; i < profile->n_function; i++) {
		CHECK_EQ(profile->function[i]->id, i + 1);
		CHECK((size_t)profile->function[i]->name < strings);
		CHECK((size_t)profile->function[i]->filename < strings);
	}
	for (size_t i = 0; i < profile->n_mapping; i++)
		CHECK(profile->mapping[i]->id && (size_t)profile->mapping[i]->filename < strings);
	for (size_t i = 0; i < profile->n_location; i++) {
		const Perftools__Profiles__Location *location = profile->location[i];
		bool mapped = !location->mapping_id;

		for (size_t j = 0; j < profile->n_mapping; j++)
			mapped |= profile->mapping[j]->id == location->mapping_id;
		CHECK(mapped && location->id && location->n_line);
		for (size_t j = 0; j < location->n_line; j++)
			CHECK(location->line[j]->function_id - 1 < profile->n_function);
	}
	for (size_t i = 0; i < profile->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = profile->sample[i];

		CHECK_EQ(sample->n_value, profile->n_sample_type);
		for (size_t j = 0; j < sample->n_location_id; j++) {
			bool found = false;

			for (size_t k = 0; k < profile->n_location && !found; k++)
				found = profile->location[k]->id == sample->location_id[j];
			CHECK(found);
		}
		for (size_t j = 0; j < sample->n_label; j++)
			CHECK(sample->label[j]->key > 0 &&
			      (size_t)sample->label[j]->key < strings &&
			      (size_t)sample->label[j]->str < strings);
	}
}

static double total(const Profile *profile, const char *value)
{
	double sum = 0;

	for (size_t i = 0; i < profile->n_sample; i++)
		sum += (double)value_of(profile, i, value);
	return sum;
}

TEST(every_value_adds_up_to_the_report)
{
	struct app app;
	struct model *model;
	Profile *profile;

	synthetic_app(&app, 100, false);
	model = synthetic_loaded(&app.synthetic, app.time + 1000);
	profile = export_pprof(&app.synthetic);
	check_profile(profile);
	CHECK(is_near(total(profile, ALLOC_SPACE), model->alloc.bytes.value, 300));
	CHECK(is_near(total(profile, ALLOC_OBJECTS), model->alloc.objects.value, 300));
	CHECK(is_near(total(profile, INUSE_SPACE), model->alloc.live_bytes, 300));
	CHECK(model->alloc.live_bytes > 0);
	CHECK(total(profile, INUSE_OBJECTS) > 0);
	CHECK(is_near(total(profile, CPU), (double)model->cpu.on_cpu_ns, 300));
	CHECK(is_near(total(profile, GC_TIME), model->cpu.collector_ns, 300));
	CHECK_EQ(profile->duration_nanos, model->run.duration);
	CHECK_EQ(profile->time_nanos, model->run.realtime);
	CHECK_STR(profile->string_table[profile->default_sample_type], "cpu");
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_close(&app.synthetic, model);
}

TEST(comments_name_runtimes_and_providers)
{
	struct app app;
	Profile *profile;

	synthetic_app(&app, 100, false);
	PUT(&app.synthetic, runtime, .process = 1,
	    .name = synthetic_string(&app.synthetic, "agent"),
	    .version = synthetic_string(&app.synthetic, "4.5"), .provider = 1);
	synthetic_end(&app.synthetic, app.time + 1000);
	profile = export_pprof(&app.synthetic);
	CHECK_EQ(profile->n_comment, 2);
	CHECK_STR(profile->string_table[profile->comment[1]],
		  "provider of process 4711: agent 4.5");
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&app.synthetic);
}

/* Of a process with a heap profile of its own, what samples say is alive is left out. */
TEST(in_use_is_what_a_heap_profile_of_the_runtime_says)
{
	struct app app;
	Profile *profile;

	synthetic_app(&app, 100, false);
	PUT(&app.synthetic, heap_site, .time = app.time, .process = 1, .objects = 9, .bytes = 900,
	    .rate = 1);
	PUT(&app.synthetic, heap_site, .time = app.time + 1, .process = 1, .objects = 7,
	    .bytes = 700, .rate = 1);
	synthetic_end(&app.synthetic, app.time + 1000);
	profile = export_pprof(&app.synthetic);
	check_profile(profile);
	CHECK(is_near(total(profile, INUSE_SPACE), 700, 1e-6));
	CHECK(is_near(total(profile, INUSE_OBJECTS), 7, 1e-6));
	CHECK(total(profile, ALLOC_SPACE) > 0);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&app.synthetic);
}

TEST(waits_add_up_and_stand_beside_timer_samples)
{
	struct synthetic synthetic;
	Profile *profile;

	synthetic_waits(&synthetic);
	profile = export_pprof(&synthetic);
	check_profile(profile);
	/* What was not recorded is left out. */
	CHECK(place_of(profile, ALLOC_SPACE) < 0 && place_of(profile, FAULTS) < 0);
	CHECK(is_near(total(profile, OFF_CPU), WAITS_ALL_NS, 0.1));
	CHECK(is_near(total(profile, CPU), 3e6, 0.1));
	/* A stack and thread have one sample for both; the others, with 140 without a record, have
	 * no stack. */
	CHECK_EQ(value_of(profile, 0, OFF_CPU), WAITS_READ_NS);
	CHECK_EQ(value_of(profile, 0, CPU), 1000000);
	CHECK_EQ(value_of(profile, 2, OFF_CPU), 190);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&synthetic);
}

/* Those of a thread that no record stands for have no stack. */
TEST(page_faults_add_up_to_the_report)
{
	struct synthetic synthetic;
	struct model *model;
	Profile *profile;
	uint64_t f;

	synthetic_program(&synthetic, 1000);
	f = synthetic_stack(&synthetic,
			    (uint64_t[]){synthetic_function(&synthetic, "/bin/app", 1, "f"), 0});
	PUT(&synthetic, fault, .time = 2000, .thread = 1, .minor = 5, .major = 1, .stack = f);
	PUT(&synthetic, fault, .time = 3000, .thread = 1, .minor = 2, .stack = f);
	PUT(&synthetic, usage, .time = 9000, .thread = 1, .flags = 1, .minor_faults = 10,
	    .major_faults = 1);
	model = synthetic_loaded(&synthetic, 9000);
	profile = export_pprof(&synthetic);
	check_profile(profile);
	CHECK_EQ(profile->n_sample, 2);
	CHECK_EQ(value_of(profile, 0, FAULTS), 8);
	CHECK_EQ(profile->sample[0]->n_location_id, 1);
	CHECK_EQ(value_of(profile, 1, FAULTS), 3);
	CHECK_EQ(profile->sample[1]->n_location_id, 0);
	CHECK_EQ(model->faults.recorded, 11);
	model_free(model);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&synthetic);
}

TEST(labels_name_threads_and_types)
{
	struct app app;
	Profile *profile;
	size_t typed = 0;

	synthetic_app(&app, 20, false);
	synthetic_end(&app.synthetic, app.time + 1000);
	profile = export_pprof(&app.synthetic);
	for (size_t i = 0; i < profile->n_sample; i++) {
		const Perftools__Profiles__Sample *sample = profile->sample[i];

		if (value_of(profile, i, CPU))
			CHECK_EQ(sample->n_label, 4);
		if (!value_of(profile, i, ALLOC_SPACE))
			continue;
		CHECK_EQ(sample->n_label, 5);
		CHECK_STR(profile->string_table[sample->label[0]->key], "thread");
		CHECK_STR(profile->string_table[sample->label[1]->key], "tid");
		CHECK(sample->label[1]->num >= 4711);
		CHECK_STR(profile->string_table[sample->label[2]->key], "process");
		CHECK_STR(profile->string_table[sample->label[2]->str], "indexer");
		CHECK_STR(profile->string_table[sample->label[3]->key], "pid");
		CHECK_EQ(sample->label[3]->num, 4711);
		CHECK_STR(profile->string_table[sample->label[4]->key], "type");
		typed++;
	}
	CHECK(typed > 10);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&app.synthetic);
}

TEST(hostile_names_stay_valid_protobuf)
{
	struct synthetic synthetic;
	Profile *profile;

	hostile_profile(&synthetic);
	profile = export_pprof(&synthetic);
	check_profile(profile);
	/* A build-id is shown in hexadecimal. */
	CHECK(profile->n_mapping > HOSTILE_TEXTS);
	CHECK_EQ(strspn(profile->string_table[profile->mapping[0]->build_id], "0123456789abcdef"),
		 40);
	perftools__profiles__profile__free_unpacked(profile, NULL);
	synthetic_free(&synthetic);
}
