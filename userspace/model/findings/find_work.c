/* SPDX-License-Identifier: BSD-2-Clause */
/* find_work.c: CPU time that the program's own code spends in vain. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "../../util/plural.h"
#include "../../util/units.h"
#include "finding.h"

#define HOT_MIN         0.25 /* of the CPU time */
#define MATCHING_MIN    0.5  /* of it: else they do what they are for */
#define HANDOVER_MIN    0.4  /* of it */
#define PAGE_BYTES      4096
#define TOUCHED_AGAIN   2.0  /* of the memory that was in use at most */
#define ROUND_TRIP_MOST 10   /* times: reading takes longer than writing, or the other way round */
#define SMALL_TEXT      1024 /* bytes: copying less costs what making it costs */
enum {
	QUERIES_MIN = 2000,
	SLEEPS_MIN = 10000,
	SHORT_SLEEP_NS = 1000000,
	SAMPLES_MIN = 10,
	HANDOVER_SAMPLES_MIN = 4
};

static double cpu_below(const struct place *place, enum pattern_class class)
{
	return !place->call && place->pattern && place->pattern->class == class ? place->cpu_ns : 0;
}

#define BELOW(name, CLASS)                                                             \
	static double name(const struct evidence *evidence, const struct place *place) \
	{                                                                              \
		(void)evidence;                                                        \
		return cpu_below(place, PATTERN_##CLASS);                              \
	}
BELOW(in_repeated, REPEATED)
BELOW(in_slow_way, SLOW_WAY)
BELOW(in_matching, MATCHING)
BELOW(in_handover, HANDOVER)
BELOW(in_errors, ERRORS)
BELOW(in_faults, FAULTS)
BELOW(in_queries, QUERY)

/* All of it is written and read again in one function: a copy. */
static bool is_round_trip(const struct evidence *evidence, const struct place *place)
{
	enum pattern_class class = place->pattern ? place->pattern->class : PATTERN_NONE;
	enum pattern_class other = class == PATTERN_WRITES ? PATTERN_READS : PATTERN_WRITES;

	if (class != PATTERN_WRITES && class != PATTERN_READS)
		return false;
	for (size_t i = 1; i < evidence->n_places; i++)
		if (evidence->places[i].function == place->function && place->function &&
		    cpu_below(&evidence->places[i], other) > place->cpu_ns / ROUND_TRIP_MOST)
			return true;
	return false;
}

/* What is made of small parts once is no copying of all that there is so far. */
static double in_copying(const struct evidence *evidence, const struct place *place)
{
	if (is_round_trip(evidence, place))
		return cpu_below(place, place->pattern->class);
	if (place->samples >= SAMPLES_MIN &&
	    place->bytes.observed < SMALL_TEXT * (double)place->samples)
		return 0;
	return cpu_below(place, PATTERN_COPYING);
}

/* Ten samples of the function are needed to speak of it. */
static bool find_below(const struct evidence *evidence, place_measure *measure, unsigned n,
		       struct candidate *out)
{
	struct spot_sum sum;

	/* What is below no own function is the start of programs. */
	if (!spot_find(evidence, measure, n, &sum) || !sum.function ||
	    sum.place->cpu_samples < SAMPLES_MIN)
		return false;
	out->lost_ns = sum.value;
	out->place = sum.place;
	write_callers(out, evidence);
	return true;
}

static const char *share_of_cpu(const struct evidence *evidence, double ns)
{
	static _Thread_local struct unit_text text;

	text = unit_percent(fmin(ns / cpu_of(evidence), 1));
	return text.text;
}

static void write_pattern(const struct candidate *out, FILE *file)
{
	static const char *const before[] = {"_", "v8::internal::", "Runtime_", "Builtin_",
					     "Builtins_"};
	const char *name = out->place->pattern->function;
	const char *made_of = strstr(name, "<*");
	int size = made_of ? (int)(made_of - name)
			   : (int)strlen(name) - (name[strlen(name) - 1] == '*');

	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++)
		while (strncmp(name, before[i], strlen(before[i])) == 0) {
			size -= (int)strlen(before[i]);
			name += strlen(before[i]);
		}
	for (; size > 1 && strchr("_:.(<", name[size - 1]); size--)
		;
	fprintf(file, "%.*s", size, name);
}

/* "12.3 % of the CPU time (1.2 s) is regcomp in F (called by G)." */
static void write_share(const struct candidate *out, const struct evidence *evidence,
			const char *what)
{
	fprintf(out->text, "%s of the CPU time (%s) is ", share_of_cpu(evidence, out->lost_ns),
		unit_time(out->lost_ns).text);
	write_pattern(out, out->text);
	fprintf(out->evidence, "%s.", what);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
}

