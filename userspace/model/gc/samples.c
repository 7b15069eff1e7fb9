/* SPDX-License-Identifier: BSD-2-Clause */
/* samples.c: sampled objects, from allocation to death. */
#include "samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../bpf/events.h"
#include "../../util/id_map.h"
#include "../world/world.h"
#include "causes.h"
#include "charges.h"
#include "pauses.h"
#include "spent.h"

int samples_init(struct samples *samples, struct world *world, struct pauses *pauses)
{
	*samples = (struct samples){.world = world, .old = {world, pauses}, .count = 1};
	samples->index = id_map_create();
	return samples->index ? 0 : -ENOMEM;
}

void samples_free(struct samples *samples)
{
	free(samples->items);
	id_map_free(samples->index);
	charge_queue_free(&samples->queue);
}

/* Index of a new sample, 0: no memory. The entry stays free until .process is set. */
static uint32_t take_place(struct samples *samples)
{
	uint32_t number = samples->free;

	if (number) {
		samples->free = samples->items[number].next;
	} else {
		if (samples->count >= UINT32_MAX ||
		    array_reserve(&samples->items, &samples->capacity, samples->count,
				  sizeof(*samples->items)) < 0)
			return 0;
		number = (uint32_t)samples->count++;
	}
	samples->items[number] = (struct sample){0};
	return number;
}

static void drop(struct samples *samples, uint32_t number)
{
	struct sample *sample = &samples->items[number];

	if (id_map_get(samples->index, sample->process, sample->id) == number)
		id_map_remove(samples->index, sample->process, sample->id);
	sample->process = 0;
	sample->next = samples->free;
	samples->free = number;
}

static void note_birth(struct life *life, const struct record_alloc *record,
		       const struct sample *sample, double probability)
{
	if (!life->samples++)
		life->type = sample->type;
	life->mixed |= life->type != sample->type;
	tally_add(&life->bytes, (double)record->size, probability);
}

/*
 * Promotion was premature if the first major collection that began to mark afterwards found the
 * object dead: it outlived the nursery, but nothing shows that it lived longer. Without known
 * ages (0) the heap has no generations, and old means that an object survived its first cycle.
 * For foreign heaps it is unknown when they mark.
 */
static int die(struct samples *samples, const struct sample *sample, uint64_t age, bool freed)
{
	uint32_t markings = tasks_find_process(&samples->world->tasks, sample->process)->markings;
	bool premature = sample->old && age && !freed && !sample->foreign &&
			 markings <= sample->markings + 1;
	struct life *life = old_life_of_type(&samples->old, sample);
	uint32_t number = old_life_of_stack(&samples->old, sample);
	struct stack_old *old;

	if (age && stack_life_death(&samples->world->tree.lives, number, age, sample->bytes) < 0)
		return -ENOMEM;
	life->ages[age_class(age)] += age ? (float)sample->bytes : 0;
	if (!sample->old)
		return 0;
	old = stack_life_old(&samples->world->tree.lives, number);
	if (!old)
		return -ENOMEM;
	*(premature ? &life->premature_bytes : &life->old_bytes) += sample->bytes;
	*(premature ? &old->premature_bytes : &old->old_bytes) += sample->bytes;
	return 0;
}

/* Sums that do not depend on the outcome. */
static int count_sample(struct samples *samples, const struct record_alloc *record,
			const struct sample *sample)
{
	int64_t first =
		type_table_first(&samples->world->types, &samples->world->tasks, sample->type);
	struct model_alloc *alloc = &samples->world->model->alloc;
	struct type *type = &samples->world->types.items[sample->type];
	struct thread *thread = tasks_find_thread(&samples->world->tasks, record->thread);
	double p = samples->last_probability;

	if (first < 0)
		return -ENOMEM;
	tally_add(&samples->bytes, (double)record->size, p);
	object_tally_add(&samples->objects, record->size, record->period, p);
	tally_add(&type->bytes, (double)record->size, p);
	object_tally_add(&type->objects, record->size, record->period, p);
	type->samples++;
	stack_life_birth(&samples->world->tree.lives, old_life_of_stack(&samples->old, sample),
			 (uint32_t)first, record->size, p);
	note_birth(old_life_of_type(&samples->old, sample), record, sample, p);
	tally_add(&thread->alloc, (double)record->size, p);
	tally_add(&timeline_at(&samples->world->timeline, record->time)->alloc,
		  (double)record->size, p);
	thread->alloc_samples++;
	thread->alloc_bytes += sample->bytes;
	alloc->samples++;
	alloc->typed |= record->type != 0;
	alloc->collected |= !sample->manual || sample->tracked;
	if (!alloc->period)
		alloc->period = record->period;
	if (alloc->samples == 1 || record->period < alloc->period_min)
		alloc->period_min = record->period;
	if (record->period > alloc->period_max)
		alloc->period_max = record->period;
	return runtimes_sampled(&samples->world->runtimes, sample->process, record->sample,
				record->period);
}

