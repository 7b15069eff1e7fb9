/* SPDX-License-Identifier: BSD-2-Clause */
/* caused.c: what collections cost because of a row's objects, and what would be saved without. */
#include "caused.h"

#include <math.h>
#include <string.h>

#include "stack_life.h"

/* Of GC_PACING_LIVE: what the heap grows to at least, if it may double, and by in each cycle near a
 * memory limit. */
#define LEAST_BYTES (4.0 * (1 << 20))
#define LIMIT_STEP  (1.0 * (1 << 20))
/* Of GC_PACING_GROWTH: new objects between full collections, at least: 700 * 11 * 11. */
#define LEAST_FRESH 84700.0
/* How much more or less than the mean an object may cost a collection that counts them: small
 * lists, dictionaries, what lies far apart, by measurement of CPython 3.11. */
#define UNLIKE 2.0
/* EMPTY_CYCLE_NS, at least, and on a machine whose CPUs are busy, where sweepers wait for each
 * other. */
#define EMPTY_NS_LOW 0.4e6
#define EMPTY_NS_TOP 2.0e6

void caused_add(struct caused *caused, const struct stack_lives *lives, uint32_t life)
{
	for (uint32_t at = lives->items[life].charge; at; at = lives->charges[at].next)
		for (int part = 0; part < CHARGES; part++)
			caused->parts[lives->charges[at].process][part] +=
				(double)lives->charges[at].parts[part];
}

void caused_merge(struct caused *into, const struct caused *from)
{
	for (int pacing = 0; pacing < GC_PACINGS; pacing++)
		for (int part = 0; part < CHARGES; part++)
			into->parts[pacing][part] += from->parts[pacing][part];
}

static double share_of(double some, double all)
{
	return all > 0 ? fmin(some / all, 1) : 0;
}

/* Bytes that are allocated in a cycle that begins with so many alive; INFINITY: no bound. */
static double distance(const struct model_gc_pace *pace, double live)
{
	double growth = pace->growth > 0 ? pace->growth : INFINITY;
	double bytes = fmax(live * growth, LEAST_BYTES * growth - live);

	return pace->peak > 0 ? fmin(bytes, fmax(pace->peak - live, LIMIT_STEP)) : bytes;
}

/* What a collector takes that waits for garbage in proportion to what is alive, with these shares
 * of the allocated and of the live bytes left. Cycles that a call or a clock begins stay as many.
 */
static double paced_by_live(const struct model_gc_pace *pace, double allocated, double kept)
{
	double live = pace->live * (1 - pace->referring * (1 - kept));
	double next = distance(pace, live);
	double more = isfinite(next) ? distance(pace, pace->live) / next : 1;
	double cycles = pace->paced * allocated * more + 1 - pace->paced; /* of those now */
	double empty = fmin(pace->cycles * pace->empty_ns, pace->parts[CHARGE_FIXED]);

	return allocated * (pace->parts[CHARGE_FIXED] - empty) + cycles * empty +
	       cycles * kept * pace->parts[CHARGE_KEPT];
}

/* In proportion to those that minor collections found: garbage costs more each. */
static double new_objects(const double parts[CHARGES])
{
	return parts[CHARGE_FIXED] / TRACKED_GARBAGE + parts[CHARGE_COPIED];
}

/*
 * Saved of full collections, which look at all that is alive. They come when what became old since
 * the last one is a quarter of that, but not before so many collections of the generation below,
 * which come by the number of new objects, whatever becomes of them. `fresh` are the row's.
 */
static double saved_of_full(const struct model_gc_pace *pace, const double parts[CHARGES],
			    double fresh)
{
	double copied = share_of(parts[CHARGE_COPIED], pace->parts[CHARGE_COPIED]);
	double kept = share_of(parts[CHARGE_KEPT], pace->parts[CHARGE_KEPT]);
	double all = new_objects(pace->parts);
	double quarter = pace->alive / 4, left = (1 - kept) * quarter;
	double least = fmin(pace->apart, LEAST_FRESH * share_of(pace->parts[CHARGE_COPIED], all));

	if (pace->apart > quarter)
		return pace->parts[CHARGE_KEPT] * (1 - (1 - share_of(fresh, all)) * (1 - kept));
	return pace->parts[CHARGE_KEPT] *
	       (1 - (1 - copied) * (1 - kept) * quarter / fmax(fmax(left, least), 1));
}

/* Saved, if nothing of the row were kept. */
static double keeping_of(const struct model_gc_pace *pace, enum gc_pacing pacing,
			 const double parts[CHARGES])
{
	double copied = share_of(parts[CHARGE_COPIED], pace->parts[CHARGE_COPIED]);
	double kept = share_of(parts[CHARGE_KEPT], pace->parts[CHARGE_KEPT]);
	double major = pace->parts[CHARGE_KEPT];

	switch (pacing) {
	case GC_PACING_LIVE:
		return fmax(paced_by_live(pace, 1, 1) - paced_by_live(pace, 1, 1 - kept), 0);
	case GC_PACING_GROWTH:
		return parts[CHARGE_COPIED] + saved_of_full(pace, parts, parts[CHARGE_COPIED]);
	default:
		/* What becomes old makes major collections come sooner, and longer. */
		return parts[CHARGE_COPIED] + major * (1 - (1 - copied) * (1 - kept));
	}
}

