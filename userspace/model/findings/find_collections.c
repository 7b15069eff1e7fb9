/* SPDX-License-Identifier: BSD-2-Clause */
/* find_collections.c: what collections cost, and why there are so many. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../../gc/provider/probe_args.h"
#include "../../util/plural.h"
#include "../../util/units.h"
#include "../traits.h"
#include "finding.h"
#include "trend.h"

#define NOWHERE_MIN 0.1  /* of the CPU time */
#define NO_ROOM     0.75 /* of its limit is in use after collections */
#define LITTLE_ROOM                                                                              \
	1.3             /* the heap at the start of a cycle, times what lived after the last one \
			 */
#define ROOM_LEFT   0.5 /* of the limit */
#define LARGE_SHARE 0.3 /* of the pauses */
enum { CYCLES_MIN = 8, SAMPLES_MIN = 10, LONG_PAUSE_NS = 100000000 };

static double charged(const struct evidence *evidence, const struct place *place)
{
	double sum = 0;

	(void)evidence;
	for (int i = 0; i < GC_PACINGS && !place->call; i++)
		for (int j = 0; j < CHARGES; j++)
			sum += place->caused.parts[i][j];
	return sum;
}

/* Collectors that work in the thread that allocates show who was interrupted. */
static double interrupted(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->call || !place->function ? 0 : place->collector_ns;
}

static double allocated(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->call ? 0 : place->bytes.value;
}

static double pauses_of(const struct evidence *evidence)
{
	return model_gc_ns(&evidence->model->gc);
}

static double wall_of(const struct evidence *evidence)
{
	return (double)evidence->model->run.wall;
}

/* "Collections took 1.2 s (44 % of the CPU time)" */
static void write_cost(const struct evidence *evidence, FILE *out)
{
	double cost = collector_of(evidence);

	fprintf(out, "Collections took %s (%s of the %s)", unit_time(cost).text,
		unit_percent(fmin(cost / (evidence->model->gc.pauses_charged ? wall_of(evidence)
									     : cpu_of(evidence)),
				  1))
			.text,
		evidence->model->gc.pauses_charged ? "wall time" : "CPU time");
}

/* The site that makes most of what the function costs in collections; NULL: none. */
static const struct model_site *site_of(const struct evidence *evidence, const struct spot_sum *sum)
{
	const struct model *model = evidence->model;
	const struct place *place = sum->place;
	const struct model_site *best = NULL;
	const char *name = place && place->function ? evidence->functions[place->function - 1].name
						    : NULL;

	for (size_t i = 0; i < model->n_sites && name; i++) {
		const struct model_site *site = &model->sites[i];

		for (int j = 0; j < SITE_FUNCTIONS && site->functions[j]; j++)
			if (strcmp(site->functions[j], name) == 0 &&
			    (!best || site->gc_ns.value > best->gc_ns.value)) {
				best = site;
				break;
			}
	}
	/* Those of what it calls deeper have other functions. */
	return best && best->gc_ns.value >= sum->gc.charged.value / 2 ? best : NULL;
}

static bool is_box(const char *type)
{
	static const char *const boxes[] = {"Integer", "Long", "Double",    "Float",
					    "Short",   "Byte", "Character", "Boolean"};

	if (!type || strncmp(type, "java.lang.", 10) != 0)
		return false;
	for (size_t i = 0; i < sizeof(boxes) / sizeof(*boxes); i++)
		if (strcmp(type + 10, boxes[i]) == 0)
			return true;
	return false;
}

static bool has_type(const struct model_site *site)
{
	return site && site->type && strcmp(site->type, TYPE_UNKNOWN) != 0;
}

/* Is it no more than what may be saved, at best? */
static const char *at_best(const struct estimate *saved)
{
	return saved->low < saved->value / 2 ? "up to " : "";
}