/* Unfreed bytes are a value at a point in time. */
static void count_unfreed(struct samples *samples, const struct sample *sample, double bytes,
			  uint64_t time)
{
	if (sample->type == TYPE_UNSELECTED)
		return;
	samples->unfreed += bytes;
	timeline_at(&samples->world->timeline, time)->unfreed_bytes =
		(uint64_t)fmax(samples->unfreed, 0);
}

static double probability_of(struct samples *samples, const struct record_alloc *record)
{
	if (record->size != samples->last_size || record->period != samples->last_period ||
	    samples->last_probability <= 0) {
		samples->last_size = record->size;
		samples->last_period = record->period;
		samples->last_probability = sample_probability(record->size, record->period);
	}
	return samples->last_probability;
}

int samples_alloc(struct samples *samples, const struct event *event)
{
	const struct record_alloc *record = &event->record->alloc;
	struct thread *thread = tasks_find_thread(&samples->world->tasks, record->thread);
	struct process *process;
	uint32_t *place;
	struct sample *sample;
	int64_t cost, type, real;
	uint32_t number;

	if (!thread)
		return -EBADMSG;
	process = tasks_find_process(&samples->world->tasks, thread->process);
	cost = tree_cost(&samples->world->tree, record->stack);
	type = real = type_table_number(&samples->world->types, thread->process, record->type);
	/* It is charged like the others, but to a cost and a type that are not shown. */
	if (!event->selected) {
		cost = tree_unselected(&samples->world->tree);
		type = TYPE_UNSELECTED;
	}
	place = id_map_put(samples->index, thread->process, record->sample);
	if (cost < 0 || type < 0 || !place || !tree_life(&samples->world->tree, (uint32_t)cost))
		return -ENOMEM;
	/* A library that is loaded again numbers its samples from 1. From then on the number is
	 * that of the new sample, and the outcome of the old one stays unknown. */
	number = take_place(samples);
	if (!number)
		return -ENOMEM;
	*place = number;
	sample = &samples->items[number];
	sample->id = record->sample;
	sample->probability = (float)probability_of(samples, record);
	sample->bytes = (double)record->size / samples->last_probability;
	sample->cost = (uint32_t)cost;
	sample->type = (uint32_t)type;
	sample->real = (uint32_t)real;
	sample->process = thread->process;
	sample->thread = (uint32_t)record->thread;
	sample->foreign = record->kind >= GCPROF_SAMPLE_FOREIGN;
	sample->manual = record->kind == GCPROF_SAMPLE_MANUAL;
	/* Objects that the program frees are not part of any collection. */
	if (!sample->manual || tracked_alloc(samples->world, sample)) {
		sample->pending = 1;
		sample->next = process->charging.first_pending;
		process->charging.first_pending = number;
	}
	if (event->selected && count_sample(samples, record, sample) < 0)
		return -ENOMEM;
	if (sample->manual)
		count_unfreed(samples, sample, sample->bytes, record->time);
	return record->kind == GCPROF_SAMPLE_BORN_OLD ? old_begin(&samples->old, sample) : 0;
}

/* Survival depends only on the first outcome; later ones determine the age. */
static void first_fate(struct samples *samples, struct sample *sample, bool survived)
{
	struct type *type = &samples->world->types.items[sample->type];
	struct stack_life *life =
		&samples->world->tree.lives.items[old_life_of_stack(&samples->old, sample)];
	double size = sample->bytes * (double)sample->probability;

	sample->fated = 1;
	type->fates++;
	samples->world->model->alloc.fates++;
	share_add(&type->survived, survived, sample->probability);
	share_add_amount(&type->life.survived, survived, size, sample->probability);
	share_add_amount(&life->survived, survived, size, sample->probability);
}

/* At the end of its cycle, or soon after it. */
static void promote(struct samples *samples, struct sample *sample)
{
	const struct charging *charging =
		&tasks_find_process(&samples->world->tasks, sample->process)->charging;

	if (sample->pending)
		sample->promoted = 1;
	else if (sample->charge >= charging->first_charge && sample->charge)
		charge_queue_promote(&samples->queue, sample->charge);
}

