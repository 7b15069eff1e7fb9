/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_after_mark.c: tests of what comes between marking and sweeping, in steps: who has died. */
#include "gc_test.h"

/* Many steps' worth, see major.c. */
enum { N = 12000, A_STEP = 1000 };

static uint32_t n_finalized[N], n_runs, n_died_old;

static void finalize(struct gc_thread *thread, void *object, void *context)
{
	uint32_t *count = context;

	CHECK(!thread);
	CHECK_EQ(((struct node *)object)->value, (uint64_t)(count - n_finalized));
	++*count;
	n_runs++;
}

static void observe(enum probe_number probe, const void *arguments)
{
	const struct probe_fate *fate = arguments;
	const struct gcprof_fate *entries;

	if (probe != PROBE_fate)
		return;
	entries = fate->entries;
	for (uint32_t i = 0; i < fate->count; i++)
		n_died_old += entries[i].outcome == GCPROF_DIED_OLD;
}

/* A table of N old nodes, each with its number. */
static struct cells *make_table(struct fixture *f)
{
	struct cells *result;

	GC_FRAME(f->thread, frame, 0, struct cells * table;);
	frame.root.table = gc_alloc_array(f->thread, f->cells, N);
	for (uint64_t i = 0; i < N; i++) {
		struct node *node = new_node(f, i);

		gc_array_write(f->thread, frame.root.table, frame.root.table->items, i, node);
	}
	gc_collect(f->thread, GC_COLLECT_FULL);
	result = frame.root.table;
	GC_FRAME_END(f->thread, frame);
	return result;
}

/* Every third one lives on. */
static bool is_kept(uint64_t i)
{
	return i % 3 == 0;
}

static void drop_most(struct cells *table)
{
	for (uint64_t i = 0; i < N; i++)
		if (!is_kept(i))
			table->items[i] = NULL;
}

static void check_weak(struct gc_weak **refs, const struct cells *table)
{
	for (uint64_t i = 0; i < N; i++)
		CHECK(gc_weak_get(refs[i]) == table->items[i] &&
		      gc_weak_value(refs[i]) == table->items[i]);
}

/* Steps until the stage is reached, or, with AFTER_MARK_NOTHING, until the collection is over. */
static bool step_to(struct fixture *f, uint32_t stage)
{
	while (gc_collect_step(f->thread))
		if (stage != AFTER_MARK_NOTHING && f->heap->major.stage == stage)
			return true;
	return stage == AFTER_MARK_NOTHING;
}

static struct gc_weak **make_refs(struct fixture *f, struct cells *table)
{
	struct gc_weak **refs = malloc(N * sizeof(struct gc_weak *));

	CHECK(refs);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(gc_weak_create(f->thread, table->items[i], table->items[i], &refs[i]), 0);
	return refs;
}

static void destroy_refs(struct fixture *f, struct gc_weak **refs)
{
	for (uint64_t i = 0; i < N; i++)
		gc_weak_destroy(f->thread, refs[i]);
	free(refs);
}

TEST(gc_weak_references_are_dead_at_once_and_cleared_in_steps)
{
	struct gc_options options = small_options();
	struct gc_weak **refs;
	unsigned steps = 0;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	refs = make_refs(&f, frame.root.table);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	drop_most(frame.root.table);
	CHECK(step_to(&f, AFTER_MARK_WEAK));
	for (; f.heap->major.stage == AFTER_MARK_WEAK; steps++) {
		check_weak(refs, frame.root.table);
		gc_collect_step(f.thread);
	}
	CHECK(steps >= N / A_STEP - 1);
	check_weak(refs, frame.root.table);
	CHECK(step_to(&f, AFTER_MARK_NOTHING));
	check_weak(refs, frame.root.table);
	destroy_refs(&f, refs);
	FIXTURE_END(f, frame);
}

