/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof.c: exports to pprof: allocation, memory in use, times and page faults in one file. */
#include "pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../model/figures.h"
#include "../../model/system/waits.h"
#include "../../model/world/allocating.h"

enum { COMMENTS_MAX = 40 };

/* Without the streams that it needs, a value is left out. */
static const struct {
	const char *type, *unit;
	uint32_t needs;
} values[PPROF_VALUES] = {
	[PPROF_ALLOC_OBJECTS] = {"alloc_objects", "count", NEEDS_ALLOC},
	[PPROF_ALLOC_SPACE] = {"alloc_space", "bytes", NEEDS_ALLOC},
	[PPROF_INUSE_OBJECTS] = {"inuse_objects", "count", NEEDS_ALLOC},
	[PPROF_INUSE_SPACE] = {"inuse_space", "bytes", NEEDS_ALLOC},
	[PPROF_CPU] = {"cpu", "nanoseconds", NEEDS_NONE},
	[PPROF_GC_TIME] = {"gc_time", "nanoseconds", NEEDS_GC},
	[PPROF_OFF_CPU] = {"off_cpu", "nanoseconds", NEEDS_SCHED},
	[PPROF_FAULTS] = {"faults", "count", NEEDS_FAULT},
};

static bool is_known(const struct model *model, int value)
{
	bool alive = value == PPROF_INUSE_OBJECTS || value == PPROF_INUSE_SPACE;

	return model_has(model, values[value].needs) &&
	       (!alive || model->alloc.live_known || model->heap.n_rows);
}

/* --- collecting ---------------------------------------------------------------------- */

static struct pprof_sum *sum_of(struct pprof *pprof, const struct pprof_key *key)
{
	bool added;
	uint64_t *index = map_put(pprof->index, key, &added);

	if (!index || array_reserve(&pprof->sums, &pprof->sums_capacity, pprof->n_sums,
				    sizeof(*pprof->sums)) < 0)
		return NULL;
	if (added) {
		*index = pprof->n_sums;
		pprof->sums[pprof->n_sums++].key = *key;
	}
	return &pprof->sums[*index];
}

static uint32_t known_stack(const struct world *world, uint64_t stack)
{
	return tree_node(&world->tree, stack) ? (uint32_t)stack : 0;
}

static int take_cpu(struct pprof *pprof, const struct world *world, const struct record_cpu *record)
{
	struct pprof_key key = {.stack = known_stack(world, record->stack),
				.thread = (uint32_t)record->thread};
	struct pprof_sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	sum->values[PPROF_CPU] += (double)record->ns;
	return 0;
}

static int take_wait(struct pprof *pprof, const struct world *world,
		     const struct record_wait *record)
{
	struct pprof_key key = {.stack = known_stack(world, record->stack),
				.thread = (uint32_t)record->thread};
	struct pprof_sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	sum->values[PPROF_OFF_CPU] += (double)record->duration + (double)record->held_ns;
	return 0;
}

static int take_fault(struct pprof *pprof, const struct world *world,
		      const struct record_fault *record)
{
	struct pprof_key key = {.stack = known_stack(world, record->stack),
				.thread = (uint32_t)record->thread};
	struct pprof_sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	sum->values[PPROF_FAULTS] += (double)(record->minor + record->major);
	return 0;
}

/* Faults and waits without a record. */
static int take_usage(struct pprof *pprof, const struct world *world,
		      const struct record_usage *record)
{
	struct record_fault faults = faults_unrecorded(world, record);
	int err = faults.minor || faults.major ? take_fault(pprof, world, &faults) : 0;

	for (unsigned reason = 0; reason < WAIT_KINDS && !err; reason++) {
		struct record_wait rest = waits_unrecorded(world, record, reason);

		err = rest.held_ns ? take_wait(pprof, world, &rest) : 0;
	}
	return err;
}

static int take_alloc(struct pprof *pprof, const struct world *world, const struct event *event)
{
	const struct record_alloc *record = &event->record->alloc;
	double p = sample_probability(record->size, record->period);
	struct pprof_key key = {.stack = known_stack(world, record->stack),
				.thread = (uint32_t)record->thread,
				.type = (uint32_t)event->type,
				.allocates = 1};
	struct pprof_sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	sum->values[PPROF_ALLOC_OBJECTS] += 1 / p;
	sum->values[PPROF_ALLOC_SPACE] += (double)record->size / p;
	return 0;
}