/* Charges the object with the collection that is in progress. */
static int charge_ahead(struct samples *samples, const struct sample *sample, bool copied)
{
	double amount = sample->tracked ? tracked_garbage(sample) : fmax(sample->bytes, 1);
	const struct charge charge = {.cost = sample->cost,
				      .type = sample->type,
				      .promoted = copied,
				      .again = copied,
				      .bytes = (float)amount};

	return charge_queue_ahead(&samples->queue, sample->process, copied, &charge);
}

/* A collection has copied an old object, too, or one again. */
static int copy(struct samples *samples, struct sample *sample, bool minor)
{
	int err = old_begin(&samples->old, sample);

	return err || !minor ? err : charge_ahead(samples, sample, true);
}

/* A major collection that moves an object to an unknown place has found it alive. */
static int lose(struct samples *samples, struct sample *sample, bool replaced, bool minor)
{
	int err = sample->old && !replaced && !minor ? charge_ahead(samples, sample, false) : 0;

	old_lose(&samples->old, sample, replaced);
	return err;
}

int samples_fate(struct samples *samples, const struct record_fate *record)
{
	uint32_t number = id_map_get(samples->index, record->process, record->sample);
	bool lives = record->outcome == GCPROF_PROMOTED || record->outcome == GCPROF_PINNED;
	bool freed = record->outcome == GCPROF_FREED;
	bool lost = record->outcome == GCPROF_UNKNOWN || record->outcome == GCPROF_REPLACED;
	struct process *process;
	struct sample *sample;
	bool minor;

	if (record->outcome < GCPROF_DIED_YOUNG || record->outcome > GCPROF_REPLACED)
		return -EBADMSG;
	/* Outcomes are normal for objects whose sample was lost or is older than the recording. */
	if (!number)
		return 0;
	sample = &samples->items[number];
	if (sample->dead)
		return 0;
	process = tasks_find_process(&samples->world->tasks, record->process);
	process->outcomes |= !lost;
	minor = process->last_gc == GCPROF_GC_MINOR;
	if (freed && !sample->manual)
		process->frees = true;
	if (freed && sample->manual)
		count_unfreed(samples, sample, -sample->bytes, record->time);
	/* Without a collector there is no collection that the object could have survived. */
	if (record->outcome == GCPROF_COPIED)
		return copy(samples, sample, minor);
	if (!sample->fated && record->outcome != GCPROF_DIED_OLD && !(freed && sample->foreign) &&
	    !lost)
		first_fate(samples, sample, lives);
	if (record->outcome == GCPROF_PROMOTED)
		promote(samples, sample);
	sample->kept |= lives;
	if (lives)
		return old_begin(&samples->old, sample);
	if (lost ? lose(samples, sample, record->outcome == GCPROF_REPLACED, minor)
		 : die(samples, sample, record->age, freed))
		return -ENOMEM;
	old_end(&samples->old, sample);
	if (sample->tracked && tracked_end(samples->world, sample) &&
	    charge_ahead(samples, sample, false) < 0)
		return -ENOMEM;
	sample->dead = 1;
	if (!sample->pending)
		drop(samples, number);
	return 0;
}