bool find_repeated(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_repeated, n, out))
		return false;
	write_share(out, evidence, "It prepares in each call what could be kept");
	write_pattern_remedy(out, evidence, TOPIC_NONE);
	return true;
}

/* One great query makes few system calls for its work. */
static bool asks_often(const struct evidence *evidence, const struct place *queries)
{
	double all = 0;

	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *place = &evidence->places[i];
		const struct model_syscall *row = call_of(evidence, place->call);

		if (place->function == queries->function && place->pattern == queries->pattern &&
		    row && row->count >= QUERIES_MIN)
			return true;
		all += place->function == queries->function && !place->call ? place->cpu_ns : 0;
	}
	/* Or the program does little for it. */
	return queries->cpu_ns < 0.95 * all;
}

/* Statements that change something, each in a transaction of its own, are many commits: their time
 * is that of the disk, and no other query asks for the same. */
static bool commits(const struct evidence *evidence, const struct place *queries)
{
	double disk = 0;

	for (size_t i = 1; i < evidence->n_places; i++) {
		const struct place *place = &evidence->places[i];
		const struct model_syscall *row = call_of(evidence, place->call);

		if (place->function == queries->function && place->pattern == queries->pattern &&
		    place->class == CALL_DISK && row && strstr(row->name, "sync"))
			disk += place->call_ns;
	}
	return disk > queries->cpu_ns / 2;
}

bool find_queries(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_queries, n, out) || !asks_often(evidence, out->place) ||
	    commits(evidence, out->place))
		return false;
	write_share(out, evidence, "It asks a database");
	write_remedy(out, evidence, TOPIC_QUERY);
	return true;
}

bool find_copying(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_copying, n, out))
		return false;
	write_share(out, evidence, "It goes through all of a text or an array each time");
	write_pattern_remedy(out, evidence, TOPIC_NONE);
	return true;
}

static void write_of_cpu(const struct candidate *out, const struct evidence *evidence,
			 const char *what)
{
	fprintf(out->text, "%s of the CPU time (%s) is %s", share_of_cpu(evidence, out->lost_ns),
		unit_time(out->lost_ns).text, what);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
}

bool find_slow_way(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_slow_way, n, out))
		return false;
	write_share(out, evidence, "There is a faster way to do the same");
	write_pattern_remedy(out, evidence, TOPIC_NONE);
	return true;
}

bool find_matching(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_matching, n, out) ||
	    out->lost_ns < MATCHING_MIN * cpu_of(evidence))
		return false;
	write_of_cpu(out, evidence, "matching regular expressions");
	write_remedy(out, evidence, TOPIC_MATCHING);
	return true;
}

static double in_own_handover(const struct evidence *evidence, const struct place *place)
{
	return place->function ? in_handover(evidence, place) : 0;
}

static double in_own_lock(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->function ? cpu_below(place, PATTERN_LOCK) + cpu_below(place, PATTERN_TAKE)
			       : 0;
}

/*
 * Goroutines are stopped and started by the scheduler, on stacks of its own. It works for channels
 * and sleeps, and for locks; in proportion to what these take themselves.
 */
static double handover_ns(const struct evidence *evidence)
{
	double own = places_sum(evidence, in_own_handover);
	double locks = places_sum(evidence, in_own_lock);

	return places_sum(evidence, in_handover) * own / fmax(own + locks, 1);
}

bool find_handover(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	struct spot_sum sum;

	out->lost_ns = handover_ns(evidence);
	if (n || out->lost_ns < HANDOVER_MIN * cpu_of(evidence) ||
	    !spot_find(evidence, in_own_handover, 0, &sum) ||
	    sum.place->cpu_samples < HANDOVER_SAMPLES_MIN)
		return false;
	out->place = sum.place;
	fprintf(out->text, "%s of the CPU time (%s) is stopping and starting goroutines, most for ",
		share_of_cpu(evidence, out->lost_ns), unit_time(out->lost_ns).text);
	write_pattern(out, out->text);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, ".");
	fprintf(out->evidence, "They do little in between.");
	write_pattern_remedy(out, evidence, TOPIC_HANDOVER);
	write_callers(out, evidence);
	return true;
}

bool find_errors(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (!find_below(evidence, in_errors, n, out))
		return false;
	write_share(out, evidence, "Exceptions are made and thrown there");
	write_remedy(out, evidence, TOPIC_ERRORS);
	return true;
}

