/* SPDX-License-Identifier: BSD-2-Clause */
/* gc_actions_run.h: the second half of gc_actions.h: finalizers, threads, processes, the loop. */
#ifndef GCPROF_GC_ACTIONS_RUN_H
#define GCPROF_GC_ACTIONS_RUN_H

/* Inside a collection: nothing but the object may be looked at. */
static inline void actions_light(struct gc_thread *thread, void *actual, void *context)
{
	struct actions *a = actions_now;
	struct shadow *object = context;

	CHECK(!thread);
	if (!a)
		return; /* the heap is being destroyed */
	CHECK(object->used && object->light);
	CHECK_EQ(actions_id(object, actual), object->id);
	shadow_reach(&a->s, true);
	CHECK(!object->reached);
	object->light = false;
}

/* Outside of it: half of the objects come back to life, some time is spent with allocations. */
static inline void actions_ordered(struct gc_thread *thread, void *actual, void *context)
{
	struct actions *a = actions_now;
	struct shadow *object = context;
	uint32_t reference = (uint32_t)(object - a->s.objects) + 1;

	a->depth++;
	CHECK(object->used && object->ordered);
	shadow_reach(&a->s, false);
	CHECK(!object->reached);
	CHECK_EQ(actions_id(object, actual), object->id);
	object->ordered = false;
	/* Another thread may be the one that runs it: then nothing of ours is touched. */
	if (thread == a->s.f.thread && object->id % 2) {
		/* Weak references to what comes back with it were cleared. */
		shadow_forget_weak(&a->s);
		a->s.roots[object->id % ROOTS] = reference;
		a->s.slots[object->id % ROOTS] = actual;
		shadow_compare(&a->s);
	}
	for (uint64_t i = object->id % 5; i && thread == a->s.f.thread; i--)
		actions_new(a, SHADOW_BLOB, i * 300);
	a->depth--;
}

static inline void act_finalizer(struct actions *a)
{
	void *actual;
	uint32_t reference = actions_walk(a, &actual);
	struct shadow *object = reference ? shadow_at(&a->s, reference) : NULL;
	bool light = actions_byte(a) % 2;

	if (!object || object->light || object->ordered)
		return;
	CHECK_EQ(gc_finalizer_add(a->s.f.thread, actual,
				  light ? GC_FINALIZER_LIGHT : GC_FINALIZER_ORDERED,
				  light ? actions_light : actions_ordered, object),
		 0);
	object->light = light;
	object->ordered = !light;
}

static inline void *actions_other_thread(void *context)
{
	struct actions *a = context;
	struct oracle oracle = a->oracle;
	gc_type node = a->s.f.node;
	struct gc_thread *thread;

	oracle.on = false;
	CHECK_EQ(gc_thread_attach(a->s.f.heap, &thread), 0);
	oracle_attach(&oracle, thread);
	for (int i = 0; i < 300; i++) {
		if (gc_alloc(thread, node, sizeof(struct node)))
			oracle_charge(&oracle, a->s.f.heap, node, sizeof(struct node));
		oracle_check(&oracle, thread);
	}
	for (int i = 0; i < 8; i++)
		act_write(a, thread);
	gc_thread_detach(thread);
	oracle_check(&a->oracle, a->s.f.thread);
	return NULL;
}

/* Another thread comes, fills part of the nursery, stores references, and goes, while this one is
 * blocked. What wakes this one up tells it the sampler's news. */
static inline void act_thread(struct actions *a)
{
	pthread_t thread;

	gc_blocking_begin(a->s.f.thread);
	CHECK_EQ(pthread_create(&thread, NULL, actions_other_thread, a), 0);
	pthread_join(thread, NULL);
	oracle_settle(&a->oracle);
	gc_blocking_end(a->s.f.thread);
}

/* The child has all objects, goes on by itself, and says by its status whether that went well. */
static inline void act_fork(struct actions *a)
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (child) {
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		return;
	}
	/* Samples begin anew, at its first slow path, with random numbers of its own. */
	ledger_forked();
	a->oracle.on = false;
	oracle_reseed(&a->oracle, a->s.f.thread);
	oracle_settle(&a->oracle);
	gc_collect(a->s.f.thread, GC_COLLECT_MINOR);
	shadow_compare(&a->s);
	for (int i = 0; i < 100; i++)
		actions_new(a, SHADOW_BLOB, 200);
	gc_collect(a->s.f.thread, GC_COLLECT_FULL);
	shadow_compare(&a->s);
	_exit(0);
}

static inline int actions_refuse(void *context, struct gc_thread *thread, size_t size)
{
	struct actions *a = context;

	(void)thread;
	(void)size;
	a->refused = true;
	if (!a->s.roots[0])
		return 0;
	a->s.roots[0] = 0;
	a->s.slots[0] = NULL;
	return 1;
}

/* These take long. */
static inline void act_seldom(struct actions *a)
{
	uint32_t what = actions_byte(a);

	if (what < 16)
		act_thread(a);
	else if (what < 20 && a->limits->may_fork && !a->depth)
		act_fork(a);
}

static inline void act(struct actions *a)
{
	uint32_t action = actions_byte(a) % 64;

	if (action < 26)
		act_allocate(a);
	else if (action < 44)
		act_write(a, a->s.f.thread);
	else if (action < 48)
		act_copy(a);
	else if (action < 52)
		act_root(a);
	else if (action < 55)
		act_collect(a);
	else if (action == 55)
		act_pin(a);
	else if (action < 58)
		act_weak(a);
	else if (action == 58)
		act_hash(a);
	else if (action < 61)
		act_finalizer(a);
	else if (action == 61)
		act_sampler(a);
	else if (action == 62)
		gc_memory_pressure(a->s.f.thread, actions_byte(a) * 4096);
	else
		act_seldom(a);
}