/* Saved, if the row allocated nothing. */
static double allocating_of(const struct model_gc_pace *pace, enum gc_pacing pacing,
			    const double parts[CHARGES])
{
	double allocated = share_of(parts[CHARGE_FIXED], pace->parts[CHARGE_FIXED]);
	double kept = share_of(parts[CHARGE_KEPT], pace->parts[CHARGE_KEPT]);
	double keeping = keeping_of(pace, pacing, parts);

	if (pacing == GC_PACING_GROWTH)
		return parts[CHARGE_FIXED] + parts[CHARGE_COPIED] +
		       saved_of_full(pace, parts, new_objects(parts));
	if (pacing != GC_PACING_LIVE)
		return parts[CHARGE_FIXED] + keeping;
	return fmax(paced_by_live(pace, 1, 1) - paced_by_live(pace, 1 - allocated, 1 - kept),
		    keeping);
}

/* The ends of a charge that is proportional to these bytes, of samples with this weight. */
static struct estimate part_of(double charge, double bytes, double weight, double per_byte)
{
	const struct tally tally = {.value = bytes, .variance = bytes * weight};
	struct estimate of;

	/* What has no sample may have some bytes nevertheless. */
	if (charge <= 0 || bytes <= 0)
		return (struct estimate){charge, charge,
					 charge + ESTIMATE_Z * ESTIMATE_Z * weight * per_byte};
	of = tally_estimate(&tally);
	return (struct estimate){charge, of.low / bytes * charge, of.high / bytes * charge};
}

static double sum_of(const struct model_gc_pace *pace, enum gc_pacing pacing,
		     const double parts[CHARGES])
{
	(void)pace;
	(void)pacing;
	return parts[CHARGE_FIXED] + parts[CHARGE_COPIED] + parts[CHARGE_KEPT];
}

/* A figure, from the values and ends of the parts. */
struct range {
	double value[CHARGES], low[CHARGES], high[CHARGES];
};

typedef double figure_of(const struct model_gc_pace *pace, enum gc_pacing pacing,
			 const double parts[CHARGES]);

/* The figure, if an empty cycle took this long, and where objects count an object of the row as
 * much as so many others. */
static double figure_if(const struct model_gc_pace *pace, enum gc_pacing pacing,
			const double parts[CHARGES], figure_of *figure, double empty_ns,
			double weight)
{
	struct model_gc_pace with = *pace;
	double whole = pace->parts[CHARGE_KEPT], moved[CHARGES];

	with.empty_ns = empty_ns;
	memcpy(moved, parts, sizeof(moved));
	if (pacing == GC_PACING_GROWTH && whole > 0)
		moved[CHARGE_KEPT] *=
			weight / (1 + (weight - 1) * share_of(parts[CHARGE_KEPT], whole));
	return figure(&with, pacing, moved);
}

/* Adds a figure. The uncertainties of samples, of all parts alike, those of the collector's parts
 * as a whole, and that of what an empty cycle or an object costs are independent. */
static void add_figure(struct estimate *to, const struct model_gc_pace *pace, enum gc_pacing pacing,
		       const struct range *range, figure_of *figure)
{
	double value = figure(pace, pacing, range->value),
	       whole = sum_of(pace, pacing, pace->parts);
	double low = value - figure(pace, pacing, range->low);
	double high = figure(pace, pacing, range->high) - value, own = 0, less, more;

	for (int part = 0; part < CHARGES; part++) {
		double moved[CHARGES], step = sqrt(pace->variances[part]) * range->value[part];

		for (int i = 0; i < CHARGES; i++)
			moved[i] = range->value[i] + (i == part ? step : 0);
		step = figure(pace, pacing, moved) - value;
		own += step * step;
	}
	own *= ESTIMATE_Z * ESTIMATE_Z;
	less = value - figure_if(pace, pacing, range->value, figure, EMPTY_NS_TOP, 1 / UNLIKE);
	more = figure_if(pace, pacing, range->value, figure, EMPTY_NS_LOW, UNLIKE) - value;
	to->value += value;
	to->low += fmax(value - sqrt(low * low + own + less * less), 0);
	to->high += fmin(value + sqrt(high * high + own + more * more), fmax(whole, value));
}

struct caused_figures caused_figures(const struct caused *caused,
				     const struct model_gc_paces *paces, const struct tally *bytes,
				     double survived)
{
	double weight = bytes->value > 0 ? bytes->variance / bytes->value : 0;
	struct caused_figures figures = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};

	for (int pacing = 0; pacing < GC_PACINGS; pacing++) {
		const struct model_gc_pace *pace = &paces->of[pacing];
		struct range range;
		double low;

		if (sum_of(pace, GC_PACING_FIXED, pace->parts) <= 0)
			continue;
		for (int part = 0; part < CHARGES; part++) {
			double of = part == CHARGE_FIXED || survived <= 0 ? bytes->value : survived;
			struct estimate ends = part_of(
				caused->parts[pacing][part], of, weight,
				pace->bytes[part] > 0 ? pace->parts[part] / pace->bytes[part] : 0);

			range.value[part] = ends.value;
			range.low[part] = ends.low;
			range.high[part] = ends.high;
		}
		add_figure(&figures.charged, pace, (enum gc_pacing)pacing, &range, sum_of);
		add_figure(&figures.allocating, pace, (enum gc_pacing)pacing, &range,
			   allocating_of);
		if (!paces->kept_known)
			continue;
		low = figures.keeping.low;
		add_figure(&figures.keeping, pace, (enum gc_pacing)pacing, &range, keeping_of);
		/* As less is kept, collections come more often: that may cost all that it saves. */
		if (pacing == GC_PACING_SHRINKS) {
			figures.allocating.low -=
				fmin(figures.keeping.value, figures.allocating.low);
			figures.keeping.low = low;
		}
	}
	return figures;
}