static int record(struct model_observer *observer, const struct world *world,
		  const struct event *event)
{
	struct pprof *pprof = (struct pprof *)observer;
	const struct record *record = event->record;

	if (record->kind == RECORD_cpu)
		return take_cpu(pprof, world, &record->cpu);
	if (record->kind == RECORD_wait)
		return take_wait(pprof, world, &record->wait);
	if (record->kind == RECORD_fault)
		return take_fault(pprof, world, &record->fault);
	if (record->kind == RECORD_usage)
		return take_usage(pprof, world, &record->usage);
	if (record->kind == RECORD_alloc)
		return take_alloc(pprof, world, event);
	return 0;
}

static int live(struct model_observer *observer, const struct model_live *live)
{
	struct pprof *pprof = (struct pprof *)observer;
	struct pprof_key key = {.stack = live->stack,
				.thread = live->thread,
				.process = live->thread ? 0 : live->process,
				.type = live->type,
				.allocates = live->type != 0};
	struct pprof_sum *sum = sum_of(pprof, &key);

	if (!sum)
		return -ENOMEM;
	sum->values[PPROF_INUSE_OBJECTS] += live->objects;
	sum->values[PPROF_INUSE_SPACE] += live->bytes;
	return 0;
}

/* --- writing ------------------------------------------------------------------------- */

static void put_sample(struct pprof *pprof, const struct world *world, const struct pprof_sum *sum,
		       Perftools__Profiles__Label **labels, size_t n_labels)
{
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	Perftools__Profiles__Sample sample = PERFTOOLS__PROFILES__SAMPLE__INIT;
	Perftools__Profiles__Sample *samples[] = {&sample};
	uint64_t locations[STACK_NODES_MAX + 1];
	int64_t numbers[PPROF_VALUES];
	uint32_t stack = sum->key.stack;
	bool any = false;

	if (sum->key.allocates)
		stack = allocating_stack(&world->tree, stack);
	stack = tree_shown(&world->tree, stack);
	for (const struct stack *node = tree_node(&world->tree, stack); node;
	     node = tree_node(&world->tree, node->parent))
		locations[sample.n_location_id++] = node->frame;
	for (int i = 0; i < PPROF_VALUES; i++) {
		if (!is_known(world->model, i))
			continue;
		numbers[sample.n_value] = llround(sum->values[i]);
		any |= numbers[sample.n_value++] != 0;
	}
	sample.location_id = locations;
	sample.value = numbers;
	sample.label = labels;
	sample.n_label = n_labels;
	profile.sample = samples;
	profile.n_sample = 1;
	if (any)
		pprof_put(pprof, &profile);
}

/* A label with a number or a text; false: it has neither. */
static bool fill_label(struct pprof *pprof, const char *key, const char *text, uint64_t number,
		       Perftools__Profiles__Label *label)
{
	if (!text && !number)
		return false;
	perftools__profiles__label__init(label);
	label->key = pprof_string(pprof, key);
	if (text)
		label->str = pprof_string(pprof, text);
	else
		label->num = (int64_t)number;
	return true;
}

static const char *named(const char *name)
{
	return name ? name : "(no name)";
}

static void put_sum(struct pprof *pprof, const struct world *world, const struct pprof_sum *sum)
{
	const struct pprof_key *of = &sum->key;
	const struct thread *thread = of->thread ? tasks_find_thread(&world->tasks, of->thread)
						 : NULL;
	const struct process *process =
		tasks_find_process(&world->tasks, thread ? thread->process : of->process);
	const struct {
		const char *key, *text;
		uint64_t number;
	} facts[] = {
		{"thread", thread ? named(thread->name) : NULL, 0},
		{"tid", NULL, thread ? thread->tid : 0},
		{"process", named(process->name), 0},
		{"pid", NULL, process->pid},
		{"type", of->type ? world->types.items[of->type].name : NULL, 0},
	};
	Perftools__Profiles__Label labels[sizeof(facts) / sizeof(*facts)],
		*list[sizeof(facts) / sizeof(*facts)];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		list[count] = &labels[count];
		count += fill_label(pprof, facts[i].key, facts[i].text, facts[i].number,
				    &labels[count]);
	}
	put_sample(pprof, world, sum, list, count);
}