/* What the program makes, changes and destroys during the steps is as it should be afterwards. */
TEST(gc_weak_references_come_and_go_while_they_are_cleared)
{
	struct gc_options options = small_options();
	struct gc_weak **refs, *pairs[200];
	uint64_t n = 0;
	struct fixture f;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table; struct node * key;);
	frame.root.table = make_table(&f);
	refs = make_refs(&f, frame.root.table);
	gc_collect(f.thread, GC_COLLECT_MINOR);
	drop_most(frame.root.table);
	CHECK(step_to(&f, AFTER_MARK_WEAK));
	for (; f.heap->major.stage == AFTER_MARK_WEAK; n++) {
		CHECK(n < 200);
		frame.root.key = new_node(&f, 0);
		gc_write(f.thread, frame.root.key, &frame.root.key->left,
			 frame.root.table->items[n * 3]);
		CHECK_EQ(gc_weak_create(f.thread, frame.root.key, frame.root.key->left, &pairs[n]),
			 0);
		gc_array_write(f.thread, frame.root.table, frame.root.table->items, n * 3,
			       frame.root.key);
		gc_weak_set_value(f.thread, refs[n * 3 + 3], new_node(&f, n));
		/* Dead: that does nothing. */
		gc_weak_set_value(f.thread, refs[n * 3 + 1], frame.root.key);
		CHECK(!gc_weak_value(refs[n * 3 + 1]));
		gc_weak_destroy(f.thread, refs[n * 3]);
		refs[n * 3] = NULL;
		gc_collect_step(f.thread);
		if (n % 4 == 3)
			gc_collect(f.thread, GC_COLLECT_MINOR);
	}
	CHECK(n >= N / A_STEP / 2);
	CHECK(step_to(&f, AFTER_MARK_NOTHING));
	for (int full = 0; full < 2; full++) {
		for (uint64_t i = 0; i < n; i++) {
			CHECK(gc_weak_get(pairs[i]) == frame.root.table->items[i * 3]);
			CHECK_EQ(((struct node *)gc_weak_value(pairs[i]))->value, i * 3);
		}
		CHECK_EQ(((struct node *)gc_weak_value(refs[n * 3]))->value, n - 1);
		gc_collect(f.thread, GC_COLLECT_FULL);
	}
	for (uint64_t i = 0; i < n; i++)
		gc_weak_destroy(f.thread, pairs[i]);
	destroy_refs(&f, refs);
	gc_collect(f.thread, GC_COLLECT_FULL);
	CHECK_EQ(f.heap->weak.all.count, 0);
	FIXTURE_END(f, frame);
}

static void add_finalizers(struct fixture *f, struct cells *table)
{
	memset(n_finalized, 0, sizeof(n_finalized));
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(gc_finalizer_add(f->thread, table->items[i], GC_FINALIZER_LIGHT, finalize,
					  &n_finalized[i]),
			 0);
	gc_collect(f->thread, GC_COLLECT_MINOR);
}

static void check_finalized(void)
{
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(n_finalized[i], !is_kept(i));
}

TEST(gc_light_finalizers_run_once_a_few_in_a_step)
{
	struct gc_options options = small_options();
	struct fixture f;
	int more = 1;

	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	add_finalizers(&f, frame.root.table);
	drop_most(frame.root.table);
	while (more) {
		n_runs = 0;
		more = gc_collect_step(f.thread);
		CHECK(n_runs <= A_STEP);
	}
	check_finalized();
	gc_collect(f.thread, GC_COLLECT_FULL);
	check_finalized();
	FIXTURE_END(f, frame);
}

/* A full collection may come at any moment of it. */
TEST(gc_full_collections_finish_what_was_begun_in_steps)
{
	static const uint32_t stages[] = {AFTER_MARK_WEAK, AFTER_MARK_LIGHT};
	struct gc_options options = small_options();
	struct gc_weak **refs;
	struct fixture f;

	for (size_t i = 0; i < 2; i++) {
		fixture_open(&f, &options);
		GC_FRAME(f.thread, frame, 0, struct cells * table;);
		frame.root.table = make_table(&f);
		refs = make_refs(&f, frame.root.table);
		add_finalizers(&f, frame.root.table);
		drop_most(frame.root.table);
		CHECK(step_to(&f, stages[i]));
		gc_collect_step(f.thread);
		gc_collect_step(f.thread);
		CHECK_EQ(f.heap->major.stage, stages[i]);
		gc_collect(f.thread, GC_COLLECT_FULL);
		check_weak(refs, frame.root.table);
		check_finalized();
		destroy_refs(&f, refs);
		FIXTURE_END(f, frame);
	}
}

#if !GCPROF_NO_SAMPLING

TEST(gc_fates_of_old_samples_are_reported_a_few_in_a_step)
{
	struct gc_options options = small_options();
	uint32_t before, all = 0;
	struct fixture f;
	int more = 1;

	options.sampling.always_sample = 1;
	options.sampling.fixed_stride = 2;
	options.sampling.ceiling = UINT64_MAX;
	probe_observer = observe;
	fixture_open(&f, &options);
	GC_FRAME(f.thread, frame, 0, struct cells * table;);
	frame.root.table = make_table(&f);
	n_died_old = 0;
	drop_most(frame.root.table);
	while (more) {
		before = n_died_old;
		more = gc_collect_step(f.thread);
		CHECK(n_died_old - before <= A_STEP);
		all += n_died_old - before;
	}
	CHECK_EQ(all, N - N / 3);
	FIXTURE_END(f, frame);
	probe_observer = NULL;
}

#endif
