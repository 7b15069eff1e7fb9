/* SPDX-License-Identifier: BSD-2-Clause */
/* model_calls.c: tests of call trees: totals, recursion, callers and callees. */
#include "model/rows/call_tree.h"
#include "synthetic.h"

/* main > a > b > b (recursion) has 2 samples, main > b 3, main > a 5 and allocates in gc_new. */
static struct model *build(enum call_kind kind, const char *pattern, struct call_tree *tree)
{
	struct synthetic synthetic;
	struct call_builder builder;
	struct source *source;
	struct model *model = NULL;
	uint64_t root, a, b, new, stacks[4];

	synthetic_program(&synthetic, 1000);
	synthetic_own(&synthetic, "/bin/app", 4, 1);
	root = synthetic_function(&synthetic, "/bin/app", 1, "main");
	a = synthetic_function(&synthetic, "/bin/app", 2, "a");
	b = synthetic_function(&synthetic, "/bin/app", 3, "b");
	new = synthetic_function(&synthetic, "/bin/app", 4, "gc_new");
	stacks[0] = synthetic_stack(&synthetic, (uint64_t[]){root, a, b, b, 0});
	stacks[1] = synthetic_stack(&synthetic, (uint64_t[]){root, b, 0});
	stacks[2] = synthetic_stack(&synthetic, (uint64_t[]){root, a, 0});
	stacks[3] = synthetic_stack(&synthetic, (uint64_t[]){root, a, new, 0});
	for (uint64_t i = 0; i < 10; i++)
		PUT(&synthetic, cpu, .time = 2000 + i, .thread = 1, .mode = 1,
		    .stack = stacks[i < 2   ? 0
				    : i < 5 ? 1
					    : 2]);
	PUT(&synthetic, alloc, .time = 3000, .thread = 1, .stack = stacks[3], .sample = 1,
	    .type = 1, .size = 100, .period = 1, .kind = 1);
	synthetic_end(&synthetic, 4000);
	*tree = (struct call_tree){0};
	call_builder_init(&builder, kind, pattern, tree);
	CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &source), 0);
	CHECK_EQ(model_load_observed(source, "x", &builder.observer, &model), 0);
	CHECK_EQ(call_tree_sort(tree, CALLS_CPU), 0);
	synthetic_free(&synthetic);
	return model;
}

/* The node at a path, for example "main/a". */
static const struct call_node *at(const struct call_tree *tree, const char *path)
{
	const struct call_node *node = &tree->nodes[0];
	char *copy = strdup(path), *rest = copy;

	for (char *name; (name = strsep(&rest, "/"));) {
		uint32_t child = node->first_child;

		while (child && strcmp(tree->nodes[child].name, name) != 0)
			child = tree->nodes[child].next;
		if (!child)
			test_fail(__FILE__, __LINE__, "no %s in %s", name, path);
		node = &tree->nodes[child];
	}
	free(copy);
	return node;
}

/* Adds `events` timer samples of 1, 2, 3 ... ns, of `functions` in turn, a millisecond apart. */
static void sample(struct call_moments *moments, uint64_t events, uint64_t functions)
{
	struct call_tree tree = {.count = 0};
	struct synthetic synthetic;
	struct call_builder builder;
	struct source *source;
	struct model *model = NULL;
	uint64_t stacks[64] = {0};

	CHECK(functions <= 64);
	synthetic_program(&synthetic, 1000);
	for (uint64_t i = 0; i < functions; i++)
		stacks[i] = synthetic_stack(
			&synthetic,
			(uint64_t[]){synthetic_function(&synthetic, "/bin/app", i + 1, "f"), 0});
	for (uint64_t i = 1; i <= events; i++)
		PUT(&synthetic, cpu, .time = 1000 + i * 1000000, .thread = 1, .mode = 1, .ns = i,
		    .stack = stacks[i % functions]);
	synthetic_end(&synthetic, 2000 + events * 1000000);
	call_builder_init(&builder, CALLS_TREE, NULL, &tree);
	builder.moments = moments;
	CHECK_EQ(source_memory_open(synthetic.data, synthetic.size, &source), 0);
	CHECK_EQ(model_load_observed(source, "x", &builder.observer, &model), 0);
	call_tree_free(&tree);
	synthetic_close(&synthetic, model);
}