static inline void actions_mix(struct actions *a)
{
	struct gc_stats stats;
	uint64_t words[6];

	gc_stats(a->s.f.heap, &stats);
	words[0] = stats.minor_collections;
	words[1] = stats.full_collections;
	words[2] = stats.steps;
	words[3] = stats.live_bytes;
	words[4] = stats.arena_bytes;
	words[5] = stats.large_bytes;
	for (int i = 0; i < 6; i++)
		a->digest = (a->digest ^ words[i]) * UINT64_C(0x100000001b3);
}

static inline void actions_observe(bool on)
{
#if GCPROF_NO_SAMPLING
	(void)on;
	(void)ledger_observe;
#else
	probe_observer = on ? ledger_observe : NULL;
#endif
}

static inline void actions_open(struct actions *a, enum actions_mode mode)
{
	static const uint32_t strides[] = {GCPROF_STRIDE_EVERY, GCPROF_STRIDE_FIXED,
					   GCPROF_STRIDE_EXPONENTIAL, GCPROF_STRIDE_EXPONENTIAL};
	static const uint32_t items[] = {0};
	struct gc_type_desc block = {.name = "block",
				     .size = sizeof(struct block),
				     .item_size = sizeof(void *),
				     .length_offset = offsetof(struct block, length),
				     .item_pointers = items,
				     .n_item_pointers = 1};
	struct gc_type_desc blob = {.name = "blob",
				    .size = sizeof(struct block),
				    .item_size = 1,
				    .length_offset = offsetof(struct block, length)};
	uint32_t settings = actions_byte(a), period = actions_byte(a);
	struct gc_options options = small_options();

	options.nursery_size = 16 << 10;
	options.buffer_size = 1 << 10;
	options.large_size = 4 << 10;
	options.min_heap = 32 << 10;
	options.growth = 1.1;
	options.stop_the_world = settings % 4 == 0;
	options.max_heap = settings / 4 % 4 ? 0 : 300 << 10;
	options.sampling.fixed_stride = strides[settings / 16 % 4];
	options.sampling.period = 1 + period * 8;
	options.sampling.ceiling = UINT64_MAX;
	options.sampling.seed = settings + 1;
	options.sampling.always_sample = mode != ACTIONS_UNSAMPLED;
	options.sampling.no_batching = mode != ACTIONS_BATCHED;
	options.sampling.gc_ceiling =
		UINT64_MAX; /* fates are compared with what is alive at that moment */
	actions_now = a;
	ledger_open(&a->s);
	actions_observe(options.sampling.always_sample);
	a->oracle.stride = options.sampling.fixed_stride;
	a->oracle.available = options.sampling.always_sample && !GCPROF_NO_SAMPLING;
	a->oracle.wanted = true;
	a->oracle.wanted_period = a->oracle.stride == GCPROF_STRIDE_EVERY ? 1
									  : options.sampling.period;
	fixture_open(&a->s.f, &options);
	oracle_attach(&a->oracle, a->s.f.thread);
	CHECK_EQ(gc_type_register(a->s.f.heap, &block, &a->s.block), 0);
	CHECK_EQ(gc_type_register(a->s.f.heap, &blob, &a->s.blob), 0);
	gc_on_out_of_memory(a->s.f.heap, actions_refuse, a);
}

static inline void actions_close(struct actions *a)
{
	for (uint32_t i = 0; i < WEAKS; i++)
		if (a->s.weaks[i].key)
			gc_weak_destroy(a->s.f.thread, a->s.weaks[i].weak);
	actions_now = NULL;
	ledger.shadows = NULL;
	fixture_close(&a->s.f);
	actions_observe(false);
}

/* Ends the process if anything is wrong. */
static inline struct actions_result actions_run(const uint8_t *data, size_t size,
						enum actions_mode mode,
						const struct actions_limits *limits)
{
	static struct actions a;
	uint64_t seen = 0;

	a = (struct actions){.data = data, .size = size, .limits = limits};
	actions_open(&a, mode);
	GC_FRAME(a.s.f.thread, frame, 0, void *slots[ROOTS];);
	a.s.slots = frame.root.slots;
	while (a.size) {
		act(&a);
		actions_mix(&a);
		if (heap_cycle(a.s.f.heap) != seen) {
			shadow_compare(&a.s);
			ledger_check_settled();
		}
		seen = heap_cycle(a.s.f.heap);
	}
	GC_FRAME_END(a.s.f.thread, frame);
	actions_close(&a);
	return (struct actions_result){a.digest, ledger_close()};
}

/* The collector does the same whether it samples or not, and samples are the same by the batch. */
static inline bool actions_agree(const uint8_t *data, size_t size,
				 const struct actions_limits *limits)
{
	struct actions_result off = actions_run(data, size, ACTIONS_UNSAMPLED, limits);
	struct actions_result one = actions_run(data, size, ACTIONS_SINGLE, limits);
	struct actions_result many = actions_run(data, size, ACTIONS_BATCHED, limits);

	return one.collections == off.collections && many.collections == off.collections &&
	       one.samples == many.samples;
}

#endif