/* "; 1.2 s would be saved if nothing of it were kept, 1.3 s if it were not allocated" */
static void write_savings(FILE *out, const struct estimate *kept_ns,
			  const struct estimate *allocating_ns)
{
	double keeping = kept_ns->value, allocating = allocating_ns->value;
	struct unit_text kept = unit_time(keeping), all = unit_time(allocating);

	if (keeping > 0 && allocating > 0 && !strcmp(kept.text, all.text))
		fprintf(out, "; without it %s%s would be saved", at_best(allocating_ns), all.text);
	else if (keeping > 0 || allocating > 0)
		fprintf(out, "; %s%s would be saved if %s",
			at_best(keeping > 0 ? kept_ns : allocating_ns),
			keeping > 0 ? kept.text : all.text,
			keeping > 0 ? "nothing of it were kept" : "it were not allocated");
	if (keeping > 0 && allocating > 0 && strcmp(kept.text, all.text) != 0)
		fprintf(out, ", %s%s if it were not allocated", at_best(allocating_ns), all.text);
}

/* What saves most at this function, and what of it is kept. */
static void write_saving(struct candidate *out, const struct evidence *evidence,
			 const struct spot_sum *sum, enum topic topic)
{
	const struct model_site *site = site_of(evidence, sum);
	const struct estimate none = {0, 0, 0};
	bool kept_known = evidence->model->gc.paces.kept_known;

	fprintf(out->evidence, "%s came from there", unit_bytes(sum->bytes).text);
	if (has_type(site))
		fprintf(out->evidence, ", mostly as %.60s", site->type);
	write_savings(out->evidence, kept_known ? &sum->gc.keeping : &none, &sum->gc.allocating);
	fprintf(out->evidence, ".");
	write_remedy(out, evidence, has_type(site) && is_box(site->type) ? TOPIC_BOXES : topic);
	fprintf(out->command, "gcprof report --sites");
}

