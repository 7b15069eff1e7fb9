/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_model.c: random programs on the collector, compared with a model that uses malloc. */
#include "gc_test.h"

/* A random graph in the heap, and the same graph kept outside of it. */
enum { MAX_OBJECTS = 4000, N_ROOTS = 40, N_FRAME_ROOTS = 25, STEPS = 30000, MAX_ITEMS = 3000 };

struct model_object {
	uint64_t id;
	uint64_t length; /* of an array; of a node 2 */
	bool is_node;
	bool alive;         /* in the walk under way */
	void *actual;       /* in the walk under way: where it is in the heap */
	uint32_t items[64]; /* index of a model object + 1, or 0; only the first 64 are used */
};

struct model {
	struct fixture f;
	uint64_t random;
	struct model_object *objects;
	uint32_t n_objects;
	uint32_t roots[N_ROOTS]; /* index + 1 or 0 */
	struct cells **frame;    /* the first N_FRAME_ROOTS roots are here */
	void *globals[N_ROOTS];  /* and the others here */
};

static void **root_slot(struct model *m, uint32_t root)
{
	if (root < N_FRAME_ROOTS)
		return (void **)&m->frame[root];
	return &m->globals[root];
}

static uint64_t pick(struct model *m, uint64_t n)
{
	return test_random(&m->random) % n;
}

/* Both kinds carry their id: nodes in `value`, arrays in the last item, as a number. */
static void **item_slot(const struct model_object *object, void *actual, uint32_t item)
{
	struct node *node = actual;

	if (object->is_node)
		return item ? (void **)&node->right : (void **)&node->left;
	return &((struct cells *)actual)->items[item];
}

static uint32_t used_items(const struct model_object *object)
{
	return object->length < 64 ? (uint32_t)object->length : 64;
}

static void visit(struct model *m, uint32_t reference, void *actual, uint32_t *queue, uint32_t *end)
{
	struct model_object *object;

	if (!reference) {
		CHECK(!actual);
		return;
	}
	object = &m->objects[reference - 1];
	CHECK(actual);
	if (object->alive) {
		CHECK(object->actual == actual);
		return;
	}
	object->alive = true;
	object->actual = actual;
	queue[(*end)++] = reference - 1;
}

static void check_object(const struct model *m, const struct model_object *object)
{
	const struct node *node = object->actual;
	const struct cells *cells = object->actual;

	if (object->is_node) {
		CHECK_EQ(node->header.type, m->f.node);
		CHECK_EQ(node->value, object->id);
		return;
	}
	CHECK_EQ(cells->header.type, m->f.cells);
	CHECK_EQ(cells->length, object->length);
	for (uint64_t i = 64; i < cells->length; i++)
		CHECK(!cells->items[i]);
}

/* Walks both graphs together; forgets model objects that are unreachable. */
static uint64_t verify(struct model *m)
{
	uint32_t *queue = malloc(MAX_OBJECTS * sizeof(*queue));
	uint32_t end = 0;

	CHECK(queue);
	for (uint32_t i = 0; i < m->n_objects; i++)
		m->objects[i].alive = false;
	for (uint32_t i = 0; i < N_ROOTS; i++)
		visit(m, m->roots[i], *root_slot(m, i), queue, &end);
	for (uint32_t at = 0; at < end; at++) {
		struct model_object *object = &m->objects[queue[at]];

		check_object(m, object);
		for (uint32_t i = 0; i < used_items(object); i++)
			visit(m, object->items[i], *item_slot(object, object->actual, i), queue,
			      &end);
	}
	free(queue);
	return end;
}

static uint64_t live_bytes(const struct model *m)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->n_objects; i++) {
		const struct model_object *object = &m->objects[i];

		if (object->alive)
			bytes += object->is_node
					 ? sizeof(struct node)
					 : sizeof(struct cells) + object->length * sizeof(void *);
	}
	return bytes;
}

/* An unreachable model object's place, or a new one. Only right behind verify(). */
static uint32_t free_place(struct model *m)
{
	for (uint32_t i = 0; i < m->n_objects; i++)
		if (!m->objects[i].alive)
			return i;
	return UINT32_MAX;
}

