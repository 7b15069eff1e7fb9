/* SPDX-License-Identifier: BSD-2-Clause */
/* findings.c: the causes of lost time, ranked by what a change could give back. */
/*
 * Each kind of finding_kinds.def offers candidates, with the time that is lost by them. What is
 * below 3 % of the time of threads that do something is not worth a developer's time. The rest is
 * ranked by time lost times certainty, and the first few are shown.
 */
#include "findings.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../world/arena.h"
#include "../world/world.h"
#include "finding.h"

#define SHARE_MIN 0.03 /* of the time of threads that do something */
#define WALL_MIN  0.01 /* of the wall time: of what mostly waits nothing is lost */
#define LOST_MIN  20e6 /* ns: some timer samples */
enum { CANDIDATES_MAX = 2 * FINDING_KINDS, OF_A_KIND = 2 };

struct ranked {
	enum finding_kind kind;
	double rank;
	uint32_t function;
	bool repeated; /* a better one says the same */
	struct model_finding row;
};

struct ranking {
	struct ranked items[CANDIDATES_MAX];
	size_t count;
};

static const struct {
	const char *name;
	double certainty;
	find_candidate *find;
} kinds[] = {
#define FINDING(kind, certainty, doc) {#kind, certainty, find_##kind},
#include "finding_kinds.def"
};

enum { TEXTS = 4 };

static const char *keep_text(struct arena *arena, char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	char *kept = size ? arena_alloc(arena, size) : NULL;

	if (kept)
		memcpy(kept, text, size);
	free(text);
	return kept;
}

static void add_candidate(struct ranking *ranking, const struct evidence *evidence,
			  enum finding_kind kind, const struct candidate *candidate,
			  const char *const texts[TEXTS])
{
	const struct place *place = candidate->place;
	struct ranked *item = &ranking->items[ranking->count];
	const struct model_function *rows = evidence->functions;

	if (candidate->lost_ns < SHARE_MIN * evidence->busy_ns ||
	    (candidate->lost_ns < LOST_MIN && kind != FOUND_died) ||
	    (candidate->lost_ns < WALL_MIN * (double)evidence->model->run.wall &&
	     kind != FOUND_heap_grows) ||
	    ranking->count == CANDIDATES_MAX)
		return;
	*item = (struct ranked){
		.kind = kind,
		.rank = candidate->lost_ns * kinds[kind].certainty,
		.function = place ? place->function : 0,
		.row = {.kind = kinds[kind].name,
			.text = texts[0],
			.evidence = texts[1],
			.remedy = texts[2],
			.command = texts[3],
			.time_lost_ns = candidate->lost_ns,
			.share = fmin(candidate->lost_ns / evidence->busy_ns, 1)},
	};
	if (place && place->function)
		item->row.function = rows[place->function - 1].name;
	if (place && place->function && place->caller)
		item->row.called_by = rows[place->caller - 1].name;
	ranking->count++;
}

/* 1: found, 0: no more, -ENOMEM. */
static int look(struct ranking *ranking, const struct evidence *evidence, struct arena *arena,
		enum finding_kind kind, unsigned n)
{
	char *buffers[TEXTS] = {NULL};
	const char *texts[TEXTS] = {NULL};
	size_t sizes[TEXTS];
	struct candidate candidate = {0};
	FILE **files[TEXTS] = {&candidate.text, &candidate.evidence, &candidate.remedy,
			       &candidate.command};
	bool opened = true, found;

	for (int i = 0; i < TEXTS; i++)
		opened &= (*files[i] = open_memstream(&buffers[i], &sizes[i])) != NULL;
	found = opened && kinds[kind].find(evidence, n, &candidate);
	for (int i = 0; i < TEXTS; i++) {
		opened &= *files[i] && fclose(*files[i]) == 0;
		texts[i] = keep_text(arena, buffers[i]);
		opened &= texts[i] != NULL;
	}
	if (opened && found)
		add_candidate(ranking, evidence, kind, &candidate, texts);
	return opened ? found : -ENOMEM;
}

/* Kinds of which one is the other seen from another side: only the greater of them is shown. */
static bool is_alike(const struct ranked *a, const struct ranked *b)
{
	static const uint8_t families[FINDING_KINDS] = {
		[FOUND_no_room] = 1,       [FOUND_heap_grows] = 1,  [FOUND_large] = 1,
		[FOUND_explicit] = 1,      [FOUND_collections] = 1, [FOUND_premature] = 1,
		[FOUND_small_nursery] = 1, [FOUND_pauses] = 1,      [FOUND_many_calls] = 2,
		[FOUND_failing_calls] = 2, [FOUND_slow_call] = 2,   [FOUND_repeated] = 3,
		[FOUND_slow_way] = 3,      [FOUND_matching] = 3,    [FOUND_queries] = 3,
		[FOUND_copying] = 3,       [FOUND_errors] = 3,      [FOUND_spinning] = 2,
		[FOUND_processes] = 2,
	};

	/* What makes the heap grow may cost little of what collections do. */
	bool grows = a->kind == FOUND_heap_grows || b->kind == FOUND_heap_grows;

	return families[a->kind] && families[a->kind] == families[b->kind] &&
	       (a->function == b->function || (families[a->kind] == 1 && !grows));
}