/* Each page about once, as a heap grows: keeping memory would save nothing. */
static bool touches_once(const struct evidence *evidence, uint64_t faults)
{
	const struct model_gc *gc = &evidence->model->gc;
	double most = fmax((double)gc->heap_peak_bytes, (double)gc->rss_peak_bytes);

	return faults && (double)faults * PAGE_BYTES < TOUCHED_AGAIN * most;
}

bool find_faults(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	uint64_t faults = 0;

	for (size_t i = 0; i < evidence->model->n_threads; i++)
		faults += evidence->model->threads[i].minor_faults +
			  evidence->model->threads[i].major_faults;
	if (touches_once(evidence, faults) || !find_below(evidence, in_faults, n, out))
		return false;
	write_of_cpu(out, evidence, "page faults");
	if (faults)
		fprintf(out->evidence, "The program had %s %s.", unit_count(faults).text,
			plural(faults, "page fault[|s]").text);
	write_remedy(out, evidence, TOPIC_FAULTS);
	return true;
}

/* Sleeping for so short that what is waited for is asked for again and again. */
static bool is_short_sleep(const struct evidence *evidence, const struct place *place)
{
	const struct model_syscall *row = place->call ? call_of(evidence, place->call) : NULL;

	return row && strstr(row->name, "nanosleep") && row->count >= SLEEPS_MIN &&
	       row->p50_ns <= SHORT_SLEEP_NS;
}

static double in_spin(const struct evidence *evidence, const struct place *place)
{
	return (!place->call && place->pattern && place->pattern->class == PATTERN_SPIN) ||
			       is_short_sleep(evidence, place)
		       ? place->cpu_ns + place->call_cpu_ns
		       : 0;
}

bool find_spinning(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_syscall *row;
	struct spot_sum sum;
	double all = 0;

	if (!spot_find(evidence, in_spin, n, &sum) || !sum.place->function)
		return false;
	for (size_t i = 1; i < evidence->n_places; i++)
		if (evidence->places[i].function == sum.function && !evidence->places[i].call)
			all += evidence->places[i].cpu_ns;
	/* A loop around it is nothing else. */
	out->lost_ns = sum.value > 0.4 * all ? fmax(all, sum.value) : sum.value;
	out->place = sum.place;
	write_of_cpu(out, evidence, "waiting in a loop");
	row = is_short_sleep(evidence, out->place) ? call_of(evidence, out->place->call) : NULL;
	if (row)
		fprintf(out->evidence, "It slept %s times, half of them for %s or less.",
			unit_rough((double)row->count).text, unit_time((double)row->p50_ns).text);
	else
		fprintf(out->evidence, "It tries again and again.");
	write_remedy(out, evidence, row ? TOPIC_SLEEP : TOPIC_SPIN);
	write_callers(out, evidence);
	return true;
}

static double cpu(const struct evidence *evidence, const struct place *place)
{
	(void)evidence;
	return place->call ? 0 : place->cpu_ns;
}

/* An address in a file without symbols is no place that a user could look at. */
bool find_hot(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	if (n || !find_below(evidence, cpu, n, out) || out->lost_ns < HOT_MIN * cpu_of(evidence) ||
	    strstr(evidence->functions[out->place->function - 1].name, "+0x"))
		return false;
	fprintf(out->text, "%s of the CPU time (%s) is spent", share_of_cpu(evidence, out->lost_ns),
		unit_time(out->lost_ns).text);
	write_place(out->text, evidence, out->place);
	fprintf(out->text, " and the libraries that it calls.");
	return true;
}

/* Signals that others send to end a program, or that ends a pipe, are no fault of it. */
static bool is_crash(int status)
{
	static const int others[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};

	if (!WIFSIGNALED(status))
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (WTERMSIG(status) == others[i])
			return false;
	return true;
}

bool find_died(const struct evidence *evidence, unsigned n, struct candidate *out)
{
	const struct model_run *run = &evidence->model->run;
	int status = (int)run->status, number = WTERMSIG(status);

	if (n || run->end_reason != END_EXITED || !is_crash(status))
		return false;
	out->lost_ns = evidence->busy_ns;
	out->place = evidence->last;
	fprintf(out->text, "The program was killed by SIG%s (%s) after %s; it was last on a CPU",
		sigabbrev_np(number), strsignal(number), unit_time((double)run->duration).text);
	if (evidence->last && evidence->last->function)
		write_place(out->text, evidence, evidence->last);
	else
		fprintf(out->text, " in no function of its own");
	fprintf(out->text, ".");
	fprintf(out->remedy, "%s.",
		number == SIGKILL
			? "Unless a user or a program sent it, the kernel did because memory ran "
			  "out: "
			  "see dmesg, and memory.events of its cgroup"
			: "Run it in a debugger, or enable core dumps (ulimit -c unlimited)");
	return true;
}