bool find_collections(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	double cost = collector_of(evidence), keeping;
	struct spot_sum sum;
	bool sampled;

	if (cost <= 0 || !model_gc_count(&evidence->model->gc))
		return false;
	sampled = spot_find(evidence, charged, n, &sum);
	if (!sampled && n)
		return false;
	if (!sampled && !spot_find(evidence, interrupted, 0, &sum))
		sum = (struct spot_sum){0};
	/* Without a place there is little to change. */
	if (!sum.function && cost < NOWHERE_MIN * cpu_of(evidence))
		return false;
	out->place = sum.place;
	keeping = evidence->model->gc.paces.kept_known ? sum.gc.keeping.value : 0;
	out->lost_ns = sampled ? fmin(fmax(fmax(keeping, sum.gc.allocating.value), sum.value), cost)
			       : cost;
	write_cost(evidence, out->text);
	if (sampled) {
		fprintf(out->text, "; %s of it is caused by what is allocated",
			unit_percent(fmin(out->lost_ns / cost, 1)).text);
		write_place(out->text, evidence, out->place);
		fprintf(out->text, ".");
		write_saving(out, evidence, &sum,
			     keeping > 0.8 * sum.gc.allocating.value ? TOPIC_KEEP : TOPIC_ALLOCATE);
		return true;
	}
	if (out->place) {
		fprintf(out->text, ", mostly");
		write_place(out->text, evidence, out->place);
	}
	fprintf(out->text, ".");
	fprintf(out->evidence, "%s collections; who allocates was not sampled.",
		unit_count(model_gc_count(&evidence->model->gc)).text);
	write_remedy(out, evidence, TOPIC_COLLECT);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

/* How long it is until the heap reaches a limit, if it grows on as it did. */
static void write_headroom(const struct evidence *evidence, const struct trend *trend, FILE *out)
{
	double grown = trend->bytes[trend->count - 1] - trend->bytes[0];
	struct room room = room_of(evidence->model);

	if (room.limit <= 0)
		fprintf(out, " No limit of it is known.");
	else if (room.used >= room.limit)
		fprintf(out, " It has reached %s, %s.", room.name, unit_bytes(room.limit).text);
	else
		fprintf(out, " At this rate it reaches %s, %s, in another %s.", room.name,
			unit_bytes(room.limit).text,
			unit_time((room.limit - room.used) / grown * trend->ns).text);
}

/* What is kept makes it grow, and not what costs most. */
static double kept(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->call ? 0 : place->survived.some;
}

static void write_growth(struct candidate *out, const struct evidence *evidence,
			 const struct trend *trend)
{
	fprintf(out->text, "The heap grows all the time, from %s to %s after collections",
		unit_bytes(trend->bytes[0]).text, unit_bytes(trend->bytes[trend->count - 1]).text);
	if (out->place && out->place->function) {
		fprintf(out->text, ", most by what is allocated");
		write_place(out->text, evidence, out->place);
	}
	fprintf(out->text, ".");
	write_headroom(evidence, trend, out->text);
}

/* Who allocates most, or runs while it is collected, may keep nothing. */
static void write_keeper_unknown(struct candidate *out, const struct evidence *evidence)
{
	fprintf(out->evidence, "Who keeps what makes it grow was not recorded.");
	write_remedy(out, evidence, TOPIC_KEEPERS);
	fprintf(out->command, "gcprof report --timeline");
}

/*
 * A program that ended its work with room to spare kept no more than it had room for: only
 * collections cost it something. Without a limit, it takes a place to say more.
 */
static bool ended_with_room(const struct evidence *evidence, bool known)
{
	const struct model_run *run = &evidence->model->run;
	struct room room = room_of(evidence->model);

	return run->end_reason == END_EXITED && !run->status &&
	       (room.limit > 0 ? room.used <= ROOM_LEFT * room.limit : !known);
}

bool find_heap_grows(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	struct trend *trend = malloc(sizeof(*trend));
	double cost = collector_of(evidence);
	struct spot_sum sum = {0};
	bool known = evidence->model->gc.paces.kept_known && spot_find(evidence, kept, 0, &sum);
	bool rising;

	if (!trend)
		return false;
	trend_find(evidence->model->timeline, trend);
	rising = !n && cost > 0 && trend_rises(trend) && !ended_with_room(evidence, known);
	if (rising) {
		out->place = known ? sum.place : NULL;
		out->lost_ns = known ? fmax(sum.gc.charged.value, sum.gc.keeping.value) : cost;
		out->lost_ns = fmin(out->lost_ns, cost);
		write_growth(out, evidence, trend);
		write_cost(evidence, out->evidence);
		fprintf(out->evidence, ". ");
		if (known)
			write_saving(out, evidence, &sum, TOPIC_GROWS);
		else
			write_keeper_unknown(out, evidence);
	}
	free(trend);
	return rising;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of how much larger the heap was at a cycle's start than what the last one left. */
static double headroom(const struct model *model)
{
	double *ratios = calloc(model->n_gc_cycles + 1, sizeof(*ratios)), median = 0;
	size_t n = 0;

	for (size_t i = model->n_gc_cycles / 2 + 1; ratios && i < model->n_gc_cycles; i++) {
		const struct model_gc_cycle *before = &model->gc_cycles[i - 1];
		const struct model_gc_cycle *cycle = &model->gc_cycles[i];

		if (before->process == cycle->process && before->live_bytes &&
		    cycle->heap_before_bytes)
			ratios[n++] = (double)cycle->heap_before_bytes / (double)before->live_bytes;
	}
	if (n >= CYCLES_MIN) {
		qsort(ratios, n, sizeof(*ratios), by_value);
		median = ratios[n / 2];
	}
	free(ratios);
	return median;
}

/* Exit status 1, 3 or a signal of a Java program with a full heap. */
static bool ran_out(const struct evidence *evidence, double peak)
{
	const struct model_run *run = &evidence->model->run;

	return has_trait(evidence->model, EXITS_WHEN_FULL) && run->end_reason == END_EXITED &&
	       run->status && peak > 0.9;
}

static double peak_share(const struct evidence *evidence)
{
	double most = 0;

	for (size_t i = 0; i < evidence->model->n_heap_areas; i++) {
		const struct model_heap_area *area = &evidence->model->heap_areas[i];

		if (area->max_bytes && area->in_heap)
			most = fmax(most, (double)area->peak_bytes / (double)area->max_bytes);
	}
	return most;
}

static void write_room(struct candidate *out, const struct evidence *evidence, double share,
		       double ratio, const struct model_heap_area *area)
{
	if (ran_out(evidence, peak_share(evidence)))
		fprintf(out->text,
			"The program ended with an error when its heap was full (OutOfMemoryError)"
			", most of it allocated");
	else if (area && share >= NO_ROOM)
		fprintf(out->text,
			"The heap has no room: %s of its limit of %s are in use after collections, "
			"most of it allocated",
			unit_percent(share).text, unit_bytes((double)area->max_bytes).text);
	else
		fprintf(out->text,
			"The heap has little room: collections begin when it is %s larger than "
			"what lives, most of it allocated",
			unit_percent(ratio - 1).text);
}

bool find_no_room(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_heap_area *area = NULL;
	double share = room_fullest(evidence->model, &area), ratio = headroom(evidence->model);
	double cost = collector_of(evidence);
	bool died = ran_out(evidence, peak_share(evidence));
	struct spot_sum sum = {0};

	if (n || (share < NO_ROOM && (ratio <= 0 || ratio > LITTLE_ROOM) && !died))
		return false;
	if (!spot_find(evidence, charged, 0, &sum))
		spot_find(evidence, allocated, 0, &sum);
	out->place = sum.place;
	out->lost_ns = died ? evidence->busy_ns : cost;
	write_room(out, evidence, share, ratio, area);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
	write_cost(evidence, out->evidence);
	fprintf(out->evidence, ", in %s pauses.",
		unit_count(model_gc_count(&evidence->model->gc)).text);
	write_remedy(out, evidence, TOPIC_ROOM);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

/* The share of pauses that come from objects which are not allocated in a nursery or region. */
static double large_share(const struct evidence *evidence)
{
	const struct model_gc *gc = &evidence->model->gc;
	double large = (double)gc->reasons[GCPROF_REASON_LARGE].total_ns;

	for (size_t i = 0; i < gc->n_named_reasons; i++)
		if (strstr(gc->named_reasons[i].name, "Humongous"))
			large += (double)gc->named_reasons[i].total_ns;
	return pauses_of(evidence) > 0 ? fmin(large / pauses_of(evidence), 1) : 0;
}

bool find_large(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	double share = large_share(evidence);
	struct spot_sum sum = {0};

	if (n || share <= LARGE_SHARE)
		return false;
	spot_find(evidence, allocated, 0, &sum);
	out->place = sum.place;
	out->lost_ns = collector_of(evidence) * share;
	fprintf(out->text,
		"%s of the pauses are because of objects too large for the usual way to allocate, "
		"most bytes allocated",
		unit_percent(share).text);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
	write_cost(evidence, out->evidence);
	fprintf(out->evidence, ".");
	write_remedy(out, evidence, TOPIC_LARGE);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

bool find_explicit(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_gc *gc = &evidence->model->gc;
	bool most = gc->requests_missing;
	/* A request may take several collections. */
	uint64_t count = most ? gc->reasons[GCPROF_REASON_EXPLICIT].count : gc->requests;
	double ns = (double)gc->reasons[GCPROF_REASON_EXPLICIT].total_ns;

	for (size_t i = 0; i < gc->n_named_reasons; i++)
		if (strcmp(gc->named_reasons[i].name, "System.gc()") == 0) {
			count += gc->named_reasons[i].count;
			ns += (double)gc->named_reasons[i].total_ns;
		}
	if (n || !count)
		return false;
	out->lost_ns = collector_of(evidence) * fmin(ns / fmax(pauses_of(evidence), 1), 1);
	fprintf(out->text,
		"The program itself requested %s%s collection%s, which took %s (%s of wall time).",
		most ? "up to " : "", unit_count(count).text, plural(count, "[|s]").text,
		unit_time(ns).text, unit_percent(ns / wall_of(evidence)).text);
	write_remedy(out, evidence, TOPIC_EXPLICIT);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

/* The site with the most bytes that were promoted and then died. */
static const struct model_site *worst_site(const struct model *model)
{
	const struct model_site *worst = NULL;

	for (size_t i = 0; i < model->n_sites; i++)
		if (!worst || model->sites[i].life.premature_bytes > worst->life.premature_bytes)
			worst = &model->sites[i];
	return worst;
}

bool find_premature(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model *model = evidence->model;
	const struct model_site *site = worst_site(model);
	double promoted = 0, premature = 0;
	struct spot_sum sum;

	for (size_t i = 0; i < model->n_types; i++) {
		promoted += model->types[i].life.promoted_bytes;
		premature += model->types[i].life.premature_bytes;
	}
	/* At least some 20 samples. */
	if (n || !site || premature < 20 * (double)model->alloc.period || premature < promoted / 3)
		return false;
	out->lost_ns = site->gc_ns.value;
	if (spot_find(evidence, charged, 0, &sum)) {
		out->place = sum.place;
		out->lost_ns = fmin(fmax(sum.value, out->lost_ns), collector_of(evidence));
	}
	fprintf(out->text,
		"%s of the %s promoted was dead by the next major collection; %s of that comes "
		"from %.60s%s%.60s%s, which caused %s of collection time.",
		unit_percent(premature / promoted).text, unit_bytes(promoted).text,
		unit_percent(site->life.premature_bytes / premature).text, site->functions[0],
		site->functions[1] ? " (called by " : "",
		site->functions[1] ? site->functions[1] : "", site->functions[1] ? ")" : "",
		unit_time(site->gc_ns.value).text);
	write_remedy(out, evidence, TOPIC_PREMATURE);
	if (model->gc.nursery_bytes)
		fprintf(out->evidence, "The nursery has %s.",
			unit_bytes((double)model->gc.nursery_bytes).text);
	fprintf(out->command, "gcprof report --sites --sort premature");
	return true;
}

bool find_small_nursery(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_gc *gc = &evidence->model->gc;
	double minor = (double)gc->minor.total_ns, count = (double)gc->minor.count;

	/* A larger nursery changes nothing for objects that are not allocated there. */
	if (n || count < 20 || gc->fixed_ns * count < minor / 2 ||
	    large_share(evidence) > LARGE_SHARE)
		return false;
	/* Pauses may wait for a CPU, too: what they cost is CPU time. */
	out->lost_ns = fmin(gc->fixed_ns * count / minor, 1) * fmin(minor, collector_of(evidence));
	if (gc->overlap)
		fprintf(out->text, "%s minor collections took %s in all threads",
			unit_count(gc->minor.count).text, unit_time(minor).text);
	else
		fprintf(out->text, "Minor collections came every %s and took %s of wall time",
			unit_time(wall_of(evidence) / count).text,
			unit_percent(minor / wall_of(evidence)).text);
	fprintf(out->text, ", most of which (about %s each) does not depend on what they copy.",
		unit_time(gc->fixed_ns).text);
	if (gc->nursery_bytes)
		fprintf(out->evidence, "The nursery has %s.",
			unit_bytes((double)gc->nursery_bytes).text);
	write_remedy(out, evidence, TOPIC_NURSERY);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

bool find_pauses(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model *model = evidence->model;
	const struct model_pauses *minor = &model->gc.minor, *major = &model->gc.major;
	const struct model_pauses *worse = minor->max_ns > major->max_ns ? minor : major;
	const struct model_pause *longest = model->n_pauses ? &model->pauses[0] : NULL;

	if (n || worse->max_ns < LONG_PAUSE_NS)
		return false;
	/* A pause may wait for a CPU, too. */
	out->lost_ns = fmin(pauses_of(evidence), collector_of(evidence));
	fprintf(out->text,
		"The longest pause, in a %s collection, took %s; 99 %% of %s took %s or less.",
		worse == minor ? "minor" : "major", unit_time((double)worse->max_ns).text,
		unit_count(worse->count).text, unit_time((double)worse->p99_ns).text);
	if (longest && longest->sums.ready_ns > longest->pause_ns / 2)
		fprintf(out->evidence,
			"Its threads were ready to run but had no CPU for %s, together.",
			unit_time((double)longest->sums.ready_ns).text);
	else if (longest && !longest->workers && longest->sums.own_wait_ns > longest->pause_ns / 2)
		fprintf(out->evidence, "Its thread was off the CPU for %s of it.",
			unit_time((double)longest->sums.own_wait_ns).text);
	write_remedy(out, evidence, TOPIC_PAUSE);
	fprintf(out->command, "gcprof report --gc");
	return true;
}

bool find_slow_stops(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_gc *gc = &evidence->model->gc;

	if (n || gc->stop_max_ns < 1000000)
		return false;
	out->lost_ns = (double)gc->stop_ns;
	fprintf(out->text, "Stopping all threads took %s of the pauses, at most %s.",
		unit_percent((double)gc->stop_ns / pauses_of(evidence)).text,
		unit_time((double)gc->stop_max_ns).text);
	write_remedy(out, evidence, TOPIC_SAFEPOINT);
	fprintf(out->command, "gcprof report --gc");
	return true;
}