/* Whether a better one says the same. A place alone says less than whatever is found there. */
static bool is_repeated(const struct ranking *ranking, size_t i)
{
	const struct ranked *item = &ranking->items[i];

	for (size_t j = 0; j < ranking->count; j++) {
		const struct ranked *other = &ranking->items[j];

		if (item->kind == FOUND_hot && j != i && other->function == item->function)
			return true;
		if (j < i && !other->repeated && is_alike(other, item))
			return true;
	}
	return false;
}

/* What others take comes first only if it is more than what the program loses by itself. */
static void rank_others(struct ranking *ranking)
{
	double own = 0, most = 0, least = HUGE_VAL;

	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranked *item = &ranking->items[i];

		if (item->kind == FOUND_no_cpu || item->kind == FOUND_hot)
			continue;
		own += item->row.time_lost_ns;
		most = fmax(most, item->rank);
		least = fmin(least, item->rank);
	}
	for (size_t i = 0; i < ranking->count; i++) {
		struct ranked *item = &ranking->items[i];

		if (item->kind == FOUND_no_cpu && own > 0)
			item->rank = item->row.time_lost_ns > own ? most * 1.01 : least * 0.99;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return (int)x->kind - (int)y->kind;
}

int findings_make(const struct evidence *evidence, struct arena *arena, struct model_finding *out,
		  size_t *n)
{
	struct ranking *ranking = calloc(1, sizeof(*ranking));
	int found = ranking ? 0 : -ENOMEM;

	*n = 0;
	for (int kind = 0; kind < FINDING_KINDS && found >= 0; kind++) {
		found = 1;
		for (unsigned i = 0; i < OF_A_KIND && found == 1; i++)
			found = look(ranking, evidence, arena, (enum finding_kind)kind, i);
	}
	if (found >= 0) {
		rank_others(ranking);
		qsort(ranking->items, ranking->count, sizeof(*ranking->items), by_rank);
		for (size_t i = 0; i < ranking->count && *n < FINDINGS_SHOWN; i++) {
			ranking->items[i].repeated = is_repeated(ranking, i);
			if (!ranking->items[i].repeated)
				out[(*n)++] = ranking->items[i].row;
		}
	}
	free(ranking);
	return found < 0 ? found : 0;
}

static bool is_for_process(const struct place *place)
{
	return place->class == CALL_CHILD || place->class == CALL_PIPE;
}

/* Of a call that is more than a wait for work. */
static double blocked(const struct evidence *evidence, const struct place *place)
{
	bool waits = place->class == CALL_DISK || place->class == CALL_PEER ||
		     place->class == CALL_FILE_LOCK || place->class == CALL_FAULT;
	const struct pattern *pattern = place->pattern;

	if (pattern && (pattern->class == PATTERN_LOCK || pattern->class == PATTERN_GIL))
		waits |= place->class == CALL_FUTEX;
	return place->call && waits && is_placed(evidence, place)
		       ? fmax(place->call_ns - place->call_cpu_ns, 0)
		       : 0;
}

/* The same for other processes, whose work is recorded as well. */
static double for_process(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->call && place->function && is_for_process(place) ? place->call_ns : 0;
}

static double children_ns(const struct tasks *tasks)
{
	double sum = 0;

	for (uint64_t id = 1; id < tasks->threads.limit; id++) {
		const struct thread *thread = tasks_find_thread(tasks, id);
		const struct process *process = thread ? tasks_find_process(tasks, thread->process)
						       : NULL;

		if (process && tasks_find_process(tasks, process->parent))
			sum += (double)(thread->accounted ? thread->used_ns : thread->cpu_ns) +
			       (double)thread->queued_ns;
	}
	return sum;
}

int findings_finish(struct own_places *places, struct world *world)
{
	struct model *model = world->model;
	struct evidence evidence = {.model = model,
				    .functions = world->functions.rows,
				    .n_functions = world->functions.n_rows};
	int err;

	if (model->filter || world->filtered)
		return 0;
	err = own_places_finish(places, world);
	model->findings = arena_alloc(model->arena, FINDINGS_SHOWN * sizeof(*model->findings));
	if (err || !model->findings)
		return -ENOMEM;
	evidence.places = places->items;
	evidence.n_places = places->count;
	evidence.held = places->holders.items;
	evidence.n_held = places->holders.count;
	evidence.last = places->last ? &places->items[places->last] : NULL;
	evidence.children_ns = children_ns(&world->tasks);
	evidence.busy_ns = cpu_of(&evidence) + places_sum(&evidence, blocked) +
			   fmax(places_sum(&evidence, for_process) - evidence.children_ns, 0);
	return evidence.busy_ns > 0
		       ? findings_make(&evidence, model->arena, model->findings, &model->n_findings)
		       : 0;
}
