/* SPDX-License-Identifier: BSD-2-Clause */
/* model_random.c: any well-formed records give a model and a report. */
#include "report/report.h"
#include "synthetic.h"

enum { RECORDS = 3000, PROFILES = 40, LONGEST = 24 };

/* Mostly small numbers, so that records refer to each other; sometimes an extreme one. */
static uint64_t random_number(uint64_t *state)
{
	static const uint64_t extremes[] = {0,          UINT64_MAX, INT64_MAX, UINT32_MAX,
					    1ULL << 63, 70000,      1000000,   4096};
	uint64_t dice = test_random(state);

	if (dice % 32 == 0)
		return extremes[dice / 32 % 8];
	return dice / 32 % (dice % 3 ? 8 : 64);
}

static struct bytes random_bytes(uint64_t *state, char *buffer)
{
	size_t size = test_random(state) % LONGEST;

	for (size_t i = 0; i < size; i++)
		buffer[i] = (char)test_random(state);
	return (struct bytes){buffer, size};
}

static void put_random(struct synthetic *synthetic, uint64_t *state)
{
	const struct record_info *info = NULL;
	struct record record = {0};
	char buffers[4][LONGEST];
	int used = 0;

	while (!info) {
		record.kind = 3 + test_random(state) % (RECORD_end - 2);
		/* What profiles are made of: an end in the middle would hide the rest. */
		if (record.kind == RECORD_end || record.kind == RECORD_segment ||
		    record.kind == RECORD_again)
			continue;
		info = record_info(record.kind);
	}
	for (size_t i = 0; i < info->n_fields; i++) {
		char *field = (char *)&record + info->fields[i].offset;
		uint64_t number = random_number(state);
		struct bytes bytes;

		if (info->fields[i].kind == FIELD_BYTES) {
			bytes = random_bytes(state, buffers[used++ % 4]);
			memcpy(field, &bytes, sizeof(bytes));
		} else {
			memcpy(field, &number, sizeof(number));
		}
	}
	CHECK_EQ(profile_writer_put(synthetic->writer, &record), 0);
}

TEST(any_records_give_a_report)
{
	struct report_options options = {.width = 100, .verbose = true}, parts = {.parts = ~0U};
	uint64_t state = test_seed(), taken = 0;
	FILE *out = fopen("/dev/null", "w");

	CHECK(out != NULL);
	for (int profile = 0; profile < PROFILES; profile++) {
		struct synthetic synthetic;
		struct model *model;

		synthetic_program(&synthetic, 1000);
		for (int i = 0; i < RECORDS; i++)
			put_random(&synthetic, &state);
		synthetic_end(&synthetic, 100000);
		model = synthetic_load(&synthetic, synthetic.size);
		CHECK_EQ(model->state, PROFILE_COMPLETE);
		taken += model->alloc.samples + model->cpu.samples + model->gc.minor.count;
		CHECK_EQ(report_text(model, &options, out), 0);
		CHECK_EQ(report_text(model, &parts, out), 0);
		CHECK_EQ(report_json(model, &options, out), 0);
		synthetic_close(&synthetic, model);
	}
	fclose(out);
	/* Not everything was refused. */
	CHECK(taken > PROFILES);
}