int samples_pending(const struct samples *samples, uint64_t process, struct causes *causes)
{
	const struct charging *charging =
		&tasks_find_process(&samples->world->tasks, process)->charging;
	const struct sample *sample;

	for (uint32_t number = charging->first_pending; number; number = sample->next) {
		sample = &samples->items[number];
		if (sample->type != TYPE_UNSELECTED &&
		    causes_add(causes, sample->cost, sample->type, sample->bytes,
			       sample->kept ? sample->bytes : 0) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Learns from collections whose promoted bytes are those of their samples. */
static void observe(struct samples *samples, size_t i, size_t n)
{
	const struct queued_gc all = charge_queue_sum(&samples->queue, i, n);

	if (all.minor && !all.measured && all.pauses)
		charging_observe(&tasks_find_process(&samples->world->tasks, all.process)->charging,
				 all.pauses, all.promoted_bytes, all.pause_ns);
}

static void split(struct samples *samples, size_t i, size_t n)
{
	const struct process *process =
		tasks_find_process(&samples->world->tasks, samples->queue.gcs[i].process);
	const struct minor_cost cost = charging_cost(&process->charging, spent_copying(process));

	charge_queue_split(&samples->queue, i, n, &cost, samples->world);
}

/* Settles all queued collections. Before the end, nothing is known from stacks. */
static void settle_all(struct samples *samples)
{
	struct charge_queue *queue = &samples->queue;

	/* All outcomes are known. */
	for (size_t i = 0; i < queue->n_gcs; i++)
		if (queue->gcs[i].minor && !queue->gcs[i].measured)
			charge_queue_estimate(queue, &queue->gcs[i]);
	charge_queue_sort(queue);
	for (size_t i = 0, n; i < queue->n_gcs; i += n) {
		n = charge_queue_group(queue, i);
		observe(samples, i, n);
	}
	for (size_t i = 0, n; i < queue->n_gcs; i += n) {
		n = charge_queue_group(queue, i);
		split(samples, i, n);
	}
	charge_queue_clear(queue);
}

/* Adds charges for the samples of the current cycle; `end` also ends the cycle. */
static int charge_cycle(struct samples *samples, struct charging *charging, struct queued_gc *gc,
			bool end)
{
	uint32_t next;

	if (end)
		charging->first_charge = charge_queue_next(&samples->queue);
	for (uint32_t number = charging->first_pending; number; number = next) {
		struct sample *sample = &samples->items[number];
		struct charge charge = {.cost = sample->cost,
					.type = sample->type,
					.promoted = sample->promoted,
					.bytes = (float)fmax(sample->bytes, 1)};
		bool charged = true;

		next = sample->next;
		if (sample->tracked && end)
			charged = tracked_charge(samples->world, sample, &charge);
		gc->tracked |= sample->tracked;
		if (charged && charge_queue_add(&samples->queue, &charge) < 0)
			return -ENOMEM;
		gc->n_charges += charged;
		if (!end)
			continue;
		sample->charge = charge_queue_next(&samples->queue) - 1;
		sample->pending = 0;
		if (sample->dead)
			drop(samples, number);
	}
	if (end)
		charging->first_pending = 0;
	return 0;
}

/* After its charges. */
static int add_collection(struct samples *samples, const struct queued_gc *gc)
{
	struct charge_queue *queue = &samples->queue;

	if (charge_queue_add_gc(queue, gc) < 0)
		return -ENOMEM;
	if (queue->n_charges > CHARGE_QUEUE_MAX || queue->n_gcs > CHARGE_QUEUE_MAX)
		settle_all(samples);
	return 0;
}

static int charge_samples(struct samples *samples, const struct collection *collection)
{
	struct charge_queue *queue = &samples->queue;
	struct charging *charging =
		&tasks_find_process(&samples->world->tasks, collection->process)->charging;
	struct queued_gc gc = {.process = (uint32_t)collection->process,
			       .minor = collection->minor,
			       .first = queue->n_charges,
			       .pauses = (uint32_t)collection->count,
			       .pause_ns = (double)collection->pause_ns};

	/* Only minor collections copy. */
	if (collection->minor && collection->has_stats) {
		gc.measured = true;
		gc.promoted_bytes = (double)collection->promoted_bytes;
	}
	if (collection->timed && !charging->first_pending) {
		charging->carried += gc.pauses;
		charging->carried_ns += gc.pause_ns;
		charging->carried_bytes += gc.promoted_bytes;
		return 0;
	}
	if (charge_cycle(samples, charging, &gc, collection->minor) < 0)
		return -ENOMEM;
	if (collection->timed) {
		gc.pauses += charging->carried;
		gc.pause_ns += charging->carried_ns;
		gc.promoted_bytes += charging->carried_bytes;
		charging->carried = 0;
		charging->carried_ns = charging->carried_bytes = 0;
	}
	return collection->timed ? add_collection(samples, &gc) : 0;
}

int samples_cycle_over(struct samples *samples, const struct record_gc_cycle *record)
{
	struct process *process = tasks_find_process(&samples->world->tasks, record->process);
	struct charging *charging = &process->charging;
	/* In a heap with a nursery, the next minor collection processes the pending ones. */
	bool ends = !process->has_minors && charging->first_pending;
	bool live = charging->live_count && charging->live_bytes > 0;
	double part = (double)record->span / (live && ends ? 2 : 1);
	struct queued_gc gc = {.process = (uint32_t)record->process,
			       .minor = true,
			       .measured = true,
			       .first = samples->queue.n_charges,
			       .pauses = 1,
			       .pause_ns = part};

	if (live)
		charging->level += part / charging->live_bytes;
	if (!ends)
		return 0;
	return charge_cycle(samples, charging, &gc, true) < 0 ? -ENOMEM
							      : add_collection(samples, &gc);
}

/* Charges a major collection to the objects that were lost in it, beside live ones. Returns their
 * bytes. */
static double charge_lost(struct samples *samples, const struct collection *collection, double live)
{
	struct queued_gc *gc = charge_queue_major(&samples->queue, collection->process);
	double lost = gc ? charge_queue_bytes(&samples->queue, gc) : 0;

	if (!gc)
		return 0;
	gc->pauses = (uint32_t)collection->count;
	gc->pause_ns = (double)collection->pause_ns * lost / (live + lost);
	return lost;
}

int samples_collected(struct samples *samples, const struct collection *collection)
{
	struct process *process = tasks_find_process(&samples->world->tasks, collection->process);
	struct charging *charging;
	double live, lost;

	if (!process)
		return -EBADMSG;
	charging = &process->charging;
	if (collection->timed && collection->minor && collection->has_stats)
		charging_observe(charging, (double)collection->count,
				 (double)collection->promoted_bytes, (double)collection->pause_ns);
	if (collection->timed && !collection->minor && charging->tracked >= 1) {
		lost = charge_lost(samples, collection, charging->tracked);
		tracked_full(charging, (double)collection->pause_ns * charging->tracked /
					       (charging->tracked + lost));
		return 0;
	}
	if (collection->timed && !collection->minor) {
		live = charging->live_count ? fmax(charging->live_bytes, 0) : 0;
		lost = charge_lost(samples, collection, live);
		if (live > 0)
			charging->level += (double)collection->pause_ns / (live + lost);
		if (live + lost > 0)
			return 0;
	}
	return charge_samples(samples, collection);
}

static double selected_live_bytes(const struct types *types)
{
	double live = 0;

	for (size_t i = 1; i < types->count; i++)
		live += i == TYPE_UNSELECTED ? 0 : fmax(types->items[i].live_bytes, 0);
	return live;
}

/* If the program frees its objects, those that were not freed are alive. */
static int mark_unfreed_live(struct samples *samples)
{
	int err = 0;

	for (size_t i = 1; i < samples->count && !err; i++) {
		struct sample *sample = &samples->items[i];

		if (sample->process && sample->foreign && !sample->dead &&
		    (sample->manual ||
		     tasks_find_process(&samples->world->tasks, sample->process)->frees))
			err = old_begin(&samples->old, sample);
	}
	return err;
}

/* Programs may keep a longer period than the one that was asked for. Those that are written exceed
 * it by their mark only (runtimes/runtime.h), unless they are changed. */
static void correct_period(struct model_alloc *alloc)
{
	enum { MARK = 64 };

	if (alloc->samples && !alloc->period_changes && alloc->period_min > alloc->period + MARK)
		alloc->period = alloc->period_min;
}

int samples_finish(struct samples *samples)
{
	struct model *model = samples->world->model;
	struct tally live = {0};

	correct_period(&model->alloc);
	settle_all(samples);
	for (size_t i = 1; i < samples->count; i++)
		if (samples->items[i].process && samples->items[i].walked)
			tracked_end(samples->world, &samples->items[i]);
	if (mark_unfreed_live(samples) < 0)
		return -ENOMEM;
	for (size_t i = 1; i < samples->count; i++)
		if (samples->items[i].process && samples->items[i].old)
			old_finish(&samples->old, &samples->items[i], &live);
	model->alloc.live_known = !model->alloc.samples ||
				  type_table_knows_lives(&samples->world->types);
	model->alloc.live = live.value > 0 ? tally_estimate(&live)
					   : estimate_of_nothing(model->alloc.period);
	for (uint64_t id = 1; id < samples->world->tasks.processes.limit; id++) {
		const struct process *process = tasks_find_process(&samples->world->tasks, id);

		if (process)
			model->alloc.live_bytes += fmax(process->charging.live_bytes, 0);
	}
	if (samples->world->filtered)
		model->alloc.live_bytes = selected_live_bytes(&samples->world->types);
	model->alloc.bytes = tally_estimate(&samples->bytes);
	model->alloc.objects = object_tally_estimate(&samples->objects);
	if (!model->alloc.samples) {
		model->alloc.bytes = estimate_of_nothing(model->alloc.period);
		/* Any number of tiny objects may be in those bytes. */
		model->alloc.objects = (struct estimate){0, 0, 0};
	}
	/* No more records follow, and the next steps need memory. */
	id_map_free(samples->index);
	samples->index = NULL;
	charge_queue_free(&samples->queue);
	return 0;
}