/* Sum of all entries; checks that they are sorted. */
static double sum_moments(const struct call_moments *moments)
{
	double sum = 0;

	for (size_t i = 0; i < moments->count; i++) {
		const struct call_moment *moment = &moments->items[i];

		CHECK_EQ(moment->measure, CALLS_CPU);
		CHECK(!i || moment->window > moment[-1].window ||
		      (moment->window == moment[-1].window && moment->node > moment[-1].node));
		sum += moment->value;
	}
	return sum;
}

TEST(windows_grow_to_bound_the_memory_of_moments)
{
	struct call_moments moments = {.count = 0}, few = {.most = 100}, none = {.most = 100};

	/* All frames belong to one function, so to one node. */
	sample(&moments, 1000, 4);
	CHECK_EQ(moments.step_ns, 1000000);
	CHECK_EQ(moments.count, 1000);
	CHECK_EQ(moments.items[41].window, 42);
	CHECK(is_near(moments.items[41].value, 42, 1e-9));
	CHECK(is_near(sum_moments(&moments), 500500, 1e-6));
	call_moments_limit(&moments, 10);
	CHECK(moments.count <= 10 && moments.count > 4);
	CHECK(is_near(sum_moments(&moments), 500500, 1e-6));
	sample(&few, 1000, 4);
	CHECK(!few.lost);
	CHECK(few.count > 4 && few.count <= 100);
	CHECK(is_near(sum_moments(&few), 500500, 1e-6));
	/* Too many stacks for any window length. */
	sample(&none, 1000, 64);
	CHECK(none.lost);
	CHECK_EQ(none.count, 0);
	call_moments_free(&moments);
	call_moments_free(&few);
	call_moments_free(&none);
}

static double ms(double ns)
{
	return ns / 1e6;
}

TEST(trees_start_at_the_outermost_function)
{
	struct call_tree tree;
	struct model *model = build(CALLS_TREE, NULL, &tree);

	CHECK(is_near(ms(tree.nodes[0].total.cpu_ns), 10, 1e-9));
	CHECK(is_near(ms(at(&tree, "main")->total.cpu_ns), 10, 1e-9));
	CHECK(is_near(ms(at(&tree, "main")->self.cpu_ns), 0, 1e-9));
	CHECK(is_near(ms(at(&tree, "main/a")->total.cpu_ns), 7, 1e-9));
	CHECK(is_near(ms(at(&tree, "main/a")->self.cpu_ns), 5, 1e-9));
	CHECK(is_near(ms(at(&tree, "main/a/b/b")->self.cpu_ns), 2, 1e-9));
	CHECK(is_near(ms(at(&tree, "main/b")->self.cpu_ns), 3, 1e-9));
	/* The allocator's own function is left out. */
	CHECK(is_near(at(&tree, "main/a")->self.alloc_bytes, 100, 1e-9));
	/* Most costly first. */
	CHECK_STR(tree.nodes[at(&tree, "main")->first_child].name, "a");
	CHECK_EQ(call_tree_sort(&tree, CALLS_SYSCALLS), 0);
	CHECK(is_near(ms(at(&tree, "main/a")->total.cpu_ns), 7, 1e-9));
	call_tree_free(&tree);
	model_free(model);
}

TEST(callers_count_recursion_once)
{
	struct call_tree tree;
	struct model *model = build(CALLS_CALLERS, "b", &tree);

	CHECK(is_near(ms(tree.nodes[0].total.cpu_ns), 5, 1e-9));
	CHECK(is_near(ms(at(&tree, "b")->total.cpu_ns), 5, 1e-9));
	CHECK(is_near(ms(at(&tree, "b/main")->total.cpu_ns), 3, 1e-9));
	CHECK(is_near(ms(at(&tree, "b/b/a/main")->total.cpu_ns), 2, 1e-9));
	call_tree_free(&tree);
	model_free(model);
}

TEST(callees_start_at_the_outermost_occurrence)
{
	struct call_tree tree;
	struct model *model = build(CALLS_CALLEES, "a|nothing", &tree);

	CHECK(is_near(ms(at(&tree, "a")->total.cpu_ns), 7, 1e-9));
	CHECK(is_near(ms(at(&tree, "a")->self.cpu_ns), 5, 1e-9));
	CHECK(is_near(ms(at(&tree, "a/b")->total.cpu_ns), 2, 1e-9));
	CHECK(is_near(at(&tree, "a")->total.alloc_bytes, 100, 1e-9));
	call_tree_free(&tree);
	model_free(model);
	model = build(CALLS_CALLEES, "nothing", &tree);
	CHECK_EQ(tree.count, 1);
	CHECK_EQ(tree.nodes[0].first_child, 0);
	call_tree_free(&tree);
	model_free(model);
}
