/* SPDX-License-Identifier: BSD-2-Clause */
/* model_lines.c: tests of the costs of source lines. */
#include "model/rows/line_sums.h"
#include "synthetic.h"

/* An instruction of the function at its line, which may have inlined another. */
static uint64_t put_place(struct synthetic *synthetic, uint64_t offset, const char *name,
			  uint64_t line, const char *inlined, uint64_t inlined_line)
{
	uint64_t frame = synthetic_function(synthetic, "/bin/app", offset, NULL);
	uint64_t file = synthetic_string(synthetic, "/app.c");

	PUT(synthetic, symbol, .frame = frame, .name = synthetic_string(synthetic, name),
	    .file = file, .line = line, .begin = 10);
	if (inlined)
		PUT(synthetic, symbol, .frame = frame, .name = synthetic_string(synthetic, inlined),
		    .file = file, .line = inlined_line, .begin = 50);
	return frame;
}

/*
 * work:12 has 1 sample of its own. work:12 > work:14 > work:12 (recursion) has 2. work:16, which
 * inlines small:51, has 3. work:12 > other:0 has 4, and allocates 100 bytes.
 */
static struct model *build(const char *pattern, struct line_sums *sums)
{
	static const unsigned samples[] = {1, 2, 3, 4};
	struct synthetic synthetic;
	struct line_builder builder;
	struct source *source;
	struct model *model = NULL;
	uint64_t a, b, c, other, stacks[4], time = 2000;

	synthetic_program(&synthetic, 1000);
	a = put_place(&synthetic, 1, "work", 12, NULL, 0);
	b = put_place(&synthetic, 2, "work", 14, NULL, 0);
	c = put_place(&synthetic, 3, "work", 16, "small", 51);
	other = put_place(&synthetic, 4, "other", 0, NULL, 0);
	stacks[0] = synthetic_stack(&synthetic, (uint64_t[]){a, 0});
	stacks[1] = synthetic_stack(&synthetic, (uint64_t[]){a, b, a, 0});
	stacks[2] = synthetic_stack(&synthetic, (uint64_t[]){c, 0});
	stacks[3] = synthetic_stack(&synthetic, (uint64_t[]){a, other, 0});
	for (size_t i = 0; i < 4; i++)
		for (unsigned j = 0; j < samples[i]; j++, time++)
			PUT(&synthetic, cpu, .time = time, .thread = 1, .mode = 1, .ns = 1000,
			    .stack = stacks[i]);
	PUT(&synthetic, alloc, .time = 3000, .thread = 1, .stack = stacks[3], .sample = 1,
	    .type = 1, .size = 100, .period = 1, .kind = 1);
	synthetic_end(&synthetic, 4000);
	line_builder_init(&builder, pattern, sums);
	CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &source), 0);
	CHECK_EQ(model_load_observed(source, "x", &builder.observer, &model), 0);
	synthetic_free(&synthetic);
	return model;
}

/* Figures are multiples of a sample's time. */
static void check_line(const struct line_sum *sum, uint64_t line, double self, double total,
		       double ns)
{
	CHECK_EQ(sum->line, line);
	CHECK_STR(sum->file, "/app.c");
	CHECK_EQ((uint64_t)(sum->self_ns / ns + 0.5), (uint64_t)self);
	CHECK_EQ((uint64_t)(sum->total_ns / ns + 0.5), (uint64_t)total);
}

TEST(a_line_has_its_own_time_and_that_of_its_calls_once_for_each_stack)
{
	struct line_sums sums = {0};
	struct model *model = build("work", &sums);
	double ns;

	CHECK_EQ(sums.count, 3);
	ns = sums.rows[0].self_ns / 3;
	CHECK(ns > 0);
	check_line(&sums.rows[0], 12, 3, 7, ns);
	check_line(&sums.rows[1], 14, 0, 2, ns);
	check_line(&sums.rows[2], 16, 0, 3, ns);
	CHECK_STR(sums.rows[0].name, "work");
	CHECK_EQ(sums.rows[0].begin, 10);
	CHECK_EQ(sums.rows[0].function, sums.rows[2].function);
	CHECK_EQ((uint64_t)sums.rows[0].alloc_bytes, 100);
	CHECK_EQ((uint64_t)sums.rows[1].alloc_bytes, 0);
	line_sums_free(&sums);
	model_free(model);
}

TEST(an_inlined_function_has_lines_of_its_own_and_functions_stay_apart)
{
	struct line_sums sums = {0};
	struct model *model = build("small|other", &sums);
	const struct line_sum *small, *other;

	CHECK_EQ(sums.count, 2);
	CHECK(sums.rows[0].function != sums.rows[1].function);
	small = &sums.rows[strcmp(sums.rows[0].name, "small") != 0];
	other = &sums.rows[small == sums.rows];
	check_line(small, 51, 3, 3, small->self_ns / 3);
	CHECK_EQ(small->begin, 50);
	check_line(other, 0, 4, 4, small->self_ns / 3);
	CHECK_EQ((uint64_t)other->alloc_bytes, 100);
	line_sums_free(&sums);
	model_free(model);
}

TEST(what_is_on_no_stack_has_no_lines)
{
	struct line_sums sums = {0};
	struct model *model = build("nothing", &sums);

	CHECK_EQ(sums.count, 0);
	line_sums_free(&sums);
	model_free(model);
}