static void act_allocate(struct model *m)
{
	struct model_object *object;
	uint32_t root = (uint32_t)pick(m, N_ROOTS);
	uint32_t place = m->n_objects;
	void *actual;

	if (place == MAX_OBJECTS) {
		verify(m);
		place = free_place(m);
		if (place == UINT32_MAX)
			return;
	} else {
		m->n_objects++;
	}
	object = &m->objects[place];
	*object = (struct model_object){.id = pick(m, UINT32_MAX), .alive = true};
	object->is_node = pick(m, 4) != 0;
	object->length = object->is_node ? 2 : pick(m, 10) ? pick(m, 60) : pick(m, MAX_ITEMS);
	actual = object->is_node ? gc_alloc(m->f.thread, m->f.node, sizeof(struct node))
				 : gc_alloc_array(m->f.thread, m->f.cells, object->length);
	if (object->is_node)
		((struct node *)actual)->value = object->id;
	m->roots[root] = place + 1;
	*root_slot(m, root) = actual;
}

/* Follows references from a random root for some steps: a random reachable object. */
static uint32_t walk(struct model *m, void **actual)
{
	uint32_t root = (uint32_t)pick(m, N_ROOTS);
	uint32_t reference = m->roots[root];

	*actual = *root_slot(m, root);
	for (uint64_t steps = pick(m, 8); reference && steps; steps--) {
		const struct model_object *object = &m->objects[reference - 1];
		uint32_t item;

		if (!used_items(object))
			break;
		item = (uint32_t)pick(m, used_items(object));
		if (!object->items[item])
			break;
		reference = object->items[item];
		*actual = *item_slot(object, *actual, item);
	}
	return reference;
}

static void act_write(struct model *m)
{
	void *to, *value;
	uint32_t target = walk(m, &to), source = walk(m, &value);
	struct model_object *object;
	uint32_t item;

	if (!target || !used_items(&m->objects[target - 1]))
		return;
	object = &m->objects[target - 1];
	item = (uint32_t)pick(m, used_items(object));
	object->items[item] = source;
	gc_write(m->f.thread, to, item_slot(object, to, item), value);
}

static void act_drop(struct model *m)
{
	uint32_t root = (uint32_t)pick(m, N_ROOTS);

	m->roots[root] = 0;
	*root_slot(m, root) = NULL;
}

static void act_copy_root(struct model *m)
{
	uint32_t root = (uint32_t)pick(m, N_ROOTS);
	void *value;

	m->roots[root] = walk(m, &value);
	*root_slot(m, root) = value;
}

static void act_collect(struct model *m)
{
	bool full = pick(m, 3) == 0;
	struct gc_stats stats;

	gc_collect(m->f.thread, full ? GC_COLLECT_FULL : GC_COLLECT_MINOR);
	verify(m);
	gc_stats(m->f.heap, &stats);
	if (full)
		CHECK_EQ(stats.live_bytes, live_bytes(m));
	else
		CHECK(stats.live_bytes >= live_bytes(m));
}

static void act(struct model *m)
{
	uint64_t action = pick(m, 1000);

	if (action < 500)
		act_allocate(m);
	else if (action < 850)
		act_write(m);
	else if (action < 900)
		act_drop(m);
	else if (action < 990)
		act_copy_root(m);
	else
		act_collect(m);
}

static void run_model(const struct gc_options *options, uint64_t seed)
{
	struct model m = {.random = seed, .objects = calloc(MAX_OBJECTS, sizeof(*m.objects))};
	uint64_t seen = 0;

	CHECK(m.objects);
	fixture_open(&m.f, options);
	GC_FRAME(m.f.thread, frame, 0, struct cells * roots[N_FRAME_ROOTS];);
	m.frame = frame.root.roots;
	for (uint32_t i = N_FRAME_ROOTS; i < N_ROOTS; i++)
		CHECK_EQ(gc_root_add(m.f.heap, &m.globals[i]), 0);
	for (int step = 0; step < STEPS; step++) {
		act(&m);
		if (heap_cycle(m.f.heap) != seen) {
			verify(&m);
			seen = heap_cycle(m.f.heap);
		}
	}
	CHECK(seen > 50);
	GC_FRAME_END(m.f.thread, frame);
	fixture_close(&m.f);
	free(m.objects);
}

TEST(gc_model_small_nursery)
{
	struct gc_options options = small_options();

	options.nursery_size = 16 << 10;
	options.buffer_size = 1 << 10;
	options.large_size = 4 << 10;
	options.min_heap = 64 << 10;
	run_model(&options, test_seed());
}

TEST(gc_model_usual_sizes)
{
	struct gc_options options = small_options();

	run_model(&options, test_seed());
}

TEST(gc_model_while_sampling)
{
	struct gc_options options = small_options();

	options.sampling.always_sample = 1;
	options.sampling.period = 1024;
	run_model(&options, test_seed());
}