/* Collection time is charged to stacks; it is not known per thread or type. */
static void put_gc_time(struct pprof *pprof, const struct world *world)
{
	struct pprof_sum rest = {.values = {
					 [PPROF_GC_TIME] = world->model->gc.unattributed_ns,
					 [PPROF_CPU] = (double)world->model->cpu.no_samples_ns,
				 }};

	for (size_t i = 0; i < world->tree.n_costs; i++) {
		const struct cost *cost = &world->tree.costs[i];
		double gc_ns = tree_life_of(&world->tree, cost)->gc_ns;
		struct pprof_sum sum = {.key = {.stack = cost->stack, .allocates = 1},
					.values = {[PPROF_GC_TIME] = gc_ns}};

		put_sample(pprof, world, &sum, NULL, 0);
	}
	put_sample(pprof, world, &rest, NULL, 0);
}

static int64_t runtime_comment(struct pprof *pprof, const struct model_runtime *row)
{
	char text[256];

	snprintf(text, sizeof(text), "%s of process %" PRIu64 ": %s %s",
		 row->provider ? "provider" : "runtime", row->pid, row->name, row->version);
	return pprof_string(pprof, text);
}

static void put_head(struct pprof *pprof, const struct model *model)
{
	Perftools__Profiles__ValueType types[PPROF_VALUES], *list[PPROF_VALUES];
	PprofProfile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint64_t frequency = model->run.frequency;
	int64_t comments[COMMENTS_MAX];
	size_t n = 0, n_types = 0;

	/* The string table must begin with an empty string. */
	pprof_string(pprof, "");
	for (int i = 0; i < PPROF_VALUES; i++) {
		if (!is_known(model, i))
			continue;
		perftools__profiles__value_type__init(&types[i]);
		types[i].type = pprof_string(pprof, values[i].type);
		types[i].unit = pprof_string(pprof, values[i].unit);
		list[n_types++] = &types[i];
	}
	comments[n++] =
		pprof_string(pprof, "recorded by gcprof; allocations are unbiased estimates");
	for (size_t i = 0; i < model->n_runtimes && n < COMMENTS_MAX; i++)
		comments[n++] = runtime_comment(pprof, &model->runtimes[i]);
	profile.sample_type = list;
	profile.n_sample_type = n_types;
	profile.default_sample_type = types[PPROF_CPU].type;
	profile.period_type = &types[PPROF_CPU];
	profile.period = frequency ? llround(1e9 / (double)frequency) : 0;
	profile.time_nanos = (int64_t)model->run.realtime;
	profile.duration_nanos = (int64_t)model->run.duration;
	profile.comment = comments;
	profile.n_comment = n;
	pprof_put(pprof, &profile);
}

static int finish(struct model_observer *observer, const struct world *world)
{
	struct pprof *pprof = (struct pprof *)observer;

	put_head(pprof, world->model);
	pprof_put_tables(pprof, world);
	for (size_t i = 0; i < pprof->n_sums; i++)
		put_sum(pprof, world, &pprof->sums[i]);
	put_gc_time(pprof, world);
	return 0;
}

static void free_job(struct export_job *job)
{
	struct pprof *pprof = (struct pprof *)job;

	map_free(pprof->index);
	map_free(pprof->strings);
	free(pprof->sums);
	buffer_free(&pprof->packed);
	free(pprof);
}

static int create(struct export_job **out)
{
	struct pprof *pprof = calloc(1, sizeof(*pprof));

	if (!pprof)
		return -ENOMEM;
	pprof->job.observer = (struct model_observer){record, finish, live};
	pprof->job.free = free_job;
	pprof->index = map_create(sizeof(struct pprof_key));
	pprof->strings = map_create(MAP_STRING_KEYS);
	if (!pprof->index || !pprof->strings) {
		free_job(&pprof->job);
		return -ENOMEM;
	}
	*out = &pprof->job;
	return 0;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.suffix = ".pb.gz",
	.mark = OUTPUT_PACKED_MARK,
	.summary =
		"for go tool pprof: allocation, memory in use, CPU, collection and waiting time, "
		"page faults",
	.packed = true,
	.create = create,
};
